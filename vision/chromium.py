"""Debian's Chromium, driven by Playwright: found, started without a network, warm between pages, replaced when old.

One page at a time, scripts off. The document is handed over inside the browser's own request (an address that exists
nowhere); every other request is refused and counted. Contexts are closed, never pages: closing a page can hang for
ever. The picture is taken only from the document that was asked for, after its fonts and pictures are in.
"""

from __future__ import annotations

import base64
import io
import itertools
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image as Picture
from PIL import ImageColor

from .page_scripts import CONTENT_SIZE, SETTLE
from .types import Failure

LOAD_TIMEOUT_S = 10.0

_PLACES = ("/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium")
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_FLAGS = [
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--disable-font-subpixel-positioning",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--mute-audio",
    "--disable-frame-rate-limit",
    # The last of such flags counts, so this one repeats what Playwright turns off.
    "--disable-features=RenderDocument,Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,PaintHolding,"
    "HttpsUpgrades,DestroyProfileOnBrowserClose,GlobalMediaControls,SpareRendererForSitePerProcess,LensOverlay,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,ThirdPartyStoragePartitioning,AutoDeElevate",
    "--blink-settings=imageAnimationPolicy=2",
    # Where no network namespace can be had: no name resolves, and what needs no name meets a proxy that is not there.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--dns-prefetch-disable",
]


class MissingBrowser(RuntimeError):
    """There is no browser on this machine, or it does not start."""


def find_chromium() -> str:
    """Path of the browser: `K3DATA_CHROMIUM`, else the usual places and names, else ""."""
    wanted = os.environ.get("K3DATA_CHROMIUM")
    if wanted:
        return wanted if Path(wanted).is_file() else ""
    places = [place for place in _PLACES if Path(place).is_file()]
    found = [path for path in map(shutil.which, _NAMES) if path]
    return next(iter([*places, *found]), "")


def require_chromium() -> str:
    """Path of the browser.

    Raises:
        MissingBrowser: says what to install.
    """
    found = find_chromium()
    if not found:
        wrong = os.environ.get("K3DATA_CHROMIUM")
        cause = f"K3DATA_CHROMIUM={wrong} is no file" if wrong else "no Chromium found"
        raise MissingBrowser(f"{cause}: apt-get install chromium-headless-shell (or chromium), or set K3DATA_CHROMIUM")
    return found


def installed_families() -> frozenset[str]:
    """Names of the installed font families, in lower case."""
    listed = subprocess.run(["fc-list", ":", "family"], capture_output=True, text=True, timeout=20, check=True).stdout
    return frozenset(name.strip().lower() for line in listed.splitlines() for name in line.split(","))


@dataclass(frozen=True)
class Shown:
    """What a page looked like.

    Attributes:
        picture: its pixels.
        found: what the caller's script returned.
        full_height: how tall the page would be.
        overflow: whether it is wider than the viewport.
        blocked: requests that it made and that were refused.
    """

    picture: Picture.Image
    found: Any
    full_height: int
    overflow: bool
    blocked: int


class Browser:
    """A browser with one page that shows one document after the other.

    Args:
        executable: path of Chromium.
        sandbox: Chromium's own sandbox; it cannot work for root or inside our namespaces.
        pages_per_context, contexts_per_browser: after how many uses each is replaced; both grow with use.
    """

    def __init__(
        self, executable: str, *, sandbox: bool = False, pages_per_context: int = 50, contexts_per_browser: int = 8
    ):
        self._executable = executable
        self._sandbox = sandbox
        self._pages_per_context = pages_per_context
        self._contexts_per_browser = contexts_per_browser
        self._numbers = itertools.count(1)
        self._playwright: Any = None
        self._browser: Any = None
        self._context: Any = None
        self._contexts = 0
        self._pages = 0
        self._document: tuple[str, bytes, str] = ("", b"", "")
        self._blocked = 0
        self._background = "#ffffff"
        self.version = ""

    @property
    def running(self) -> bool:
        return self._browser is not None

    def start(self) -> None:
        """Start the browser, if it is not running.

        Raises:
            MissingBrowser: it does not start.
        """
        if self.running:
            return
        from playwright.sync_api import Error, sync_playwright

        try:
            with _unlimited_address_space():
                self._playwright = self._playwright or sync_playwright().start()
                self._browser = self._playwright.chromium.launch(
                    executable_path=self._executable, chromium_sandbox=self._sandbox, args=_FLAGS, timeout=30_000
                )
        except Error as error:
            raise MissingBrowser(f"{self._executable} does not start: {str(error).splitlines()[0]}") from error
        self.version = f"chromium {self._browser.version}"

    def close(self) -> None:
        """End the browser. Nothing here waits for a page."""
        self._drop()
        if self._playwright is not None:
            self._playwright.stop()
            self._playwright = None

    def show(
        self,
        document: bytes,
        mime: str,
        width: int,
        height: int,
        script: str,
        *,
        fit: tuple[int, int] | None = None,
        background: str = "#ffffff",
    ) -> Shown | Failure:
        """Show a document, run `script` in it (our own, which reads places), and take its picture.

        Args:
            document: the bytes.
            mime: what they are.
            width, height: the viewport.
            script: a JavaScript function without arguments.
            fit: (least, most) height that the viewport then takes to hold the whole page; None keeps it.
            background: colour behind what the document leaves open.
        """
        from playwright.sync_api import Error, TimeoutError

        self.start()
        try:
            return self._show(document, mime, width, height, script, fit, background)
        except TimeoutError as error:
            self._drop()
            return Failure("timeout", "load", str(error).splitlines()[0][:300])
        except Error as error:
            self._drop()
            return Failure("no_result", "render", str(error).splitlines()[0][:300])

    def _show(
        self,
        document: bytes,
        mime: str,
        width: int,
        height: int,
        script: str,
        fit: tuple[int, int] | None,
        background: str,
    ) -> Shown | Failure:
        page, session = self._page()
        if background != self._background:
            red, green, blue = ImageColor.getrgb(background)[:3]
            colour = {"r": red, "g": green, "b": blue, "a": 1}
            session.send("Emulation.setDefaultBackgroundColorOverride", {"color": colour})
            self._background = background
        # A site of its own is a process of its own. Pages that share one also share its font cache, in which a size
        # of 37.4499 pixels passes for 37.44: a picture would depend on the pages before it.
        address = f"http://page-{next(self._numbers)}.invalid/"
        self._document = (address, document, mime)
        self._blocked = 0
        page.set_viewport_size({"width": width, "height": height})
        page.goto(address, wait_until="load", timeout=LOAD_TIMEOUT_S * 1000)
        broken = page.evaluate(SETTLE)
        size = page.evaluate(CONTENT_SIZE)
        if fit:
            height = min(max(size["height"], fit[0]), fit[1])
            page.set_viewport_size({"width": width, "height": height})
        found = page.evaluate(script)
        taken = session.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        if page.url != address:
            return Failure("forbidden", "render", f"the page went to {page.url[:80]!r}")
        if broken:
            return Failure("parse", "load", f"a picture in it does not decode: {broken[:80]!r}")
        picture = Picture.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")
        if picture.size != (width, height):
            return Failure("no_result", "render", f"a picture of {picture.size}, not of {(width, height)}")
        return Shown(picture, found, size["height"], size["overflow"], self._blocked)

    def _page(self) -> tuple[Any, Any]:
        """The page, in a context and a browser that are replaced now and then."""
        if self._context is not None and self._pages >= self._pages_per_context:
            old, self._context = self._context, None
            old[0].close()
            self._contexts += 1
            if self._contexts >= self._contexts_per_browser:
                self._drop()
                self.start()
        if self._context is None:
            context = self._browser.new_context(
                java_script_enabled=False, service_workers="block", accept_downloads=False, device_scale_factor=1,
                locale="en-US", timezone_id="UTC", color_scheme="light", reduced_motion="reduce",
            )  # fmt: skip
            context.set_default_timeout(LOAD_TIMEOUT_S * 1000)
            context.route("**/*", self._request)
            page = context.new_page()
            self._context = (context, page, context.new_cdp_session(page))
            self._pages = 0
            self._background = "#ffffff"
        self._pages += 1
        return self._context[1], self._context[2]

    def _request(self, route: Any, request: Any) -> None:
        address, body, mime = self._document
        if request.url == address and request.is_navigation_request() and request.frame.parent_frame is None:
            route.fulfill(status=200, body=body, headers={"content-type": mime, "referrer-policy": "no-referrer"})
        else:
            self._blocked += 1
            route.abort("aborted")

    def _drop(self) -> None:
        from playwright.sync_api import Error

        browser, self._browser, self._context, self._contexts = self._browser, None, None, 0
        if browser is not None:
            with suppress(Error):
                browser.close()


@contextmanager
def _unlimited_address_space() -> Iterator[None]:
    """Lift this process's limit while it starts the browser, which maps terabytes and is measured by the pool."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
