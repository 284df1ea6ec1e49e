"""CAD templates: boxes and housings (enclosures, trays, bearing blocks, clamps, bosses)."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm, turned


def enclosure(rng: random.Random) -> Part:
    length, width, height = rng.randint(50, 150), rng.randint(40, 110), rng.randint(20, 80)
    wall, corner = half(rng.uniform(2, 4)), half(rng.uniform(4, 12))
    post, ports = half(rng.uniform(6, 9)), rng.randint(0, 4)
    steps = """
    body = cq.Workplane("XY").box(length, width, height, centered=(True, True, False)).edges("|Z").fillet(corner_radius)
    result = body.faces(">Z").shell(-wall)
    posts = (
        cq.Workplane("XY", origin=(0, 0, wall / 2))
        .rect(length - 2 * wall - post_diameter, width - 2 * wall - post_diameter, forConstruction=True)
        .vertices()
        .circle(post_diameter / 2)
        .circle(screw_diameter / 2)
        .extrude(height * 0.7)
    )
    result = result.union(posts)
    """
    values = {
        "length": length,
        "width": width,
        "height": height,
        "wall": wall,
        "corner_radius": max(corner, wall + 1),
        "post_diameter": post,
        "screw_diameter": 3.0,
    }
    if ports:
        values |= {"ports": ports, "port_size": half(min(height * 0.4, length / (ports + 1) * 0.6))}
        shape = rng.choice(("circle(port_size / 2)", "rect(port_size, port_size * 0.7)"))
        steps += f"""for k in range(ports):
        x = length * ((k + 1) / (ports + 1) - 0.5)
        port = cq.Workplane("XZ", origin=(x, 0, height / 2)).{shape}.extrude(width)
        result = result.cut(port)
    """
    note = f" and {words.plural(ports, 'port')} in its front" if ports else ""
    return Part(
        "Open enclosure with screw posts",
        values,
        steps,
        f"An open box of {length} × {width} × {height} mm with walls of {mm(wall)} mm, four screw posts{note}.",
        {"posts": 4, "ports": ports},
    )


def divided_tray(rng: random.Random) -> Part:
    columns, rows, cell = rng.randint(1, 5), rng.randint(1, 4), rng.randint(16, 40)
    depth, wall, floor = rng.randint(10, 50), half(rng.uniform(1.5, 4)), half(rng.uniform(2, 5))
    columns = columns + 1 if columns == rows == 1 else columns
    aspect = half(cell * rng.uniform(0.7, 1.7))
    steps = """
    length = columns * (cell_x + wall) + wall
    width = rows * (cell_y + wall) + wall
    result = (
        cq.Workplane("XY")
        .box(length, width, depth + floor, centered=(True, True, False))
        .faces(">Z").workplane()
        .rarray(cell_x + wall, cell_y + wall, columns, rows)
        .rect(cell_x, cell_y)
        .cutBlind(-depth)
    )
    """
    values = {
        "columns": columns,
        "rows": rows,
        "cell_x": cell,
        "cell_y": aspect,
        "depth": depth,
        "wall": wall,
        "floor": floor,
    }
    handle = rng.random() < 0.4
    if handle:
        values["grip_width"] = half(max(14, cell * 0.7))
        steps += """grip = (
        cq.Workplane("XY")
        .box(12, grip_width, depth * 0.4, centered=(True, True, False))
        .translate((length / 2 + 5, 0, depth * 0.5))
    )
    result = result.union(grip)
    """
    return Part(
        "Sorting tray",
        values,
        steps,
        f"A tray with {columns} × {rows} = {columns * rows} compartments of {cell} × {mm(aspect)} mm, {depth} "
        f"mm deep{', with a grip at one end' if handle else ''}.",
        {"compartments": columns * rows},
    )


def pillow_block(rng: random.Random) -> Part:
    bore, wall = rng.randint(12, 50), rng.randint(6, 16)
    thick, base, foot = rng.randint(12, 50), rng.randint(8, 20), rng.randint(14, 40)
    hole, lift = half(rng.uniform(5, min(11, foot * 0.5))), rng.randint(0, 40)
    steps = """
    outer = bore_diameter / 2 + wall
    centre = base + lift + outer * 0.6
    result = cq.Workplane("XY").box(2 * (outer + foot), thickness, base, centered=(True, True, False))
    neck = cq.Workplane("XZ").rect(2 * outer, 2 * centre).extrude(thickness / 2, both=True).intersect(
        cq.Workplane("XY").box(4 * outer, 2 * thickness, centre, centered=(True, True, False))
    )
    head = cq.Workplane("XZ").center(0, centre).circle(outer).extrude(thickness / 2, both=True)
    bore = cq.Workplane("XZ").center(0, centre).circle(bore_diameter / 2).extrude(thickness, both=True)
    bolts = (
        cq.Workplane("XY")
        .pushPoints([(-outer - foot / 2, 0), (outer + foot / 2, 0)])
        .circle(bolt_diameter / 2)
        .extrude(base)
    )
    result = result.union(neck).union(head)
    floor = cq.Workplane("XY").box(4 * (outer + foot), 2 * thickness, 4 * outer, centered=(True, True, False))
    result = result.intersect(floor).cut(bore).cut(bolts)
    """
    values = {
        "bore_diameter": bore,
        "wall": wall,
        "thickness": thick,
        "base": base,
        "foot": foot,
        "lift": lift,
        "bolt_diameter": min(hole, half(thick * 0.6)),
    }
    return Part(
        "Pillow block",
        values,
        steps,
        f"A pillow block with a bearing bore of {bore} mm, {thick} mm thick, on a foot with two bolt holes of "
        f"{mm(min(hole, half(thick * 0.6)))} mm.",
        {"bore_mm": bore, "bolt_holes": 2},
    )


def split_clamp(rng: random.Random) -> Part:
    bore, wall, width = rng.randint(12, 60), half(rng.uniform(4, 14)), rng.randint(10, 50)
    ear, gap, bolt = rng.randint(12, 34), half(rng.uniform(1.5, 6)), half(rng.uniform(3, 6))
    bolts = 2 if width > 32 and rng.random() < 0.7 else 1
    steps = """
    outer = bore_diameter / 2 + wall
    ring = cq.Workplane("XY").circle(outer).extrude(width)
    ears = cq.Workplane("XY").box(outer + ear, ear_thickness * 2 + gap, width, centered=(False, True, False))
    slit = cq.Workplane("XY").box(outer + ear, gap, width, centered=(False, True, False))
    heights = [width * (k + 0.5) / bolts for k in range(bolts)]
    screws = (
        cq.Workplane("XZ")
        .pushPoints([(outer + ear / 2, z) for z in heights])
        .circle(bolt_diameter / 2)
        .extrude(4 * outer, both=True)
    )
    result = ring.union(ears).cut(cq.Workplane("XY").circle(bore_diameter / 2).extrude(width)).cut(slit).cut(screws)
    """
    values = {
        "bore_diameter": bore,
        "wall": wall,
        "width": width,
        "ear": ear,
        "ear_thickness": half(rng.uniform(4, 9)),
        "gap": gap,
        "bolts": bolts,
        "bolt_diameter": bolt,
    }
    return Part(
        "Split clamp",
        values,
        steps + turned(rng),
        f"A split clamp ring for a tube of {bore} mm, {width} mm wide, closed by {words.plural(bolts, 'bolt')} "
        f"of {mm(bolt)} mm through its ears.",
        {"bore_mm": bore, "bolts": bolts},
    )


def ribbed_boss(rng: random.Random) -> Part:
    base, thick, ribs = rng.randint(50, 120), half(rng.uniform(3, 10)), rng.randint(3, 8)
    boss, height, bore = half(base * rng.uniform(0.25, 0.4)), rng.randint(16, 70), half(rng.uniform(5, base * 0.16))
    square = rng.random() < 0.5
    steps = f"""
    result = cq.Workplane("XY"){".rect(base, base)" if square else ".circle(base / 2)"}.extrude(thickness)
    result = result.union(cq.Workplane("XY").circle(boss_diameter / 2).extrude(thickness + height))
    rib = (
        cq.Workplane("XZ")
        .moveTo(0, thickness / 2)
        .lineTo(base * 0.46, thickness / 2)
        .lineTo(base * 0.46, thickness)
        .lineTo(boss_diameter / 2, thickness + rib_height)
        .lineTo(0, thickness + rib_height)
        .close()
        .extrude(rib_thickness / 2, both=True)
    )
    for k in range(ribs):
        result = result.union(rib.rotate((0, 0, 0), (0, 0, 1), 360 * k / ribs))
    result = result.cut(cq.Workplane("XY").circle(bore_diameter / 2).extrude(thickness + height))
    """
    values = {
        "base": base,
        "thickness": thick,
        "boss_diameter": boss,
        "height": height,
        "ribs": ribs,
        "rib_height": half(height * rng.uniform(0.4, 0.9)),
        "rib_thickness": half(rng.uniform(2.5, 5)),
        "bore_diameter": bore,
    }
    return Part(
        "Boss with ribs",
        values,
        steps,
        f"A {'square' if square else 'round'} base of {base} mm with a boss of {mm(boss)} mm diameter, "
        f"stiffened by {words.plural(ribs, 'rib')} and bored to {mm(bore)} mm.",
        {"ribs": ribs, "bore_mm": bore},
    )


TEMPLATES = {
    "enclosure": enclosure,
    "divided_tray": divided_tray,
    "pillow_block": pillow_block,
    "split_clamp": split_clamp,
    "ribbed_boss": ribbed_boss,
}
