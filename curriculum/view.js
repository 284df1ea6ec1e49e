// The page of packed sequences. Data reaches it only as text and as raster data: URIs, never as markup.
const state = { at: 0, view: { from: 0, to: 1 } };

const many = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;
const current = () => data.sequences[state.at];

function about() {
  const stage = data.stage;
  const words = [`${many(data.total, "sequence")}, ${short(data.tokens)} tokens`];
  if (stage) words.push(`stage ${stage.name}, window ${count(stage.stage.window)}`, `tokenizer ${stage.tokenizer.digest.slice(0, 12)} (${count(stage.tokenizer.vocab_size)} ids)`);
  $("about").textContent = words.join(" · ");
}

function list() {
  $("list").replaceChildren(...data.sequences.map((one, number) => {
    const clues = one.items.reduce((sum, item) => sum + item.clues.length, 0);
    const told = [many(one.docs.length, "document"), one.images.length && many(one.images.length, "picture"),
      one.items.length && `${many(one.items.length, "item")}, ${many(clues, "clue")}`, `${percent(one.padding / one.length, 2)} padding`, one.split]
      .filter(Boolean).join(" · ");
    const button = make("button", { "aria-pressed": String(number === state.at) }, miniature(one), make("span", { textContent: told }));
    button.addEventListener("click", () => show(number));
    return make("li", {}, button);
  }));
}

function legend() {
  const swatch = (name, words) => make("span", {}, make("i", { className: name }), words);
  $("legend").replaceChildren(...domains.map((domain, number) => swatch(`tone${number % COLOURS}`, domain)),
    swatch("image", "picture"), swatch("empty", "padding"));
}

function show(number) {
  state.at = number;
  state.view = { from: 0, to: current().length };
  for (const [at, button] of [...$("list").querySelectorAll("button")].entries()) button.setAttribute("aria-pressed", String(at === number));
  drawSequence();
}

function drawSequence() {
  const sequence = current();
  const figure = make("div", { className: "figure", id: "figure" });
  const pointed = make("div", { className: "pointed", id: "pointed", textContent: "Point at a document or a clue to read it; drag to move, Ctrl and the wheel to zoom." });
  const tools = make("div", { className: "tools" },
    tool("−", "Show more (−)", () => zoom(2)), tool("+", "Show less (+)", () => zoom(0.5)), tool("whole", "The whole window (0)", whole),
    make("span", { id: "range" }));
  $("sequence").replaceChildren(
    make("p", { className: "facts" }, make("b", { textContent: sequence.id }), ` ${many(sequence.length, "token")} · ${sequence.split} · ${sequence.licence} · ${percent(sequence.weighed / sequence.length)} of the positions carry loss`),
    figure, tools, pointed, ...sequence.items.map(itemCard));
  figure.addEventListener("wheel", wheel, { passive: false });
  figure.addEventListener("pointerdown", drag);
  drawFigure();
}

function tool(words, title, action) {
  const button = make("button", { className: "quiet", textContent: words, title });
  button.addEventListener("click", action);
  return button;
}

function drawFigure() {
  const { from, to } = state.view;
  $("figure").replaceChildren(windowFigure(current(), state.view, point));
  $("range").textContent = `tokens ${count(from)} to ${count(to)} of ${count(current().length)}`;
  heat(null);
}

function point({ doc, item, clue }) {
  if (doc) {
    const [start, end, , kind, id, words] = doc;
    $("pointed").replaceChildren(make("b", { textContent: `${current().domains[doc[2]]} · ${current().kinds[kind]}` }),
      ` ${count(start)} … ${count(end)} (${count(end - start)} tokens) · ${id}`, make("p", { textContent: words }));
    return;
  }
  const found = current().items[item].clues[clue];
  $("pointed").replaceChildren(make("b", { textContent: `clue ${clue + 1} of item ${item + 1}` }), ` at ${count(found.start)}`, make("p", { textContent: found.words }));
  heat(item);
}

function heat(number) {
  const drawing = $("figure").querySelector("svg");
  drawing.classList.toggle("some", number !== null);
  for (const group of drawing.querySelectorAll("[data-item]")) group.classList.toggle("hot", Number(group.dataset.item) === number);
}

// --- Items ------------------------------------------------------------------------------------------------------

function itemCard(item, number) {
  const sequence = current(), size = item.end - item.start;
  const share = (at) => percent((at - item.start) / size, 0);
  const head = make("summary", {}, make("i", { className: tint(number) }), make("b", { textContent: `${number + 1}. ${item.family.replaceAll("_", " ")}` }),
    ` ${many(item.clues.length, "clue")} over ${percent(item.span ?? 0, 0)} of the window, ${many(item.distractors.length, "distractor")}`
    + (item.lexical === true ? " · found by shared words alone" : item.lexical === false ? " · not found by shared words" : ""),
    make("span", { className: "answered", textContent: `→ ${item.answer.text}` }));
  const rows = item.clues.map((clue, place) => clueRow(clue, place, share, sequence));
  const question = make("p", { className: "question" }, item.question.words || "(no tokenizer: no words)",
    make("small", { textContent: ` asked at ${share(item.question.start)}, answered at ${share(item.answer.start)}` }));
  const card = make("details", { className: "card" }, head, question, make("ol", {}, ...rows));
  card.open = number < 2;
  card.addEventListener("pointerenter", () => heat(number));
  card.addEventListener("pointerleave", () => heat(null));
  return card;
}

function clueRow(clue, place, share, sequence) {
  const where = make("button", { className: "where", textContent: share(clue.start), title: `Show tokens ${count(clue.start)} to ${count(clue.end)}` });
  where.addEventListener("click", () => near(clue));
  const row = make("li", {}, where, make("div", {}, make("p", { textContent: clue.words }),
    clue.then ? make("p", { className: "edited" }, `If instead: ${clue.edited} `, make("b", { textContent: `→ ${clue.then}` })) : null));
  const picture = clue.picture === null ? null : sequence.pictures[clue.picture];
  if (picture) row.append(picture.src ? make("img", { src: picture.src, alt: `picture of clue ${place + 1}`, loading: "lazy" }) : make("span", { className: "broken", textContent: `no picture: ${picture.why}` }));
  return row;
}

// --- Moving about -----------------------------------------------------------------------------------------------

function look(from, to) {
  const length = current().length, wide = Math.min(length, Math.max(64, to - from));
  const start = Math.min(Math.max(0, from), length - wide);
  state.view = { from: start, to: start + wide };
  drawFigure();
}

function zoom(factor, share = 0.5) {
  const { from, to } = state.view, middle = from + share * (to - from), wide = (to - from) * factor;
  look(middle - share * wide, middle + (1 - share) * wide);
}

function whole() {
  look(0, current().length);
}

function near(clue) {
  const middle = (clue.start + clue.end) / 2, half = Math.max(1500, 4 * (clue.end - clue.start));
  look(middle - half, middle + half);
  $("figure").scrollIntoView({ block: "nearest" });
}

function wheel(event) {
  if (!event.ctrlKey && !event.shiftKey && !event.altKey) return;
  event.preventDefault();
  const box = $("figure").getBoundingClientRect();
  zoom(event.deltaY + event.deltaX > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
}

function drag(event) {
  const { from, to } = state.view, start = event.clientX, wide = $("figure").clientWidth;
  const move = (next) => look(from - (next.clientX - start) / wide * (to - from), to - (next.clientX - start) / wide * (to - from));
  const stop = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", stop); };
  addEventListener("pointermove", move);
  addEventListener("pointerup", stop);
  event.preventDefault();
}

const shift = (share) => { const { from, to } = state.view; look(from + share * (to - from), to + share * (to - from)); };

const KEYS = {
  ArrowDown: () => state.at + 1 < data.sequences.length && show(state.at + 1),
  ArrowUp: () => state.at > 0 && show(state.at - 1),
  ArrowLeft: () => shift(-0.25), ArrowRight: () => shift(0.25),
  "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: whole, t: switchTheme,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  KEYS[event.key]();
  event.preventDefault();
});

about();
$("charts").append(...[data.stage && mixtureChart(data.stage), distanceChart(data.stage), paddingChart(data.stages)].filter(Boolean));
legend();
list();
$("theme").addEventListener("click", switchTheme);
show(0);
