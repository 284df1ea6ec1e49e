"""CAD templates: blocks and bars (heat sinks, manifolds, profiles, slides, stairs, jaws)."""

from __future__ import annotations

import math
import random

from . import words
from .cad import Part, half, mm, turned


def heat_sink(rng: random.Random) -> Part:
    fins, fin, gap = rng.randint(4, 14), half(rng.uniform(1.5, 4)), half(rng.uniform(3, 7))
    height, base, length = rng.randint(10, 60), half(rng.uniform(3, 14)), rng.randint(30, 120)
    cross = rng.random() < 0.4
    steps = """
    width = fins * (fin + gap) - gap
    result = cq.Workplane("XY").box(length, width, base, centered=(True, False, False))
    for k in range(fins):
        rib = (
            cq.Workplane("XY")
            .box(length, fin, base + height, centered=(True, False, False))
            .translate((0, k * (fin + gap), 0))
        )
        result = result.union(rib)
    """
    values = {"fins": fins, "fin": fin, "gap": gap, "height": height, "base": base, "length": length}
    if cross:
        values |= {"cuts": rng.randint(1, 4), "cut_width": half(rng.uniform(3, 6))}
        steps += """for k in range(cuts):
        x = length * ((k + 1) / (cuts + 1) - 0.5)
        channel = (
            cq.Workplane("XY")
            .box(cut_width, width, height, centered=(True, False, False))
            .translate((x, 0, base))
        )
        result = result.cut(channel)
    """
    return Part(
        "Heat sink",
        values,
        steps + turned(rng),
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
        "gallery_size": gallery,
        "chamfer": half(rng.uniform(1, 5)),
    }
    if bosses:
        values |= {"boss_diameter": half(min(pitch, width) * 0.8), "boss_height": rng.randint(3, 30)}
        steps += """bosses = (
        cq.Workplane("XY")
        .workplane(offset=height)
        .pushPoints(rows)
        .circle(boss_diameter / 2)
        .extrude(boss_height)
    )
    result = result.union(bosses)
    """
    steps += """drills = (
        cq.Workplane("XY")
        .workplane(offset=height / 2)
        .pushPoints(rows)
        .circle(port_diameter / 2)
        .extrude(height)
    )
    gallery = cq.Workplane("YZ").center(0, height / 2).rect(gallery_size, gallery_size).extrude(length, both=True)
    result = result.cut(drills).cut(gallery)
    """
    return Part(
        "Manifold block",
        values,
        steps,
        f"A manifold block with {words.plural(ports, 'port')} at a pitch of {pitch} mm on top of a lengthwise "
        f"square gallery of {mm(gallery)} mm{', each port on a round boss' if bosses else ''}.",
        {"ports": ports, "gallery_mm": gallery},
    )


def t_slot_bar(rng: random.Random) -> Part:
    size, length = rng.randint(16, 60), rng.randint(20, 160)
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
    ends = rng.random() < 0.6
    if ends:
        values |= {"plate_size": half(size * rng.uniform(1.1, 1.9)), "plate_thickness": half(rng.uniform(3, 16))}
        steps += """plate = cq.Workplane("YZ").rect(plate_size, plate_size).extrude(-plate_thickness)
    result = result.union(plate)
    """
    return Part(
        "T-slot profile",
        values,
        steps + turned(rng),
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
        face = sign * height / 2
        root = sign * (height / 2 - vee_depth)
        vee = (
            cq.Workplane("XZ")
            .polyline([(-vee_depth, face), (vee_depth, face), (0, root)])
            .close()
            .extrude(length, both=True)
        )
        relief = (
            cq.Workplane("XZ")
            .center(0, root)
            .rect(relief_width, relief_width)
            .extrude(length, both=True)
        )
        result = result.cut(vee).cut(relief)
    side = (
        cq.Workplane("XZ")
        .pushPoints([(-width / 2, 0), (width / 2, 0)])
        .rect(2 * side_slot, side_slot)
        .extrude(length, both=True)
    )
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
        steps + turned(rng),
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
    foot = tail_width / 2
    base = cq.Workplane("YZ").rect(width, height).extrude(length / 2, both=True)
    tail = (
        cq.Workplane("YZ")
        .polyline([(-foot, 0), (foot, 0), (foot + flare, tail_height), (-foot - flare, tail_height)])
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
        steps += """row = (width + tail_width + 2 * flare) / 4
    points = [(length * ((k + 1) / (holes + 1) - 0.5), y) for k in range(holes) for y in (-row, row)]
    result = result.cut(cq.Workplane("XY").pushPoints(points).circle(hole_diameter / 2).extrude(height, both=True))
    """
    note = f", with {words.plural(2 * holes, 'hole')}" if holes else ""
    return Part(
        "Dovetail slide",
        values,
        steps + turned(rng),
        f"A dovetail {'guide with a groove' if female else 'slide with a raised tail'} of {mm(tail)} mm, "
        f"{length} mm long{note}.",
        {"holes": 2 * holes, "groove": female},
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
    values: dict[str, float | int] = {"steps": steps_count, "rise": rise, "run": run, "width": width}
    if hollow:
        slope, reach = rise / math.hypot(rise, run), steps_count * run
        clear = 0.8 * reach * slope / (1 + 0.96 * slope)  # keeps the arch below the line through the inner corners
        values["arch_radius"] = half(min(reach * 0.35, steps_count * rise * 0.5, clear))
        steps += """arch = (
        cq.Workplane("XZ")
        .center(steps * run - arch_radius * 1.2, 0)
        .circle(arch_radius)
        .extrude(width, both=True)
    )
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
    bolts = (
        cq.Workplane("XZ")
        .pushPoints([(-width * 0.3, height / 2), (width * 0.3, height / 2)])
        .circle(bolt_diameter / 2)
        .extrude(-2 * depth)
    )
    heads = (
        cq.Workplane("XZ")
        .pushPoints([(-width * 0.3, height / 2), (width * 0.3, height / 2)])
        .circle(bolt_diameter * 0.9)
        .extrude(-depth * 0.5)
    )
    result = result.cut(bolts).cut(heads)
    """
    upright = rng.random() < 0.5
    groove = (
        'cq.Workplane("XY").polyline([(-width / 2 + k * pitch, 0), (-width / 2 + (k + 1) * pitch, 0), (-width '
        "/ 2 + (k + 0.5) * pitch, bite)]).close().extrude(height)"
        if upright
        else 'cq.Workplane("YZ").polyline([(0, k * pitch), (0, (k + 1) * pitch), (bite, (k + 0.5) * pitch)]).close()'
        ".extrude(width, both=True)"
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
    "heat_sink": heat_sink,
    "manifold": manifold,
    "t_slot_bar": t_slot_bar,
    "v_block": v_block,
    "dovetail_slide": dovetail_slide,
    "stairs": stairs,
    "vise_jaw": vise_jaw,
}
