"""CAD templates: boxes, blocks and housings (enclosures, heat sinks, manifolds, rails, clamps, bearing blocks)."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm


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
        steps += """for k in range(ports):
        x = length * ((k + 1) / (ports + 1) - 0.5)
        port = cq.Workplane("XZ", origin=(x, 0, height / 2)).%s.extrude(width)
        result = result.cut(port)
    """ % rng.choice(("circle(port_size / 2)", "rect(port_size, port_size * 0.7)"))
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
        steps += """grip = cq.Workplane("XY").box(12, grip_width, depth * 0.4, centered=(True, True, False)).translate((length / 2 + 5, 0, depth * 0.5))
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


def heat_sink(rng: random.Random) -> Part:
    fins, fin, gap = rng.randint(4, 14), half(rng.uniform(1.5, 4)), half(rng.uniform(3, 7))
    height, base, length = rng.randint(10, 60), half(rng.uniform(3, 14)), rng.randint(30, 120)
    cross = rng.random() < 0.4
    steps = """
    width = fins * (fin + gap) - gap
    result = cq.Workplane("XY").box(length, width, base, centered=(True, False, False))
    for k in range(fins):
        rib = cq.Workplane("XY").box(length, fin, base + height, centered=(True, False, False)).translate((0, k * (fin + gap), 0))
        result = result.union(rib)
    """
    values = {"fins": fins, "fin": fin, "gap": gap, "height": height, "base": base, "length": length}
    if cross:
        values |= {"cuts": rng.randint(1, 4), "cut_width": half(rng.uniform(3, 6))}
        steps += """for k in range(cuts):
        x = length * ((k + 1) / (cuts + 1) - 0.5)
        channel = cq.Workplane("XY").box(cut_width, width, height, centered=(True, False, False)).translate((x, 0, base))
        result = result.cut(channel)
    """
    return Part(
        "Heat sink",
        values,
        steps,
        f"A heat sink with {words.plural(fins, 'fin')} of {height} mm height on a base of {mm(base)} mm, "
        f"{length} mm long{', cross-cut into pins' if cross else ''}.",
        {"fins": fins},
    )


def manifold(rng: random.Random) -> Part:
    ports, pitch, port = rng.randint(2, 6), rng.randint(18, 36), half(rng.uniform(6, 14))
    width, height = rng.randint(24, 60), rng.randint(24, 60)
    gallery = half(min(width, height) * rng.uniform(0.3, 0.5))
    bosses = rng.random() < 0.6
    steps = """
    length = ports * pitch + 10
    result = cq.Workplane("XY").box(length, width, height, centered=(True, True, False)).edges("|X").chamfer(chamfer)
    rows = [(pitch * (k - (ports - 1) / 2), 0) for k in range(ports)]
    """
    values = {
        "ports": ports,
        "pitch": pitch,
        "port_diameter": min(port, pitch * 0.5),
        "width": width,
        "height": height,
        "gallery_diameter": gallery,
        "chamfer": half(rng.uniform(1, 5)),
    }
    if bosses:
        values |= {"boss_diameter": half(min(pitch, width) * 0.8), "boss_height": rng.randint(3, 30)}
        steps += """bosses = cq.Workplane("XY").workplane(offset=height).pushPoints(rows).circle(boss_diameter / 2).extrude(boss_height)
    result = result.union(bosses)
    """
    steps += """drills = cq.Workplane("XY").workplane(offset=height / 2).pushPoints(rows).circle(port_diameter / 2).extrude(height)
    gallery = cq.Workplane("YZ").center(0, height / 2).circle(gallery_diameter / 2).extrude(length, both=True)
    result = result.cut(drills).cut(gallery)
    """
    return Part(
        "Manifold block",
        values,
        steps,
        f"A manifold block with {words.plural(ports, 'port')} at a pitch of {pitch} mm on top of a lengthwise "
        f"gallery of {mm(gallery)} mm diameter{', each port on a round boss' if bosses else ''}.",
        {"ports": ports, "gallery_mm": gallery},
    )


def t_slot_bar(rng: random.Random) -> Part:
    size, length = rng.choice((20, 25, 30, 40, 45)), rng.randint(20, 160)
    slot, core = round(size * rng.uniform(0.14, 0.19), 1), half(size * rng.uniform(0.15, 0.3))
    sides = rng.choice((1, 2, 3, 4, 4))
    steps = """
    result = cq.Workplane("YZ").rect(size, size).extrude(length)
    for k in range(open_sides):
        neck = cq.Workplane("YZ").center(0, size / 2).rect(slot, size * 0.5).extrude(length)
        pocket = cq.Workplane("YZ").center(0, size * 0.31).rect(slot * 1.9, size * 0.16).extrude(length)
        cutter = neck.union(pocket).rotate((0, 0, 0), (1, 0, 0), 90 * k)
        result = result.cut(cutter)
    result = result.cut(cq.Workplane("YZ").circle(core_diameter / 2).extrude(length))
    """
    values = {"size": size, "length": length, "slot": slot, "core_diameter": core, "open_sides": sides}
    ends = rng.random() < 0.4
    if ends:
        values["plate_thickness"] = half(rng.uniform(3, 8))
        steps += """plate = cq.Workplane("YZ").rect(size * 1.25, size * 1.25).extrude(-plate_thickness)
    result = result.union(plate)
    """
    return Part(
        "T-slot profile",
        values,
        steps,
        f"A T-slot profile of {size} × {size} mm, {length} mm long, with slots of {mm(slot)} mm in "
        f"{words.plural(sides, 'side')}{' and an end plate' if ends else ''}.",
        {"open_sides": sides},
    )


def v_block(rng: random.Random) -> Part:
    width, height, length = rng.randint(30, 90), rng.randint(28, 80), rng.randint(25, 110)
    depth = half(min(width * 0.42, height * 0.6) * rng.uniform(0.6, 1))
    grooves = rng.choice((1, 1, 2))
    slot = half(rng.uniform(2, 6))
    steps = """
    result = cq.Workplane("XZ").rect(width, height).extrude(length / 2, both=True)
    for sign in (1, -1)[:grooves]:
        vee = cq.Workplane("XZ").polyline([(-vee_depth, sign * height / 2), (vee_depth, sign * height / 2), (0, sign * (height / 2 - vee_depth))]).close().extrude(length, both=True)
        relief = cq.Workplane("XZ").center(0, sign * (height / 2 - vee_depth)).rect(relief_width, relief_width).extrude(length, both=True)
        result = result.cut(vee).cut(relief)
    side = cq.Workplane("XZ").pushPoints([(-width / 2, 0), (width / 2, 0)]).rect(2 * side_slot, side_slot).extrude(length, both=True)
    result = result.cut(side)
    """
    depth = half(min(depth, height * 0.26 if grooves == 2 else height * 0.42))
    values = {
        "width": width,
        "height": height,
        "length": length,
        "vee_depth": depth,
        "relief_width": half(max(1.5, depth * 0.15)),
        "grooves": grooves,
        "side_slot": half(min(slot, height * 0.12)),
    }
    return Part(
        "V block",
        values,
        steps,
        f"A V block of {width} × {height} × {length} mm with {words.plural(grooves, '90° groove')} {mm(depth)} "
        "mm deep and a slot in each side.",
        {"grooves": grooves},
    )


def dovetail_slide(rng: random.Random) -> Part:
    width, height, length = rng.randint(40, 110), rng.randint(12, 40), rng.randint(30, 150)
    tail, rise, flare = half(width * rng.uniform(0.3, 0.55)), half(rng.uniform(6, 20)), half(rng.uniform(2, 7))
    female = rng.random() < 0.5
    holes = rng.randint(0, 4)
    steps = """
    base = cq.Workplane("YZ").rect(width, height).extrude(length / 2, both=True)
    tail = (
        cq.Workplane("YZ")
        .polyline([(-tail_width / 2, 0), (tail_width / 2, 0), (tail_width / 2 + flare, tail_height), (-tail_width / 2 - flare, tail_height)])
        .close()
        .extrude(length / 2, both=True)
    )
    """
    steps += (
        "result = base.cut(tail.rotate((0, 0, 0), (1, 0, 0), 180).translate((0, 0, height / 2)))\n    "
        if female
        else "result = base.union(tail.translate((0, 0, height / 2)))\n    "
    )
    values = {
        "width": width,
        "height": half(max(height, rise * 1.6)) if female else height,
        "length": length,
        "tail_width": tail,
        "tail_height": rise,
        "flare": flare,
    }
    if holes:
        values |= {"holes": holes, "hole_diameter": half(min(6, (width - tail) * 0.16))}
        steps += """points = [(length * ((k + 1) / (holes + 1) - 0.5), side * (width + tail_width + 2 * flare) / 4) for k in range(holes) for side in (-1, 1)]
    result = result.cut(cq.Workplane("XY").pushPoints(points).circle(hole_diameter / 2).extrude(height, both=True))
    """
    note = f", with {words.plural(2 * holes, 'hole')}" if holes else ""
    return Part(
        "Dovetail slide",
        values,
        steps,
        f"A dovetail {'guide with a groove' if female else 'slide with a raised tail'} of {mm(tail)} mm, "
        f"{length} mm long{note}.",
        {"holes": 2 * holes, "groove": female},
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
    bolts = cq.Workplane("XY").pushPoints([(-outer - foot / 2, 0), (outer + foot / 2, 0)]).circle(bolt_diameter / 2).extrude(base)
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
    screws = cq.Workplane("XZ").pushPoints([(outer + ear / 2, z) for z in heights]).circle(bolt_diameter / 2).extrude(4 * outer, both=True)
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
        steps,
        f"A split clamp ring for a tube of {bore} mm, {width} mm wide, closed by {words.plural(bolts, 'bolt')} "
        f"of {mm(bolt)} mm through its ears.",
        {"bore_mm": bore, "bolts": bolts},
    )


def stairs(rng: random.Random) -> Part:
    steps_count, rise, run, width = rng.randint(3, 9), rng.randint(6, 18), rng.randint(8, 26), rng.randint(20, 90)
    hollow = rng.random() < 0.4
    steps = """
    profile = [(0, 0)]
    for k in range(steps):
        profile += [(k * run, (k + 1) * rise), ((k + 1) * run, (k + 1) * rise)]
    profile.append((steps * run, 0))
    result = cq.Workplane("XZ").polyline(profile).close().extrude(width / 2, both=True)
    """
    values = {"steps": steps_count, "rise": rise, "run": run, "width": width}
    if hollow:
        values["arch_radius"] = half(min(steps_count * run * 0.35, steps_count * rise * 0.5))
        steps += """arch = cq.Workplane("XZ").center(steps * run - arch_radius * 1.2, 0).circle(arch_radius).extrude(width, both=True)
    result = result.cut(arch)
    """
    return Part(
        "Flight of stairs",
        values,
        steps,
        f"A flight of {words.plural(steps_count, 'stair')}, each {rise} mm high and {run} mm deep, {width} mm "
        f"wide{', with an arched opening below' if hollow else ''}.",
        {"stairs": steps_count},
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
        .polyline([(0, thickness / 2), (base * 0.46, thickness / 2), (base * 0.46, thickness), (boss_diameter / 2, thickness + rib_height), (0, thickness + rib_height)])
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


def vise_jaw(rng: random.Random) -> Part:
    width, height, depth, teeth = rng.randint(50, 130), rng.randint(25, 60), rng.randint(12, 40), rng.randint(4, 14)
    bolt = half(rng.uniform(5, 9))
    bite = half(rng.uniform(1.5, 4.5))
    steps = """
    result = cq.Workplane("XY").box(width, depth, height, centered=(True, False, False))
    pitch = %s / teeth
    for k in range(teeth):
        groove = %s
        result = result.cut(groove)
    bolts = cq.Workplane("XZ").pushPoints([(-width * 0.3, height / 2), (width * 0.3, height / 2)]).circle(bolt_diameter / 2).extrude(-2 * depth)
    heads = cq.Workplane("XZ").pushPoints([(-width * 0.3, height / 2), (width * 0.3, height / 2)]).circle(bolt_diameter * 0.9).extrude(-depth * 0.5)
    result = result.cut(bolts).cut(heads)
    """
    upright = rng.random() < 0.5
    groove = (
        'cq.Workplane("XY").polyline([(-width / 2 + k * pitch, 0), (-width / 2 + (k + 1) * pitch, 0), (-width '
        "/ 2 + (k + 0.5) * pitch, bite)]).close().extrude(height)"
        if upright
        else 'cq.Workplane("YZ").polyline([(0, k * pitch), (0, (k + 1) * pitch), (bite, (k + 0.5) * pitch)]).close().extrude(width, both=True)'
    )
    steps = steps % ("width" if upright else "height", groove)
    values = {"width": width, "height": height, "depth": depth, "teeth": teeth, "bite": bite, "bolt_diameter": bolt}
    return Part(
        "Vise jaw",
        values,
        steps,
        f"A vise jaw of {width} × {depth} × {height} mm with {teeth} {'upright' if upright else 'level'} V "
        f"grooves in its face and two counterbored bolt holes of {mm(bolt)} mm.",
        {"grooves": teeth, "bolt_holes": 2},
    )


TEMPLATES = {
    "enclosure": enclosure,
    "divided_tray": divided_tray,
    "heat_sink": heat_sink,
    "manifold": manifold,
    "t_slot_bar": t_slot_bar,
    "v_block": v_block,
    "dovetail_slide": dovetail_slide,
    "pillow_block": pillow_block,
    "split_clamp": split_clamp,
    "stairs": stairs,
    "ribbed_boss": ribbed_boss,
    "vise_jaw": vise_jaw,
}
