"""CAD templates: links, levers, forks and hooks."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm, turned


def hook(rng: random.Random) -> Part:
    wire, reach, drop = half(rng.uniform(4, 14)), rng.randint(16, 50), rng.randint(20, 80)
    plate, height, thick = rng.randint(20, 50), rng.randint(30, 80), half(rng.uniform(3, 8))
    holes = rng.choice((2, 4))
    steps = """
    foot = cq.Workplane("XZ").circle(wire_diameter / 2).extrude(-reach)
    bend = cq.Workplane("XZ", origin=(0, reach, 0)).circle(wire_diameter / 2).revolve(90, (-1, tip, 0), (1, tip, 0))
    nose = cq.Workplane("XY", origin=(0, reach + tip, tip)).circle(wire_diameter / 2).extrude(rise)
    rod = foot.union(bend).union(nose)
    plate = cq.Workplane("XZ").rect(plate_width, plate_height).extrude(plate_thickness)
    spots = [(sx * plate_width * 0.3, sz * plate_height * 0.36) for sx in %s for sz in (-1, 1)]
    screws = cq.Workplane("XZ").pushPoints(spots).circle(screw_diameter / 2).extrude(plate_thickness)
    result = plate.cut(screws).union(rod)
    """ % ("(-1, 1)" if holes == 4 else "(0,)")
    values = {
        "wire_diameter": min(wire, plate * 0.5),
        "reach": reach,
        "tip": half(max(wire * 1.2, drop * 0.4)),
        "rise": rng.randint(4, 30),
        "plate_width": plate,
        "plate_height": height,
        "plate_thickness": thick,
        "screw_diameter": half(rng.uniform(3, 5)),
    }
    return Part(
        "Wall hook",
        values,
        steps,
        f"A wall hook bent from {mm(min(wire, plate * 0.5))} mm rod on a plate of {plate} × {height} mm with "
        f"{words.plural(holes, 'screw hole')}.",
        {"holes": holes},
    )


def link(rng: random.Random) -> Part:
    distance, big, small = rng.randint(50, 160), rng.randint(24, 60), rng.randint(16, 40)
    thick, web = half(rng.uniform(6, 24)), half(rng.uniform(4, 14))
    bores = (half(big * rng.uniform(0.45, 0.7)), half(small * rng.uniform(0.4, 0.65)))
    window = rng.random() < 0.5
    steps = """
    big = cq.Workplane("XY").circle(big_diameter / 2).extrude(thickness / 2, both=True)
    small = cq.Workplane("XY").center(distance, 0).circle(small_diameter / 2).extrude(thickness / 2, both=True)
    web = (
        cq.Workplane("XY")
        .moveTo(0, -big_diameter * 0.38)
        .lineTo(distance, -small_diameter * 0.38)
        .lineTo(distance, small_diameter * 0.38)
        .lineTo(0, big_diameter * 0.38)
        .close()
        .extrude(web_thickness / 2, both=True)
    )
    result = big.union(small).union(web)
    """
    values = {
        "distance": distance,
        "big_diameter": big,
        "small_diameter": small,
        "thickness": thick,
        "web_thickness": half(min(web, thick * 0.8)),
        "big_bore": bores[0],
        "small_bore": bores[1],
    }
    if window and distance > big / 2 + small / 2 + 24:
        values |= {
            "window_length": half((distance - big / 2 - small / 2) * 0.7),
            "window_width": half(min(big, small) * 0.36),
        }
        steps += """middle = (big_diameter / 2 + distance - small_diameter / 2) / 2
    cutter = (
        cq.Workplane("XY")
        .center(middle, 0)
        .slot2D(window_length, window_width)
        .extrude(thickness, both=True)
    )
    result = result.cut(cutter)
    """
    steps += """result = result.cut(cq.Workplane("XY").circle(big_bore / 2).extrude(thickness, both=True))
    result = result.cut(cq.Workplane("XY").center(distance, 0).circle(small_bore / 2).extrude(thickness, both=True))
    """
    return Part(
        "Connecting link",
        values,
        steps + turned(rng),
        f"A connecting link with bores of {mm(bores[0])} and {mm(bores[1])} mm, {distance} mm apart, "
        f"{mm(thick)} mm thick.",
        {"centre_distance_mm": distance},
    )


def lever(rng: random.Random) -> Part:
    arms, hub, thick = rng.choice((2, 2, 3, 4)), rng.randint(20, 44), half(rng.uniform(5, 20))
    eye = rng.randint(12, 24)
    lengths = [rng.randint(35, 100) for _ in range(arms)]
    angles = [0]
    for _ in range(arms - 1):
        angles.append(angles[-1] + rng.randint(60, 300 // arms if arms > 2 else 170))
    steps = f"""
    arms = {list(zip(lengths, angles, strict=True))}
    result = cq.Workplane("XY").circle(hub_diameter / 2).extrude(thickness + hub_extra)
    holes = cq.Workplane("XY").circle(hub_bore / 2).extrude(thickness + hub_extra)
    for length, angle in arms:
        bar = cq.Workplane("XY").box(length, bar_width, thickness, centered=(False, True, False))
        end = cq.Workplane("XY").center(length, 0).circle(eye_diameter / 2).extrude(thickness)
        hole = cq.Workplane("XY").center(length, 0).circle(eye_bore / 2).extrude(thickness)
        result = result.union(bar.union(end).rotate((0, 0, 0), (0, 0, 1), angle))
        holes = holes.union(hole.rotate((0, 0, 0), (0, 0, 1), angle))
    result = result.cut(holes)
    """
    values = {
        "hub_diameter": hub,
        "hub_bore": half(hub * rng.uniform(0.4, 0.6)),
        "hub_extra": rng.randint(0, 20),
        "eye_diameter": eye,
        "eye_bore": half(eye * rng.uniform(0.4, 0.55)),
        "bar_width": half(eye * rng.uniform(0.45, 0.85)),
        "thickness": thick,
    }
    return Part(
        "Lever with arms",
        values,
        steps + turned(rng),
        f"A lever with {words.plural(arms, 'arm')} of {words.join([str(n) for n in lengths])} mm around a hub "
        f"of {hub} mm, {mm(thick)} mm thick.",
        {"arms": arms},
    )


def clevis(rng: random.Random) -> Part:
    width, gap, length = rng.randint(20, 54), rng.randint(8, 26), rng.randint(30, 90)
    gap = min(gap, width - 8)
    pin, stem, stem_length = (
        half(width * rng.uniform(0.25, 0.5)),
        half(width * rng.uniform(0.4, 0.8)),
        rng.randint(10, 80),
    )
    steps = """
    body = cq.Workplane("XY").box(length, width, width, centered=(False, True, True))
    nose = cq.Workplane("XZ").center(length, 0).circle(width / 2).extrude(width / 2, both=True)
    slot = (
        cq.Workplane("XY")
        .box(length + width, gap, 2 * width, centered=(False, True, True))
        .translate((slot_start, 0, 0))
    )
    pin = cq.Workplane("XZ").center(length, 0).circle(pin_diameter / 2).extrude(width, both=True)
    stem = cq.Workplane("YZ").circle(stem_diameter / 2).extrude(-stem_length)
    result = body.union(nose).cut(slot).cut(pin).union(stem)
    """
    values = {
        "width": width,
        "gap": gap,
        "length": length,
        "slot_start": half(length * rng.uniform(0.25, 0.5)),
        "pin_diameter": pin,
        "stem_diameter": stem,
        "stem_length": stem_length,
    }
    hole = rng.random() < 0.5
    if hole:
        values["stem_bore"] = half(stem * 0.45)
        steps += """result = result.cut(cq.Workplane("YZ").circle(stem_bore / 2).extrude(-stem_length))
    """
    return Part(
        "Clevis",
        values,
        steps + turned(rng),
        f"A clevis (fork) {width} mm wide with a gap of {gap} mm for a pin of {mm(pin)} mm, on a stem of "
        f"{mm(stem)} mm diameter and {stem_length} mm length.",
        {"gap_mm": gap, "pin_mm": pin},
    )


def eye_bolt(rng: random.Random) -> Part:
    ring, wire = rng.randint(14, 40), half(rng.uniform(3, 9))
    shank, length = half(wire + rng.uniform(2, 9)), rng.randint(15, 90)
    collar, plane = rng.random() < 0.6, rng.choice(("YZ", "XZ"))
    steps = f"""
    top = length + 2 * ring_radius
    ring = (
        cq.Workplane("{plane}")
        .center(0, top)
        .circle(wire_diameter / 2)
        .revolve(360, (-1, -ring_radius), (1, -ring_radius))
    )
    shank = cq.Workplane("XY").circle(shank_diameter / 2).extrude(length + wire_diameter / 4).faces("<Z").chamfer(tip)
    result = shank.union(ring)
    """
    values = {
        "ring_radius": ring,
        "wire_diameter": wire,
        "shank_diameter": shank,
        "length": length,
        "tip": half(max(0.5, shank * 0.12)),
    }
    if collar:
        values |= {"collar_diameter": half(shank * rng.uniform(1.5, 2.6)), "collar_height": half(rng.uniform(2, 9))}
        steps += """collar = (
        cq.Workplane("XY", origin=(0, 0, length - collar_height))
        .circle(collar_diameter / 2)
        .extrude(collar_height)
    )
    result = result.union(collar)
    """
    return Part(
        "Eye bolt without thread",
        values,
        steps,
        f"An eye bolt with a ring of {2 * ring} mm mean diameter bent from {mm(wire)} mm wire on a shank "
        f"{mm(shank)} mm thick and {length} mm long{', with a collar below the ring' if collar else ''}.",
        {"collar": collar},
    )


TEMPLATES = {
    "hook": hook,
    "link": link,
    "lever": lever,
    "clevis": clevis,
    "eye_bolt": eye_bolt,
}
