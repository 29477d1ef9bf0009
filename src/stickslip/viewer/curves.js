// -- curves: quantities over time, chosen in the page, with a cursor in step with the film -----------------------------------
function makeCurves(data, runs, tools) {
  const store = data.curves, times = store.t.map(text => new Float64Array(tools.bytes(text)));
  const byName = new Map(store.quantities.map(q => [q.name, q]));
  const host = document.querySelector("#panels");
  let panels = [], now = runs[0].t[0];
  const chosen = new Set(store.open.flat());

  const values = (name, run) => {
    const q = byName.get(name);
    q.read ??= [];
    return q.read[run] ??= new Float32Array(tools.bytes(q.values[run]));
  };
  const exact = v => v == null || !Number.isFinite(v) ? "–" : v === 0 ? "0" : Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5 ? v.toExponential(2).replace("e+", "e") : String(+v.toPrecision(4));
  function size(name) {   // of a curve; what is much smaller is round-off
    const q = byName.get(name);
    if (q.size === undefined) { q.size = 0; for (const v of values(name, 0)) if (Math.abs(v) > q.size) q.size = Math.abs(v); }
    return q.size;
  }
  function at(t, x) {   // the last index with t[index] <= x
    let a = 0, b = t.length - 1;
    while (a < b) { const m = (a + b + 1) >> 1; if (t[m] <= x + 1e-12 * Math.abs(x)) a = m; else b = m - 1; }
    return a;
  }
  // Two runs have times of their own: uPlot wants one list of them, and gaps where a run has no value.
  function table(names) {
    const tables = times.map((t, run) => [t, ...names.map(name => values(name, run))]);
    return tables.length === 1 ? tables[0] : vendor.uPlot.join(tables);
  }
  function build() {
    for (const panel of panels) { panel.plot.destroy(); panel.watch.disconnect(); }
    host.replaceChildren();
    const groups = new Map();
    for (const name of chosen) {
      const q = byName.get(name);
      if (!q) continue;
      const kind = name.startsWith("energy.") ? "energy" : name.slice(name.lastIndexOf(".") + 1).replace(/\[\d+\]$/, ""), turns = q.unit === "N m";
      const own = {gap: "Gaps", force: turns ? "Torques" : "Forces", energy: "Energy", slip: "Slip", friction: turns ? "Friction torques" : "Friction"}[kind];
      const title = own || {m: "Positions", rad: "Angles", "m/s": "Velocities", "rad/s": "Angular velocities", N: "Forces", "N m": "Torques", "N s": "Impulses"}[q.unit] || "Quantities";
      const key = title + "|" + q.unit;
      if (!groups.has(key)) groups.set(key, {title, unit: q.unit, names: [], cut: own ? `.${kind}` : ""});
      groups.get(key).names.push(name);
    }
    panels = [...groups.values()].map(makePanel);
    move(now);
  }
  function makePanel(group) {
    const card = document.createElement("div"), title = document.createElement("h2"), keys = document.createElement("div"), box = document.createElement("div");
    card.className = "panel card"; keys.className = "keyline"; box.className = "plot";
    title.textContent = group.title;
    if (group.unit) title.append(" ", Object.assign(document.createElement("span"), {textContent: `[${group.unit}]`}));
    const shown = group.names.map((name, k) => {
      const entry = document.createElement("span"), mark = document.createElement("i"), value = document.createElement("b");
      mark.style.background = tools.color(`--c${k % 9}`);
      const short = name.replace(/^energy\./, "").replace(/^detected\.force$/, "all detected contacts");   // the title says what all of them are
      entry.append(mark, (group.cut && short.endsWith(group.cut) ? short.slice(0, -group.cut.length) : short) + " ", value);
      keys.append(entry);
      return value;
    });
    card.append(title, keys, box); host.append(card);
    const axis = {stroke: tools.color("--soft"), grid: {stroke: tools.color("--grid"), width: 1}, ticks: {show: false}, font: "11px system-ui", gap: 2};
    const series = [{}];
    for (let run = 0; run < times.length; run++) group.names.forEach((name, k) => series.push({
      stroke: tools.color(`--c${k % 9}`), width: 1.5, dash: run ? [5, 4] : undefined, points: {show: false}, spanGaps: true, pxAlign: 0,
    }));
    const plot = new vendor.uPlot({
      width: Math.max(box.clientWidth, 50), height: Math.max(box.clientHeight, 50), legend: {show: false}, padding: [8, 14, 0, 0],
      scales: {x: {time: false}}, series,
      axes: [{...axis, size: 22, values: (_, marks) => marks.map((v, k) => String(+v.toPrecision(8)) + (k === marks.length - 1 ? "\u00a0s" : ""))}, {...axis, size: 52, values: (_, marks) => marks.map(v => Math.abs(v) >= 1e5 || (v && Math.abs(v) < 1e-3) ? v.toExponential(1).replace("e+", "e") : String(+v.toPrecision(6)))}],
      cursor: {y: false, points: {show: false}, drag: {x: false, y: false}, bind: {mousemove: () => null, mouseleave: () => null, mouseenter: () => null}},
    }, table(group.names), box);
    const drag = event => { if (event.buttons || event.type === "pointerdown") tools.seek(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x")); };
    plot.over.addEventListener("pointerdown", event => { plot.over.setPointerCapture(event.pointerId); drag(event); });
    plot.over.addEventListener("pointermove", drag);
    const watch = new ResizeObserver(() => { plot.setSize({width: Math.max(box.clientWidth, 50), height: Math.max(box.clientHeight, 50)}); cursor(plot); });
    watch.observe(box);
    return {plot, watch, shown, names: group.names};
  }
  function cursor(plot) { plot.setCursor({left: plot.valToPos(now, "x"), top: 0}, false); }
  function move(t) {
    now = t;
    for (const panel of panels) {
      cursor(panel.plot);
      const k = at(times[0], t);
      panel.names.forEach((name, i) => { const v = values(name, 0)[k]; panel.shown[i].textContent = exact(Math.abs(v) < 1e-7 * size(name) ? 0 : v); });
    }
  }
  // The list from which quantities are chosen.
  const choices = document.querySelector("#choices"), search = document.querySelector("#search");
  function list() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = store.quantities.filter(q => words.every(w => q.name.toLowerCase().includes(w)));
    choices.replaceChildren(...found.slice(0, 150).map(q => {
      const label = document.createElement("label"), box = document.createElement("input");
      box.type = "checkbox"; box.checked = chosen.has(q.name); box.dataset.name = q.name;
      box.addEventListener("change", () => { if (box.checked) chosen.add(q.name); else chosen.delete(q.name); build(); });
      label.append(box, document.createTextNode(q.name), Object.assign(document.createElement("span"), {textContent: q.unit}));
      return label;
    }));
    const more = found.length - 150 + store.leftOut * (words.length ? 0 : 1);
    if (found.length > 150 || store.leftOut) choices.append(Object.assign(document.createElement("p"), {
      textContent: store.leftOut ? `${store.leftOut} more quantities are not in this page: view(quantities=[…]) puts them in.` : `${more} more: search for them.`}));
    if (!found.length) choices.append(Object.assign(document.createElement("p"), {textContent: "Nothing has this name."}));
  }
  search.addEventListener("input", list);
  list(); build();
  return {move, build, cursorTime: () => panels.length ? panels[0].plot.posToVal(panels[0].plot.cursor.left, "x") : now};
}
