"""CAD templates: lofts, sweeps, links and free forms (ducts, elbows, hooks, levers, forks, beams, springs)."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm


def duct_adapter(rng: random.Random) -> Part:
    length, width, diameter = rng.randint(30, 100), rng.randint(25, 80), rng.randint(20, 80)
    height, wall, shift = rng.randint(25, 110), half(rng.uniform(1.5, 3)), rng.randint(-25, 25)
    collar = rng.choice((0, rng.randint(5, 30)))
    steps = """
    def tube(inset):
        return (
            cq.Workplane("XY")
            .rect(length - 2 * inset, width - 2 * inset)
            .workplane(offset=height)
            .center(shift, 0)
            .circle(diameter / 2 - inset)
            .loft(combine=True)
        )

    result = tube(0).cut(tube(wall))
    """
    values = {"length": length, "width": width, "diameter": diameter, "height": height, "shift": shift, "wall": wall}
    if collar:
        values["collar"] = collar
        steps += """pipe = cq.Workplane("XY", origin=(shift, 0, height)).circle(diameter / 2).circle(diameter / 2 - wall).extrude(collar)
    result = result.union(pipe)
    """
    note = f", ending in a collar of {collar} mm" if collar else ""
    return Part(
        "Duct adapter",
        values,
        steps,
        f"A hollow adapter that lofts from a rectangle of {length} × {width} mm to a circle of {diameter} mm "
        f"over {height} mm{note}.",
        {"collar": bool(collar)},
    )


def pipe_elbow(rng: random.Random) -> Part:
    outer, wall, bend = rng.randint(14, 44), half(rng.uniform(2, 4.5)), rng.randint(30, 90)
    angle, flange, thick = (
        rng.choice((30, 45, 60, 90, 120, 150)),
        rng.choice((0, rng.randint(6, 20))),
        half(rng.uniform(3, 9)),
    )
    bend = max(bend, outer + 4)
    straight = rng.randint(0, 50)
    steps = """
    pipe = cq.Workplane("XY").center(bend_radius, 0).circle(outer_diameter / 2).circle(outer_diameter / 2 - wall).revolve(angle, (-bend_radius, 0, 0), (-bend_radius, 1, 0))
    result = pipe
    """
    values = {"outer_diameter": outer, "wall": wall, "bend_radius": bend, "angle": angle}
    if straight > 8:
        values["straight"] = straight
        steps += (
            """leg = cq.Workplane("XY").center(bend_radius, 0).circle(outer_diameter / 2).circle(outer_diameter / 2 - wall).extrude(%sstraight)
    result = result.union(leg)
    """
            % "LEG"
        )
    if flange:
        values |= {"flange": flange, "flange_thickness": thick}
        place = "straight" if straight > 8 else "0"
        steps += f"""rim = cq.Workplane("XY", origin=(bend_radius, 0, LEG{place})).circle(outer_diameter / 2 + flange).circle(outer_diameter / 2 - wall).extrude(LEGflange_thickness)
    result = result.union(rim)
    """
    return Part(
        "Pipe elbow",
        values,
        steps.replace("LEG0", "0").replace("LEG", ""),
        f"A pipe elbow of {outer} mm outside diameter that turns {angle}° with a bend radius of {bend} "
        f"mm{', with a straight leg' if straight > 8 else ''}{' and a flange' if flange else ''}.",
        {"angle_degrees": angle, "flanged": bool(flange)},
    )


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
        .polyline([(0, -big_diameter * 0.38), (distance, -small_diameter * 0.38), (distance, small_diameter * 0.38), (0, big_diameter * 0.38)])
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
    result = result.cut(cq.Workplane("XY").center(middle, 0).slot2D(window_length, window_width).extrude(thickness, both=True))
    """
    steps += """result = result.cut(cq.Workplane("XY").circle(big_bore / 2).extrude(thickness, both=True))
    result = result.cut(cq.Workplane("XY").center(distance, 0).circle(small_bore / 2).extrude(thickness, both=True))
    """
    return Part(
        "Connecting link",
        values,
        steps,
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
        steps,
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
    slot = cq.Workplane("XY").box(length + width, gap, 2 * width, centered=(False, True, True)).translate((slot_start, 0, 0))
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
        steps,
        f"A clevis (fork) {width} mm wide with a gap of {gap} mm for a pin of {mm(pin)} mm, on a stem of "
        f"{mm(stem)} mm diameter and {stem_length} mm length.",
        {"gap_mm": gap, "pin_mm": pin},
    )


def beam(rng: random.Random) -> Part:
    kind, height, width, length = (
        rng.choice(("I", "C", "T", "box", "L")),
        rng.randint(24, 90),
        rng.randint(20, 70),
        rng.randint(40, 220),
    )
    web, flange = half(rng.uniform(2.5, 7)), half(rng.uniform(3, 8))
    profiles = {
        "I": "[(-b, -h), (b, -h), (b, -h + f), (t, -h + f), (t, h - f), (b, h - f), (b, h), (-b, h), (-b, h - f), (-t, h - f), (-t, -h + f), (-b, -h + f)]",
        "C": "[(-b, -h), (b, -h), (b, -h + f), (-b + 2 * t, -h + f), (-b + 2 * t, h - f), (b, h - f), (b, h), (-b, h)]",
        "T": "[(-t, -h), (t, -h), (t, h - f), (b, h - f), (b, h), (-b, h), (-b, h - f), (-t, h - f)]",
        "L": "[(-b, -h), (b, -h), (b, -h + f), (-b + 2 * t, -h + f), (-b + 2 * t, h), (-b, h)]",
        "box": "[(-b, -h), (b, -h), (b, h), (-b, h)]",
    }
    steps = f"""
    b, h, t, f = width / 2, height / 2, web / 2, flange
    profile = {profiles[kind]}
    result = cq.Workplane("YZ").polyline(profile).close().extrude(length)
    """
    if kind == "box":
        steps += (
            'result = result.cut(cq.Workplane("YZ").rect(width - 2 * web, height - 2 * flange).extrude(length))\n    '
        )
    holes = rng.randint(0, 5)
    values = {"height": height, "width": width, "length": length, "web": web, "flange": flange}
    if holes:
        values |= {"holes": holes, "hole_diameter": half(min(height * 0.35, length / holes * 0.5))}
        steps += """spots = [(length * (k + 0.5) / holes, 0) for k in range(holes)]
    result = result.cut(cq.Workplane("XZ").pushPoints(spots).circle(hole_diameter / 2).extrude(width, both=True))
    """
    note = f", its web cut by {words.plural(holes, 'round hole')}" if holes else ""
    return Part(
        f"{kind} beam",
        values,
        steps,
        f"A{'n' if kind in 'IL' else ''} {kind} beam {height} mm high, {width} mm wide and {length} mm long{note}.",
        {"profile": kind, "holes": holes},
    )


def corrugated_sheet(rng: random.Random) -> Part:
    waves, pitch, depth, thick, width = (
        rng.randint(3, 9),
        rng.randint(12, 30),
        rng.randint(5, 22),
        half(rng.uniform(1.5, 4)),
        rng.randint(30, 130),
    )
    flat = half(pitch * rng.uniform(0.15, 0.4))
    steps = """
    top = []
    for k in range(waves):
        x = k * pitch
        top += [(x, 0), (x + flat, 0), (x + pitch / 2, depth), (x + pitch / 2 + flat, depth)]
    top.append((waves * pitch, 0))
    bottom = [(x, z - thickness) for x, z in reversed(top)]
    result = cq.Workplane("XZ").polyline([*top, *bottom]).close().extrude(width)
    """
    values = {
        "waves": waves,
        "pitch": pitch,
        "depth": depth,
        "flat": half(min(flat, pitch * 0.4)),
        "thickness": thick,
        "width": width,
    }
    return Part(
        "Corrugated sheet",
        values,
        steps,
        f"A corrugated sheet of {words.plural(waves, 'wave')} with a pitch of {pitch} mm and a depth of "
        f"{depth} mm, {mm(thick)} mm thick and {width} mm wide.",
        {"waves": waves},
    )


def eye_bolt(rng: random.Random) -> Part:
    ring, wire = rng.randint(14, 40), half(rng.uniform(3, 9))
    shank, length = half(rng.uniform(6, 16)), rng.randint(15, 90)
    collar, turn = rng.random() < 0.6, rng.choice((0, 30, 45, 60, 90))
    steps = """
    ring = cq.Workplane(obj=cq.Solid.makeTorus(ring_radius, wire_diameter / 2, cq.Vector(0, 0, 0), cq.Vector(0, 1, 0)))
    ring = ring.translate((0, 0, length + ring_radius)).rotate((0, 0, 0), (0, 0, 1), turn)
    shank = cq.Workplane("XY").circle(shank_diameter / 2).extrude(length + wire_diameter / 4).faces("<Z").chamfer(tip)
    result = shank.union(ring)
    """
    values = {"ring_radius": ring, "wire_diameter": wire, "shank_diameter": shank, "length": length, "tip": half(max(0.5, shank * 0.12)), "turn": turn}
    if collar:
        values |= {"collar_diameter": half(shank * rng.uniform(1.5, 2.6)), "collar_height": half(rng.uniform(2, 9))}
        steps += """collar = cq.Workplane("XY", origin=(0, 0, length - collar_height)).circle(collar_diameter / 2).extrude(collar_height)
    result = result.union(collar)
    """
    return Part("Eye bolt without thread", values, steps, f"An eye bolt with a ring of {2 * ring} mm mean diameter bent from {mm(wire)} mm wire on a shank {mm(shank)} mm thick and {length} mm long{', with a collar below the ring' if collar else ''}.", {"collar": collar})


def chess_piece(rng: random.Random) -> Part:
    base, height = rng.randint(18, 34), rng.randint(40, 110)
    rings, top = rng.randint(1, 3), rng.choice(("ball", "crown", "cone"))
    neck = half(base * rng.uniform(0.25, 0.4))
    steps = """
    outline = [(0, 0), (base_radius, 0), (base_radius, height * 0.08), (base_radius * 0.7, height * 0.14)]
    for k in range(rings):
        z = height * (0.16 + 0.06 * k)
        outline += [(base_radius * 0.7, z), (base_radius * 0.86, z + height * 0.02), (base_radius * 0.62, z + height * 0.045)]
    outline += [(neck_radius, height * 0.6), (neck_radius * 1.9, height * 0.66), (neck_radius, height * 0.7)]
    """
    ends = {
        "ball": """outline += [(0, height * 0.7)]
    result = cq.Workplane("XZ").polyline(outline).close().revolve(360, (0, 0, 0), (0, 1, 0))
    head = cq.Workplane("XY").sphere(head_radius).translate((0, 0, height * 0.7 + head_radius * 0.7))
    result = result.union(head)
    """,
        "cone": """outline += [(head_radius, height * 0.78), (0, height)]
    result = cq.Workplane("XZ").polyline(outline).close().revolve(360, (0, 0, 0), (0, 1, 0))
    """,
        "crown": """outline += [(head_radius, height), (0, height)]
    result = cq.Workplane("XZ").polyline(outline).close().revolve(360, (0, 0, 0), (0, 1, 0))
    for k in range(points):
        notch = cq.Workplane("XY").box(4 * head_radius, head_radius * 0.3, height * 0.12, centered=(False, True, True)).translate((0, 0, height))
        result = result.cut(notch.rotate((0, 0, 0), (0, 0, 1), 360 * k / points))
    """,
    }
    values = {
        "base_radius": base,
        "height": height,
        "neck_radius": neck,
        "head_radius": half(neck * rng.uniform(1.5, 2.4)),
        "rings": rings,
    }
    if top == "crown":
        values["points"] = rng.randint(3, 6)
    return Part(
        "Turned game piece",
        values,
        steps + ends[top],
        f"A turned game piece on a base of {2 * base} mm diameter with {words.plural(rings, 'ring')} around "
        f"its foot and a {top} on top.",
        {"rings": rings, "top": top},
    )


def funnel(rng: random.Random) -> Part:
    mouth, neck = rng.randint(40, 110), rng.randint(8, 24)
    cone, stem, wall = rng.randint(20, 90), rng.randint(10, 70), half(rng.uniform(1.5, 3.5))
    rim, tab = rng.randint(2, 12), rng.random() < 0.5
    steps = """
    outer = [(neck_diameter / 2, 0), (neck_diameter / 2, stem), (mouth_diameter / 2, stem + cone), (mouth_diameter / 2, stem + cone + rim)]
    inner = [(r - wall, z) for r, z in reversed(outer)]
    result = cq.Workplane("XZ").polyline([*outer, *inner]).close().revolve(360, (0, 0, 0), (0, 1, 0))
    """
    values = {"mouth_diameter": mouth, "neck_diameter": neck, "cone": cone, "stem": stem, "rim": rim, "wall": wall}
    if tab:
        values |= {"tab_length": rng.randint(10, 34), "tab_hole": half(rng.uniform(3, 7))}
        steps += """tab = cq.Workplane("XY", origin=(mouth_diameter / 2 - wall / 2, 0, stem + cone + rim - 2 * wall)).box(tab_length, 2.2 * tab_hole, 2 * wall, centered=(False, True, False))
    hole = cq.Workplane("XY", origin=(mouth_diameter / 2 + tab_length * 0.55, 0, 0)).circle(tab_hole / 2).extrude(2 * (stem + cone))
    result = result.union(tab).cut(hole)
    """
    return Part(
        "Funnel",
        values,
        steps,
        f"A funnel with a mouth of {mouth} mm and a neck of {neck} mm, its wall {mm(wall)} mm "
        f"thick{', with a tab to hang it by' if tab else ''}.",
        {"mouth_mm": mouth, "neck_mm": neck},
    )


def twisted_column(rng: random.Random) -> Part:
    sides, diameter, height, twist = rng.randint(3, 8), rng.randint(24, 80), rng.randint(40, 150), rng.randint(15, 170)
    cap, bore = half(rng.uniform(3, 14)), rng.random() < 0.5
    steps = """
    column = cq.Workplane("XY").polygon(sides, diameter).twistExtrude(height, twist)
    foot = cq.Workplane("XY").%s.extrude(-cap)
    head = cq.Workplane("XY", origin=(0, 0, height)).%s.extrude(cap)
    result = column.union(foot).union(head)
    """ % (
        2
        * (rng.choice(("circle(diameter * 0.6)", "rect(diameter * 1.15, diameter * 1.15)", "circle(diameter * 0.52)")),)
    )
    values = {"sides": sides, "diameter": diameter, "height": height, "twist": twist, "cap": cap}
    if bore:
        values["bore_diameter"] = half(diameter * rng.uniform(0.15, 0.32))
        steps += """result = result.cut(cq.Workplane("XY").circle(bore_diameter / 2).extrude(2 * height, both=True))
    """
    return Part(
        "Twisted column",
        values,
        steps,
        f"A column of {words.number(sides)} sides that twists by {twist}° over {height} mm between two "
        f"caps{', bored through' if bore else ''}.",
        {"sides": sides, "twist_degrees": twist},
    )


TEMPLATES = {
    "duct_adapter": duct_adapter,
    "pipe_elbow": pipe_elbow,
    "hook": hook,
    "link": link,
    "lever": lever,
    "clevis": clevis,
    "beam": beam,
    "corrugated_sheet": corrugated_sheet,
    "eye_bolt": eye_bolt,
    "chess_piece": chess_piece,
    "funnel": funnel,
    "twisted_column": twisted_column,
}
