"""Web pages: drawn without scripts and without a network, with every element where the browser put it."""

from __future__ import annotations

import base64
import io
import time
from pathlib import Path

import psutil
import pytest
from k3data.vision.bench.hostile import listener
from k3data.vision.chromium import Browser, Shown, require_chromium
from k3data.vision.page_scripts import WEB_LAYOUT
from k3data.vision.pool import RenderPool, StartError
from k3data.vision.types import Element, Failure, Render, RenderSpec
from k3data.vision.web_lint import inline_resources, normalise
from PIL import Image as Picture

SPEC = RenderSpec(800, 1000)


@pytest.fixture(scope="module")
def pool():
    with RenderPool("web") as found:
        yield found


def draw(pool: RenderPool, body: str) -> Render:
    outcome = pool.render(f"<!doctype html><meta charset=utf-8><style>body{{margin:0}}</style>{body}", SPEC)
    assert isinstance(outcome, Render), outcome
    return outcome


def places(render: Render) -> dict[str, Element]:
    return {one.id: one for one in render.layout}


def pixel(render: Render, x: int, y: int) -> tuple[int, ...]:
    return Picture.open(io.BytesIO(render.images[0].png)).convert("RGB").getpixel((x, y))  # type: ignore[return-value]


def test_elements_lie_where_the_picture_shows_them(pool: RenderPool):
    render = draw(
        pool,
        '<h1 id=t style="margin:40px">Hello</h1><button id=b style="position:absolute;left:300px;top:200px;width:120px;'
        'height:50px;background:#0a0;border:0;color:#fff">Go on</button><p id=p>Some <a id=a href="#">link</a></p>'
        '<input id=i placeholder="Name"><img id=m alt="logo" width=40 height=30>',
    )
    found = places(render)
    assert found["b"].box == (300, 200, 420, 250) and pixel(render, 302, 202) == (0, 170, 0)
    assert found["b"].attributes["background"] == "#00aa00" and found["b"].attributes["color"] == "#ffffff"
    roles = {name: (one.role, one.text) for name, one in found.items()}
    assert roles["t"] == ("heading", "Hello") and roles["a"] == ("link", "link")
    assert roles["i"] == ("textbox", "Name") and roles["m"] == ("image", "logo")
    assert found["t"].box[2] < 200, "a heading's box holds its words, not its line"


def test_covered_and_hidden_elements_are_told_apart(pool: RenderPool):
    found = places(
        draw(
            pool,
            "<button id=under>Under</button><button id=free style='margin-left:300px'>Free</button>"
            "<div style='position:absolute;left:0;top:0;width:200px;height:90px;background:#ddd'></div>"
            "<p id=gone style='display:none'>x</p><p id=clear style='opacity:0'>x</p>"
            "<p id=unseen style='visibility:hidden'>x</p>",
        )
    )
    assert found["under"].visible == 0 and found["free"].visible == 1
    assert not {"gone", "clear", "unseen"} & set(found)


def test_a_page_is_as_tall_as_its_content_up_to_the_limit(pool: RenderPool):
    short = draw(pool, "<p>One line.</p>")
    middle = draw(pool, "<div style='height:900px;background:#eee'>x</div>")
    long = draw(pool, "<div style='height:5000px;background:#eee'>x</div>")
    assert [one.images[0].height for one in (short, middle, long)] == [200, 900, 1000]
    assert [one.log["cut"] for one in (short, middle, long)] == [False, False, True]
    assert long.log["page_height"] == 5000
    assert draw(pool, "<div style='width:2000px;height:9px;background:red'></div>").log["overflow_x"]


def test_scripts_neither_run_nor_stay_in_the_text(pool: RenderPool):
    render = draw(
        pool, "<p>kept</p><script>document.body.innerHTML='<h1>written</h1>'</script><img src=x onerror='while(1){}'>"
    )
    assert "written" not in render.program and "<p>kept</p>" in render.program
    assert [one.text for one in render.layout if one.role == "paragraph"] == ["kept"]


def test_the_same_page_gives_the_same_bytes_and_no_trace_of_the_one_before(pool: RenderPool):
    page = "<h1>Title</h1><p style='color:#333'>Words in a line.</p>"
    first = draw(pool, page)
    draw(pool, "<body style='background:#f00'><h2>Another</h2>")
    assert draw(pool, page) == first
    pool.close()
    assert draw(pool, page) == first


def test_fonts_of_the_page_before_leave_no_trace(pool: RenderPool):
    """The browser's font cache takes sizes that differ in the third decimal for the same."""
    page = (
        "<h1 style=\"font:bold {}px 'DejaVu Serif';white-space:nowrap\">Falcons and sparrows in many longer words</h1>"
    )
    pool.close()
    first = draw(pool, page.format(37.44))
    pool.close()
    draw(pool, page.format(37.4499))
    assert draw(pool, page.format(37.44)) == first


def test_animations_are_held_still(pool: RenderPool):
    page = (
        "<style>@keyframes k{from{margin-left:0}to{margin-left:500px}}div{width:50px;height:50px;background:#00f;"
        "animation:k 1s infinite linear}</style><div id=d></div>"
    )
    first = draw(pool, page)
    time.sleep(0.3)
    assert draw(pool, page).images == first.images and places(first)["d"].box == (0, 0, 50, 50)


OUTSIDE = """<link rel=stylesheet href="URL/a.css"><link rel=preconnect href="URL/"><link rel=dns-prefetch href="URL/">
<link rel=preload as=image href="URL/p.png"><link rel=icon href="URL/i.ico"><style>@import "URL/b.css";
@font-face{font-family:z;src:url(URL/f.woff2)}</style><p style="font-family:z;background:url(URL/bg.png)">words</p>
<img src="URL/a.png"><iframe src="URL/f.html"></iframe><video src="URL/v.mp4" autoplay></video>
<object data="URL/o"></object>
<script src="URL/s.js"></script><svg><image href="URL/x.png"/></svg>
<meta http-equiv="ref&#114;esh" content="0;url=URL/r">"""


def test_nothing_is_fetched_and_what_was_asked_for_is_counted(pool: RenderPool):
    with listener() as (beacon, heard):
        render = draw(pool, OUTSIDE.replace("URL", beacon.rstrip("/")))
        assert render.log["blocked_requests"] >= 7
        assert heard() == 0


def test_nothing_leaves_even_without_a_namespace():
    browser = Browser(require_chromium())
    try:
        with listener() as (beacon, heard):
            page = OUTSIDE.replace("URL", beacon.rstrip("/"))
            for _ in range(2):
                browser.show(page.encode(), "text/html", 400, 300, WEB_LAYOUT)
            time.sleep(0.3)
            assert heard() == 0
    finally:
        browser.close()


def test_contexts_and_browsers_are_replaced_between_pages():
    browser = Browser(require_chromium(), pages_per_context=2, contexts_per_browser=2)
    others = _browsers()
    try:
        seen = []
        for index in range(7):
            page = f"<body style='margin:0'><h1 id=h>{index}</h1>"
            shown = browser.show(page.encode(), "text/html", 300, 200, WEB_LAYOUT)
            assert isinstance(shown, Shown) and [one["text"] for one in shown.found["elements"]] == [str(index)]
            seen.append(_browsers() - others)
        assert seen[0] & seen[3] and not seen[0] & seen[6], "the fifth page begins a new browser"
    finally:
        browser.close()


def _browsers() -> set[int]:
    return {one.pid for one in psutil.Process().children(recursive=True) if "chrom" in one.name()}


def test_local_files_are_out_of_reach(pool: RenderPool, tmp_path: Path):
    Picture.new("RGB", (50, 50), "red").save(tmp_path / "secret.png")
    render = draw(pool, f'<img src="file://{tmp_path}/secret.png" width=50 height=50><p>words</p>')
    assert pixel(render, 25, 25) != (255, 0, 0)


def test_refusals_are_typed(pool: RenderPool):
    for kind, page in {
        "empty": " \n", "parse": "no tags here", "encoding": "<p>\0</p>", "too_large": "<b>x</b>" * 31_000,
        "blank": "<div></div>",
    }.items():  # fmt: skip
        outcome = pool.render(page, SPEC)
        assert isinstance(outcome, Failure) and outcome.kind == kind, page[:20]


def test_a_broken_embedded_picture_is_no_sample(pool: RenderPool):
    data = base64.b64encode(b"not a picture").decode()
    outcome = pool.render(f'<p>x</p><img src="data:image/png;base64,{data}">', SPEC)
    assert isinstance(outcome, Failure) and outcome.kind == "parse"


def test_page_changes_are_cut_from_the_text():
    page = normalise(
        "<meta http-equiv='refresh' content='0;url=x'><META content=0 HTTP-EQUIV=refresh><p>a</p><script src=x>"
    )
    assert page == "<p>a</p>"


def test_local_resources_can_be_put_into_a_page(tmp_path: Path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "a.css").write_text("p{color:red}")
    (folder / "i.png").write_bytes(b"png")
    (tmp_path / "outside.css").write_text("secret")
    page = inline_resources(
        '<link rel="stylesheet" href="a.css"><link rel=stylesheet href="../outside.css"><img alt=x src="i.png"><img src="http://x/y.png">',
        folder,
    )
    assert "p{color:red}" in page and "secret" not in page
    assert f'src="data:image/png;base64,{base64.b64encode(b"png").decode()}"' in page and 'src="http://x/y.png"' in page


def test_a_missing_browser_is_one_line_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("K3DATA_CHROMIUM", "/nowhere/chromium")
    with (
        RenderPool("web") as pool,
        pytest.raises(StartError, match="apt-get install chromium-headless-shell") as caught,
    ):
        pool.render("<p>x</p>", SPEC)
    assert "\n" not in str(caught.value)
