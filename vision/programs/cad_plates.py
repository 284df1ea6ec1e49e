"""CAD templates: plates, panels and other flat parts."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm, turned


def hole_plate(rng: random.Random) -> Part:
    length, width = rng.randint(50, 160), rng.randint(35, 110)
    thick, columns, rows = half(rng.uniform(3, 24)), rng.randint(2, 5), rng.randint(1, 4)
    inset = rng.randint(8, 14)
    hole = half(min(rng.uniform(3, 12), (length - 2 * inset) / (columns - 1) * 0.6, (width - 2 * inset) / rows * 0.6))
    corner = half(rng.uniform(1, min(inset, width / 4)))
    bore = half(rng.uniform(6, min(length, width) * 0.3)) if rows == 2 and columns in (2, 4) else 0
    steps = """
    result = (
        cq.Workplane("XY")
        .box(length, width, thickness)
        .edges("|Z").fillet(corner_radius)
        .faces(">Z").workplane()
        .rarray((length - 2 * inset) / (columns - 1), pitch_y, columns, rows)
        .hole(hole_diameter)
    )
    """
    steps += 'result = result.faces(">Z").workplane().hole(bore_diameter)\n    ' if bore else ""
    pitch = half((width - 2 * inset) / (rows - 1)) if rows > 1 else 1.0
    values = {
        "length": length,
        "width": width,
        "thickness": thick,
        "corner_radius": corner,
        "inset": inset,
        "columns": columns,
        "rows": rows,
        "pitch_y": pitch,
        "hole_diameter": hole,
    }
    if bore:
        values["bore_diameter"] = bore
    holes = columns * rows + bool(bore)
    caption = (
        f"A flat plate of {length} × {width} × {mm(thick)} mm with rounded corners and "
        f"{words.plural(columns * rows, 'hole')} of {mm(hole)} mm in a {columns} by {rows} grid"
        + (f", around a bore of {mm(bore)} mm." if bore else ".")
    )
    return Part("Plate with a grid of holes", values, steps, caption, {"holes": holes, "hole_diameter_mm": hole})


def slotted_plate(rng: random.Random) -> Part:
    slots, slot_width = rng.randint(1, 5), half(rng.uniform(5, 12))
    width, thick = rng.randint(40, 110), half(rng.uniform(3, 16))
    pitch = half(slot_width * rng.uniform(1.8, 3))
    slot_length = half(rng.uniform(slot_width * 1.6, max(slot_width * 1.8, width - 16)))
    tilt = rng.choice((0, 0, 15, 30, -30)) if slot_length < width * 0.6 else 0
    length = half(slots * pitch + abs(tilt) / 45 * slot_length + rng.randint(10, 60))
    chamfer = half(rng.uniform(1, min(thick * 0.4, 3)))
    edge = rng.choice((">X or <X", ">Y or <Y"))
    steps = f"""
    result = (
        cq.Workplane("XY")
        .box(length, width, thickness)
        .faces(">Z").workplane()
        .rarray(pitch, 1, slots, 1)
        .slot2D(slot_length, slot_width, 90 + slot_angle)
        .cutThruAll()
        .faces(">Z").edges("{edge}").chamfer(chamfer)
    )
    """
    values = {
        "length": length,
        "width": width,
        "thickness": thick,
        "slots": slots,
        "pitch": pitch,
        "slot_length": slot_length,
        "slot_width": slot_width,
        "slot_angle": tilt,
        "chamfer": chamfer,
    }
    return Part(
        "Adjusting plate with slots",
        values,
        steps,
        f"A plate of {mm(length)} × {width} × {mm(thick)} mm with {words.plural(slots, 'slot')}, each "
        f"{mm(slot_length)} mm long and {mm(slot_width)} mm wide.",
        {"slots": slots},
    )


def hinge_leaf(rng: random.Random) -> Part:
    length, depth, thick, knuckles = (
        rng.randint(50, 140),
        rng.randint(25, 70),
        half(rng.uniform(2, 5)),
        rng.randint(2, 4),
    )
    pin = half(rng.uniform(3, 7))
    barrel = half(pin + rng.uniform(3, 6))
    holes, hole = rng.randint(2, 4), half(rng.uniform(3, 5.5))
    steps = """
    pitch = length / (2 * knuckles - 1)
    leaf = (
        cq.Workplane("XY")
        .box(length, depth, thickness, centered=(False, False, False))
        .translate((0, barrel_diameter / 2, 0))
    )
    result = leaf
    for k in range(knuckles):
        x = 2 * k * pitch
        barrel = cq.Workplane("YZ", origin=(x, 0, barrel_diameter / 2)).circle(barrel_diameter / 2).extrude(pitch)
        tongue = cq.Workplane("XY").box(pitch, barrel_diameter / 2 + 1, thickness, centered=False).translate((x, 0, 0))
        result = result.union(tongue).union(barrel)
    bore = cq.Workplane("YZ", origin=(0, 0, barrel_diameter / 2)).circle(pin_diameter / 2).extrude(length)
    screws = (
        cq.Workplane("XY")
        .pushPoints([(length * (k + 0.5) / holes, barrel_diameter / 2 + depth * 0.55) for k in range(holes)])
        .circle(hole_diameter / 2)
        .extrude(thickness)
    )
    result = result.cut(bore).cut(screws)
    """
    values = {
        "length": length,
        "depth": depth,
        "thickness": thick,
        "knuckles": knuckles,
        "barrel_diameter": barrel,
        "pin_diameter": pin,
        "holes": holes,
        "hole_diameter": hole,
    }
    return Part(
        "Hinge leaf",
        values,
        steps + turned(rng),
        f"A hinge leaf {length} mm long with {words.plural(knuckles, 'knuckle')} for a pin of {mm(pin)} mm and "
        f"{words.plural(holes, 'screw hole')} of {mm(hole)} mm.",
        {"knuckles": knuckles, "holes": holes},
    )


def perforated_panel(rng: random.Random) -> Part:
    columns, rows, pitch = rng.randint(3, 7), rng.randint(2, 5), half(rng.uniform(9, 18))
    thick, shape = half(rng.uniform(2, 8)), rng.choice(("circle", "square", "hexagon"))
    size = half(pitch * rng.uniform(0.45, 0.68))
    cut = {
        "circle": ".circle(hole_size / 2)",
        "square": ".rect(hole_size, hole_size)",
        "hexagon": ".polygon(6, hole_size)",
    }[shape]
    rim = rng.randint(4, 14)
    raised = rng.random() < 0.5
    steps = f"""
    length = columns * pitch + 2 * rim
    width = rows * pitch + 2 * rim
    result = (
        cq.Workplane("XY")
        .box(length, width, thickness)
        .faces(">Z").workplane()
        .rarray(pitch, pitch, columns, rows)
        {cut}
        .cutThruAll()
    )
    """
    values = {"columns": columns, "rows": rows, "pitch": pitch, "hole_size": size, "rim": rim, "thickness": thick}
    if raised:
        values["frame_height"] = half(rng.uniform(3, 18))
        steps += """frame = (
        cq.Workplane("XY", origin=(0, 0, thickness / 2))
        .rect(length, width)
        .rect(length - rim, width - rim)
        .extrude(frame_height)
    )
    result = result.union(frame)
    """
    return Part(
        "Perforated panel",
        values,
        steps,
        f"A perforated panel, {mm(thick)} mm thick, with {columns} × {rows} = {columns * rows} {shape} holes "
        f"at a pitch of {mm(pitch)} mm{' and a raised frame' if raised else ''}.",
        {"holes": columns * rows, "hole_shape": shape},
    )


def comb(rng: random.Random) -> Part:
    teeth, tooth, gap = rng.randint(4, 10), half(rng.uniform(3, 8)), half(rng.uniform(3, 8))
    reach, back, thick, taper = (
        rng.randint(15, 60),
        rng.randint(10, 35),
        half(rng.uniform(4, 20)),
        rng.choice((0, 1, 2)),
    )
    steps = """
    pitch = tooth + gap
    length = teeth * pitch - gap
    points = [(0, 0), (length, 0)]
    for k in reversed(range(teeth)):
        right = k * pitch + tooth
        left = k * pitch
        points += [(right, back), (right - taper / 2, back + reach), (left + taper / 2, back + reach), (left, back)]
    result = cq.Workplane("XY").polyline(points).close().extrude(thickness)
    """
    values = {
        "teeth": teeth,
        "tooth": tooth,
        "gap": gap,
        "reach": reach,
        "back": back,
        "taper": taper,
        "thickness": thick,
    }
    return Part(
        "Comb",
        values,
        steps,
        f"A comb with {words.plural(teeth, 'tooth', 'teeth')}, each {mm(tooth)} mm wide and "
        f"{reach} mm long, {mm(thick)} mm thick.",
        {"teeth": teeth},
    )


TEMPLATES = {
    "hole_plate": hole_plate,
    "slotted_plate": slotted_plate,
    "hinge_leaf": hinge_leaf,
    "perforated_panel": perforated_panel,
    "comb": comb,
}
