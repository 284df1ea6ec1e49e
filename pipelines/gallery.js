// The gallery's behaviour. Data reaches the page only as text (textContent) and as raster data: URIs, never as markup.
const PAGE = 24;
const state = { kind: "", task: "", split: "", words: "", at: 0, picture: 0, boxes: true };
let shown = [];

// --- Code --------------------------------------------------------------------------------------------------------

function codeBlock(source, language) {
  const text = source.replace(/\n+$/, "");
  const length = text.split("\n").length;
  const numbers = Array.from({ length }, (_, line) => line + 1).join("\n");
  const copy = navigator.clipboard ? make("button", { className: "copy", textContent: "Copy" }) : null;
  copy?.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source);
    copy.textContent = "Copied";
  });
  return make("div", { className: length > 1 ? "code" : "code line" },
    length > 1 ? make("pre", { className: "lines", "aria-hidden": "true", textContent: numbers }) : null,
    make("pre", {}, ...colour(text, language)), copy || "");
}

// --- The filters and the contact sheet ------------------------------------------------------------------------

function matches(sample) {
  return (!state.kind || sample.kind === state.kind)
    && (!state.split || sample.split === state.split)
    && (!state.task || sample.tasks.some((task) => task.name === state.task))
    && state.words.toLowerCase().split(/\s+/).every((word) => sample.words.includes(word));
}

function refilter(keep) {
  shown = data.samples.filter(matches);
  state.at = Math.max(0, keep ? shown.indexOf(keep) : 0);
  state.picture = 0;
  draw();
}

function options(select, name, values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  select.append(make("option", { value: "", textContent: "all" }));
  for (const [value, count] of counts) select.append(make("option", { value, textContent: `${value} (${count})` }));
  select.parentElement.hidden = counts.size < 2 && name !== "task";
  select.addEventListener("change", () => { state[name] = select.value; refilter(shown[state.at]); });
}

function kindChips() {
  const kinds = [...new Set(data.samples.map((sample) => sample.kind))];
  for (const kind of ["", ...kinds]) {
    const count = data.samples.filter((sample) => !kind || sample.kind === kind).length;
    const chip = make("button", { value: kind, type: "button" }, kind || "all", make("small", { textContent: count }));
    chip.addEventListener("click", () => { state.kind = kind; refilter(shown[state.at]); });
    $("kinds").append(chip);
  }
}

function thumb(sample, index) {
  const picture = sample.media.find((part) => part.src);
  const button = make("button", { className: sample.kind === "web" ? "thumb page" : "thumb", title: sample.title, "aria-label": sample.title });
  if (picture) button.append(make("img", { src: picture.src, alt: "" }));
  else button.append(make("span", { className: "words", textContent: sample.text.slice(0, 300) }));
  if (sample.media.length > 1) button.append(make("span", { className: "many", textContent: sample.media.length }));
  if (index === state.at) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => go(index));
  return button;
}

function drawRail() {
  const page = Math.floor(state.at / PAGE);
  const pages = Math.max(1, Math.ceil(shown.length / PAGE));
  const first = page * PAGE;
  $("thumbs").replaceChildren(...shown.slice(first, first + PAGE).map((sample, offset) => thumb(sample, first + offset)));
  $("page").textContent = `page ${page + 1} of ${pages}`;
  $("previous-page").disabled = page === 0;
  $("next-page").disabled = page + 1 >= pages;
  for (const chip of $("kinds").children) chip.setAttribute("aria-pressed", String(chip.value === state.kind));
  const current = $("thumbs").querySelector("[aria-current]");
  if (current) current.scrollIntoView({ block: "nearest", inline: "nearest" });
  $("count").textContent = shown.length === data.samples.length
    ? `${data.samples.length} of the data set's ${data.total.toLocaleString("en")} samples`
    : `${shown.length} of ${data.samples.length} samples match`;
}

// --- One sample ---------------------------------------------------------------------------------------------------

function boxesOf(sample) {
  return sample.tasks.flatMap((task) => task.boxes.filter((box) => box.normalised && box.normalised.length === 4));
}

function overlay(boxes) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 1 1");
  svg.setAttribute("preserveAspectRatio", "none");
  const tags = boxes.map((box, number) => {
    if ((box.media ?? 0) !== state.picture) return null;
    const [x1, y1, x2, y2] = box.normalised;
    for (const name of ["halo", "edge"]) {
      const rect = document.createElementNS(space, "rect");
      const place = { x: x1, y: y1, width: Math.max(0, x2 - x1), height: Math.max(0, y2 - y1) };
      for (const [key, value] of Object.entries(place)) rect.setAttribute(key, value);
      rect.setAttribute("class", name);
      if (name === "edge") rect.dataset.box = number;
      svg.append(rect);
    }
    const tag = make("span", { className: "tag", textContent: number + 1, title: box.label || "" });
    tag.style.left = `${x1 * 100}%`;
    tag.style.top = `${y1 * 100}%`;
    return tag;
  });
  return [svg, ...tags.filter(Boolean)];
}

function stageOf(sample) {
  const part = sample.media[state.picture];
  const image = make("img", { src: part.src, alt: `${sample.kind}, picture ${state.picture + 1} of ${sample.media.length}` });
  if (Math.max(part.width, part.height) < 320) image.style.width = `${2 * part.width}px`;
  const stage = make("div", { className: "stage" }, image);
  if (state.boxes) stage.append(...overlay(boxesOf(sample)));
  return stage;
}

function zoom() {
  const sample = shown[state.at];
  if ($("zoom").open) $("zoom").close();
  else if (sample?.media[state.picture]?.src) {
    $("zoom").replaceChildren(stageOf(sample));
    $("zoom").showModal();
  }
}

function pictureOf(sample) {
  const part = sample.media[state.picture];
  if (!part) return null;
  if (!part.src) return make("div", { className: "frame" }, make("div", { className: "broken", textContent: part.why }));
  const frame = make("button", { className: "frame", title: "Full size (z)" }, stageOf(sample));
  frame.addEventListener("click", zoom);
  return frame;
}

function legend(sample) {
  return make("ol", { className: "legend" }, ...boxesOf(sample).map((box, number) => {
    const item = make("li", {}, make("span", { className: "tag", textContent: number + 1 }), box.label || `box ${number + 1}`);
    item.dataset.box = number;
    const picture = box.media ?? 0;
    if (picture !== state.picture) {
      item.append(make("button", { className: "see", textContent: `in picture ${picture + 1}` }));
      item.lastChild.addEventListener("click", () => { state.picture = picture; drawSample(); });
    }
    return warms(item, [number]);
  }));
}

function underPicture(sample) {
  const row = make("div", { className: "under" });
  if (sample.media.length > 1) {
    const strip = make("div", { className: "strip", role: "group", "aria-label": "Pictures" });
    sample.media.forEach((part, number) => {
      const button = make("button", { title: part.name || `picture ${number + 1}`, "aria-pressed": String(number === state.picture) });
      button.append(part.src ? make("img", { src: part.src, alt: part.name || `picture ${number + 1}` }) : part.mime);
      button.addEventListener("click", () => { state.picture = number; drawSample(); });
      strip.append(button);
    });
    row.append(strip);
  }
  if (boxesOf(sample).length) {
    const toggle = make("button", { className: "toggle", textContent: "Boxes", title: "Show boxes (b)", "aria-pressed": String(state.boxes) });
    toggle.addEventListener("click", () => { state.boxes = !state.boxes; drawSample(); });
    row.append(toggle);
  }
  const part = sample.media[state.picture];
  row.append([part.name, part.width && `${part.width} × ${part.height}`, part.mime].filter(Boolean).join(" · "));
  if (state.boxes && boxesOf(sample).length) row.append(legend(sample));
  return row;
}

// Text with fenced code in it: words as words, the sample's own program as a pointer to it, other code as code.
function wordsAndCode(text, sample, className, fallback) {
  const program = sample.text.trim();
  const block = (code, language) => code.trim() === program && program
    ? make("p", { className: "see", textContent: "→ the program below" })
    : codeBlock(code, languageOf(code, language));
  if (fallback && (text.trim() === program || languageOf(text, ""))) return [block(text, sample.kind)];
  return text.split(/^```/m).map((piece, number) => {
    if (number % 2 === 0) return piece.trim() ? make("p", { className, textContent: piece.trim() }) : null;
    const [language, ...lines] = piece.split("\n");
    return block(lines.join("\n"), language.trim());
  });
}

function heat(numbers, on) {
  for (const number of numbers) {
    for (const element of document.querySelectorAll(`[data-box="${number}"]`)) element.classList.toggle("hot", on);
  }
}

function warms(element, numbers) {
  element.addEventListener("pointerenter", () => heat(numbers, true));
  element.addEventListener("pointerleave", () => heat(numbers, false));
  return element;
}

function taskOf(sample, task) {
  const parts = [...wordsAndCode(task.prompt, sample, "prompt", false), ...wordsAndCode(task.answer, sample, "answer", true)];
  const name = make("div", { className: "name", textContent: task.name.replaceAll("_", " ") });
  const mine = boxesOf(sample).flatMap((box, number) => (task.boxes.includes(box) ? [number] : []));
  return warms(make("section", { className: "task" }, name, ...parts.filter(Boolean)), mine);
}

function rows(pairs) {
  return make("table", {}, ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => make("tr", {}, make("th", { textContent: name }), make("td", { className: "mono", textContent: value }))));
}

function checksAndLineage(sample) {
  const failed = sample.checks.filter((check) => !check.passed).length;
  const summary = make("summary", {}, `Checks and lineage`, sample.checks.length ? ` · ${sample.checks.length - failed} of ${sample.checks.length} passed` : "");
  const checks = make("table", {}, ...sample.checks.map((check) => make("tr", {},
    make("th", { textContent: check.name }),
    make("td", { className: check.passed ? "yes" : "no", textContent: check.passed ? "passed" : "failed" }),
    make("td", { className: "mono", textContent: check.score === null ? "" : String(Math.round(check.score * 1e4) / 1e4) }),
    make("td", { textContent: check.reason || "" }))));
  const lineage = sample.lineage;
  const details = make("details", {}, summary, checks, rows([
    ["id", sample.id], ["source", sample.source.uri], ["item", sample.source.item], ["sha256", sample.source.sha256],
    ["licence", `${sample.licence.spdx} (${sample.licence.class})`], ["credit", sample.licence.attribution],
    ["domain", sample.domain], ["recipe", lineage.recipe], ["unit", lineage.unit], ["seed", lineage.seed],
    ["stages", lineage.stages.map((stage) => `${stage.name} v${stage.version}`).join(" → ")],
    ["parents", lineage.parents.join(", ")], ["shard", sample.shard], ["extra", sample.extra === "{}" ? "" : sample.extra],
  ]));
  details.open = checksAndLineage.open || false;
  details.addEventListener("toggle", () => { checksAndLineage.open = details.open; });
  return details;
}

// What a text was written from, beside it.
function sourceOf(sample) {
  if (!sample.source_text) return [];
  return [make("h2", { textContent: "Written from" }), make("div", { className: "prose", textContent: sample.source_text })];
}

function drawSample() {
  const sample = shown[state.at];
  if (!sample) {
    const clear = make("button", { textContent: "Clear the filters" });
    clear.addEventListener("click", clearFilters);
    $("sample").replaceChildren(make("p", { className: "nothing" }, "Nothing matches. ", clear));
    return;
  }
  const facts = make("p", { className: "facts" },
    make("b", { textContent: sample.kind }),
    ...[sample.template, sample.split, sample.licence.spdx].filter(Boolean).map((fact) => make("span", { textContent: fact })),
    make("span", { className: "place", textContent: `${state.at + 1} / ${shown.length}` }));
  const language = languageOf(sample.text, sample.kind);
  const text = language ? codeBlock(sample.text, language) : make("div", { className: "prose", textContent: sample.text });
  const lines = sample.text.split("\n").length;
  const look = make("div", { className: "look" }, facts, pictureOf(sample), sample.media.length ? underPicture(sample) : null,
    ...sourceOf(sample), checksAndLineage(sample));
  const read = make("div", { className: "read" });
  if (sample.tasks.length) read.append(make("h2", { textContent: "Tasks" }), ...sample.tasks.map((task) => taskOf(sample, task)));
  read.append(make("h2", { textContent: language ? `Program · ${lines} ${lines > 1 ? "lines" : "line"}` : "Text" }), text);
  if (sample.cut) read.append(make("p", { className: "see", textContent: `… and ${sample.cut.toLocaleString("en")} more characters` }));
  $("sample").replaceChildren(look, read);
}

function draw() {
  drawRail();
  drawSample();
}

// --- Moving about ---------------------------------------------------------------------------------------------------

function go(index) {
  if (index < 0 || index >= shown.length) return;
  state.at = index;
  state.picture = 0;
  history.replaceState(null, "", `#${shown[index].id}`);
  draw();
}

function turn(pages) {
  const page = Math.floor(state.at / PAGE) + pages;
  if (page * PAGE < shown.length) go(page * PAGE);
}

function clearFilters() {
  Object.assign(state, { kind: "", task: "", split: "", words: "" });
  for (const id of ["task", "split", "search"]) $(id).value = "";
  refilter(null);
}

const KEYS = {
  ArrowRight: () => go(state.at + 1), j: () => go(state.at + 1),
  ArrowLeft: () => go(state.at - 1), k: () => go(state.at - 1),
  "]": () => turn(1), PageDown: () => turn(1), "[": () => turn(-1), PageUp: () => turn(-1),
  b: () => { state.boxes = !state.boxes; drawSample(); },
  t: switchTheme,
  z: zoom,
  "/": () => $("search").focus(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (["INPUT", "SELECT"].includes(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const digit = Number(event.key);
  if (digit >= 1 && digit <= (shown[state.at]?.media.length || 0)) {
    state.picture = digit - 1;
    drawSample();
  } else if (KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});

for (const sample of data.samples) {
  const tasks = sample.tasks.map((task) => `${task.name} ${task.prompt} ${task.answer}`).join(" ");
  sample.words = `${sample.id} ${sample.kind} ${sample.source.uri} ${sample.template} ${sample.text} ${tasks}`.toLowerCase();
  sample.title = [sample.kind, sample.template].filter(Boolean).join(" · ");
}
kindChips();
options($("task"), "task", data.samples.flatMap((sample) => [...new Set(sample.tasks.map((task) => task.name))]));
options($("split"), "split", data.samples.map((sample) => sample.split));
$("search").addEventListener("input", (event) => { state.words = event.target.value.trim(); refilter(shown[state.at]); });
$("zoom").addEventListener("click", zoom);
$("theme").addEventListener("click", switchTheme);
$("previous-page").addEventListener("click", () => turn(-1));
$("next-page").addEventListener("click", () => turn(1));
refilter(data.samples.find((sample) => `#${sample.id}` === location.hash));
