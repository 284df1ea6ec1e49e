"""CAD templates: parts with teeth, spokes and blades around an axis."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm, turned


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
    result = (
        cq.Workplane("XY")
        .polyline(outline)
        .close()
        .extrude(face_width)
        .faces(">Z")
        .workplane()
        .hole(bore_diameter)
    )
    """
    values = {"module": module, "teeth": teeth, "face_width": face, "bore_diameter": bore}
    if holes:
        values |= {
            "windows": holes,
            "window_diameter": half(min(teeth * module * 0.22, teeth * module * 1.6 / holes * 0.6)),
        }
        steps += """windows = (
        cq.Workplane("XY")
        .polarArray(root * 0.64, 0, 360, windows)
        .circle(window_diameter / 2)
        .extrude(face_width)
    )
    result = result.cut(windows)
    """
    hub = rng.random() < 0.4
    if hub:
        values |= {"hub_diameter": half(bore * 1.8), "hub_height": rng.randint(4, 22)}
        steps += """hub = (
        cq.Workplane("XY")
        .circle(hub_diameter / 2)
        .circle(bore_diameter / 2)
        .extrude(face_width + hub_height)
    )
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
    rim = (
        cq.Workplane("XY")
        .circle(outer_diameter / 2)
        .circle(outer_diameter / 2 - rim_thickness)
        .extrude(width / 2, both=True)
    )
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
    body = cq.Workplane("XY").circle(outer_diameter / 2).extrude(height)
    cap = cq.Workplane("XY").circle(cap_diameter / 2).extrude(height + cap_height)
    notches = (
        cq.Workplane("XY")
        .polarArray(outer_diameter / 2 + notch_radius * 0.35, 0, 360, lobes)
        .circle(notch_radius)
        .extrude(height)
    )
    stem = cq.Workplane("XY").circle(stem_diameter / 2).extrude(-stem_height)
    bore = (
        cq.Workplane("XY")
        .workplane(offset=-stem_height)
        .circle(bore_diameter / 2)
        .extrude(stem_height + height * 0.5)
    )
    result = body.cut(notches).union(cap).union(stem).cut(bore)
    """
    values = {
        "outer_diameter": outer,
        "height": height,
        "cap_diameter": half((outer - 2 * notch) * rng.uniform(0.5, 0.95)),
        "cap_height": half(rng.uniform(1, 8)),
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
        f"A grip knob of {outer} mm diameter, its body {height} mm high, with a raised cap and "
        f"{words.plural(lobes, 'notch')} around "
        f"it, on a stem with a blind bore of {mm(bore)} mm.",
        {"notches": lobes},
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
    reach = base_radius + rise - nose_radius
    flank, nose = base_radius * 0.98, nose_radius * 0.95
    result = cq.Workplane("XY").circle(base_radius).extrude(thickness)
    for k in range(lobes):
        lobe = (
            cq.Workplane("XY")
            .polyline([(0, -flank), (reach, -nose), (reach, nose), (0, flank)])
            .close()
            .extrude(thickness)
            .union(cq.Workplane("XY").center(reach, 0).circle(nose_radius).extrude(thickness))
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
        steps += """cutter = (
        cq.Workplane("XY")
        .center(0, bore_diameter / 2)
        .rect(key_width, key_width)
        .extrude(thickness)
    )
    result = result.cut(cutter)
    """
    return Part(
        "Plate cam",
        values,
        steps + turned(rng),
        f"A plate cam with {words.plural(lobes, 'lobe')} that rise {mm(rise)} mm above a base circle of radius "
        f"{mm(base)} mm, {mm(thick)} mm thick{', with a keyway in its bore' if key else ''}.",
        {"lobes": lobes, "rise_mm": rise},
    )


TEMPLATES = {
    "spur_gear": spur_gear,
    "ratchet": ratchet,
    "spoked_wheel": spoked_wheel,
    "grip_knob": grip_knob,
    "fan": fan,
    "cam": cam,
}
