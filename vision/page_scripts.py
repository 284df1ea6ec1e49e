"""What runs inside a page to read from it: when it has settled, how tall it is, and where everything lies.

These are ours and run in the browser's isolated world; the page's own scripts are off. Each is one function without
arguments that returns plain data.
"""

from __future__ import annotations

# Scripts of the page are off, and with them all timers: only promises of the browser itself may be awaited here.
SETTLE = """async () => {
  if (document.fonts) await document.fonts.ready;
  let broken = "";
  for (const one of document.querySelectorAll("img")) {
    const source = String(one.currentSrc || one.src);
    if (!source.startsWith("data:image/")) continue;
    try { await one.decode(); } catch (error) { broken = source.slice(0, 80); }
  }
  for (const one of document.getAnimations ? document.getAnimations() : []) {
    try { one.finish(); } catch (error) { one.cancel(); }
  }
  if (document.activeElement && document.activeElement.blur) document.activeElement.blur();
  scrollTo(0, 0);
  return broken;
}"""

CONTENT_SIZE = """() => {
  const root = document.documentElement;
  let height = root.scrollHeight;
  if (height <= innerHeight) {
    // A short page: a root is never reported lower than the viewport, so its parts are asked.
    const bottoms = [root, ...document.querySelectorAll("body *")].map(one => one.getBoundingClientRect().bottom);
    height = Math.min(innerHeight, Math.ceil(bottoms.reduce((a, b) => Math.max(a, b), 0)));
  }
  return {height: Math.max(1, Math.round(height)), overflow: root.scrollWidth > innerWidth + 1};
}"""

# Shared by both layouts: what of a box is inside the viewport and not covered by something else.
_VISIBLE = """
  const W = innerWidth, H = innerHeight, LIMIT = 400;
  const clip = r => {
    const x1 = Math.max(0, r.left), y1 = Math.max(0, r.top), x2 = Math.min(W, r.right), y2 = Math.min(H, r.bottom);
    return x2 - x1 > 0.5 && y2 - y1 > 0.5 ? [x1, y1, x2, y2] : null;
  };
  const path = one => {
    const steps = [];
    for (; one && one.parentElement && one !== document.body; one = one.parentElement) {
      if (one.id) { steps.unshift(one.id); break; }
      const same = [...one.parentElement.children].filter(other => other.localName === one.localName);
      steps.unshift(same.length > 1 ? `${one.localName}[${same.indexOf(one) + 1}]` : one.localName);
    }
    return steps.join("/");
  };
  const round = box => box.map(side => Math.round(side * 100) / 100);
"""

WEB_LAYOUT = (
    """() => {"""
    + _VISIBLE
    + """
  const ROLES = {a: "link", button: "button", select: "select", textarea: "textbox", img: "image", svg: "image",
    canvas: "image", picture: "image", video: "image", table: "table", th: "column header", td: "cell", li: "list item",
    p: "paragraph", nav: "navigation", header: "header", footer: "footer", main: "main", aside: "sidebar",
    form: "form", label: "label", ul: "list", ol: "list", figure: "figure", figcaption: "caption", caption: "caption",
    blockquote: "quote", pre: "code", code: "code", article: "article", section: "section", hr: "separator",
    progress: "progress bar", meter: "meter", summary: "summary", dialog: "dialog", dt: "term", dd: "definition",
    h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", time: "text"};
  const INPUTS = {checkbox: "checkbox", radio: "radio button", submit: "button", button: "button", reset: "button",
    range: "slider", color: "color field", file: "file field", image: "button", search: "search box"};
  const TIGHT = new Set(["heading", "paragraph", "text", "list item", "label", "caption", "quote", "term", "definition",
    "link", "summary"]);
  const WHOLE = new Set(["table", "navigation", "header", "footer", "main", "sidebar", "form", "list", "figure",
    "article", "section", "group", "dialog"]);
  const ownText = one => [...one.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  const roleOf = one => {
    const tag = one.localName;
    if (tag === "input") return one.type === "hidden" ? "" : INPUTS[one.type] || "textbox";
    const given = one.getAttribute("role");
    if (given && given !== "presentation" && given !== "none") return given === "img" ? "image" : given;
    if (ROLES[tag]) return ROLES[tag];
    if (ownText(one)) return "text";
    return one.id ? "group" : "";
  };
  const wordsOf = (one, role) => {
    const label = one.getAttribute("aria-label") || one.getAttribute("alt") || "";
    if (role === "textbox" || role === "search box") return one.value || one.placeholder || label;
    if (one.localName === "select") return one.selectedOptions.length ? one.selectedOptions[0].text : label;
    if (one.localName === "input") return one.value && role === "button" ? one.value : label;
    if (WHOLE.has(role) || role === "image") return label;
    return (one.innerText || label).replace(/\\s+/g, " ").trim();
  };
  const clear = colour => /^(rgba\\(.*, 0\\)|transparent)$/.test(colour);
  const plain = style => style.backgroundImage === "none" && clear(style.backgroundColor)
    && !parseFloat(style.borderTopWidth) && !parseFloat(style.borderLeftWidth);
  const found = [];
  for (const one of document.body ? document.body.querySelectorAll("*") : []) {
    if (found.length >= LIMIT) break;
    if (one.ownerSVGElement) continue;
    const role = roleOf(one);
    if (!role || !one.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const style = getComputedStyle(one);
    let rect = one.getBoundingClientRect();
    if (TIGHT.has(role) && plain(style)) {
      const range = document.createRange();
      range.selectNodeContents(one);
      rect = range.getBoundingClientRect();
    }
    const box = clip(rect);
    if (!box || rect.width < 2 || rect.height < 1) continue;
    const words = wordsOf(one, role).slice(0, 200);
    if (!words && TIGHT.has(role)) continue;
    let hits = 0;
    for (const u of [0.08, 0.5, 0.92]) for (const v of [0.15, 0.5, 0.85]) {
      const at = document.elementFromPoint(box[0] + (box[2] - box[0]) * u, box[1] + (box[3] - box[1]) * v);
      if (at && (at === one || one.contains(at) || at.contains(one))) hits += 1;
    }
    const inside = (box[2] - box[0]) * (box[3] - box[1]) / (rect.width * rect.height);
    found.push({id: one.id || path(one), role, text: words, box: round(box),
      visible: Math.round(Math.min(1, inside) * hits / 9 * 1000) / 1000,
      attributes: {tag: one.localName, color: style.color, background: plain(style) ? "" : style.backgroundColor,
        font_px: parseFloat(style.fontSize)}});
  }
  return {elements: found, title: document.title.slice(0, 300),
    total: document.querySelectorAll("*").length};
}"""
)

SVG_LAYOUT = (
    """() => {"""
    + _VISIBLE
    + """
  // A browser's box of a turned shape is the box of its turned box. The shape's own points give the true one.
  const outline = one => {
    if (one.points) return [...one.points];
    if (one.localName === "rect" && !one.rx.baseVal.value && !one.ry.baseVal.value) {
      const [x, y, w, h] = [one.x, one.y, one.width, one.height].map(side => side.baseVal.value);
      return [[x, y], [x + w, y], [x, y + h], [x + w, y + h]].map(([px, py]) => new DOMPoint(px, py));
    }
    const length = one.getTotalLength(), steps = 300;
    return Array.from({length: steps + 1}, (_, step) => one.getPointAtLength(length * step / steps));
  };
  const rectOf = (one, style) => {
    const rect = one.getBoundingClientRect(), matrix = one.getScreenCTM && one.getScreenCTM();
    if (!matrix || !one.getTotalLength || Math.abs(matrix.b) + Math.abs(matrix.c) < 1e-6) return rect;
    const points = outline(one).map(point => new DOMPoint(point.x, point.y).matrixTransform(matrix));
    if (!points.length) return rect;
    const xs = points.map(point => point.x), ys = points.map(point => point.y);
    const scale = Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));
    const pad = style.stroke === "none" ? 0 : parseFloat(style.strokeWidth) / 2 * scale;
    const left = Math.min(...xs) - pad, right = Math.max(...xs) + pad;
    const top = Math.min(...ys) - pad, bottom = Math.max(...ys) + pad;
    return {left, right, top, bottom, width: right - left, height: bottom - top};
  };
  const SHAPES = new Set(["path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "image", "use",
    "foreignObject"]);
  const WORDED = new Set(["text", "foreignObject"]), UNFILLED = new Set(["line", "image", "use"]);
  const HIDDEN = "defs, symbol, clipPath, mask, pattern, marker, linearGradient, radialGradient, filter, title, desc";
  const found = [], drawn = [], groups = [], grouped = [];
  for (const one of document.querySelectorAll("*")) {
    if (found.length >= LIMIT) break;
    const shape = SHAPES.has(one.localName);
    if (!shape && !(one.localName === "g" && one.id)) continue;
    if (one.closest(HIDDEN) || (one.parentElement && one.parentElement.closest("text, foreignObject"))) continue;
    const style = getComputedStyle(one);
    if (!one.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const rect = rectOf(one, style);
    const box = clip(rect);
    if (!box) continue;
    if (!shape) { groups.push(one); continue; }
    let hits = 0, own = 0;
    for (let i = 0; i < 7; i++) for (let j = 0; j < 7; j++) {
      const x = box[0] + (box[2] - box[0]) * (i + 0.5) / 7, y = box[1] + (box[3] - box[1]) * (j + 0.5) / 7;
      const at = document.elementsFromPoint(x, y).map(each => each.closest("text, use") || each);
      const depth = at.indexOf(one);
      if (depth >= 0) { own += 1; if (depth === 0) hits += 1; }
    }
    const inside = Math.min(1, (box[2] - box[0]) * (box[3] - box[1]) / (rect.width * rect.height));
    const visible = Math.round(inside * (own ? hits / own : 1) * 1000) / 1000;
    drawn.push(one);
    found.push({id: one.id || path(one), role: one.localName, box: round(box), visible,
      text: WORDED.has(one.localName) ? one.textContent.replace(/\\s+/g, " ").trim().slice(0, 200) : "",
      fill: UNFILLED.has(one.localName) ? "" : style.fill, stroke: style.stroke});
  }
  for (const one of groups) {
    const members = found.filter((_, index) => one.contains(drawn[index]));
    const inner = members.map(member => member.visible), sides = members.map(member => member.box);
    const box = [0, 1, 2, 3].map(side => (side < 2 ? Math.min : Math.max)(...sides.map(each => each[side])));
    if (inner.length) grouped.push({id: one.id, role: "g", text: "", box, fill: "", stroke: "",
      visible: Math.round(inner.reduce((a, b) => a + b, 0) / inner.length * 1000) / 1000});
  }
  return found.concat(grouped);
}"""
)
