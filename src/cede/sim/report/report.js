// Draws the plots from the page's own data, and swaps tables and tabs. Nothing is loaded.
"use strict";
(() => {
  const shown = JSON.parse(document.getElementById("plots").textContent);
  const page = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = () => window.innerWidth <= 640;
  const colour = (name) => getComputedStyle(page).getPropertyValue(`--${name}`).trim();
  const DASHES = [undefined, "7 4", "2 3", "7 3 2 3", "11 4", "11 3 2 3"];
  const KINDS = 10;

  // -- colours --------------------------------------------------------------------------------------------------

  const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const between = (from, to, share) => {
    const [a, b] = [channels(from), channels(to)];
    return `rgb(${a.map((value, k) => Math.round(value + (b[k] - value) * share)).join(",")})`;
  };
  const runColour = (place) => colour(`run-${place % 6}`);
  function kindColours(names, ordered) {
    return names.map((name, k) => {
      if (name === shown.other) return colour("kind-10");
      if (!ordered) return colour(`kind-${k % KINDS}`);
      return between(colour("rank-from"), colour("rank-to"), names.length < 2 ? 0 : k / (names.length - 1));
    });
  }

  // -- drawing --------------------------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  function put(parent, tag, attributes, text) {
    const made = parent.appendChild(document.createElementNS(SVG, tag));
    for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  const short = (value) => Number(Number(value).toPrecision(4)).toLocaleString("en").replace(/,/g, "\u202f");
  const DAYS = [86400, "d"], TIMES = [[1, "1 s"], [60, "1 min"], [3600, "1 h"], [86400, "1 d"], [2592000, "30 d"]];
  function spoken(seconds) {
    const [size, unit] = [DAYS, [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => seconds >= size) || [1, "s"];
    return `${(seconds / size).toPrecision(3).replace(/\.?0+$/, "")} ${unit}`;
  }
  // Round numbers from one end to the other, about so many.
  function ticks([from, to], many) {
    const rough = (to - from) / Math.max(many, 1) || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
    const found = [];
    for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-9; at += step) found.push(at);
    return found.map((at) => [at, short(Math.abs(at) < step / 1e6 ? 0 : at)]);
  }
  // The path of a step line: each value holds up to the next place.
  function steps(x, y, place, height) {
    let path = "", last = null;
    for (let k = 0; k < x.length; k += 1) {
      const [px, py] = [place(x[k]).toFixed(1), height(y[k]).toFixed(1)];
      if (k === 0) path = `M${px},${py}`;
      else if (py === last && k < x.length - 1) continue;
      else path += `H${px}V${py}`;
      last = py;
    }
    return path;
  }
  // Where the value of a place is: the last one that is not beyond it.
  function at(x, value) {
    let [low, high] = [0, x.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (x[middle] <= value) low = middle; else high = middle - 1;
    }
    return low;
  }

  const zoomed = new Map();
  // Panels below each other with one x axis. A series is a line, an area on those before it, or bars by category.
  function chart(box, spec) {
    const width = box.clientWidth, height = box.clientHeight;
    const [left, right, above, below] = [50, 12, 6, spec.x.title ? 42 : 26];
    const inner = Math.max(width - left - right, 20);
    const range = zoomed.get(box) || spec.x.range;
    const scaled = spec.x.log ? Math.log10 : (value) => value;
    const [from, to] = range.map(scaled);
    const place = (value) => left + ((scaled(value) - from) / (to - from || 1)) * inner;
    box.replaceChildren();
    const svg = put(box, "svg", { width, height, class: "drawing" });
    const clip = `clip-${box.id}`;
    put(put(svg, "clipPath", { id: clip }), "rect", { x: left, y: 0, width: inner, height });
    const whole = spec.panels.reduce((sum, panel) => sum + panel.share, 0);
    const room = height - above - below - spec.panels.reduce((sum, panel, k) => sum + (panel.title ? 28 : k && 10), 0);
    let top = above;
    const drawn = spec.panels.map((panel) => {
      if (panel.title) { put(svg, "text", { x: left, y: top + 18, class: "title" }, panel.title); top += 28; }
      else if (top > above) top += 10;
      const tall = (room * panel.share) / whole, bottom = top + tall, most = panel.most || 1;
      const high = (value) => bottom - (value / most) * tall;
      for (const [value, text] of ticks([0, most], Math.max(2, Math.round(tall / 34)))) {
        put(svg, "line", { x1: left, x2: left + inner, y1: high(value), y2: high(value), class: "grid" });
        if (top > above && !panel.title && high(value) < top + 6) continue; // the panel above ends there, with its zero
        put(svg, "text", { x: left - 6, y: high(value) + 4, class: "ytick" }, text + (panel.suffix || ""));
      }
      const inside = put(svg, "g", { "clip-path": `url(#${clip})` });
      let floor = null;
      panel.series.forEach((one, k) => {
        const group = put(inside, "g", { class: "trace" });
        if (one.bars) {
          const slot = inner / one.x.length, wide = (slot * 0.78) / panel.series.length;
          one.y.forEach((value, b) => put(group, "rect", {
            x: left + slot * (b + 0.11) + wide * k, y: high(value), width: Math.max(wide - 1, 1), height: bottom - high(value), fill: one.colour,
          }));
          return;
        }
        if (one.stacked) {
          const lower = floor || one.y.map(() => 0);
          floor = one.y.map((value, b) => value + lower[b]);
          if (!one.y.some(Boolean)) return;
          put(group, "path", { d: `${steps(one.x, floor, place, high)}${reversed(one.x, lower, place, high)}Z`, fill: one.colour, stroke: "none" });
          return;
        }
        const d = steps(one.x, one.y, place, high);
        if (one.filled) put(group, "path", { d: `${d}V${bottom}H${place(one.x[0])}Z`, fill: one.colour, "fill-opacity": 0.13 });
        put(group, "path", { d, fill: "none", stroke: one.colour, "stroke-width": one.thin ? 1.5 : 2, "stroke-dasharray": one.dash });
      });
      const made = { panel, top, bottom };
      top = bottom;
      return made;
    });
    const base = drawn[drawn.length - 1].bottom;
    const marks = spec.x.names ? [] : (spec.x.ticks || ticks(range, Math.max(2, Math.round(inner / 90)))).filter(([value]) => value >= range[0] && value <= range[1]);
    for (const [value, text] of marks) {
      put(svg, "line", { x1: place(value), x2: place(value), y1: base, y2: base + 4, class: "grid" });
      put(put(svg, "g", { class: "xtick" }), "text", { x: place(value), y: base + 17 }, text);
    }
    (spec.x.names || []).forEach((name, k) => {
      put(put(svg, "g", { class: "xtick" }), "text", { x: left + (inner / spec.x.names.length) * (k + 0.5), y: base + 17 }, name);
    });
    if (spec.x.title) put(svg, "text", { x: left + inner / 2, y: base + 36, class: "xtitle" }, spec.x.title);
    watch(box, spec, svg, drawn, { left, inner, range, place, back: (px) => unscaled(from + ((px - left) / inner) * (to - from), spec.x.log) });
  }
  const unscaled = (value, log) => (log ? 10 ** value : value);
  function reversed(x, y, place, height) {
    let path = "", last = null;
    for (let k = x.length - 1; k >= 0; k -= 1) {
      const px = place(x[k]).toFixed(1), py = height(y[Math.max(k - 1, 0)]).toFixed(1);
      if (k === x.length - 1) path = `L${px},${height(y[k]).toFixed(1)}V${py}`;
      else if (py !== last || k === 0) path += `H${px}V${py}`;
      last = py;
    }
    return path;
  }
  // Values under the pointer, and a closer look at what is dragged over.
  function watch(box, spec, svg, drawn, { left, inner, range, place, back }) {
    const note = box.appendChild(document.createElement("div"));
    note.className = "values";
    note.hidden = true;
    const line = put(svg, "line", { class: "cursor", y1: drawn[0].top, y2: drawn[drawn.length - 1].bottom, visibility: "hidden" });
    const frame = put(svg, "rect", { class: "frame", visibility: "hidden", y: drawn[0].top, height: drawn[drawn.length - 1].bottom - drawn[0].top });
    let begun = null;
    const within = (event) => Math.min(Math.max(event.clientX - svg.getBoundingClientRect().left, left), left + inner);
    svg.onpointermove = (event) => {
      const px = within(event), py = event.clientY - svg.getBoundingClientRect().top;
      if (begun !== null) {
        frame.setAttribute("x", Math.min(px, begun));
        frame.setAttribute("width", Math.abs(px - begun));
        frame.setAttribute("visibility", "visible");
        return;
      }
      const found = drawn.find((one) => py >= one.top && py <= one.bottom);
      if (!found) { leave(); return; }
      const value = back(px), slot = spec.x.names ? Math.min(Math.floor(((px - left) / inner) * spec.x.names.length), spec.x.names.length - 1) : 0;
      note.replaceChildren();
      const head = note.appendChild(document.createElement("b"));
      head.textContent = spec.x.names ? spec.x.names[slot] : spec.x.tell(value);
      for (const one of [...found.panel.series].reverse()) {
        const k = one.bars ? slot : at(one.x, value);
        if (one.stacked && !one.y[k]) continue;
        const row = note.appendChild(document.createElement("div"));
        const sign = row.appendChild(document.createElement("i"));
        sign.style.background = one.colour;
        row.append(`${one.name}: ${one.tell ? one.tell(k) : short(one.y[k]) + (found.panel.suffix || "")}`);
      }
      note.hidden = false;
      const over = px > left + inner / 2;
      note.style.left = over ? "auto" : `${px + 12}px`;
      note.style.right = over ? `${box.clientWidth - px + 12}px` : "auto";
      note.style.top = `${Math.max(0, Math.min(py - 20, box.clientHeight - note.offsetHeight))}px`;
      if (!spec.x.names) {
        line.setAttribute("x1", px);
        line.setAttribute("x2", px);
        line.setAttribute("visibility", "visible");
      }
    };
    const leave = () => { note.hidden = true; line.setAttribute("visibility", "hidden"); };
    svg.onpointerleave = leave;
    if (spec.x.names || narrow()) return;
    svg.onpointerdown = (event) => { begun = within(event); svg.setPointerCapture(event.pointerId); leave(); event.preventDefault(); };
    svg.onpointerup = (event) => {
      const [low, high] = [begun, within(event)].sort((a, b) => a - b);
      begun = null;
      frame.setAttribute("visibility", "hidden");
      if (high - low < 8) return;
      zoomed.set(box, [back(low), back(high)]);
      draw(box);
    };
    svg.ondblclick = () => { zoomed.delete(box); draw(box); };
  }

  // -- the plots ------------------------------------------------------------------------------------------------

  const since = (value) => `${short(value)} ${shown.time}`;

  function timeline(kind) {
    const { names, ordered } = shown.kinds[kind];
    const colours = kindColours(names, ordered);
    const panels = [];
    for (const run of shown.runs) {
      const x = run.times;
      panels.push({
        share: 7, title: run.label, most: shown.most * 1.04,
        series: [
          ...names.map((name, k) => ({ x, y: run[kind][k], name, colour: colours[k], stacked: true })),
          { x, y: run.capacity, name: "capacity", colour: colour("text"), dash: "6 4", thin: true },
        ],
      });
      panels.push({
        share: 3, most: shown.mostWaiting * 1.08 || 1,
        series: [{ x, y: run.waiting, name: "waiting demand", colour: colour("lost"), filled: true, thin: true }],
      });
    }
    return { x: { range: shown.span, title: shown.time, tell: since }, panels };
  }

  function cumulative(key) {
    const { time } = shown.distributions[key];
    const every = shown.runs.flatMap((run) => run.distributions[key].values);
    const most = Math.max(...every, 10), least = Math.max(Math.min(...every, 1), 1e-3);
    const decades = [];
    for (let one = 10 ** Math.floor(Math.log10(least)); one <= most; one *= 10) decades.push([one, short(one)]);
    return {
      x: { range: [least, most], log: true, ticks: time ? TIMES : decades, tell: time ? (value) => `within ${spoken(value)}` : (value) => `up to ${short(value)}` },
      panels: [{
        share: 1, most: 101, suffix: " %",
        series: shown.runs.map((run, place) => ({
          x: run.distributions[key].values, y: run.distributions[key].share.map((share) => share * 100), name: run.label,
          colour: runColour(place), dash: DASHES[place % 6],
        })),
      }],
    };
  }

  function losses() {
    return {
      x: { names: shown.bins, title: `${shown.resource}-hours`, range: [0, 1] },
      panels: [{
        share: 1, most: Math.max(...shown.runs.flatMap((run) => run.losses.counts), 1) * 1.04,
        series: shown.runs.map((run, place) => ({
          x: shown.bins, y: run.losses.counts, name: run.label, colour: runColour(place), bars: true,
          tell: (k) => `${short(run.losses.counts[k])} preemptions, ${short(run.losses.hours[k])} ${shown.resource}-hours`,
        })),
      }],
    };
  }

  function preemptions() {
    const series = shown.runs.map((run, place) => {
      let sum = 0;
      return { x: run.times, y: run.preemptions.map((count) => (sum += count)), name: run.label, colour: runColour(place), dash: DASHES[place % 6] };
    });
    const most = Math.max(...series.flatMap((one) => one.y), 1) * 1.04;
    return { x: { range: shown.span, title: shown.time, tell: since }, panels: [{ share: 1, most, series }] };
  }

  const PLOTS = { timeline_queue: () => timeline("queue"), timeline_priority: () => timeline("priority"), losses, preemptions };
  for (const key of Object.keys(shown.distributions)) PLOTS[`distribution_${key}`] = () => cumulative(key);

  function draw(box) {
    const make = PLOTS[box.dataset.plot];
    if (!make || !box.offsetParent) return;
    chart(box, make());
    box.dataset.drawn = "";
  }
  function drawAll(again) {
    for (const box of document.querySelectorAll(".plot")) {
      if (again || !("drawn" in box.dataset)) draw(box);
    }
    page.dataset.drawn = dark.matches ? "dark" : "light";
  }

  // The colours of legends are those of the plots.
  function legends() {
    for (const list of document.querySelectorAll(".legend[data-kind]")) {
      const { names, ordered } = shown.kinds[list.dataset.kind];
      const colours = kindColours(names, ordered);
      [...list.querySelectorAll("i.kind")].forEach((sign, k) => { sign.style.background = colours[k]; });
    }
  }

  // -- tables and tabs ------------------------------------------------------------------------------------------

  const select = document.getElementById("group");
  const groups = [...document.querySelectorAll(".group")];
  const choose = () => groups.forEach((group, place) => { group.hidden = place !== Number(select.value); });
  if (select) select.addEventListener("change", choose);

  for (const list of document.querySelectorAll("[role=tablist]")) {
    const tabs = [...list.querySelectorAll("[role=tab]")];
    const open = (tab) => {
      for (const one of tabs) {
        const chosen = one === tab;
        one.setAttribute("aria-selected", chosen);
        one.tabIndex = chosen ? 0 : -1;
        const panel = document.getElementById(one.getAttribute("aria-controls"));
        panel.hidden = !chosen;
        if (chosen) for (const box of panel.querySelectorAll(".plot")) draw(box);
      }
    };
    list.addEventListener("click", (event) => { const tab = event.target.closest("[role=tab]"); if (tab) open(tab); });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
      next.focus();
      open(next);
      event.preventDefault();
    });
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
    } catch {
      // Without leave to write there, the command is marked for the reader to copy.
      getSelection().selectAllChildren(button.parentElement.querySelector(".command"));
      button.textContent = "marked";
    }
  });

  // -- definitions where the measure is named -------------------------------------------------------------------

  const tip = document.getElementById("tip");
  let explained = null;
  const hide = () => { tip.hidden = true; explained = null; };
  const place = () => {
    const at = explained.getBoundingClientRect();
    const below = at.bottom + 8;
    tip.style.left = `${Math.max(12, Math.min(at.left, window.innerWidth - tip.offsetWidth - 12))}px`;
    tip.style.top = `${below + tip.offsetHeight < window.innerHeight ? below : at.top - tip.offsetHeight - 8}px`;
  };
  const explain = (event) => {
    const term = event.target.closest && event.target.closest("a[href^='#measure-']");
    const text = term && document.querySelector(`${term.getAttribute("href")} dd`);
    if (!text) { hide(); return; }
    explained = term;
    tip.textContent = text.textContent;
    tip.hidden = false;
    place();
    term.setAttribute("aria-describedby", "tip");
  };
  // When the page moves below a pointer that rests, the browser says so as if the pointer had moved: what was
  // dismissed would come back by itself. Only a pointer at another place on the screen asks.
  let pointer = null;
  const moved = (event) => {
    const at = `${event.screenX} ${event.screenY}`;
    return at !== pointer && (pointer = at);
  };
  document.addEventListener("mouseover", (event) => { if (moved(event)) explain(event); });
  document.addEventListener("mousemove", moved, { passive: true });
  document.addEventListener("focusin", explain);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  // Going to a term by keyboard scrolls to it, and its definition goes along.
  document.addEventListener("scroll", () => {
    if (explained && explained === document.activeElement) place(); else hide();
  }, { capture: true, passive: true });

  // -- and begin ------------------------------------------------------------------------------------------------

  if (select) choose();
  legends();
  drawAll(false);
  const again = () => { legends(); drawAll(true); };
  dark.addEventListener("change", again);
  addEventListener("beforeprint", () => { page.dataset.print = ""; again(); });
  addEventListener("afterprint", () => { delete page.dataset.print; again(); });
  let wide = window.innerWidth;
  addEventListener("resize", () => { if (window.innerWidth !== wide) { wide = window.innerWidth; again(); } });
})();
