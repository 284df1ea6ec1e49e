"""CAD templates: turned parts (flanges, shafts, pulleys, bushings, vessels, bolts)."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm

PLANES = ("XY", "XZ", "YZ")


def flange(rng: random.Random) -> Part:
    outer, thick, bolts = rng.randint(60, 160), half(rng.uniform(6, 22)), rng.choice((3, 4, 5, 6, 8, 10, 12))
    neck = half(outer * rng.uniform(0.35, 0.58))
    bore, height = half(neck * rng.uniform(0.5, 0.8)), rng.randint(8, 90)
    bolt = half(min((outer - neck) / 2 * 0.5, outer * 3.0 / bolts * 0.5, 14))
    plane = rng.choice(PLANES)
    steps = f"""
    result = (
        cq.Workplane("{plane}")
        .circle(outer_diameter / 2)
        .extrude(thickness)
        .faces("{">" + {"XY": "Z", "XZ": "-Y", "YZ": "X"}[plane].strip("-")}").workplane()
        .tag("top")
        .polarArray(bolt_circle / 2, 0, 360, bolts)
        .hole(bolt_diameter)
    )
    """
    steps = f"""
    disc = cq.Workplane("{plane}").circle(outer_diameter / 2).extrude(thickness)
    neck = cq.Workplane("{plane}").circle(neck_diameter / 2).extrude(thickness + neck_height)
    bore = cq.Workplane("{plane}").circle(bore_diameter / 2).extrude(thickness + neck_height)
    holes = (
        cq.Workplane("{plane}")
        .polarArray(bolt_circle / 2, 0, 360, bolts)
        .circle(bolt_diameter / 2)
        .extrude(thickness)
    )
    result = disc.union(neck).cut(bore).cut(holes)
    """
    values = {
        "outer_diameter": outer,
        "thickness": thick,
        "neck_diameter": neck,
        "neck_height": height,
        "bore_diameter": bore,
        "bolts": bolts,
        "bolt_circle": half((outer + neck) / 2),
        "bolt_diameter": bolt,
    }
    return Part(
        "Pipe flange with a neck",
        values,
        steps,
        f"A round flange of {outer} mm diameter with {words.plural(bolts, 'bolt hole')} of {mm(bolt)} mm, a "
        f"neck {height} mm high and a bore of {mm(bore)} mm.",
        {"bolt_holes": bolts, "bore_mm": bore},
    )


def stepped_shaft(rng: random.Random) -> Part:
    sections = rng.randint(3, 6)
    values: dict[str, float | int] = {}
    for k in range(sections):
        values[f"diameter_{k + 1}"] = rng.randint(10, 60)
        values[f"length_{k + 1}"] = rng.randint(10, 60)
    plane = rng.choice(PLANES)
    lines = [f'result = cq.Workplane("{plane}").circle(diameter_1 / 2).extrude(length_1)', "offset = length_1"]
    for k in range(1, sections):
        lines += [
            f'step = cq.Workplane("{plane}").workplane(offset=offset).circle(diameter_{k + 1} / '
            f"2).extrude(length_{k + 1})",
            "result = result.union(step)",
            f"offset += length_{k + 1}",
        ]
    extra = rng.choice(("bore", "cross hole", "none"))
    if extra == "bore":
        values["bore_diameter"] = half(
            min(v for n, v in values.items() if n.startswith("diameter")) * rng.uniform(0.3, 0.6)
        )
        lines.append(f'result = result.cut(cq.Workplane("{plane}").circle(bore_diameter / 2).extrude(offset))')
    elif extra == "cross hole":
        values["pin_diameter"] = half(min(values["diameter_1"] * 0.35, values["length_1"] * 0.5))
        side = {"XY": "XZ", "XZ": "XY", "YZ": "XY"}[plane]
        centre = {"XY": "(0, length_1 / 2)", "XZ": "(0, -length_1 / 2)", "YZ": "(length_1 / 2, 0)"}[plane]
        lines.append(
            f'result = result.cut(cq.Workplane("{side}").center(*{centre}).circle(pin_diameter / '
            "2).extrude(diameter_1, both=True))"
        )
    total = sum(value for name, value in values.items() if name.startswith("length"))
    thickest = max(value for name, value in values.items() if name.startswith("diameter"))
    feature = {"bore": ", with a through bore", "cross hole": ", with a cross hole in the first step", "none": ""}[
        extra
    ]
    return Part(
        "Stepped shaft",
        values,
        "\n".join(lines),
        f"A shaft of {words.number(sections)} steps, {total} mm long in all, its largest diameter {thickest} "
        f"mm{feature}.",
        {"steps": sections, "total_length_mm": total},
    )


def pulley(rng: random.Random) -> Part:
    grooves, outer = rng.randint(1, 4), rng.randint(40, 140)
    bore = rng.randint(8, min(24, outer // 4))
    depth, land = half(rng.uniform(4, min(14, outer * 0.14))), half(rng.uniform(2, 5))
    groove = half(depth * rng.uniform(0.9, 1.5))
    hub, hub_length = half(min(outer * 0.55, bore * rng.uniform(1.6, 2.4))), rng.choice((0, rng.randint(6, 40)))
    steps = """
    r = outer_diameter / 2
    width = grooves * (groove_width + land) + land
    profile = [(bore_diameter / 2, 0), (r, 0)]
    for k in range(grooves):
        z = land + k * (groove_width + land)
        floor = r - groove_depth
        profile += [(r, z), (floor, z + groove_width * 0.3), (floor, z + groove_width * 0.7), (r, z + groove_width)]
    profile += [(r, width), (bore_diameter / 2, width)]
    result = cq.Workplane("XZ").polyline(profile).close().revolve(360, (0, 0, 0), (0, 1, 0))
    """
    values = {
        "outer_diameter": outer,
        "bore_diameter": bore,
        "grooves": grooves,
        "groove_width": groove,
        "groove_depth": depth,
        "land": land,
    }
    if hub_length:
        values |= {"hub_diameter": hub, "hub_length": hub_length}
        steps += """hub = (
        cq.Workplane("XY")
        .workplane(offset=width)
        .circle(hub_diameter / 2)
        .circle(bore_diameter / 2)
        .extrude(hub_length)
    )
    result = result.union(hub)
    """
    note = f", its hub {hub_length} mm long" if hub_length else ""
    return Part(
        "V-belt pulley",
        values,
        steps,
        f"A belt pulley of {outer} mm diameter with {words.plural(grooves, 'V groove')} and a bore of {bore} mm{note}.",
        {"grooves": grooves, "bore_mm": bore},
    )


def bushing(rng: random.Random) -> Part:
    inner, wall, length = rng.randint(8, 60), half(rng.uniform(3, 14)), rng.randint(10, 110)
    collar, collar_height, slots = half(rng.uniform(4, 16)), half(rng.uniform(3, 14)), rng.choice((0, 0, 2, 3, 4, 6))
    plane = rng.choice(PLANES)
    values = {"inner_diameter": inner, "wall": wall, "length": length, "collar": collar, "collar_height": collar_height}
    steps = f"""
    outer = inner_diameter + 2 * wall
    sleeve = cq.Workplane("{plane}").circle(outer / 2).extrude(length)
    collar_ring = cq.Workplane("{plane}").circle(outer / 2 + collar).extrude(collar_height)
    result = sleeve.union(collar_ring).cut(cq.Workplane("{plane}").circle(inner_diameter / 2).extrude(length))
    """
    if slots:
        values |= {
            "slots": slots,
            "slot_width": half(max(2, inner * 0.14)),
            "slot_depth": half(length * rng.uniform(0.3, 0.6)),
        }
        steps += f"""for k in range(slots):
        slot = (
            cq.Workplane("{plane}")
            .workplane(offset=length - slot_depth)
            .transformed(rotate=(0, 0, 360 * k / slots))
            .center(outer / 2, 0)
            .rect(outer, slot_width)
            .extrude(slot_depth + 1)
        )
        result = result.cut(slot)
    """
    note = f" and {words.plural(slots, 'slot')} in its end" if slots else ""
    return Part(
        "Flanged bushing",
        values,
        steps,
        f"A bushing of {length} mm length for a shaft of {inner} mm, with a collar{note}.",
        {"inner_diameter_mm": inner, "slots": slots},
    )


def vase(rng: random.Random) -> Part:
    height, points = rng.randint(60, 160), rng.randint(4, 6)
    radii = [rng.randint(12, 50) for _ in range(points)]
    wall = half(rng.uniform(2, 4))
    steps = """
    outline = [(radius, height * k / (len(radii) - 1)) for k, radius in enumerate(radii)]
    solid = cq.Workplane("XZ").moveTo(0, 0).lineTo(*outline[0]).%s(outline[1:]%s).lineTo(0, height).close()
    result = solid.revolve(360, (0, 0, 0), (0, 1, 0)).faces(">Z").shell(-wall)
    """
    steps = f"""
    radii = {radii}
    outer = [(radius, height * k / {points - 1}) for k, radius in enumerate(radii)]
    inner = [(radius - wall, max(z, 2 * wall)) for radius, z in outer]
    profile = [(0, 0), *outer, *reversed(inner), (0, 2 * wall)]
    result = cq.Workplane("XZ").polyline(profile).close().revolve(360, (0, 0, 0), (0, 1, 0))
    """
    return Part(
        "Turned vessel",
        {"height": height, "wall": wall},
        steps,
        f"A turned vessel {height} mm high with an open top, a foot of {2 * radii[0]} mm and a rim of "
        f"{2 * radii[-1]} mm diameter.",
        {"rim_diameter_mm": 2 * radii[-1], "foot_diameter_mm": 2 * radii[0]},
    )


def hex_bolt(rng: random.Random) -> Part:
    shank, length = rng.randint(6, 24), rng.randint(20, 110)
    head, head_height = half(shank * rng.uniform(1.6, 2.3)), half(shank * rng.uniform(0.5, 1.0))
    sides, washer = rng.choice((4, 6, 6, 8)), rng.random() < 0.5
    plane = rng.choice(PLANES)
    values = {
        "shank_diameter": shank,
        "length": length,
        "head_size": head,
        "head_height": head_height,
        "tip": half(max(0.5, shank * 0.12)),
    }
    steps = f"""
    head = cq.Workplane("{plane}").polygon({sides}, head_size).extrude(head_height)
    shank = cq.Workplane("{plane}").workplane(offset=head_height).circle(shank_diameter / 2).extrude(length - tip)
    point = (
        cq.Workplane("{plane}")
        .workplane(offset=head_height + length - tip)
        .circle(shank_diameter / 2)
        .workplane(offset=tip)
        .circle(shank_diameter / 2 - tip)
        .loft()
    )
    result = head.union(shank).union(point)
    """
    if washer:
        values |= {"washer_diameter": half(head * 1.35), "washer_thickness": half(max(1, shank * 0.18))}
        steps += f"""collar = (
        cq.Workplane("{plane}")
        .workplane(offset=head_height)
        .circle(washer_diameter / 2)
        .extrude(washer_thickness)
    )
    result = result.union(collar)
    """
    nut = rng.random() < 0.5
    if nut:
        values |= {"nut_place": half(length * rng.uniform(0.3, 0.8)), "nut_height": half(shank * rng.uniform(0.5, 0.9))}
        steps += f"""nut = (
        cq.Workplane("{plane}")
        .workplane(offset=head_height + nut_place)
        .polygon({sides}, head_size)
        .extrude(nut_height)
    )
    result = result.union(nut)
    """
    slot = rng.random() < 0.4
    if slot:
        values["slot"] = half(max(1.0, shank * 0.2))
        steps += f"""slot = cq.Workplane("{plane}").rect(2 * head_size, slot).extrude(head_height * 0.4)
    result = result.cut(slot)
    """
    extra = (" and a nut" if nut else "") + (", its head slotted" if slot else "")
    shape = {4: "square", 6: "hexagonal", 8: "octagonal"}[sides]
    return Part(
        "Bolt blank without thread",
        values,
        steps,
        f"A bolt blank with {words.article(shape)} head of {mm(head)} mm across corners, a shank of {shank} mm "
        "and a length "
        f"of {length} mm below the head{', with a collar' if washer else ', without collar'}{extra}.",
        {"shank_mm": shank, "length_mm": length, "head_sides": sides},
    )


TEMPLATES = {
    "flange": flange,
    "stepped_shaft": stepped_shaft,
    "pulley": pulley,
    "bushing": bushing,
    "vase": vase,
    "hex_bolt": hex_bolt,
}
