"""From a CadQuery source to plain numbers: the solid's facts, a mesh, its edges, and hidden-line views of it.

Runs in a child that was forked for this one source and ends with it. What leaves it is a frame of JSON and arrays,
never an object. Each view has its own frame: x to the right, y up, in millimetres.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from . import cad_lint
from .types import Failure

# View → (direction towards the viewer, direction to the right): third angle, front seen from -y.
VIEWS = {
    "front": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0)),
    "top": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    "right": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "iso": ((1 / math.sqrt(3), -1 / math.sqrt(3), 1 / math.sqrt(3)), (1 / math.sqrt(2), 1 / math.sqrt(2), 0.0)),
}
MAX_FACES = 4000
_ANGLE = 0.15  # radians between neighbouring points of a curve


class Refused(Exception):
    """The source gives no usable solid."""

    def __init__(self, failure: Failure):
        super().__init__(failure.detail)
        self.failure = failure


def build(program: str) -> tuple[Any, dict[str, str]]:
    """Run the source; return its `result` as one checked shape, and what it calls its overall sizes (see `_names`).

    Raises:
        Refused: it fails, or its result is no valid solid.
    """
    import cadquery as cq

    safe = {name: getattr(__import__("builtins"), name) for name in cad_lint.SAFE_BUILTINS}
    scope: dict[str, Any] = {"__name__": "part", "__builtins__": {**safe, "__import__": _import, "print": _silent}}
    try:
        exec(compile(program, "part.py", "exec"), scope)
    except (MemoryError, KeyboardInterrupt):
        raise
    except RecursionError as error:
        raise Refused(Failure("too_large", "load", str(error))) from error
    except Exception as error:
        geometry = type(error).__module__.startswith("OCP") or isinstance(error, ValueError)
        detail = f"{type(error).__name__}: {error}"[:300]
        raise Refused(Failure("invalid_geometry" if geometry else "parse", "load", detail)) from error
    return _solid(cq, scope.get("result")), _names(scope.get("names"))


def _names(found: Any) -> dict[str, str]:
    """A source may assign `names = {"width": "Alda", …}`; the drawing then writes the name before the size.

    Only sizes that a drawing has and single words of letters are taken; they go into a drawing that we write.
    """
    if not isinstance(found, dict):
        return {}
    return {
        side: found[side]
        for side in ("width", "depth", "height")
        if isinstance(found.get(side), str) and re.fullmatch("[A-Za-z]{1,16}", found[side])
    }


def _silent(*words: object, **options: object) -> None:
    """`print` for a source: nobody listens."""


def _import(name: str, variables: Any = None, names: Any = None, listed: tuple[str, ...] = (), level: int = 0) -> Any:
    if name not in cad_lint.ALLOWED_MODULES or level:
        raise ImportError(f"import of {name!r} is not allowed")
    return __import__(name, None, None, listed, 0)


def _solid(cq: Any, result: Any) -> Any:
    """The one shape that `result` stands for, if it is a valid solid."""
    if isinstance(result, cq.Assembly):
        result = result.toCompound()
    shapes = (
        [one for one in result.vals() if isinstance(one, cq.Shape)] if isinstance(result, cq.Workplane) else [result]
    )
    if not shapes or not all(isinstance(one, cq.Shape) for one in shapes):
        raise Refused(Failure("empty", "load", "`result` is no shape"))
    shape = shapes[0] if len(shapes) == 1 else cq.Compound.makeCompound(shapes)
    if not shape.Solids():
        raise Refused(Failure("invalid_geometry", "load", "`result` has no solid"))
    if len(shape.Faces()) > MAX_FACES:
        raise Refused(Failure("too_large", "load", f"{len(shape.Faces())} faces, at most {MAX_FACES}"))
    if not shape.isValid():
        raise Refused(Failure("invalid_geometry", "load", "the solid is not valid"))
    box = shape.BoundingBox()
    sides = (box.xlen, box.ylen, box.zlen)
    if not all(map(math.isfinite, sides)) or max(sides) > 1e5 or min(sides) < 1e-3 or max(sides) / min(sides) > 1000:
        raise Refused(Failure("invalid_geometry", "load", "a bounding box of {:g} x {:g} x {:g} mm".format(*sides)))
    if not shape.Volume() > 1e-9 * max(sides) ** 3:
        raise Refused(Failure("invalid_geometry", "load", f"a volume of {shape.Volume():g} mm3"))
    return shape


def describe(shape: Any, names: dict[str, str]) -> tuple[dict[str, Any], bytes]:
    """Header and arrays of everything that drawing needs."""
    box = shape.BoundingBox()
    size = math.sqrt(box.xlen**2 + box.ylen**2 + box.zlen**2)
    arrays: list[np.ndarray] = []

    def stored(array: np.ndarray) -> dict[str, Any]:
        arrays.append(np.ascontiguousarray(array))
        return {"dtype": str(array.dtype), "shape": list(array.shape)}

    points, normals, triangles = _mesh(shape, size * 6e-4)
    header = {
        "volume_mm3": round(shape.Volume(), 3),
        "area_mm2": round(shape.Area(), 3),
        "box_min": [box.xmin, box.ymin, box.zmin],
        "box_max": [box.xmax, box.ymax, box.zmax],
        "faces": len(shape.Faces()),
        "edges": len(shape.Edges()),
        "solids": len(shape.Solids()),
        "holes": holes(shape),
        "names": names,
        "mesh": [stored(points), stored(normals), stored(triangles)],
        "outline": _stored_lines(_edges(shape), stored),
        "views": {},
    }
    for name, (towards, right) in VIEWS.items():
        visible, hidden = _hidden_lines(shape, towards, right)
        header["views"][name] = {
            "visible": _stored_lines(visible, stored),
            "hidden": _stored_lines([] if name == "iso" else hidden, stored),
        }
    return header, b"".join(one.tobytes() for one in arrays)


def _stored_lines(lines: list[np.ndarray], stored: Any) -> list[dict[str, Any]]:
    """Polylines as one array of points and one of lengths."""
    width = lines[0].shape[1] if lines else 2
    joined = np.concatenate(lines) if lines else np.zeros((0, width))
    return [stored(joined.astype("float32")), stored(np.array([len(one) for one in lines], "int32"))]


def _mesh(shape: Any, tolerance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, normals and triangles; corners are split, so that only curved faces are shaded smoothly."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    data = shape.toVtkPolyData(tolerance, _ANGLE, True)
    points = vtk_to_numpy(data.GetPoints().GetData()).astype("float32")
    normals = vtk_to_numpy(data.GetPointData().GetNormals()).astype("float32")
    triangles = vtk_to_numpy(data.GetPolys().GetConnectivityArray()).reshape(-1, 3).astype("int32")
    return points, normals, triangles


def _edges(shape: Any) -> list[np.ndarray]:
    """Every edge as points in space, without the seams of closed faces."""
    from OCP.BRep import BRep_Tool

    seams = {
        edge.hashCode()
        for face in shape.Faces()
        if face.geomType() != "PLANE"
        for edge in face.Edges()
        if BRep_Tool.IsClosed_s(edge.wrapped, face.wrapped)
    }
    return [
        _points(edge)
        for edge in shape.Edges()
        if edge.hashCode() not in seams and not BRep_Tool.Degenerated_s(edge.wrapped)
    ]


def _points(edge: Any) -> np.ndarray:
    """Points along an edge, close enough to look like the curve."""
    if edge.geomType() == "LINE":
        ends = (edge.startPoint(), edge.endPoint())
        return np.array([one.toTuple() for one in ends])
    from OCP.BRepAdaptor import BRepAdaptor_Curve
    from OCP.GCPnts import GCPnts_TangentialDeflection

    sampler = GCPnts_TangentialDeflection(BRepAdaptor_Curve(edge.wrapped), _ANGLE / 2, max(edge.Length() * 2e-3, 1e-4))
    found = [sampler.Value(index + 1) for index in range(sampler.NbPoints())]
    return np.array([(one.X(), one.Y(), one.Z()) for one in found])


def _hidden_lines(shape: Any, towards: Any, right: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What is seen and what is hidden from one side, as polylines in the view's frame."""
    import cadquery as cq
    from OCP.BRepLib import BRepLib
    from OCP.gp import gp_Ax2, gp_Dir, gp_Pnt
    from OCP.HLRAlgo import HLRAlgo_Projector
    from OCP.HLRBRep import HLRBRep_Algo, HLRBRep_HLRToShape

    algorithm = HLRBRep_Algo()
    algorithm.Add(shape.wrapped)
    algorithm.Projector(HLRAlgo_Projector(gp_Ax2(gp_Pnt(), gp_Dir(*towards), gp_Dir(*right))))
    algorithm.Update()
    algorithm.Hide()
    result = HLRBRep_HLRToShape(algorithm)

    def lines(*kinds: Any) -> list[np.ndarray]:
        found = []
        for kind in kinds:
            compound = kind()
            if compound is not None and not compound.IsNull():
                BRepLib.BuildCurves3d_s(compound)
                found += [_points(edge)[:, :2] for edge in cq.Shape.cast(compound).Edges()]
        return found

    visible = lines(result.VCompound, result.OutLineVCompound)
    return visible, lines(result.HCompound, result.OutLineHCompound)


def holes(shape: Any) -> list[dict[str, Any]]:
    """Round holes that are closed all the way around: axis, a point on it, diameter, extent along the axis."""
    from OCP.BRepAdaptor import BRepAdaptor_Surface
    from OCP.GeomAbs import GeomAbs_Cylinder
    from OCP.TopAbs import TopAbs_REVERSED

    turns: dict[tuple[float, ...], list[Any]] = {}
    for face in shape.Faces():
        surface = BRepAdaptor_Surface(face.wrapped)
        if surface.GetType() != GeomAbs_Cylinder:
            continue
        cylinder = surface.Cylinder()
        inward = (face.wrapped.Orientation() == TopAbs_REVERSED) == cylinder.Position().Direct()
        if not inward:
            continue
        axis = np.array(cylinder.Axis().Direction().Coord())
        axis = axis * (1.0 if max(axis, key=abs) > 0 else -1.0)
        point = np.array(cylinder.Location().Coord())
        foot = point - axis * float(point @ axis)
        key = tuple(float(one) + 0.0 for one in np.round([*axis, *foot, cylinder.Radius()], 3))
        ends = [float(np.array(vertex.toTuple()) @ axis) for vertex in face.Vertices()]
        turns.setdefault(key, []).append((surface.LastUParameter() - surface.FirstUParameter(), min(ends), max(ends)))
    return [
        {
            "axis": list(key[:3]),
            "foot": list(key[3:6]),
            "diameter_mm": round(2 * key[6], 3),
            "from_mm": min(low for _, low, _ in parts),
            "to_mm": max(high for _, _, high in parts),
        }
        for key, parts in sorted(turns.items())
        if sum(angle for angle, _, _ in parts) > 2 * math.pi - 1e-3
    ]
