// Draws each chart of `specs` into the element of its name, as wide as the page lets it be.
// Lengths in pixels: `ticks` is what an axis and its title take.
const narrow = 560, leastPanel = 200, gap = 24, ticks = 64, letter = 6.8;

// The data of the charts are columns, in which a text that recurs is a number in a list of words.
function rows(data) {
  if (Array.isArray(data)) return data;
  const columns = Object.entries(data.columns).map(([key, one]) =>
    [key, Array.isArray(one) ? one : one.at.map((i) => one.words[i])]);
  return Array.from({ length: data.n }, (_, i) => Object.fromEntries(columns.map(([key, one]) => [key, one[i]])));
}
for (const chart of Object.values(specs)) {
  for (const name of Object.keys(chart.datasets ?? {})) chart.datasets[name] = rows(chart.datasets[name]);
}

// At most so many columns, without a gap in the last row if few fewer will do.
function even(panels, most) {
  for (let columns = most; columns > most / 2; columns--) if (panels % columns === 0) return columns;
  return most;
}

// Names on lines go to the other side where they would leave a plot of this width, and lose their end
// where neither side has room; the tooltip has the whole name.
function inside(labels, width) {
  for (const row of labels) {
    const fits = (share) => Math.floor(share * (width - ticks) / letter);
    const room = { left: fits(row.across), right: fits(1 - row.across) };
    const most = Math.max(room.left, room.right);
    if (room[row.side] < row.text.length) row.side = room.left > room.right ? "left" : "right";
    if (row.text.length > most) row.text = row.text.slice(0, Math.max(3, most - 1)) + "…";
  }
}

// Small multiples are not fitted by Vega-Lite: their number of columns and width are.
function fitted(spec, width) {
  const chart = structuredClone(spec);
  if (width < narrow) {
    chart.config = { ...chart.config };
    chart.config.legend = { ...chart.config.legend, orient: "bottom", columns: 2, labelLimit: width / 2.4 };
    for (const layer of chart.layer ?? []) {
      const legend = layer.encoding?.color?.legend;
      if (legend) legend.columns = 3;
    }
  }
  for (const data of Object.values(chart.datasets ?? {})) if (data[0]?.across !== undefined) inside(data, width);
  if (chart.facet) {
    const own = chart.resolve?.scale?.y === "independent";
    const fits = Math.floor((width - ticks) / (leastPanel + gap + (own ? ticks : 0)));
    const most = Math.max(1, Math.min(fits, chart.usermeta?.columns ?? chart.columns ?? 1));
    const columns = even(chart.usermeta?.panels ?? 0, most);
    const margins = gap * (columns - 1) + ticks * (own ? columns : 1);
    chart.columns = columns;
    chart.spec.width = Math.max(120, Math.floor((width - margins) / columns));
  } else if (chart.vconcat) {
    // The names of systems stand to the right of the strips.
    const names = width < narrow ? 0 : 150;
    for (const strip of chart.vconcat) strip.width = Math.max(120, Math.floor(width - ticks - names));
  } else if (chart.hconcat) {
    // Pictures side by side go into as many rows as they need.
    const most = Math.max(1, Math.floor(width / (leastPanel + gap + ticks)));
    chart.columns = even(chart.hconcat.length, most);
    for (const panel of chart.hconcat) panel.width = Math.max(120, Math.floor(width / chart.columns) - gap - ticks);
    chart.concat = chart.hconcat;
    delete chart.hconcat;
  } else {
    chart.width = width;
    chart.autosize = { type: "fit-x", contains: "padding" };
  }
  return chart;
}

const drawn = new Map();
async function draw(id) {
  const place = document.getElementById(id);
  const width = Math.floor(place?.clientWidth ?? 0);
  if (!width || drawn.get(id)?.width === width) return;
  drawn.get(id)?.view?.finalize();
  drawn.set(id, { width });
  const { view } = await vegaEmbed(place, fitted(specs[id], width), {
    renderer: "svg",
    tooltip: { theme: "custom" },
    actions: { export: true, source: false, compiled: false, editor: false },
  });
  drawn.get(id).view = view;
}

// Charts are drawn again when their place changes its width, not while it does.
const waiting = new Map();
const watcher = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    clearTimeout(waiting.get(target.id));
    waiting.set(target.id, setTimeout(() => draw(target.id), 100));
  }
});
// A figure that fails says so in its place and leaves the others alone.
await Promise.all(Object.keys(specs).map((id) => draw(id).catch((error) => {
  document.getElementById(id).textContent = `This figure cannot be drawn: ${error.message}`;
  console.error(error);
})));
for (const id of Object.keys(specs)) {
  const place = document.getElementById(id);
  if (place) watcher.observe(place);
}
document.documentElement.dataset.drawn = "yes";

// What a word means, beside it while the pointer or the keyboard is on it.
const hint = document.createElement("div");
hint.className = "hint";
hint.hidden = true;
document.body.append(hint);
let term = null;
function place() {
  hint.hidden = !term;
  if (!term) return;
  hint.textContent = term.dataset.about;
  const box = term.getBoundingClientRect(), own = hint.getBoundingClientRect();
  const most = document.documentElement.clientWidth - own.width - 8;
  hint.style.left = `${Math.max(8, Math.min(box.left, most))}px`;
  hint.style.top = `${box.bottom + own.height + 8 > innerHeight ? box.top - own.height - 4 : box.bottom + 4}px`;
}
function explain(found) {
  term = found;
  place();
}
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => explain(event.target.closest?.("[data-about]") ?? null));
}
document.addEventListener("focusout", () => explain(null));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") explain(null); });
addEventListener("scroll", place, { capture: true, passive: true });

function said(text) {
  const status = document.getElementById("said");
  if (status) status.textContent = text;
}
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      said("copied");
    } catch {
      // Without leave to copy, the text is marked, so that the reader can.
      getSelection().selectAllChildren(source);
      said("marked: copy it with the keyboard");
    }
  });
}
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.save).textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
    link.download = button.dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}
