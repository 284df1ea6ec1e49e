"""Small quick pictures of our own programs, drawn in this process: one warm browser page, one VTK window."""

from __future__ import annotations

import ctypes.util
import io
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from ..chromium import require_chromium

Draw = Callable[[str], Image.Image]


class WebThumbnails:
    """Draws web pages at a quarter of their size in one reused page."""

    def __enter__(self) -> Draw:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=require_chromium(),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        self._pages = 0
        self._context: Any = None
        return self._draw

    def __exit__(self, *exc: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def _draw(self, text: str) -> Image.Image:
        if self._pages % 200 == 0:  # the driver keeps objects until their context is closed
            if self._context:
                self._context.close()
            self._context = self._browser.new_context(
                viewport={"width": 1280, "height": 1200},
                device_scale_factor=0.2,
                java_script_enabled=False,
                offline=True,
            )
            self.page = self._context.new_page()
        self._pages += 1
        self.page.set_content(text, wait_until="load")
        return Image.open(io.BytesIO(self.page.screenshot(type="png")))


class CadThumbnails:
    """Builds CadQuery programs and draws them shaded, with their edges, in one reused off-screen window."""

    def __enter__(self) -> Draw:
        if ctypes.util.find_library("OSMesa"):  # draws in software and looks for no display
            os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkOSOpenGLRenderWindow")
        import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  (registers the OpenGL classes)
        from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow

        self._renderer = vtkRenderer()
        self._renderer.SetBackground(1, 1, 1)
        self._window = vtkRenderWindow()
        self._window.SetOffScreenRendering(1)
        self._window.SetMultiSamples(0)
        self._window.SetSize(160, 160)
        self._window.AddRenderer(self._renderer)
        return self._draw

    def __exit__(self, *exc: object) -> None:
        self._window.Finalize()

    def _draw(self, text: str) -> Image.Image:
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper, vtkWindowToImageFilter

        shape = build(text)
        mapper = vtkPolyDataMapper()
        mapper.SetInputData(shape.toVtkPolyData(0.3, 0.4, True))
        mapper.ScalarVisibilityOff()
        actor = vtkActor()
        actor.SetMapper(mapper)
        actor.GetProperty().SetColor(0.55, 0.65, 0.75)
        self._renderer.RemoveAllViewProps()
        self._renderer.AddActor(actor)
        camera = self._renderer.GetActiveCamera()
        camera.SetFocalPoint(0, 0, 0)
        camera.SetPosition(1, -1.2, 0.9)
        camera.SetViewUp(0, 0, 1)
        camera.ParallelProjectionOn()
        self._renderer.ResetCamera()
        self._window.Render()
        grab = vtkWindowToImageFilter()
        grab.SetInput(self._window)
        grab.ReadFrontBufferOff()
        grab.Update()
        output = grab.GetOutput()
        columns, rows, _ = output.GetDimensions()
        pixels = vtk_to_numpy(output.GetPointData().GetScalars()).reshape(rows, columns, 3)
        return Image.fromarray(np.ascontiguousarray(pixels[::-1]))


def build(text: str) -> Any:
    """Run a CadQuery program of our own in this process; returns the shape it assigns to `result`."""
    names: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), names)
    return names["result"].val()
