"""CAD templates: brackets and gussets."""

from __future__ import annotations

import random

from . import words
from .cad import Part, half, mm, turned


def l_bracket(rng: random.Random) -> Part:
    base, height, width = rng.randint(30, 90), rng.randint(30, 100), rng.randint(20, 80)
    thick = half(rng.uniform(3, min(base, height) * 0.22))
    bend, hole = half(thick * rng.uniform(0.5, 1.2)), half(rng.uniform(3.5, min(9, width * 0.3)))
    count, rib = rng.randint(1, 3) if width > 45 else 1, rng.random() < 0.5
    values = {
        "base": base,
        "height": height,
        "width": width,
        "thickness": thick,
        "inner_radius": bend,
        "hole_diameter": hole,
        "holes_a_leg": count,
    }
    steps = """
    result = (
        cq.Workplane("XZ")
        .polyline([(0, 0), (base, 0), (base, thickness), (thickness, thickness), (thickness, height), (0, height)])
        .close()
        .extrude(width / 2, both=True)
        .edges(cq.selectors.NearestToPointSelector((thickness, 0, thickness))).fillet(inner_radius)
    )
    pitch = width / holes_a_leg
    rows = [(k - (holes_a_leg - 1) / 2) * pitch for k in range(holes_a_leg)]
    foot = cq.Workplane("XY").pushPoints([(base * 0.66, y) for y in rows]).circle(hole_diameter / 2).extrude(thickness)
    wall = (
        cq.Workplane("YZ")
        .pushPoints([(y, height * 0.66) for y in rows])
        .circle(hole_diameter / 2)
        .extrude(thickness)
    )
    result = result.cut(foot).cut(wall)
    """
    if rib:
        values["rib_size"] = half(min(base, height) * rng.uniform(0.35, 0.55))
        values["rib_thickness"] = half(min(thick, width * 0.2))
        steps += """rib = (
        cq.Workplane("XZ")
        .polyline([(thickness / 2, thickness / 2), (rib_size, thickness / 2), (thickness / 2, rib_size)])
        .close()
        .extrude(rib_thickness / 2, both=True)
        .translate((0, %s, 0))
    )
    result = result.union(rib)
    """ % ("width / 2 - rib_thickness / 2" if count != 2 else "0")
    return Part(
        "Angle bracket",
        values,
        steps,
        f"An L-shaped bracket with legs of {base} and {height} mm, {width} mm wide and {mm(thick)} mm thick, "
        f"with {words.plural(2 * count, 'hole')} of {mm(hole)} mm{' and a stiffening rib' if rib else ''}.",
        {"holes": 2 * count, "rib": rib},
    )


def u_bracket(rng: random.Random) -> Part:
    inner, height, width, thick = rng.randint(24, 80), rng.randint(25, 90), rng.randint(20, 70), half(rng.uniform(3, 9))
    hole, flange = half(rng.uniform(5, min(width * 0.45, height * 0.35))), rng.choice((0, 0, rng.randint(14, 34)))
    profile = "[(-o, 0), (o, 0), (o, height), (i, height), (i, thickness), (-i, thickness), (-i, height), (-o, height)]"
    if flange:
        profile = (
            "[(-o, 0), (o, 0), (o, height - thickness), (o + flange, height - thickness), (o + flange, "
            "height), (i, height), (i, thickness), (-i, thickness), (-i, height), (-o - flange, height), (-o "
            "- flange, height - thickness), (-o, height - thickness)]"
        )
    steps = f"""
    i = inner_width / 2
    o = i + thickness
    profile = {profile}
    result = cq.Workplane("XZ").polyline(profile).close().extrude(width / 2, both=True)
    pin = (
        cq.Workplane("YZ")
        .center(0, height * 0.55)
        .circle(hole_diameter / 2)
        .extrude(inner_width + 4 * thickness, both=True)
    )
    result = result.cut(pin).faces("<Z").workplane().hole(hole_diameter * 0.7)
    """
    values = {"inner_width": inner, "height": height, "width": width, "thickness": thick, "hole_diameter": hole}
    if flange:
        values["flange"] = flange
    return Part(
        "U bracket",
        values,
        steps,
        f"A {'hat' if flange else 'U'}-shaped bracket with an inner width of {inner} mm, {height} mm high, "
        f"{width} mm deep and {mm(thick)} mm thick, cross-drilled with {mm(hole)} mm.",
        {"flanged": bool(flange)},
    )


def gusset(rng: random.Random) -> Part:
    a, b, thick, holes = rng.randint(40, 120), rng.randint(40, 120), half(rng.uniform(3, 14)), rng.randint(2, 4)
    nose, hole = rng.randint(8, 22), half(rng.uniform(3.5, 6))
    window = half(min(a, b) * rng.uniform(0.1, 0.22))
    steps = """
    result = (
        cq.Workplane("XY")
        .polyline([(0, 0), (leg_a, 0), (leg_a, nose), (nose, leg_b), (0, leg_b)])
        .close()
        .extrude(thickness)
        .faces(">Z").workplane(origin=(0, 0, 0))
        .pushPoints([(leg_a * (k + 0.7) / (holes + 0.4), nose / 2) for k in range(holes)])
        .hole(hole_diameter)
        .faces(">Z").workplane(origin=(leg_a * 0.33, leg_b * 0.36, 0))
        .hole(2 * window_radius)
    )
    """
    values = {
        "leg_a": a,
        "leg_b": b,
        "thickness": thick,
        "nose": nose,
        "holes": holes,
        "hole_diameter": hole,
        "window_radius": window,
    }
    return Part(
        "Gusset plate",
        values,
        steps + turned(rng),
        f"A triangular gusset plate with legs of {a} and {b} mm, {mm(thick)} mm thick, "
        f"{words.plural(holes, 'bolt hole')} of {mm(hole)} mm along one edge and a round window of "
        f"{mm(2 * window)} mm.",
        {"holes": holes},
    )


def z_bracket(rng: random.Random) -> Part:
    foot, top, rise, width, thick = (
        rng.randint(20, 60),
        rng.randint(20, 60),
        rng.randint(18, 80),
        rng.randint(20, 70),
        half(rng.uniform(3, 7)),
    )
    hole, tilt = half(rng.uniform(3.5, 8)), rng.randint(0, 30)
    steps = """
    profile = [
        (0, 0), (foot, 0), (foot + offset, rise), (foot + offset + top, rise),
        (foot + offset + top, rise + thickness), (foot + offset - thickness, rise + thickness),
        (foot - thickness, thickness), (0, thickness),
    ]
    result = cq.Workplane("XZ").polyline(profile).close().extrude(width / 2, both=True)
    lower = cq.Workplane("XY").center(foot * 0.4, 0).circle(hole_diameter / 2).extrude(thickness)
    upper = cq.Workplane("XY", origin=(foot + offset + top * 0.6, 0, rise)).%s.extrude(thickness)
    result = result.cut(lower).cut(upper)
    """
    slot = rng.random() < 0.5 and top > 30
    steps = steps % (
        "slot2D(hole_diameter * 2, hole_diameter, 90)" if slot and width > hole * 3 else "circle(hole_diameter / 2)"
    )
    values = {
        "foot": foot,
        "top": top,
        "rise": rise,
        "offset": tilt,
        "width": width,
        "thickness": thick,
        "hole_diameter": hole,
    }
    return Part(
        "Z bracket",
        values,
        steps,
        f"A Z-shaped bracket that rises {rise} mm between a foot of {foot} mm and a shelf of {top} mm, {width} "
        f"mm wide and {mm(thick)} mm thick.",
        {"rise_mm": rise},
    )


TEMPLATES = {
    "l_bracket": l_bracket,
    "u_bracket": u_bracket,
    "z_bracket": z_bracket,
    "gusset": gusset,
}
