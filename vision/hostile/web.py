"""Hostile and sound pages: see `hostile`."""

from __future__ import annotations

import base64
from collections.abc import Callable

from .types import Colour, Expectation, Pixel, Recipe, Setting, png

_LIMITS = ("timeout", "memory", "signal", "no_result", "too_large")


def _page(setting: Setting, body: str, head: str = "") -> str:
    """A page with the input's own colour in its upper left corner, above everything else."""
    mark = f"position:absolute;z-index:2147483647;left:0;top:0;width:120px;height:120px;background:{setting.hex}"
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>t</title>{head}</head><body>"
        f'<div style="{mark}"></div><p style="margin-top:150px">Some words.</p>{body}</body></html>'
    )


def _corner(colour: Colour) -> tuple[Pixel, ...]:
    return (Pixel(60, 60, colour, in_pixels=True),)


def _reject(name: str, make: Callable[[Setting], str | bytes], *codes: str) -> Recipe:
    return Recipe("web", name, make, "reject", codes)


def _try(
    name: str,
    body: str | Callable[[Setting], str],
    *codes: str,
    head: str = "",
    expect: Expectation = "either",
    slow: bool = False,
    control: bool = False,
) -> Recipe:
    def make(setting: Setting) -> str:
        inner = body(setting) if callable(body) else body
        return _page(setting, inner.replace("BEACON/", setting.beacon), head.replace("BEACON/", setting.beacon))

    return Recipe("web", name, make, expect, codes, _corner, slow, control)


def _blocked(name: str, body: str = "", head: str = "") -> Recipe:
    """A page that asks for something from elsewhere: drawn without it."""
    return _try(f"outside-{name}", body, head=head, expect="render")


def _inert(name: str, body: str = "", head: str = "") -> Recipe:
    """A page whose scripts must not run: drawn as it stands."""
    return _try(f"script-{name}", body, head=head, expect="render")


def _frames(depth: int) -> str:
    inner = "<p>deep</p>"
    for _ in range(depth):
        inner = f'<iframe srcdoc="{inner.replace("&", "&amp;").replace(chr(34), "&quot;")}"></iframe>'
    return inner


RECIPES = [
    _reject("empty", lambda s: "", "empty"),
    _reject("white-space", lambda s: "\n" * s.rng.randint(1, 99), "empty"),
    _reject("nul-bytes", lambda s: _page(s, "a\0b"), "encoding"),
    _reject("no-tags", lambda s: "only words, no page " * s.rng.randint(1, 50), "parse"),
    _reject("random-bytes", lambda s: s.rng.randbytes(3000), "encoding", "parse"),
    _reject("invalid-utf8", lambda s: _page(s, "").encode() + b"<p>\xff\xfe\xfa</p>", "encoding"),
    _reject("utf16-unmarked", lambda s: _page(s, "").encode("utf-16-be"), "encoding"),
    _reject("unknown-encoding", lambda s: "<meta charset=x-nothing><p>a", "encoding"),
    _reject("100-mb", lambda s: b"<p>" + b"word " * (20 << 20), "too_large"),
    _reject("many-tags", lambda s: _page(s, "<b>x</b>" * s.rng.randint(31_000, 60_000)), "too_large"),
    _reject("blank", lambda s: "<!doctype html><title>nothing</title><body>", "blank"),
    _reject("all-hidden", lambda s: "<!doctype html><div style='display:none'>words</div>", "blank"),
    _reject(
        "image-broken",
        lambda s: _page(s, f'<img src="data:image/png;base64,{base64.b64encode(s.rng.randbytes(90)).decode()}">'),
        "parse",
    ),
    _blocked("image", '<img src="BEACON/a.png" width=50 height=50>'),
    _blocked("image-file", '<img src="file:///etc/passwd"><img src="file:///usr/share/pixmaps/debian-logo.png">'),
    _blocked(
        "sources", '<picture><source srcset="BEACON/a.webp 1x, BEACON/b.webp 2x"><img src="BEACON/c.png"></picture>'
    ),
    _blocked("frame", '<iframe src="BEACON/f.html"></iframe>'),
    _blocked("frame-file", '<iframe src="file:///etc/passwd" width=300 height=200></iframe>'),
    _blocked("object", '<object data="BEACON/o.svg"></object><embed src="BEACON/e.pdf">'),
    _blocked("media", '<video autoplay src="BEACON/v.mp4"></video><audio autoplay src="BEACON/a.mp3"></audio>'),
    _blocked("style-sheet", head='<link rel=stylesheet href="BEACON/a.css">'),
    _blocked("import", head='<style>@import "BEACON/a.css"; @import url(BEACON/b.css);</style>'),
    _blocked(
        "font",
        "<p style='font-family:zz'>Words</p>",
        head="<style>@font-face{font-family:zz;src:url(BEACON/f.woff2)}</style>",
    ),
    _blocked("background", '<div style="height:50px;background:url(BEACON/bg.png)"></div>'),
    _blocked("cursor", '<div style="cursor:url(BEACON/c.cur),auto">x</div>'),
    _blocked(
        "hints",
        head='<link rel=preconnect href="BEACON/"><link rel=dns-prefetch href="BEACON/">'
        '<link rel=preload as=image href="BEACON/p.png">'
        '<link rel=prefetch href="BEACON/q"><link rel=modulepreload href="BEACON/m.js">'
        '<link rel=icon href="BEACON/i.ico">',
    ),
    _blocked("manifest", head='<link rel=manifest href="BEACON/m.json"><base href="BEACON/">'),
    _blocked("ping", '<a href="#" ping="BEACON/p">x</a><form action="BEACON/f"><button autofocus>Go</button></form>'),
    _blocked(
        "speculation", '<script type=speculationrules>{"prefetch":[{"source":"list","urls":["BEACON/s"]}]}</script>'
    ),
    _blocked(
        "inline-svg",
        '<svg width=50 height=50><image href="BEACON/a.png" width=50 height=50 /><use href="BEACON/u.svg#x"/></svg>',
    ),
    _blocked("refresh", head='<meta http-equiv="refresh" content="0;url=BEACON/r">'),
    _blocked("refresh-self", head="<meta http-equiv=refresh content=0>"),
    _blocked("refresh-noscript", head='<noscript><meta http-equiv=refresh content="0;url=BEACON/n"></noscript>'),
    _try(
        "outside-refresh-hidden",
        "",
        "forbidden",
        "no_result",
        "timeout",
        head='<meta http-equiv="ref&#114;esh" content="0;url=BEACON/r">',
    ),
    _inert("loop", "<script>while(true){}</script>"),
    _inert("onload", "<img src='data:,' onerror='while(1){}'><svg onload='while(1){}'></svg>"),
    _inert("write", "<script>document.write('<h1>written</h1>')</script>"),
    _inert("allocation", "<script>let a=[];for(;;)a.push(new Array(1e6).fill(1))</script>"),
    _inert("alert", "<script>alert(1);confirm(2);prompt(3)</script>"),
    _inert("popups", "<script>for(let i=0;i<20;i++)open('BEACON/'+i)</script>"),
    _inert(
        "fetch",
        "<script>fetch('BEACON/f');new WebSocket('ws://127.0.0.1:9/');navigator.sendBeacon('BEACON/b')</script>",
    ),
    _inert("worker", "<script>new Worker(URL.createObjectURL(new Blob(['for(;;){}'])))</script>"),
    _inert("service-worker", "<script>navigator.serviceWorker.register('BEACON/sw.js')</script>"),
    _inert("location", "<script>location='BEACON/l'</script>"),
    _inert("submit", "<form id=f action='BEACON/s'></form><script>f.submit()</script>"),
    _inert("module", "<script type=module src='BEACON/m.js'></script><script async src='BEACON/a.js'></script>"),
    _inert("unclosed", "<script>while(true){}"),
    _inert("remove-body", "<script>document.body.remove()</script>"),
    _try("very-tall", "<div style='height:3000000px;background:linear-gradient(red,blue)'></div>", expect="render"),
    _try("very-wide", "<div style='width:3000000px;height:50px;background:red'></div>", expect="render"),
    _try("deep", lambda s: "<div>" * s.rng.randint(3000, 9000) + "x", *_LIMITS),
    _try("deep-tables", "<table><tr><td>" * 300 + "x", *_LIMITS),
    _try("frames-in-frames", lambda s: _frames(6), *_LIMITS),
    _try(
        "image-bomb",
        lambda s: f'<img width=50 src="data:image/png;base64,{base64.b64encode(png(30_000, 30_000)).decode()}">',
        *_LIMITS,
        "parse",
    ),
    _try(
        "moving",
        "<div class=m>x</div>",
        head="<style>.m{animation:a 1s infinite;width:50px;height:50px;background:red}"
        "@keyframes a{to{margin-left:500px}}</style>",
        expect="render",
    ),
    _try("marquee", "<marquee>round and round</marquee><blink>x</blink>", expect="render"),
    _try(
        "nested-effects",
        lambda s: "<div style='filter:blur(50px);opacity:.9;mix-blend-mode:multiply'>" * 60 + "x",
        *_LIMITS,
    ),
    _try(
        "blur-bomb",
        "<div style='filter:blur(9999px) drop-shadow(0 0 9999px red);width:900px;height:900px'>x</div>" * 20,
        *_LIMITS,
        slow=True,
    ),
    _try(
        "shadow-bomb",
        lambda s: f"<p style='text-shadow:{','.join(['0 0 900px red'] * 400)}'>{'words ' * 50}</p>",
        *_LIMITS,
        slow=True,
    ),
    _try(
        "grid-bomb",
        "<div style='display:grid;grid-template:repeat(30000,1px)/repeat(30000,1px)'><i>x</i></div>",
        *_LIMITS,
        slow=True,
    ),
    _try(
        "selector-bomb",
        lambda s: "<i><b><u>" * 900,
        *_LIMITS,
        slow=True,
        head="<style>"
        + "".join(f"i b u:has(i b:nth-last-child({n}n+1) u ~ i)+b{{color:red}}" for n in range(1, 400))
        + "</style>",
    ),
    _try("font-huge", "<p style='font-size:1e6px'>A</p>", *_LIMITS),
    _try("long-word", lambda s: "A" * 800_000, *_LIMITS),
    _try("broken-nesting", "<b><i></b></i><table><p><td></table></p><select><div></select>", expect="render"),
    _try("unclosed-comment", "<!-- never closed <p>x", expect="render"),
    _try(
        "vertical-units",
        "<div style='height:100vh;background:#eef'>x</div><div style='min-height:200vh'>y</div>",
        expect="render",
    ),
    _try("latin1-text", "<p>caf&eacute; &#x1F600; &lt;script&gt;</p>", expect="render"),
    _try("sound-page", "<h1>Title</h1><ul><li>one<li>two</ul><button>Go</button>", expect="render", control=True),
    _try("sound-table", "<table border=1><tr><th>a<th>b<tr><td>1<td>2</table>", expect="render", control=True),
    _try("sound-long", lambda s: "<p>Line after line of text.</p>" * 200, expect="render", control=True),
]
