"""CAD templates: lofts, revolves, sheets and beams."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm, turned


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
        steps += """pipe = (
        cq.Workplane("XY", origin=(shift, 0, height))
        .circle(diameter / 2)
        .circle(diameter / 2 - wall)
        .extrude(collar)
    )
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
    pipe = (
        cq.Workplane("XY")
        .center(bend_radius, 0)
        .circle(outer_diameter / 2)
        .circle(outer_diameter / 2 - wall)
        .revolve(angle, (-bend_radius, 0, 0), (-bend_radius, 1, 0))
    )
    result = pipe
    """
    values = {"outer_diameter": outer, "wall": wall, "bend_radius": bend, "angle": angle}
    if straight > 8:
        values["straight"] = straight
        steps += """leg = (
        cq.Workplane("XY")
        .center(bend_radius, 0)
        .circle(outer_diameter / 2)
        .circle(outer_diameter / 2 - wall)
        .extrude(straight)
    )
    result = result.union(leg)
    """
    if flange:
        values |= {"flange": flange, "flange_thickness": thick}
        steps += f"""rim = (
        cq.Workplane("XY", origin=(bend_radius, 0, {"straight" if straight > 8 else "0"}))
        .circle(outer_diameter / 2 + flange)
        .circle(outer_diameter / 2 - wall)
        .extrude(flange_thickness)
    )
    result = result.union(rim)
    """
    return Part(
        "Pipe elbow",
        values,
        steps + turned(rng),
        f"A pipe elbow of {outer} mm outside diameter that turns {angle}° with a bend radius of {bend} "
        f"mm{', with a straight leg' if straight > 8 else ''}{' and a flange' if flange else ''}.",
        {"angle_degrees": angle, "flanged": bool(flange)},
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
        "I": "[(-b, -h), (b, -h), (b, -h + f), (t, -h + f), (t, h - f), (b, h - f),\n"
        "           (b, h), (-b, h), (-b, h - f), (-t, h - f), (-t, -h + f), (-b, -h + f)]",
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
        steps + turned(rng),
        f"A corrugated sheet of {words.plural(waves, 'wave')} with a pitch of {pitch} mm and a depth of "
        f"{depth} mm, {mm(thick)} mm thick and {width} mm wide.",
        {"waves": waves},
    )


def chess_piece(rng: random.Random) -> Part:
    base, height = rng.randint(18, 34), rng.randint(40, 110)
    rings, top = rng.randint(1, 3), rng.choice(("ball", "crown", "cone"))
    neck = half(base * rng.uniform(0.25, 0.4))
    steps = """
    outline = [(0, 0), (base_radius, 0), (base_radius, height * 0.08), (base_radius * 0.7, height * 0.14)]
    for k in range(rings):
        z = height * (0.16 + 0.06 * k)
        outline += [(base_radius * 0.7, z), (base_radius * 0.86, z + height * 0.02)]
        outline += [(base_radius * 0.62, z + height * 0.045)]
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
        notch = (
            cq.Workplane("XY")
            .box(4 * head_radius, head_radius * 0.3, height * 0.12, centered=(False, True, True))
            .translate((0, 0, height))
        )
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
    neck, mouth = neck_diameter / 2, mouth_diameter / 2
    outer = [(neck, 0), (neck, stem), (mouth, stem + cone), (mouth, stem + cone + rim)]
    inner = [(r - wall, z) for r, z in reversed(outer)]
    result = cq.Workplane("XZ").polyline([*outer, *inner]).close().revolve(360, (0, 0, 0), (0, 1, 0))
    """
    values = {"mouth_diameter": mouth, "neck_diameter": neck, "cone": cone, "stem": stem, "rim": rim, "wall": wall}
    if tab:
        values |= {"tab_length": rng.randint(10, 34), "tab_hole": half(rng.uniform(3, 7))}
        steps += """edge = (mouth - wall / 2, 0, stem + cone + rim - 2 * wall)
    tab = (
        cq.Workplane("XY", origin=edge)
        .box(tab_length, 2.2 * tab_hole, 2 * wall, centered=(False, True, False))
    )
    hole = (
        cq.Workplane("XY", origin=(mouth_diameter / 2 + tab_length * 0.55, 0, 0))
        .circle(tab_hole / 2)
        .extrude(2 * (stem + cone))
    )
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
    "beam": beam,
    "corrugated_sheet": corrugated_sheet,
    "chess_piece": chess_piece,
    "funnel": funnel,
    "twisted_column": twisted_column,
}
