// The report on rewrites. All texts reach the page as text alone.
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const number = (value) => value.toLocaleString("en");

function tile(name, value, small) {
  return make("div", {}, make("dt", { textContent: name }),
    make("dd", {}, value, small ? make("small", { textContent: small }) : null));
}

function meter(share) {
  const part = make("i");
  part.style.width = `${100 * share}%`;
  return make("span", { className: "meter" }, part);
}

function table(heads, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { textContent: head })))),
    make("tbody", {}, ...rows));
}

function styleRow(one) {
  const template = one.passed >= 200 && one.commonest_opening_share > 0.005;
  return make("tr", {}, make("th", { textContent: data.models > 1 ? `${one.style} · ${one.model}` : one.style }),
    make("td", { textContent: number(one.answers) }),
    make("td", {}, meter(one.pass_rate), percent(one.pass_rate)),
    make("td", { textContent: number(one.repaired) }),
    make("td", { textContent: number(one.tokens) }),
    make("td", { textContent: one.passed ? percent(one.copied) : "" }),
    make("td", { textContent: one.edited === null ? "" : percent(one.edited) }),
    make("td", { className: template ? "bad" : "", textContent: one.passed ? percent(one.commonest_opening_share, 2) : "" }),
    make("td", { className: "words", textContent: one.commonest_opening, title: one.commonest_opening }));
}

function reasonTable() {
  const codes = [...new Set(data.styles.flatMap((one) => Object.keys(one.reasons)))];
  const total = (code) => data.styles.reduce((sum, one) => sum + (one.reasons[code] || 0), 0);
  codes.sort((a, b) => total(b) - total(a));
  if (!codes.length) return make("p", { className: "nothing", textContent: "Every answer passed." });
  return table(["", "all", ...data.styles.map((one) => one.style)], codes.map((code) => make("tr", {},
    make("th", { textContent: data.reasons[code] || code, title: code }),
    make("td", { textContent: number(total(code)) }),
    ...data.styles.map((one) => make("td", { className: one.reasons[code] ? "" : "none", textContent: one.reasons[code] || "·" })))));
}

// The text in pieces, each with the classes of the places that cover it.
function marked(text, places) {
  const cuts = [...new Set([0, text.length, ...places.flatMap(([start, end]) => [start, end])])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((start, at) => {
    const over = places.filter(([low, high]) => low <= start && high > start);
    const piece = text.slice(start, cuts[at + 1]);
    const title = over.map((place) => place[3]).filter(Boolean).join("; ");
    return over.length ? make("mark", { className: over.map((place) => place[2]).join(" "), textContent: piece, title }) : piece;
  });
}

function pair(row) {
  return make("article", { className: "pair" },
    make("header", {}, make("b", { textContent: row.style }), ...row.facts.map((fact) => make("span", { textContent: fact })),
      make("span", { textContent: row.id.slice(0, 12), title: row.id }),
      make("span", { className: row.failed.length ? "badge no" : "badge yes", textContent: row.failed.length ? "refused" : "passed" })),
    row.failed.length ? make("ul", { className: "why" }, ...row.failed.map((line) => make("li", { textContent: line }))) : null,
    make("div", { className: "sides" },
      make("div", {}, make("h3", { textContent: "Source" }), make("p", {}, ...marked(row.source, row.source_places))),
      make("div", {}, make("h3", { textContent: "Rewrite" }), make("p", {}, ...marked(row.text, row.text_places)))));
}

function show(which) {
  for (const name of ["all", "passed", "failed"]) $(`show-${name}`).setAttribute("aria-pressed", String(name === which));
  const rows = data.rows.filter((row) => which === "all" || (which === "failed") === row.failed.length > 0);
  $("pairs").replaceChildren(...(rows.length ? rows.map(pair) : [make("p", { className: "nothing", textContent: "None among those drawn." })]));
}

$("lead").append(make("b", { textContent: number(data.answers) }), ` answers to ${number(data.chunks)} chunks of ${number(data.documents)} documents by `,
  make("b", { textContent: data.by }), data.demo ? ", a demonstration and no source of training data" : "", ". ");
$("tiles").append(
  tile("accepted", percent(data.pass_rate), `${number(data.passed)} answers`),
  tile("accepted tokens", number(data.accepted_tokens), "estimated"),
  ...(data.account ? [tile("spent", `${data.account.usd.toFixed(2)} USD`, `${number(data.account.calls)} calls, ${number(data.account.cached)} from the cache`),
    tile("per accepted million", data.account.each === null ? "–" : `${data.account.each.toFixed(2)} USD`)] : []),
  tile("copied", percent(data.copied), "runs of eight words"),
  tile("commonest opening", percent(data.opening, 2), "of one style's texts"));
$("style-table").append(table(["style", "answers", "passed", "repaired", "tokens", "copied", "edited", "commonest opening", ""], data.styles.map(styleRow)));
$("reason-table").append(reasonTable());
const left = Object.entries(data.left_out);
if (left.length) $("left").textContent = `Chunks without an answer: ${left.map(([code, count]) => `${number(count)} ${code.replaceAll("_", " ")}`).join(", ")}.`;
for (const name of ["all", "passed", "failed"]) $(`show-${name}`).addEventListener("click", () => show(name));
$("theme").addEventListener("click", switchTheme);
document.addEventListener("keydown", (event) => { if (event.key === "t" && !event.ctrlKey && !event.metaKey) switchTheme(); });
show("all");
