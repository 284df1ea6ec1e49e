// The data set in three charts: mixture wanted and got, how far dependencies reach, padding by stage.
const SVG = "http://www.w3.org/2000/svg";

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const count = (number) => Math.round(number).toLocaleString("en");
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const label = (x, y, words, anchor = "start", name = "") => draw("text", { x, y, "text-anchor": anchor, class: name }, words);

function short(number) {
  const [size, mark] = [[1e9, "B"], [1e6, "M"], [1e3, "K"]].find(([least]) => number >= least) || [1, ""];
  return `${(number / size).toFixed(number >= 100 * size || size === 1 ? 0 : 1)}${mark}`;
}

function chart(title, told, drawing) {
  return make("figure", { className: "chart" }, make("figcaption", {}, make("h2", { textContent: title }), make("p", { textContent: told })), drawing);
}

function mixtureChart(stage) {
  const rows = stage.mixture.train || Object.values(stage.mixture)[0] || [];
  if (!rows.length) return null;
  const most = Math.max(...rows.flatMap((row) => [row.wanted_share, row.got_share]), 0.01);
  const drawing = draw("svg", { viewBox: `0 0 420 ${rows.length * 38 + 8}`, role: "img" });
  rows.forEach((row, number) => {
    const y = number * 38 + 6, long = (share) => Math.max(1, 210 * share / most);
    drawing.append(label(92, y + 18, row.name, "end"),
      draw("rect", { x: 100, y: y + 2, width: long(row.wanted_share), height: 10, class: "wanted" }),
      draw("rect", { x: 100, y: y + 14, width: long(row.got_share), height: 12, class: "got" }),
      label(108 + Math.max(long(row.wanted_share), long(row.got_share)), y + 18, `${percent(row.got_share)} · ${short(row.got_tokens)}`, "start", "soft"));
  });
  const off = Math.max(...rows.map((row) => Math.abs(row.got_share - row.wanted_share)));
  return chart("Mixture", `Tokens wanted (pale) and got, training split; largest difference ${percent(off, 2)}.`, drawing);
}

function distancesOf(sequences) {
  const counts = Array(20).fill(0);
  for (const one of sequences) {
    for (const item of one.items) {
      for (const clue of item.clues) {
        const share = (item.answer.start - clue.end) / (item.end - item.start);
        counts[Math.min(19, Math.max(0, Math.floor(20 * share)))] += 1;
      }
    }
  }
  return { dependencies: counts.reduce((sum, one) => sum + one, 0), histogram: { counts }, wanted: [] };
}

function distanceChart(stage) {
  const whole = stage?.distances?.dependencies ? stage.distances : null;
  const found = whole || distancesOf(data.sequences);
  if (!found.dependencies) return null;
  const counts = found.histogram.counts, most = Math.max(...counts) / found.dependencies, wide = 380 / counts.length;
  const wanted = found.wanted.map((bin) => ({ ...bin, each: bin.share / ((bin.to - bin.from) * counts.length) }));
  const top = Math.max(most, ...wanted.map((bin) => bin.each));
  const drawing = draw("svg", { viewBox: "0 0 420 170", role: "img" });
  const high = (share) => 130 * share / top;
  counts.forEach((one, number) => {
    const tall = high(one / found.dependencies);
    drawing.append(draw("rect", { x: 20 + number * wide + 1, y: 140 - tall, width: wide - 2, height: tall, class: "got" },
      draw("title", {}, `${one} dependencies`)));
  });
  for (const bin of wanted) {
    const y = 140 - high(bin.each);
    drawing.append(draw("line", { x1: 20 + 380 * bin.from, x2: 20 + 380 * bin.to, y1: y, y2: y, class: "aim" }));
  }
  drawing.append(draw("line", { x1: 20, x2: 400, y1: 140, y2: 140, class: "axis" }));
  for (const at of [0, 0.25, 0.5, 0.75, 1]) drawing.append(label(20 + 380 * at, 157, percent(at, 0), "middle", "soft"));
  const from = whole ? "all sequences" : "the sequences below";
  return chart("How far dependencies reach", `${count(found.dependencies)} clues of ${from}: distance to their answer as a share of the window`
    + (wanted.length ? "; the line is what was wanted." : "."), drawing);
}

function paddingChart(stages) {
  if (!stages.length) return null;
  const drawing = draw("svg", { viewBox: `0 0 420 ${stages.length * 34 + 8}`, role: "img" });
  const top = Math.max(...stages.map((one) => one.padding_share), 0.001);
  stages.forEach((one, number) => {
    const y = number * 34 + 6, long = Math.max(1, 150 * one.padding_share / top);
    drawing.append(label(92, y + 15, one.name, "end"), draw("rect", { x: 100, y: y + 3, width: long, height: 16, class: "padding" }),
      label(108 + long, y + 15, `${percent(one.padding_share, 3)} of ${short(one.tokens.positions)}`, "start", "soft"));
  });
  const sizes = stages.map((one) => `${one.name}: ${count(Object.values(one.sequences).reduce((sum, each) => sum + each, 0))}`);
  return chart("Padding by stage", `Positions that hold no document. Sequences of ${sizes.join(", ")}.`, drawing);
}
