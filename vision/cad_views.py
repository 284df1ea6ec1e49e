"""Draws a mesh and its edges as a shaded, antialiased picture with VTK, off screen, in one window that is kept.

The projection is parallel, so millimetres become pixels by one affine map, which is returned with the picture.
"""

from __future__ import annotations

import ctypes.util
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image as Picture

_SUPERSAMPLING = 2
_MARGIN = 1.16
_TOWARDS = np.array([1.0, -1.35, 0.95])
_MATERIAL = (0.47, 0.64, 0.80)
_EDGE = (0.09, 0.13, 0.19)
_BACKGROUND = (0.955, 0.967, 0.98)  # one colour: a gradient would make the file seven times as large


@dataclass(frozen=True)
class Projection:
    """pixel = origin + matrix @ millimetres."""

    matrix: np.ndarray
    origin: np.ndarray

    def box(self, points: np.ndarray) -> tuple[float, float, float, float]:
        """The box around points in space, in pixels."""
        placed = points @ self.matrix.T + self.origin
        low, high = placed.min(axis=0), placed.max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])


class Studio:
    """A window, lights and a camera; one part at a time."""

    def __init__(self) -> None:
        if ctypes.util.find_library("OSMesa"):
            os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkOSOpenGLRenderWindow")
        import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  (provides the window's implementation)
        from vtkmodules import vtkRenderingCore as core

        self._core = core
        self._window = core.vtkRenderWindow()
        self._window.SetOffScreenRendering(1)
        self._window.SetMultiSamples(0)
        self._scene = core.vtkRenderer()
        self._scene.SetBackground(*_BACKGROUND)
        self._window.AddRenderer(self._scene)
        self._light()
        self._faces, self._lines = self._actors()

    def _light(self) -> None:
        """A key light from the upper left, a soft fill from the right, both fixed to the camera."""
        self._scene.AutomaticLightCreationOff()
        for place, strength in (((-0.6, 0.9, 1.0), 0.82), ((1.0, 0.1, 0.6), 0.46), ((-0.7, -0.6, 0.5), 0.22)):
            light = self._core.vtkLight()
            light.SetLightTypeToCameraLight()
            light.SetPosition(*place)
            light.SetIntensity(strength)
            self._scene.AddLight(light)

    def _actors(self) -> tuple[Any, Any]:
        faces, lines = self._core.vtkActor(), self._core.vtkActor()
        for actor in (faces, lines):
            mapper = self._core.vtkPolyDataMapper()
            mapper.SetResolveCoincidentTopologyToPolygonOffset()
            actor.SetMapper(mapper)
            self._scene.AddActor(actor)
        look = faces.GetProperty()
        look.SetColor(*_MATERIAL)
        look.SetInterpolationToPhong()
        look.SetAmbient(0.20)
        look.SetDiffuse(0.85)
        look.SetSpecular(0.18)
        look.SetSpecularPower(28)
        ink = lines.GetProperty()
        ink.SetColor(*_EDGE)
        ink.SetLineWidth(1.25 * _SUPERSAMPLING)
        ink.LightingOff()
        return faces, lines

    def draw(
        self,
        points: np.ndarray,
        normals: np.ndarray,
        triangles: np.ndarray,
        lines: list[np.ndarray],
        width: int,
        height: int,
    ) -> tuple[Picture.Image, Projection]:
        """The part from above, front and right, filling the picture."""
        self._faces.GetMapper().SetInputData(_polydata(points, normals, triangles))
        self._lines.GetMapper().SetInputData(_polylines(lines))
        projection = self._aim(points, width, height)
        self._window.SetSize(width * _SUPERSAMPLING, height * _SUPERSAMPLING)
        self._window.Render()
        return self._picture().reduce(_SUPERSAMPLING), projection

    def _aim(self, points: np.ndarray, width: int, height: int) -> Projection:
        towards = _TOWARDS / np.linalg.norm(_TOWARDS)
        right = np.cross((0.0, 0.0, 1.0), towards)
        right /= np.linalg.norm(right)
        up = np.cross(towards, right)
        flat = points @ np.array([right, up]).T
        low, high = flat.min(axis=0), flat.max(axis=0)
        # Half the picture's height in millimetres, so that the part fits both ways.
        half = max((high[1] - low[1]) / 2, (high[0] - low[0]) / 2 * height / width) * _MARGIN
        middle = (low + high) / 2
        depth = points @ towards
        focus = right * middle[0] + up * middle[1] + towards * depth.mean()
        distance = (depth.max() - depth.min()) * 2 + half * 4
        camera = self._scene.GetActiveCamera()
        camera.ParallelProjectionOn()
        camera.SetParallelScale(half)
        camera.SetFocalPoint(*focus)
        camera.SetPosition(*(focus + towards * distance))
        camera.SetViewUp(*up)
        self._scene.ResetCameraClippingRange()
        scale = height / (2 * half)
        matrix = np.array([right * scale, -up * scale])
        origin = np.array([width / 2 - middle[0] * scale, height / 2 + middle[1] * scale])
        return Projection(matrix, origin)

    def _picture(self) -> Picture.Image:
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkCommonCore import vtkUnsignedCharArray

        width, height = self._window.GetSize()
        data = vtkUnsignedCharArray()
        self._window.GetRGBACharPixelData(0, 0, width - 1, height - 1, 0, data, 0)
        pixels = vtk_to_numpy(data).reshape(height, width, 4)[::-1, :, :3]
        return Picture.fromarray(np.ascontiguousarray(pixels), "RGB")


def _polydata(points: np.ndarray, normals: np.ndarray, triangles: np.ndarray) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk

    data = _empty(points)
    data.SetPolys(_cells(np.arange(0, triangles.size + 1, 3), triangles.ravel()))
    data.GetPointData().SetNormals(numpy_to_vtk(normals, deep=True))
    return data


def _polylines(lines: list[np.ndarray]) -> Any:
    joined = np.concatenate(lines) if lines else np.zeros((0, 3), "float32")
    ends = np.cumsum([0, *(len(one) for one in lines)])
    data = _empty(joined)
    data.SetLines(_cells(ends, np.arange(len(joined))))
    return data


def _empty(points: np.ndarray) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkPolyData

    data, places = vtkPolyData(), vtkPoints()
    places.SetData(numpy_to_vtk(np.ascontiguousarray(points), deep=True))
    data.SetPoints(places)
    return data


def _cells(offsets: np.ndarray, members: np.ndarray) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtkIdTypeArray
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    cells = vtkCellArray()
    cells.SetData(
        numpy_to_vtkIdTypeArray(offsets.astype("int64"), deep=True),
        numpy_to_vtkIdTypeArray(members.astype("int64"), deep=True),
    )
    return cells
