// One sequence over its window: documents as a bar, pictures below it, clues above, an arc from each clue to its answer.
const WIDE = 1160, LEFT = 10, ARCS = 210, BAR = 34, CLUES = 226, DOCS = 246, IMAGES = 284, AXIS = 300, HIGH = 322;
const TONES = 8, COLOURS = 6;

const domains = [...new Set(data.sequences.flatMap((one) => one.domains))].sort();
const tone = (sequence, doc) => `tone${domains.indexOf(sequence.domains[doc[2]]) % COLOURS}`;
const tint = (number) => `item${number % TONES}`;

// Documents, neighbours of one domain that are too narrow to tell apart drawn as one.
function blocks(sequence, from, to, wide) {
  const least = (to - from) / wide, found = [];
  for (const doc of sequence.docs) {
    if (doc[1] <= from || doc[0] >= to) continue;
    const last = found[found.length - 1];
    if (last && doc[1] - doc[0] < least && last.end - last.start < 3 * least && last.doc[2] === doc[2] && last.end === doc[0]) last.end = doc[1];
    else found.push({ start: doc[0], end: doc[1], doc });
  }
  return found;
}

function miniature(sequence) {
  const drawing = draw("svg", { viewBox: "0 0 600 18", preserveAspectRatio: "none", "aria-hidden": "true" });
  const x = (at) => 600 * at / sequence.length;
  drawing.append(draw("rect", { x: 0, y: 5, width: 600, height: 13, class: "empty" }));
  for (const one of blocks(sequence, 0, sequence.length, 600)) {
    drawing.append(draw("rect", { x: x(one.start), y: 5, width: Math.max(0.4, x(one.end) - x(one.start)), height: 13, class: tone(sequence, one.doc) }));
  }
  sequence.items.forEach((item, number) => {
    for (const clue of item.clues) drawing.append(draw("rect", { x: x(clue.start), y: 0, width: 2, height: 4, class: tint(number) }));
  });
  return drawing;
}

// The figure; `view` is the part of the window that it shows, `told` is called with a document or a clue pointed at.
function windowFigure(sequence, view, told) {
  const span = view.to - view.from, x = (at) => LEFT + (WIDE - 2 * LEFT) * (at - view.from) / span;
  const inside = (start, end) => end > view.from && start < view.to;
  const drawing = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "window", role: "img" });
  const clip = draw("clipPath", { id: "inside" }, draw("rect", { x: LEFT, y: 0, width: WIDE - 2 * LEFT, height: HIGH }));
  const body = draw("g", { "clip-path": "url(#inside)" });
  body.append(draw("rect", { x: x(0), y: DOCS, width: x(sequence.length) - x(0), height: BAR, class: "empty" }));
  for (const one of blocks(sequence, view.from, view.to, WIDE)) {
    const rect = draw("rect", { x: x(one.start), y: DOCS, width: Math.max(0.5, x(one.end) - x(one.start) - (span < 400 * WIDE / 10 ? 0.6 : 0)), height: BAR, class: `doc ${tone(sequence, one.doc)}` });
    rect.addEventListener("pointerenter", () => told({ doc: one.doc }));
    body.append(rect);
  }
  for (const [start] of sequence.groups) {
    if (start && inside(start, start + 1)) body.append(draw("line", { x1: x(start), x2: x(start), y1: DOCS - 3, y2: DOCS + BAR + 3, class: "group" }));
  }
  for (const one of sequence.images) {
    if (inside(one.start, one.start + one.tokens)) body.append(draw("rect", { x: x(one.start), y: IMAGES, width: Math.max(2, x(one.start + one.tokens) - x(one.start)), height: 7, class: "image" },
      draw("title", {}, `picture of ${one.size[0]} × ${one.size[1]} pixels, ${one.tokens} tokens`)));
  }
  sequence.items.forEach((item, number) => body.append(arcsOf(item, number, x, inside, told)));
  drawing.append(draw("defs", {}, clip), body, ...axis(view, x));
  return drawing;
}

function arcsOf(item, number, x, inside, told) {
  const group = draw("g", { class: `item ${tint(number)}`, "data-item": number });
  const goal = x(item.answer.start);
  for (const [start, end] of item.distractors) {
    if (inside(start, end)) group.append(draw("circle", { cx: x((start + end) / 2), cy: CLUES + 8, r: 2, class: "distractor" }, draw("title", {}, "distractor")));
  }
  item.clues.forEach((clue, place) => {
    const at = x((clue.start + clue.end) / 2), half = Math.abs(goal - at) / 2, high = Math.min(ARCS - 14, 18 + 0.36 * Math.abs(goal - at));
    group.append(draw("path", { d: `M${at} ${CLUES} A${Math.max(half, 0.5)} ${high} 0 0 ${goal >= at ? 1 : 0} ${goal} ${CLUES}`, class: "arc" }));
    if (!inside(clue.start, clue.end)) return;
    const mark = clue.picture !== null
      ? draw("rect", { x: at - 5, y: CLUES - 5, width: 10, height: 10, class: "clue pictured" })
      : draw("circle", { cx: at, cy: CLUES, r: 5, class: "clue" });
    mark.addEventListener("pointerenter", () => told({ item: number, clue: place }));
    group.append(mark);
  });
  if (inside(item.question.start, item.question.end)) group.append(label(x((item.question.start + item.question.end) / 2), CLUES + 5, "?", "middle", "asked"));
  if (inside(item.answer.start, item.answer.end)) group.append(draw("path", { d: `M${goal} ${CLUES - 8} l5 8 l-5 8 l-5 -8 z`, class: "answer" }, draw("title", {}, `answer: ${item.answer.text}`)));
  return group;
}

function axis(view, x) {
  const steps = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power)).sort((a, b) => a - b);
  const step = steps.find((one) => (view.to - view.from) / one <= 10) || steps[steps.length - 1];
  const found = [draw("line", { x1: LEFT, x2: WIDE - LEFT, y1: AXIS, y2: AXIS, class: "axis" })];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    found.push(draw("line", { x1: x(at), x2: x(at), y1: AXIS, y2: AXIS + 4, class: "axis" }), label(x(at), AXIS + 17, count(at), "middle", "soft"));
  }
  return found;
}
