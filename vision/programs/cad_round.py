"""CAD templates: turned and polar parts (flanges, shafts, pulleys, gears, wheels, knobs, fans)."""

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
    holes = cq.Workplane("{plane}").polarArray(bolt_circle / 2, 0, 360, bolts).circle(bolt_diameter / 2).extrude(thickness)
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
    sections, values, lines, at = rng.randint(3, 6), {}, [], 0.0
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
    del at
    total = sum(v for n, v in values.items() if n.startswith("length"))
    return Part(
        "Stepped shaft",
        values,
        "\n".join(lines),
        f"A shaft of {words.number(sections)} steps, {total} mm long in all, its largest diameter {max(v for n, v in values.items() if n.startswith('diameter'))} mm{'' if extra == 'none' else ', with a through bore' if extra == 'bore' else ', with a cross hole in the first step'}.",
        {"steps": sections, "total_length_mm": total},
    )


def pulley(rng: random.Random) -> Part:
    grooves, outer, bore = rng.randint(1, 4), rng.randint(40, 140), rng.randint(8, 24)
    depth, land = half(rng.uniform(4, min(14, outer * 0.14))), half(rng.uniform(2, 5))
    groove = half(depth * rng.uniform(0.9, 1.5))
    hub, hub_length = half(min(outer * 0.55, bore * rng.uniform(1.6, 2.4))), rng.choice((0, rng.randint(6, 40)))
    steps = """
    r = outer_diameter / 2
    width = grooves * (groove_width + land) + land
    profile = [(bore_diameter / 2, 0), (r, 0)]
    for k in range(grooves):
        z = land + k * (groove_width + land)
        profile += [(r, z), (r - groove_depth, z + groove_width * 0.3), (r - groove_depth, z + groove_width * 0.7), (r, z + groove_width)]
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
        steps += """hub = cq.Workplane("XY").workplane(offset=width).circle(hub_diameter / 2).circle(bore_diameter / 2).extrude(hub_length)
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


def spur_gear(rng: random.Random) -> Part:
    teeth, module, face = rng.randint(10, 36), half(rng.uniform(1.5, 4)), rng.randint(6, 40)
    bore = half(min(teeth * module * 0.3, rng.uniform(5, 24)))
    holes = rng.choice((0, 3, 4, 5, 6)) if teeth * module > 60 else 0
    steps = """
    root = module * (teeth - 2.5) / 2
    tip = module * (teeth + 2) / 2
    step = 2 * math.pi / teeth
    outline = []
    for k in range(teeth):
        for share, radius in ((0.0, root), (0.16, tip), (0.38, tip), (0.54, root)):
            angle = (k + share) * step
            outline.append((radius * math.cos(angle), radius * math.sin(angle)))
    result = cq.Workplane("XY").polyline(outline).close().extrude(face_width).faces(">Z").workplane().hole(bore_diameter)
    """
    values = {"module": module, "teeth": teeth, "face_width": face, "bore_diameter": bore}
    if holes:
        values |= {
            "windows": holes,
            "window_diameter": half(min(teeth * module * 0.22, teeth * module * 1.6 / holes * 0.6)),
        }
        steps += """windows = cq.Workplane("XY").polarArray(root * 0.64, 0, 360, windows).circle(window_diameter / 2).extrude(face_width)
    result = result.cut(windows)
    """
    hub = rng.random() < 0.4
    if hub:
        values |= {"hub_diameter": half(bore * 1.8), "hub_height": rng.randint(4, 22)}
        steps += """hub = cq.Workplane("XY").circle(hub_diameter / 2).circle(bore_diameter / 2).extrude(face_width + hub_height)
    result = result.union(hub)
    """
    note = f", with {words.plural(holes, 'round window')}" if holes else ""
    return Part(
        "Spur gear with straight flanks",
        values,
        steps,
        f"A simple spur gear of module {mm(module)} with {teeth} teeth, {face} mm wide, bored to {mm(bore)} mm{note}.",
        {"teeth": teeth, "module_mm": module, "bore_mm": bore},
    )


def ratchet(rng: random.Random) -> Part:
    teeth, outer, depth, thick = (
        rng.randint(8, 28),
        rng.randint(40, 120),
        half(rng.uniform(4, 9)),
        half(rng.uniform(4, 24)),
    )
    bore = half(outer * rng.uniform(0.15, 0.4))
    square = rng.random() < 0.5
    steps = f"""
    step = 2 * math.pi / teeth
    outline = []
    for k in range(teeth):
        for share, radius in ((0.0, outer_diameter / 2 - tooth_depth), (0.95, outer_diameter / 2)):
            angle = (k + share) * step
            outline.append((radius * math.cos(angle), radius * math.sin(angle)))
    result = cq.Workplane("XY").polyline(outline).close().extrude(thickness)
    result = result.faces(">Z").workplane(){".rect(bore, bore).cutThruAll()" if square else ".hole(bore)"}
    """
    values = {"outer_diameter": outer, "teeth": teeth, "tooth_depth": depth, "thickness": thick, "bore": bore}
    return Part(
        "Ratchet wheel",
        values,
        steps,
        f"A ratchet wheel of {outer} mm diameter with {teeth} saw teeth, {mm(thick)} mm thick, and a "
        f"{'square' if square else 'round'} hole of {mm(bore)} mm.",
        {"teeth": teeth, "square_hole": square},
    )


def spoked_wheel(rng: random.Random) -> Part:
    outer, spokes, width = rng.randint(70, 180), rng.randint(3, 8), rng.randint(8, 40)
    rim, hub = half(rng.uniform(5, 14)), half(outer * rng.uniform(0.16, 0.3))
    bore, spoke = half(hub * rng.uniform(0.35, 0.6)), half(rng.uniform(4, min(14, hub * 0.7)))
    thin = half(width * rng.uniform(0.3, 0.9))
    steps = """
    rim = cq.Workplane("XY").circle(outer_diameter / 2).circle(outer_diameter / 2 - rim_thickness).extrude(width / 2, both=True)
    hub = cq.Workplane("XY").circle(hub_diameter / 2).extrude(width / 2, both=True)
    reach = (outer_diameter - rim_thickness) / 2
    result = rim.union(hub)
    for k in range(spokes):
        spoke = cq.Workplane("XY").box(reach, spoke_width, spoke_thickness, centered=(False, True, True))
        result = result.union(spoke.rotate((0, 0, 0), (0, 0, 1), 360 * k / spokes))
    result = result.cut(cq.Workplane("XY").circle(bore_diameter / 2).extrude(width, both=True))
    """
    values = {
        "outer_diameter": outer,
        "width": width,
        "rim_thickness": rim,
        "hub_diameter": hub,
        "bore_diameter": bore,
        "spokes": spokes,
        "spoke_width": spoke,
        "spoke_thickness": thin,
    }
    return Part(
        "Spoked wheel",
        values,
        steps,
        f"A wheel of {outer} mm diameter and {width} mm width with {words.plural(spokes, 'spoke')} and a bore "
        f"of {mm(bore)} mm.",
        {"spokes": spokes, "bore_mm": bore},
    )


def grip_knob(rng: random.Random) -> Part:
    outer, lobes, height = rng.randint(30, 90), rng.randint(5, 14), rng.randint(10, 50)
    notch = half(min(outer * 2.2 / lobes * 0.7, outer * 0.16))
    bore, stem, stem_height = (
        half(outer * rng.uniform(0.1, 0.22)),
        half(outer * rng.uniform(0.32, 0.5)),
        rng.randint(4, 40),
    )
    steps = """
    body = cq.Workplane("XY").circle(outer_diameter / 2).extrude(height).faces(">Z").edges().chamfer(edge)
    notches = cq.Workplane("XY").polarArray(outer_diameter / 2 + notch_radius * 0.35, 0, 360, lobes).circle(notch_radius).extrude(height)
    stem = cq.Workplane("XY").circle(stem_diameter / 2).extrude(-stem_height)
    bore = cq.Workplane("XY").workplane(offset=-stem_height).circle(bore_diameter / 2).extrude(stem_height + height * 0.5)
    result = body.cut(notches).union(stem).cut(bore)
    """
    values = {
        "outer_diameter": outer,
        "height": height,
        "edge": half(max(1, height * rng.uniform(0.05, 0.25))),
        "lobes": lobes,
        "notch_radius": notch,
        "stem_diameter": stem,
        "stem_height": stem_height,
        "bore_diameter": bore,
    }
    return Part(
        "Grip knob",
        values,
        steps,
        f"A grip knob of {outer} mm diameter and {height} mm height with {words.plural(lobes, 'notch')} around "
        f"it, on a stem with a blind bore of {mm(bore)} mm.",
        {"notches": lobes},
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


def fan(rng: random.Random) -> Part:
    blades, outer, height = rng.randint(3, 11), rng.randint(60, 150), rng.randint(8, 40)
    hub, thick, sweep = half(outer * rng.uniform(0.2, 0.38)), half(rng.uniform(2, 5)), rng.randint(-50, 50)
    plate, bore = half(rng.uniform(2, 6)), half(rng.uniform(5, hub * 0.45))
    steps = """
    disc = cq.Workplane("XY").circle(outer_diameter / 2).extrude(plate)
    hub = cq.Workplane("XY").circle(hub_diameter / 2).extrude(plate + height)
    result = disc.union(hub)
    reach = (outer_diameter - hub_diameter) / 2
    for k in range(blades):
        blade = (
            cq.Workplane("XY", origin=(hub_diameter / 2 - 1, 0, plate / 2))
            .box(reach * 0.96, blade_thickness, height, centered=(False, True, False))
            .rotate((hub_diameter / 2, 0, 0), (hub_diameter / 2, 0, 1), sweep)
            .rotate((0, 0, 0), (0, 0, 1), 360 * k / blades)
        )
        result = result.union(blade)
    result = result.cut(cq.Workplane("XY").circle(bore_diameter / 2).extrude(plate + height))
    """
    values = {
        "outer_diameter": outer,
        "hub_diameter": hub,
        "bore_diameter": bore,
        "plate": plate,
        "height": height,
        "blades": blades,
        "blade_thickness": thick,
        "sweep": sweep,
    }
    return Part(
        "Radial fan wheel",
        values,
        steps,
        f"A radial fan wheel of {outer} mm diameter with {words.plural(blades, 'straight blade')} swept by "
        f"{sweep}°, on a disc {mm(plate)} mm thick.",
        {"blades": blades, "sweep_degrees": sweep},
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


def cam(rng: random.Random) -> Part:
    base, nose, rise, thick = (
        half(rng.uniform(14, 34)),
        half(rng.uniform(5, 12)),
        half(rng.uniform(8, 34)),
        half(rng.uniform(6, 30)),
    )
    bore, key = half(base * rng.uniform(0.5, 0.9)), rng.random() < 0.6
    lobes = rng.choice((1, 1, 2, 3))
    steps = """
    result = cq.Workplane("XY").circle(base_radius).extrude(thickness)
    for k in range(lobes):
        lobe = (
            cq.Workplane("XY")
            .polyline([(0, -base_radius * 0.98), (base_radius + rise - nose_radius, -nose_radius * 0.95), (base_radius + rise - nose_radius, nose_radius * 0.95), (0, base_radius * 0.98)])
            .close()
            .extrude(thickness)
            .union(cq.Workplane("XY").center(base_radius + rise - nose_radius, 0).circle(nose_radius).extrude(thickness))
            .rotate((0, 0, 0), (0, 0, 1), first_angle + 360 * k / lobes)
        )
        result = result.union(lobe)
    result = result.cut(cq.Workplane("XY").circle(bore_diameter / 2).extrude(thickness))
    """
    values = {
        "base_radius": base,
        "rise": rise,
        "nose_radius": nose,
        "thickness": thick,
        "lobes": lobes,
        "first_angle": rng.randrange(0, 360, 15),
        "bore_diameter": bore,
    }
    if key:
        values["key_width"] = half(max(2, bore * 0.25))
        steps += """result = result.cut(cq.Workplane("XY").center(0, bore_diameter / 2).rect(key_width, key_width).extrude(thickness))
    """
    return Part(
        "Plate cam",
        values,
        steps,
        f"A plate cam with {words.plural(lobes, 'lobe')} that rise {mm(rise)} mm above a base circle of radius "
        f"{mm(base)} mm, {mm(thick)} mm thick{', with a keyway in its bore' if key else ''}.",
        {"lobes": lobes, "rise_mm": rise},
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
    point = cq.Workplane("{plane}").workplane(offset=head_height + length - tip).circle(shank_diameter / 2).workplane(offset=tip).circle(shank_diameter / 2 - tip).loft()
    result = head.union(shank).union(point)
    """
    if washer:
        values |= {"washer_diameter": half(head * 1.35), "washer_thickness": half(max(1, shank * 0.18))}
        steps += f"""collar = cq.Workplane("{plane}").workplane(offset=head_height).circle(washer_diameter / 2).extrude(washer_thickness)
    result = result.union(collar)
    """
    shape = {4: "square", 6: "hexagonal", 8: "octagonal"}[sides]
    return Part(
        "Bolt blank without thread",
        values,
        steps,
        f"A bolt blank with {words.article(shape)} head of {mm(head)} mm across corners, a shank of {shank} mm and a length "
        f"of {length} mm below the head{', with a collar' if washer else ''}.",
        {"shank_mm": shank, "length_mm": length, "head_sides": sides},
    )


TEMPLATES = {
    "flange": flange,
    "stepped_shaft": stepped_shaft,
    "pulley": pulley,
    "spur_gear": spur_gear,
    "ratchet": ratchet,
    "spoked_wheel": spoked_wheel,
    "grip_knob": grip_knob,
    "bushing": bushing,
    "fan": fan,
    "vase": vase,
    "cam": cam,
    "hex_bolt": hex_bolt,
}
