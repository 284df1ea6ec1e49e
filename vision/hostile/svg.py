"""Hostile and sound drawings: see `hostile`."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable

from .types import Colour, Expectation, Pixel, Recipe, Setting, png

_NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
_XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'
_LIMITS = ("timeout", "memory", "signal", "no_result")


def _svg(body: str, box: str = "0 0 100 100", root: str = "") -> str:
    return f'<svg {_NS} viewBox="{box}" {root}>{body}</svg>'


def _marked(setting: Setting, body: str) -> str:
    """A drawing with the input's own colour in its upper left quarter, drawn last."""
    return _svg(
        f'<rect width="100" height="100" fill="#fffff0"/>{body}<rect width="50" height="50" fill="{setting.hex}"/>'
    )


def _corner(colour: Colour) -> tuple[Pixel, ...]:
    return (Pixel(0.2, 0.2, colour),)


def _image(data: bytes, mime: str = "image/png") -> str:
    return f'<image width="90" height="90" href="data:{mime};base64,{base64.b64encode(data).decode()}"/>'


_GIF_FRAME = b"!\xf9\x04\x00\x0a\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00"
_GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\x00\x00\x00\x00\xff" + _GIF_FRAME * 2 + b";"


def _entities(setting: Setting) -> str:
    lines = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    return f'<!DOCTYPE svg [<!ENTITY e0 "lol">{lines}]>' + _svg("<text>&e9;</text>")


def _quadratic(setting: Setting) -> str:
    return f'<!DOCTYPE svg [<!ENTITY a "{"x" * 50_000}">]>' + _svg(f"<text>{'&a;' * 20_000}</text>")


def _external(declaration: str) -> Callable[[Setting], str]:
    def make(setting: Setting) -> str:
        return f"<!DOCTYPE svg [{declaration.format(beacon=setting.beacon)}]>" + _svg("<text y='50'>&x;</text>")

    return make


def _use_bomb(setting: Setting) -> str:
    levels = "".join(
        f'<g id="l{i}">' + f'<use href="#l{i - 1}"/>' * 10 + "</g>" for i in range(1, setting.rng.randint(6, 9))
    )
    return _svg(f'<defs><g id="l0"><rect width="1" height="1"/></g>{levels}</defs><use href="#l5"/>')


def _pattern_bomb(setting: Setting) -> str:
    patterns = "".join(
        f'<pattern id="p{i}" width="1" height="1">'
        + f'<rect width="9" height="9" fill="url(#p{i - 1})"/>' * 12
        + "</pattern>"
        for i in range(1, 8)
    )
    return _svg(f'<pattern id="p0" width="1" height="1"/>{patterns}<rect width="90" height="90" fill="url(#p7)"/>')


def _path_bomb(setting: Setting) -> str:
    return _svg(f'<path d="M0 0{"L1 2L3 4" * 60_000}"/>')


def _style_bomb(setting: Setting) -> str:
    rules = "".join(f".a{i} .b .c .d{{fill:#00{i % 10}}}" for i in range(3000))
    body = (
        f'<g class="a{setting.rng.randint(0, 2999)}"><g class="b"><g class="c">' + '<path class="d" d="M0 0h1"/>' * 3000
    )
    return _marked(setting, f"<style>{rules}</style>{body}</g></g></g>")


def _filter_bomb(setting: Setting) -> str:
    noise, blur = '<feTurbulence baseFrequency="0.5" numOctaves="9999999"/>', '<feGaussianBlur stdDeviation="9999"/>'
    steps = (noise + blur) * 60
    return _marked(setting, f'<filter id="f">{steps}</filter><rect x="60" width="30" height="90" filter="url(#f)"/>')


def _huge(setting: Setting) -> bytes:
    return _svg('<path d="M0 0h9"/>').encode() + b"<!--" + b"x" * (100 << 20) + b"-->"


def _reject(name: str, make: Callable[[Setting], str | bytes], *codes: str, slow: bool = False) -> Recipe:
    return Recipe("svg", name, make, "reject", codes, slow=slow)


def _try(
    name: str,
    body: Callable[[Setting], str | bytes],
    *codes: str,
    expect: Expectation = "either",
    slow: bool = False,
    control: bool = False,
) -> Recipe:
    return Recipe("svg", name, body, expect, codes, _corner, slow, control)


def _outside(name: str, body: str) -> Recipe:
    """A drawing that wants something from elsewhere."""
    return _reject(f"outside-{name}", lambda s: _marked(s, body.replace("BEACON/", s.beacon)), "forbidden")


RECIPES = [
    _reject("empty", lambda s: "", "empty"),
    _reject("white-space", lambda s: " \n\t" * s.rng.randint(1, 500), "empty"),
    _reject("nul-bytes", lambda s: _svg("<path d='M0 0\0h9'/>"), "encoding"),
    _reject("no-xml", lambda s: "this is not a drawing at all " * s.rng.randint(1, 9), "parse"),
    _reject("unclosed", lambda s: f'<svg {_NS} viewBox="0 0 9 9"><g><rect width="5" height="5"/>', "parse"),
    _reject("mismatched", lambda s: f'<svg {_NS} viewBox="0 0 9 9"><g></svg></g>', "parse"),
    _reject("doubled-attribute", lambda s: _svg('<rect width="5" width="6" height="5"/>'), "parse"),
    _reject("two-roots", lambda s: _svg("") + _svg(""), "parse"),
    _reject(
        "wrong-root", lambda s: '<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', "parse", "invalid_geometry"
    ),
    _reject("truncated", lambda s: _marked(s, "<g>" * 3)[: s.rng.randint(90, 150)], "parse"),
    _reject("random-bytes", lambda s: s.rng.randbytes(s.rng.randint(50, 5000)), "encoding", "parse"),
    _reject("a-png", lambda s: png(9, 9), "encoding", "parse"),
    _reject("compressed", lambda s: gzip.compress(_marked(s, "").encode(), mtime=0), "encoding", "parse"),
    _reject(
        "utf16-unmarked",
        lambda s: ('<?xml version="1.0" encoding="UTF-16"?>' + _svg("")).encode("utf-16-le"),
        "encoding",
        "parse",
    ),
    _reject("utf16-claimed", lambda s: '<?xml version="1.0" encoding="UTF-16"?>' + _svg(""), "encoding"),
    _reject("invalid-utf8", lambda s: _svg("<text>").encode() + b"\xc3\x28\xa0\xa1" + b"</text>", "encoding"),
    _reject("surrogates", lambda s: _svg("<text>\ud800</text>"), "encoding"),
    _reject(
        "unknown-encoding",
        lambda s: f'<?xml version="1.0" encoding="x-none-{s.rng.randint(0, 99)}"?>' + _svg(""),
        "encoding",
    ),
    _reject("undeclared-latin1", lambda s: _svg("<text>caf\xe9</text>").encode("latin-1"), "encoding"),
    _reject("control-characters", lambda s: _svg("<text>\x01\x02</text>"), "parse"),
    _reject("undefined-entity", lambda s: _svg("<text>&nbsp;</text>"), "parse"),
    _reject("entity-bomb", _entities, "forbidden"),
    _reject("entity-quadratic", _quadratic, "forbidden"),
    _reject("entity-file", _external('<!ENTITY x SYSTEM "file:///etc/passwd">'), "forbidden"),
    _reject("entity-http", _external('<!ENTITY x SYSTEM "{beacon}x">'), "forbidden"),
    _reject("entity-parameter", _external('<!ENTITY % x SYSTEM "{beacon}x"> %x;'), "forbidden", "parse"),
    _reject("outside-stylesheet", lambda s: f'<?xml-stylesheet href="{s.beacon}a.css"?>' + _marked(s, ""), "forbidden"),
    _outside("image", '<image width="9" height="9" href="BEACON/a.png"/>'),
    _outside("image-file", '<image width="9" height="9" xlink:href="file:///etc/passwd"/>'),
    _outside("image-relative", '<image width="9" height="9" href="../../secret.png"/>'),
    _outside("use", '<use href="BEACON/a.svg#x"/>'),
    _outside("import", "<style>@import url(BEACON/a.css);</style>"),
    _outside("fill", '<rect width="9" height="9" fill="url(BEACON/a.svg#g)"/>'),
    _outside("escaped-url", '<rect width="9" height="9" style="fill:u\\72l(BEACON/a.svg#g)"/>'),
    _outside("font", "<style>@font-face{font-family:x;src:url(BEACON/f.woff)}</style><text font-family='x'>a</text>"),
    _outside(
        "fe-image",
        '<filter id="f"><feImage href="BEACON/a.png"/></filter><rect width="9" height="9" filter="url(#f)"/>',
    ),
    _outside(
        "html-image",
        f'<foreignObject width="50" height="50"><img {_XHTML} src="BEACON/a.png"/></foreignObject>',
    ),
    _outside(
        "frame",
        f'<foreignObject width="50" height="50"><iframe {_XHTML} src="BEACON/"/></foreignObject>',
    ),
    _reject("script", lambda s: _marked(s, "<script>while(true){}</script>"), "forbidden"),
    _reject("event-handler", lambda s: _svg("<path d='M0 0h9'/>", root='onload="while(1){}"'), "forbidden"),
    _reject(
        "script-link", lambda s: _marked(s, '<a href="java&#10;script:alert(1)"><path d="M0 0h9"/></a>'), "forbidden"
    ),
    _reject(
        "viewbox-huge", lambda s: _svg("<path d='M0 0h9'/>", f"0 0 1e{s.rng.randint(9, 300)} 1e9"), "invalid_geometry"
    ),
    _reject("viewbox-zero", lambda s: _svg("<path d='M0 0h9'/>", "0 0 0 100"), "invalid_geometry"),
    _reject(
        "viewbox-negative", lambda s: _svg("<path d='M0 0h9'/>", f"0 0 -{s.rng.randint(1, 99)} 100"), "invalid_geometry"
    ),
    _reject(
        "viewbox-nan",
        lambda s: _svg("<path d='M0 0h9'/>", s.rng.choice(["0 0 nan 9", "0 0 inf inf", "a b c d", "0 0 9"])),
        "invalid_geometry",
    ),
    _reject("no-size", lambda s: f'<svg {_NS}><rect width="50" height="50"/></svg>', "invalid_geometry"),
    _reject("thin", lambda s: _svg("<path d='M0 0h9'/>", f"0 0 {s.rng.randint(9000, 99000)} 1"), "invalid_geometry"),
    _reject("use-bomb", _use_bomb, "too_large"),
    _reject("use-itself", lambda s: _svg('<g id="a"><use href="#a"/></g>'), "invalid_geometry"),
    _reject(
        "use-circle", lambda s: _svg('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'), "invalid_geometry"
    ),
    _reject("pattern-bomb", _pattern_bomb, "too_large"),
    _reject(
        "pattern-itself",
        lambda s: _svg('<pattern id="p" width="5" height="5"><rect width="5" height="5" fill="url(#p)"/></pattern>'),
        "invalid_geometry",
    ),
    _reject("deep", lambda s: _svg("<g>" * 3000 + "</g>" * 3000), "too_large"),
    _reject("very-deep", lambda s: _svg("<g>" * 200_000 + "</g>" * 200_000), "too_large", "parse"),
    _reject("many-elements", lambda s: _svg('<path d="M0 0h1"/>' * s.rng.randint(21_000, 60_000)), "too_large"),
    _reject("many-points", _path_bomb, "too_large"),
    _reject("image-bomb", lambda s: _svg(_image(png(30_000, 30_000))), "too_large", "parse"),
    _reject("image-broken", lambda s: _svg(_image(s.rng.randbytes(300))), "parse"),
    _reject("image-moving", lambda s: _svg(_image(_GIF, "image/gif")), "unsupported_feature", "parse"),
    _reject("image-of-svg", lambda s: _svg(_image(_svg("").encode(), "image/svg+xml")), "unsupported_feature"),
    _reject(
        "animated",
        lambda s: _marked(s, '<animate attributeName="x" dur="1s" repeatCount="indefinite"/>'),
        "unsupported_feature",
    ),
    _reject("blank", lambda s: _svg('<rect width="100" height="100" fill="white"/>'), "blank"),
    _reject("off-canvas", lambda s: _svg(f'<rect x="{s.rng.randint(200, 9000)}" width="9" height="9"/>'), "blank"),
    _reject("invisible", lambda s: _svg('<g display="none"><rect width="90" height="90"/></g>'), "blank"),
    _reject("100-mb", _huge, "too_large"),
    _try(
        "scale-overflow",
        lambda s: _marked(s, '<g transform="scale(1e300)"><rect width="1e300" height="9"/></g>'),
        *_LIMITS,
        "parse",
        "invalid_geometry",
        "blank",
    ),
    _try(
        "huge-numbers",
        lambda s: _marked(s, '<path d="M-1e30 1e38L1e38 -1e38" stroke="red"/>'),
        *_LIMITS,
        "parse",
        "invalid_geometry",
    ),
    _try("bad-path", lambda s: _marked(s, '<path d="M 10 10 L x y Z q 1"/>'), "parse"),
    _try("bad-transform", lambda s: _marked(s, '<g transform="rotate(a) scale()"><path d="M0 0h9"/></g>'), "parse"),
    _try("bad-numbers", lambda s: _marked(s, '<rect x="60" width="1e" height="--5" opacity="half"/>'), "parse"),
    _try(
        "missing-reference",
        lambda s: _marked(s, '<use href="#nowhere"/><rect x="60" width="9" height="9" fill="url(#gone)"/>'),
        "parse",
    ),
    _try("font-huge", lambda s: _marked(s, '<text y="90" font-size="1e6">A</text>'), *_LIMITS, "too_large"),
    _try("filter-bomb", _filter_bomb, *_LIMITS, slow=True),
    _try("style-bomb", _style_bomb, *_LIMITS, slow=True),
    _try(
        "dash-bomb",
        lambda s: _marked(s, '<path d="M0 90H100" stroke="red" stroke-dasharray="1e-7"/>'),
        *_LIMITS,
        slow=True,
    ),
    _try(
        "text-bomb", lambda s: _marked(s, f'<text y="90" font-size="1">{"A" * 1_000_000}</text>'), *_LIMITS, slow=True
    ),
    _try(
        "huge-size",
        lambda s: _svg(f'<rect width="50" height="50" fill="{s.hex}"/>', root='width="1000000" height="1000000"'),
        expect="render",
    ),
    _try(
        "document-type",
        lambda s: (
            '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">'
            + _marked(s, "")
        ),
        expect="render",
    ),
    _try(
        "utf16-marked",
        lambda s: ('<?xml version="1.0" encoding="UTF-16"?>' + _marked(s, "")).encode("utf-16"),
        expect="render",
    ),
    _try(
        "latin1-declared",
        lambda s: ('<?xml version="1.0" encoding="ISO-8859-1"?>' + _marked(s, "<text y='90'>caf\xe9</text>")).encode(
            "latin-1"
        ),
        expect="render",
    ),
    _try(
        "sound-shapes",
        lambda s: _marked(s, '<circle cx="75" cy="75" r="20" fill="#d03020"/>'),
        expect="render",
        control=True,
    ),
    _try(
        "sound-style",
        lambda s: _svg(f"<style>.q{{fill:{s.hex}}}</style><rect class='q' width='50' height='50'/>"),
        expect="render",
        control=True,
    ),
    _try(
        "sound-browser",
        lambda s: _marked(
            s,
            '<filter id="b"><feGaussianBlur stdDeviation="2"/></filter>'
            '<circle cx="75" cy="75" r="9" filter="url(#b)"/>',
        ),
        expect="render",
        control=True,
    ),
    _try(
        "sound-use",
        lambda s: _svg(f'<defs><rect id="r" width="50" height="50"/></defs><use href="#r" fill="{s.hex}"/>'),
        expect="render",
        control=True,
    ),
]
