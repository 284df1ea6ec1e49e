// The page is whole without this. Here: light and dark, and values under the pointer.
const root = document.documentElement;
const theme = document.getElementById("theme");

function switchTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}
theme.hidden = false;
theme.addEventListener("click", switchTheme);
addEventListener("keydown", (event) => {
  if (event.key === "t" && !event.ctrlKey && !event.metaKey && !event.altKey) switchTheme();
});

function short(value, percent) {
  if (percent) return `${Number((100 * value).toPrecision(3))} %`;
  for (const [size, unit, letter] of [[1e12, 1e12, "T"], [1e9, 1e9, "B"], [1e6, 1e6, "M"], [1e4, 1e3, "K"]]) {
    if (Math.abs(value) >= size) return Number((value / unit).toPrecision(4)) + letter;
  }
  return String(Number(value.toPrecision(4)));
}

function scale([low, high, start, end, log]) {
  const at = log ? Math.log : (value) => value;
  const back = log ? Math.exp : (value) => value;
  const extent = at(high) - at(low) || 1;
  return {
    pixel: (value) => start + ((at(value) - at(low)) / extent) * (end - start),
    value: (pixel) => back(at(low) + ((pixel - start) / (end - start)) * extent),
  };
}

// The number of the point nearest to x that has a value; those before and after it are sorted by x.
function nearest(one, x) {
  let best = -1;
  for (let n = 0; n < one.x.length; n++) {
    if (one.y[n] !== null && (best < 0 || Math.abs(one.x[n] - x) < Math.abs(one.x[best] - x))) best = n;
  }
  return best;
}

function svg(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function follow(chart) {
  const data = JSON.parse(chart.dataset.chart);
  const x = scale(data.x);
  const y = scale(data.y);
  const keys = [...chart.closest("figure").querySelectorAll(".legend li:not(.note) b")];
  const kept = keys.map((key) => key.textContent);
  const tones = keys.map((key) => key.parentElement.querySelector("i").className);
  const line = svg("path", { class: "cursor" });
  const step = svg("text", { class: "x", y: data.y[3] - 2 });
  const spots = data.series.map((_, n) => svg("circle", { class: `spot ${tones[n]}`, r: 3.5 }));
  const layer = svg("g", {});
  layer.append(line, ...spots, step);

  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const ratio = chart.viewBox.baseVal.width / box.width;
    const pixel = Math.min(Math.max((event.clientX - box.left) * ratio, data.x[2]), data.x[3]);
    const wanted = x.value(pixel);
    let at = null;
    data.series.forEach((one, n) => {
      const found = nearest(one, wanted);
      spots[n].toggleAttribute("hidden", found < 0);
      if (found < 0) return;
      at ??= one.x[found];
      spots[n].setAttribute("cx", x.pixel(one.x[found]));
      spots[n].setAttribute("cy", y.pixel(one.y[found]));
      keys[n].textContent = short(one.y[found], data.percent);
    });
    if (at === null) return;
    line.setAttribute("d", `M${x.pixel(at)} ${data.y[2]}V${data.y[3]}`);
    step.textContent = `step ${Math.round(at).toLocaleString("en")}`;
    step.setAttribute("x", Math.min(Math.max(x.pixel(at), data.x[2] + 30), data.x[3] - 30));
    chart.append(layer);
  });
  chart.addEventListener("pointerleave", () => {
    layer.remove();
    keys.forEach((key, n) => { key.textContent = kept[n]; });
  });
}
document.querySelectorAll("svg[data-chart]").forEach(follow);
