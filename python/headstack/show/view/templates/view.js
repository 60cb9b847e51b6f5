// The drive view. Times are in nanoseconds from the begin of the window, angles in turns, radii as shares of the
// platter's. `state_at` says what is drawn at a time; all the rest draws it.
"use strict";
const scene = JSON.parse(document.getElementById("scene").textContent);
const { drives, from_ns: begin, length_ns: length } = scene;
const turn = (angle) => angle - Math.floor(angle);

// The index of the last entry at or before a time, 0 if there is none.
function last_before(list, t, time) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time(list[middle]) <= t) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

// The angle of the platters of a unit that is under the angle zero of the drive.
function under(drive, unit, t) {
  let found = null;
  for (const one of drive.rotations) if (one[0] === unit && (!found || one[1] <= t)) found = one;
  return turn(found[3] + (t - found[1]) / found[2]);
}

// The share of its way that an arm has moved after a share of the time: it speeds up, then slows down.
const moved = (x) => x < .5 ? 2 * x * x : 1 - 2 * (1 - x) * (1 - x);

function arm_at(drive, number, t) {
  const phases = drive.phases[number];
  const phase = phases[last_before(phases, t, (p) => p.from)];
  const share = phase.to > phase.from ? Math.min(1, Math.max(0, (t - phase.from) / (phase.to - phase.from))) : 1;
  const position = phase.start + (phase.end - phase.start) * moved(share);
  const arm = drive.arms[number], [angle, offset] = arm.sets[phase.set];
  const still = phase.kind === "standby" || phase.kind === "spin-up";
  return {
    kind: phase.kind, work: phase.work ?? null, condition: phase.condition ?? null, from: phase.from, to: phase.to,
    head: phase.head, set: phase.set, angle, position, cylinder: position + offset,
    to_cylinder: phase.end + offset, still, platter: under(drive, arm.unit, still ? phase.from : t),
  };
}

function sample(list, samples, t) {
  const i = Math.floor((t - samples.from_ns) / samples.step_ns);
  return list.length ? list[Math.min(list.length - 1, Math.max(0, i))] : null;
}

// What every drive does at a time: its arms, the numbers of waiting and served commands, buffer and power.
function state_at(t) {
  return drives.map((drive) => {
    const waiting = [], serving = [];
    drive.commands.forEach((c, i) => {
      if (c.arrival > t || (c.completion !== null && c.completion <= t)) return;
      (c.chosen !== null && c.chosen <= t ? serving : waiting).push(i);
    });
    const s = drive.samples;
    return {
      arms: drive.arms.map((_, i) => arm_at(drive, i, t)), waiting, serving,
      power_w: sample(s.power_w, s, t), unwritten_blocks: sample(s.unwritten_blocks, s, t),
      read_blocks: sample(s.read_blocks, s, t),
    };
  });
}
window.state_at = state_at;

// ---- drawing ----
const SVG = "http://www.w3.org/2000/svg";
function make(parent, name, attributes = {}, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return parent.appendChild(element);
}
function html(parent, name, attributes = {}, text) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return parent.appendChild(element);
}
// The platter turns counter-clockwise, and the vertical axis of a picture points down.
const at = (radius, angle) => [radius * Math.cos(2 * Math.PI * angle), -radius * Math.sin(2 * Math.PI * angle)];
const point = ([x, y]) => `${x.toFixed(4)} ${y.toFixed(4)}`;

function radius(drive, unit, position) {
  const [outer, inner] = drive.radii, most = Math.max(1, drive.units[unit].positions - 1);
  return outer - (outer - inner) * Math.min(1, Math.max(0, position / most));
}

// An arc on the medium, from one angle of the platter on; the platter's angles grow against its turning.
function arc(r, angle, length) {
  if (length >= 1) return `M ${-r} 0 A ${r} ${r} 0 1 1 ${r} 0 A ${r} ${r} 0 1 1 ${-r} 0`;
  const large = length > .5 ? 1 : 0;
  return `M ${point(at(r, -angle))} A ${r} ${r} 0 ${large} 1 ${point(at(r, -angle - length))}`;
}

// Stacks of platters stand beside each other.
const apart = 2.7;
function build(drive, number) {
  const svg = document.getElementById(`platter-${number}`);
  const stacks = [...new Set(drive.units.map((u) => u.stack))];
  const groups = stacks.map((_, i) => make(svg, "g", { transform: `translate(${i * apart} 0)` }));
  const discs = groups.map((g) => {
    const disc = make(g, "g");
    make(disc, "circle", { class: "body", r: 1 });
    for (const share of [0, .25, .5, .75, 1]) {
      make(disc, "circle", { class: "medium", r: drive.radii[0] - share * (drive.radii[0] - drive.radii[1]) });
    }
    make(disc, "circle", { class: "hub", r: .24 });
    make(disc, "line", { class: "notch", x1: .12, y1: 0, x2: .24, y2: 0 });
    return disc;
  });
  const stack_of = (unit) => stacks.indexOf(drive.units[unit].stack);
  return { svg, stacks, groups, discs, arcs: arcs(drive, discs, stack_of), marks: marks(drive, discs, stack_of),
    arms: arms(drive, svg, groups, stack_of), state: document.getElementById(`state-${number}`) };
}

// Transfers, as arcs on the medium.
function arcs(drive, discs, stack_of) {
  const found = [];
  drive.phases.forEach((phases, a) => {
    const { unit, sets } = drive.arms[a];
    for (const p of phases) {
      if (p.kind !== "transfer") continue;
      const [angle, offset] = sets[p.set];
      const period = drive.rotations.find((r) => r[0] === unit)[2];
      const first = turn(under(drive, unit, p.from) - angle), r = radius(drive, unit, p.end + offset);
      const path = make(discs[stack_of(unit)], "path", { class: "arc", visibility: "hidden" });
      found.push({ path, from: p.from, to: p.to, first, r, period });
    }
  });
  return found;
}

// Commands in the queue, as marks on the medium: circles are reads, squares are writes.
function marks(drive, discs, stack_of) {
  return drive.commands.map((c) => {
    if (!c.place || c.cache_hit) return null;
    const [x, y] = at(radius(drive, c.place.unit, c.place.cylinder), -c.place.angle);
    const disc = discs[stack_of(c.place.unit)], size = .032, attributes = { class: `mark ${c.op}`, display: "none" };
    return c.op === "read" ? make(disc, "circle", { ...attributes, cx: x, cy: y, r: size })
      : make(disc, "rect", { ...attributes, x: x - size, y: y - size, width: 2 * size, height: 2 * size });
  });
}

// The arms: from a pivot beside the platter to the head. Arms at the same angle have pivots on either side.
function arms(drive, svg, groups, stack_of) {
  const middle = (drive.radii[0] + drive.radii[1]) / 2, away = 1.06, taken = new Map();
  const box = [-1.04, -1.04, 1.04 + apart * (groups.length - 1), 1.04];
  const found = drive.arms.map((arm, number) => {
    const stack = stack_of(arm.unit), key = `${stack} ${arm.sets[0][0].toFixed(4)}`;
    const side = (taken.get(key) ?? 0) % 2 ? -1 : 1;
    taken.set(key, (taken.get(key) ?? 0) + 1);
    const [ux, uy] = at(1, arm.sets[0][0]), pivot = [middle * ux - side * away * uy, middle * uy + side * away * ux];
    const x = pivot[0] + stack * apart;
    [box[0], box[1]] = [Math.min(box[0], x - .16), Math.min(box[1], pivot[1] - .16)];
    [box[2], box[3]] = [Math.max(box[2], x + .16), Math.max(box[3], pivot[1] + .16)];
    const parts = arm.sets.map(() => [make(groups[stack], "path", { class: "arm" }), make(groups[stack], "rect",
      { class: "head", x: -.04, y: -.022, width: .08, height: .044 })]);
    make(groups[stack], "circle", { class: "pivot", cx: pivot[0], cy: pivot[1], r: .1 });
    make(groups[stack], "text", { class: "label", x: pivot[0], y: pivot[1] }, number);
    return { pivot, parts };
  });
  found.box = box;
  return found;
}

// All drives are drawn at the same scale, and side by side their platters are at the same height.
function frame_all(pictures) {
  const boxes = pictures.map((p) => p.arms.box);
  const [left, top, right, bottom] = [Math.min, Math.min, Math.max, Math.max]
    .map((choose, i) => choose(...boxes.map((box) => box[i])));
  for (const { svg } of pictures) {
    svg.setAttribute("viewBox", `${left} ${top} ${right - left} ${bottom - top}`);
    svg.style.aspectRatio = `${right - left} / ${bottom - top}`;
    if (right - left > 3.5) svg.style.maxWidth = "none";
  }
}

// A fresh transfer is bright for so long.
const FRESH = 12e6;
function draw_platter(drive, picture, state, t) {
  const turned = new Map();
  state.arms.forEach((arm, i) => turned.set(drive.arms[i].unit, arm.platter));
  picture.stacks.forEach((stack, i) => {
    const unit = drive.units.findIndex((u) => u.stack === stack);
    picture.discs[i].setAttribute("transform", `rotate(${-360 * (turned.get(unit) ?? under(drive, unit, t))})`);
  });
  picture.svg.classList.toggle("still", state.arms.every((a) => a.still));
  for (const one of picture.arcs) {
    const on = t > one.from;
    one.path.setAttribute("visibility", on ? "visible" : "hidden");
    if (!on) continue;
    // At least as long as it is thick.
    const length = Math.max((Math.min(t, one.to) - one.from) / one.period, .004);
    if (one.drawn !== length) one.path.setAttribute("d", arc(one.r, one.first, one.drawn = length));
    one.path.classList.toggle("fresh", t < one.to + FRESH);
  }
  const shown = new Map([...state.waiting.map((i) => [i, false]), ...state.serving.map((i) => [i, true])]);
  picture.marks.forEach((mark, i) => {
    if (!mark) return;
    mark.setAttribute("display", shown.has(i) ? "inline" : "none");
    mark.classList.toggle("serving", shown.get(i) === true);
  });
  state.arms.forEach((arm, i) => draw_arm(drive, drive.arms[i], picture.arms[i], arm));
}

function draw_arm(drive, arm, { pivot, parts }, now) {
  const parked = now.kind === "parked" || now.still;
  arm.sets.forEach(([angle, offset], i) => {
    const r = parked ? 1.03 : radius(drive, arm.unit, now.position + offset), [x, y] = at(r, angle);
    const [dx, dy] = [x - pivot[0], y - pivot[1]], far = Math.hypot(dx, dy), [nx, ny] = [-dy / far, dx / far];
    const side = (w, [px, py]) => `${point([px + w * nx, py + w * ny])}`;
    parts[i][0].setAttribute("d",
      `M ${side(.075, pivot)} L ${side(.018, [x, y])} L ${side(-.018, [x, y])} L ${side(-.075, pivot)} Z`);
    const kind = i === now.set ? now.kind : "idle";
    parts[i][1].setAttribute("class", `head ${kind}`);
    parts[i][1].setAttribute("transform",
      `translate(${point([x, y])}) rotate(${(Math.atan2(dy, dx) * 180 / Math.PI).toFixed(2)})`);
  });
}

// ---- words ----
const WORK = { request: "for a command", "read-ahead": "reading ahead", destage: "writing from the buffer",
  "media-scan": "scanning the medium", follow: "following another arm", cleaning: "cleaning", checkpoint: "for a checkpoint" };
const count = (n) => Math.round(n).toLocaleString("en");
const size = (blocks) => blocks * 512 < 1e6 ? `${(blocks * .512).toFixed(1)} kB` : `${(blocks * 512e-6).toFixed(2)} MB`;

function words(arm) {
  const head = arm.head === null ? "" : `, head ${arm.head}`, track = `track ${count(arm.to_cylinder)}${head}`;
  const why = arm.work && arm.work !== "request" ? ` (${WORK[arm.work]})` : "";
  switch (arm.kind) {
    case "seek": return `seeks to ${track}${why}`;
    case "settle": return `settles on ${track}${why}`;
    case "rotation": return `waits on ${track} for the sector${why}`;
    case "transfer": return `transfers on ${track}${why}`;
    case "idle": return `idle on ${track}${arm.condition ? `, ${arm.condition}` : ""}`;
    case "parked": return `heads off the platter, ${arm.condition}`;
    case "standby": return "standby: the platters stand still or spin down";
    default: return "the platters spin up";
  }
}

function sentences(drive, state) {
  const lines = state.arms.map((arm, i) => [`Arm ${i}`, words(arm)]);
  const unseen = state.waiting.filter((i) => !drive.commands[i].place).length;
  const hidden = unseen ? `, ${unseen} of them without a place yet` : "";
  lines.push(["Queue", `${state.waiting.length} waiting${hidden}; ${state.serving.length} in service`]);
  if (drive.samples.unwritten_limit_blocks) {
    const limit = size(drive.samples.unwritten_limit_blocks);
    lines.push(["Buffer", `${size(state.unwritten_blocks)} of ${limit} to be written; ${size(state.read_blocks)} for reads`]);
  } else if (state.read_blocks !== null) lines.push(["Buffer", `${size(state.read_blocks)} for reads`]);
  lines.push(["Power", state.power_w === null ? "not known" : `${state.power_w.toFixed(2)} W`]);
  return lines;
}

function write(list, lines) {
  while (list.children.length < lines.length) {
    const item = html(list, "li");
    html(item, "span", { class: "what" });
    html(item, "span");
  }
  lines.forEach(([what, text], i) => {
    list.children[i].firstChild.textContent = what;
    list.children[i].lastChild.textContent = text;
  });
}

// ---- the window over time ----
const WIDE = 10000;
const across = (t) => WIDE * Math.min(1, Math.max(0, t / length));
function lane(parent, name, tall = false) {
  html(parent, "span", { class: "what" }, name);
  return make(parent, "svg", { viewBox: `0 0 ${WIDE} 100`, preserveAspectRatio: "none", class: tall ? "tall" : "" });
}

// A stepped area of pairs of time and value.
function area(svg, pairs, most) {
  let path = `M 0 100`;
  pairs.forEach(([t, value], i) => {
    const y = 100 - 96 * Math.min(1, value / (most || 1)), end = i + 1 < pairs.length ? pairs[i + 1][0] : length;
    path += ` L ${across(t).toFixed(1)} ${y.toFixed(2)} L ${across(end).toFixed(1)} ${y.toFixed(2)}`;
  });
  make(svg, "path", { class: "area", d: `${path} L ${WIDE} 100 Z` });
}

function queue_of(drive) {
  const changes = [];
  for (const c of drive.commands) {
    changes.push([Math.max(0, c.arrival), 1]);
    if (c.chosen !== null) changes.push([Math.max(0, c.chosen), -1]);
  }
  changes.sort((a, b) => a[0] - b[0]);
  let waiting = 0;
  const pairs = [[0, 0]];
  for (const [t, change] of changes) {
    waiting += change;
    if (pairs[pairs.length - 1][0] === t) pairs[pairs.length - 1][1] = waiting; else pairs.push([t, waiting]);
  }
  return pairs;
}

function lanes(drive, number) {
  const place = document.getElementById(`lanes-${number}`);
  drive.phases.forEach((phases, a) => {
    const svg = lane(place, `Arm ${a}`);
    for (const p of phases) {
      if (p.to < 0 || p.from > length) continue;
      const x = across(p.from), box = make(svg, "rect",
        { class: p.kind, x, y: 0, width: Math.max(across(p.to) - x, 1), height: 100 });
      make(box, "title", {}, `${words(arm_at(drive, a, p.from))}, ${((p.to - p.from) / 1e6).toFixed(3)} ms`);
    }
  });
  const queue = queue_of(drive), most = Math.max(1, ...queue.map((p) => p[1]));
  area(lane(place, `Queue ≤ ${most}`, true), queue, most);
  const s = drive.samples, times = (list) => list.map((v, i) => [Math.max(0, s.from_ns + i * s.step_ns), v]);
  const held = Math.max(0, ...s.unwritten_blocks);
  if (held) area(lane(place, `To write ≤ ${size(held)}`, true), times(s.unwritten_blocks), held);
  const watts = Math.max(0, ...s.power_w);
  if (watts) area(lane(place, `Power ≤ ${watts.toFixed(1)} W`, true), times(s.power_w), watts);
  html(place, "span");
  const ticks = html(place, "span", { class: "ticks" });
  for (let i = 0; i <= 4; i++) {
    html(ticks, "span", { style: `left:${25 * i}%` }, `${(length * i / 4e6).toLocaleString("en", { maximumFractionDigits: 2 })} ms`);
  }
  return { place, playhead: html(place, "div", { class: "playhead" }) };
}

// ---- time ----
// Simulated time per second of the reader's.
const SPEEDS = [1 / 2000, 1 / 1000, 1 / 500, 1 / 200, 1 / 100, 1 / 50, 1 / 20, 1 / 10, 1 / 5, 1];
const pictures = drives.map(build), strips = drives.map(lanes);
frame_all(pictures);
const control = (id) => document.getElementById(id);
const play = control("play"), speed = control("speed"), slider = control("time"), clock = control("clock");
SPEEDS.forEach((s, i) => html(speed, "option", { value: i }, s === 1 ? "as it is" : `1/${Math.round(1 / s)}`));
speed.value = 3;
let now = 0, playing = false, before = 0;

// The times at which something begins or arrives.
const events = [...new Set([0, length, ...drives.flatMap((d) => [...d.phases.flat().map((p) => p.from),
  ...d.commands.map((c) => c.arrival)])])].filter((t) => t >= 0 && t <= length).sort((a, b) => a - b);

function show() {
  const states = state_at(now);
  drives.forEach((drive, i) => {
    draw_platter(drive, pictures[i], states[i], now);
    write(pictures[i].state, sentences(drive, states[i]));
    const { place, playhead } = strips[i], box = place.querySelector("svg").getBoundingClientRect();
    playhead.style.left = `${box.left - place.getBoundingClientRect().left + box.width * now / length - 1}px`;
  });
  slider.value = now;
  const ms = (now / 1e6).toFixed(3);
  slider.setAttribute("aria-valuetext", `${ms} ms`);
  clock.textContent = `${((begin + now) / 1e9).toFixed(6)} s (${ms} ms)`;
}
window.show_at = (t) => { now = Math.min(length, Math.max(0, t)); show(); };

function tell() {
  const states = state_at(now);
  control("said").textContent = drives.map((d, i) =>
    `${d.system}: ${sentences(d, states[i]).map((line) => line.join(" ")).join(". ")}`).join(". ");
}

function go(t) { stop(); window.show_at(t); tell(); }
function stop() { playing = false; play.textContent = "Play"; }
function frame(time) {
  if (!playing) return;
  now += Math.min(time - before, 100) * 1e6 * SPEEDS[speed.value];
  before = time;
  if (now >= length) { now = length; stop(); }
  show();
  if (playing) requestAnimationFrame(frame);
}
function toggle() {
  if (playing) { stop(); tell(); return; }
  if (now >= length) now = 0;
  playing = true;
  play.textContent = "Pause";
  before = performance.now();
  requestAnimationFrame(frame);
}
function step(way) {
  const i = last_before(events, now, (t) => t);
  go(way > 0 ? events[Math.min(events.length - 1, i + 1)] : events[Math.max(0, events[i] < now ? i : i - 1)]);
}
function faster(by) { speed.value = Math.min(SPEEDS.length - 1, Math.max(0, Number(speed.value) + by)); }

play.addEventListener("click", toggle);
control("start").addEventListener("click", () => go(0));
control("back").addEventListener("click", () => step(-1));
control("next").addEventListener("click", () => step(1));
slider.addEventListener("input", () => go(Number(slider.value)));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === speed) return;
  const button = event.target instanceof HTMLButtonElement;
  const action = { " ": button ? null : toggle, ArrowLeft: () => event.shiftKey ? go(now - 1e6) : step(-1),
    ArrowRight: () => event.shiftKey ? go(now + 1e6) : step(1), Home: () => go(0), End: () => go(length),
    "+": () => faster(1), "-": () => faster(-1) }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
for (const { place } of strips) {
  const scrub = (event) => {
    const box = place.querySelector("svg").getBoundingClientRect();
    go(length * (event.clientX - box.left) / box.width);
  };
  place.addEventListener("pointerdown", (event) => { place.setPointerCapture(event.pointerId); scrub(event); });
  place.addEventListener("pointermove", (event) => { if (event.buttons) scrub(event); });
}
addEventListener("resize", show);
// Something is to be seen at first: the middle of the window, which is also what is printed.
window.show_at(length / 2);
document.documentElement.dataset.drawn = "yes";
