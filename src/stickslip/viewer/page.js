// -- the page: data, time, controls ------------------------------------------------------------------------------------------
const data = JSON.parse(document.getElementById("data").textContent);
const $ = selector => document.querySelector(selector);
const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer;
const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const wish = new URLSearchParams(location.hash.slice(1));   // page.html#t=0.05&theme=dark shows that moment

function unpack(run) {
  run.t = new Float64Array(bytes(run.t));
  const read = (text, low, span, width) => {
    if (!run.coarse) return new Float32Array(bytes(text));
    const raw = new Uint16Array(bytes(text)), out = new Float32Array(raw.length);
    for (let k = 0; k < raw.length; k++) out[k] = low[k % width] + raw[k] / 65535 * (span[k % width] || 1);
    return out;
  };
  run.places = read(run.places, run.low, run.high.map((h, k) => h - run.low[k]), 3);
  run.turns = read(run.turns, [-1, -1, -1, -1], [2, 2, 2, 2], 4);
  run.slot = new Map(run.moving.map((body, k) => [body, k]));
  for (const trace of run.traces) trace.points = new Float32Array(bytes(trace.points));
  const s = run.spots;
  s.start = new Uint32Array(bytes(s.start));
  for (const name of ["places", "forces", "strength"]) s[name] = new Float32Array(bytes(s[name]));
  s.states = new Uint8Array(bytes(s.states));
  run.impacts = new Float64Array(bytes(run.impacts));
  run.frame = 0;
  run.pose = (body, into, frame = run.frame) => {
    const k = run.slot.get(body);
    if (k !== undefined) {
      const at = frame * run.moving.length + k, p = run.places, q = run.turns;
      into.p.set(p[3 * at], p[3 * at + 1], p[3 * at + 2]); into.q.set(q[4 * at + 1], q[4 * at + 2], q[4 * at + 3], q[4 * at]).normalize();
    } else if (body >= 0) { const [x, y, z, w, i, j, l] = run.still[body]; into.p.set(x, y, z); into.q.set(i, j, l, w); }
    else { into.p.set(0, 0, 0); into.q.set(0, 0, 0, 1); }
  };
  return run;
}
const runs = data.runs.map(unpack), t = runs[0].t, begin = t[0], end = t[t.length - 1], span = end - begin || 1e-12;
function frameAt(run, time) {   // the last frame that is not later
  let a = 0, b = run.t.length - 1;
  while (a < b) { const m = (a + b + 1) >> 1; if (run.t[m] <= time + 1e-9 * span) a = m; else b = m - 1; }
  return a;
}

// -- words -------------------------------------------------------------------------------------------------------------------
$("h1").textContent = data.title;
$("header p").textContent = [...data.details, ...(runs.length > 1 ? [`solid: ${runs[0].name}, translucent and dashed: ${runs[1].name}`] : [])].join(" · ");
const follow = $("#follow");
follow.append(new Option("Follow: nothing", "-1"), ...runs[0].bodies.map((name, k) => [name, k]).filter(([name]) => name).slice(0, 500).map(([name, k]) => new Option(`Follow: ${name}`, k)));
follow.hidden = follow.options.length < 2;
if (runs.some(run => run.spots.states.length)) for (const [state, name] of [["stick", "stick"], ["slip", "slip"], ["impact", "impact"]]) {
  const entry = document.createElement("div"), mark = document.createElement("i");
  mark.style.background = `var(--${state})`; entry.append(mark, name); $("#legend").append(entry);
} else $('[data-show="contacts"]').hidden = true;

// -- time --------------------------------------------------------------------------------------------------------------------
let time = Math.min(Math.max(wish.has("t") ? +wish.get("t") : begin, begin), end), frame = 0, playing = false, dirty = true, lastTick = 0;
let echoes = new Map();   // impacts that just happened, by index: a flash that dies away while the film plays
const speeds = [];
for (let e = -6; e <= 4; e++) for (const k of [1, 2, 5]) { const s = k * 10 ** e; if (span / s < 3000 && span / s > 0.4) speeds.push(s); }
if (!speeds.length) speeds.push(1);
const tidy = s => s >= 1 ? `${+s.toPrecision(3)}×` : `1/${+(1 / s).toPrecision(3)}×`;
let speed = speeds.reduce((best, s) => Math.abs(Math.log(span / s / 9)) < Math.abs(Math.log(span / best / 9)) ? s : best);
$("#speed").append(...speeds.map(s => new Option(s === 1 ? "real time" : tidy(s), s)));
$("#speed").value = speed;
const digits = Math.min(9, Math.max(2, Math.ceil(-Math.log10(span / 500))));

const tools = {bytes, color, shadows: wish.get("shadows") !== "no",   // for slow machines
  redraw: () => { dirty = true; }, seek: x => { pause(); seek(x); }};
document.documentElement.dataset.theme = wish.get("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const stage = makeStage(data, runs, $("#stage canvas"), tools);
const curves = makeCurves(data, runs, tools);
for (const [name, on] of Object.entries(stage.use)) $(`[data-show="${name}"]`).hidden = !on;

function seek(x, echo = false) {
  time = Math.min(Math.max(x, begin), end);
  const next = frameAt(runs[0], time);
  if (echo) for (let f = frame + 1; f <= next; f++) {
    const s = runs[0].spots;
    for (let k = s.start[f]; k < s.start[f + 1]; k++) if (s.states[k] === 3) echoes.set(k, 1);
  } else echoes.clear();
  frame = next;
  $("#time").value = (time - begin) / span;
  $("#time").setAttribute("aria-valuetext", `${time.toFixed(digits)} s`);
  $("#clock output").textContent = `t = ${time.toFixed(digits)} s`;
  $("#clock span").textContent = `frame ${frame + 1} of ${t.length}`;
  curves.move(time);
  dirty = true;
}
function play() { if (time >= end - 1e-9 * span) seek(begin); playing = true; stage.plays(true); lastTick = performance.now(); icon(); }
function pause() { playing = false; stage.plays(false); icon(); dirty = true; }
function icon() { $("#play path").setAttribute("d", playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M4 2l10 6-10 6z"); }
function step(by) { pause(); seek(t[Math.min(Math.max(frame + by, 0), t.length - 1)]); }

const shots = {count: 0, busy: 0};   // for measurements
function tick(now) {
  if (playing) {
    const wall = Math.min((now - lastTick) / 1000, 0.25); lastTick = now;
    const next = time + wall * speed;
    for (const [k, level] of echoes) { if (level < 0.06) echoes.delete(k); else echoes.set(k, level * Math.exp(-wall * 7)); }
    seek(next, true);
    if (next >= end) { pause(); if (wish.get("loop")) play(); }
    dirty = true;
  }
  if (dirty) {
    dirty = false;
    const from = performance.now(), s = runs[0].spots;
    stage.frame(time, runs.map(run => frameAt(run, time)), [...echoes].filter(([k]) => k < s.start[frame] || k >= s.start[frame + 1]));
    stage.render();
    shots.count++; shots.busy += performance.now() - from;
  }
  requestAnimationFrame(tick);
}
let beforeFrame = 0;
requestAnimationFrame(function measure(now) { if (playing && beforeFrame) stage.pace(now - beforeFrame); beforeFrame = now; requestAnimationFrame(measure); });

// -- controls ------------------------------------------------------------------------------------------------------------------
function marks() {   // impacts on the line of time
  const sheet = $("#line canvas"), box = sheet.getBoundingClientRect(), ratio = Math.min(devicePixelRatio || 1, 2);
  sheet.width = Math.max(1, box.width * ratio); sheet.height = Math.max(1, box.height * ratio);
  const pen = sheet.getContext("2d"); pen.fillStyle = color("--impact");
  for (const x of runs[0].impacts) pen.fillRect((x - begin) / span * (sheet.width - 1), 0, Math.max(1, ratio * 0.8), sheet.height);
}
function dress() { stage.dress(); curves.build(); marks(); dirty = true; }
function turn() { document.documentElement.dataset.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; dress(); }
function toggle(name) {
  const button = $(`[data-show="${name}"]`);
  if (!button || button.hidden) return;
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", on); stage.show(name, on); dirty = true;
}
function snapshot() {
  const link = document.createElement("a");
  link.href = stage.snapshot(); link.download = `${data.title.replace(/\W+/g, "_")}_${time.toFixed(digits)}s.png`; link.click();
}
function faster(by) { const k = Math.min(Math.max(speeds.indexOf(speed) + by, 0), speeds.length - 1); speed = speeds[k]; $("#speed").value = speed; }
function zoomed(how) { if (how === "fit") { stage.fit(); dirty = true; } else { stage.touched(); stage.zoom(how === "in" ? 1.25 : 0.8); } }
$("#play").addEventListener("click", () => playing ? pause() : play());
document.querySelectorAll(".step").forEach(button => button.addEventListener("click", () => step(+button.dataset.step)));
$("#time").addEventListener("input", event => { pause(); const at = +event.target.value; seek(begin + at * span); });
$("#speed").addEventListener("change", event => { speed = +event.target.value; });
$("#theme").addEventListener("click", turn);
$("#snapshot").addEventListener("click", snapshot);
document.querySelectorAll("#zoom button").forEach(button => button.addEventListener("click", () => zoomed(button.dataset.zoom)));
document.querySelectorAll("#show button").forEach(button => button.addEventListener("click", () => toggle(button.dataset.show)));
follow.addEventListener("change", () => { stage.touched(); stage.follow(+follow.value); dirty = true; });
$("#stage canvas").addEventListener("dblclick", event => {   // follow the body under the pointer
  const box = event.target.getBoundingClientRect();
  const body = stage.pick((event.clientX - box.left) / box.width * 2 - 1, 1 - (event.clientY - box.top) / box.height * 2);
  stage.touched(); stage.follow(body); follow.value = body; if (follow.selectedIndex < 0) follow.value = "-1"; dirty = true;
});
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName) && event.target.type !== "range") return;
  const act = {" ": () => playing ? pause() : play(), ArrowLeft: () => step(event.shiftKey ? -10 : -1), ArrowRight: () => step(event.shiftKey ? 10 : 1), Home: () => seek(begin), End: () => { pause(); seek(end); },
    "+": () => zoomed("in"), "=": () => zoomed("in"), "-": () => zoomed("out"), 0: () => zoomed("fit"), "[": () => faster(-1), "]": () => faster(1), d: turn, s: snapshot,
    c: () => toggle("contacts"), t: () => toggle("trails"), f: () => toggle("frames"), l: () => toggle("labels")}[event.key];
  if (!act || event.target.tagName === "BUTTON" && event.key === " ") return;
  event.preventDefault(); act();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", event => { document.documentElement.dataset.theme = event.matches ? "dark" : "light"; dress(); });
new ResizeObserver(() => { stage.resize(); marks(); dirty = true; }).observe($("#stage"));
stage.resize(); dress(); icon(); seek(time);
for (const name of (wish.get("show") || "").split(",").filter(Boolean)) toggle(name);
requestAnimationFrame(tick);
window.stickslip = {state: () => ({time, frame, frames: t.length, playing, scrubber: begin + +$("#time").value * span, cursor: curves.cursorTime(), shots: {...shots}, ...stage.state()}), seek, play, pause};
