// Draws the plots from the page's own data, and swaps tables and tabs. Nothing is loaded.
"use strict";
(() => {
  const shown = JSON.parse(document.getElementById("plots").textContent);
  const page = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = () => window.innerWidth <= 640;
  const colour = (name) => getComputedStyle(page).getPropertyValue(`--${name}`).trim();
  // Plotly takes names for markup of its own.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
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

  // -- what all plots have --------------------------------------------------------------------------------------

  const axis = (more) => ({
    gridcolor: colour("line"), zeroline: false, linecolor: colour("line"), ticks: "outside", ticklen: 4,
    tickcolor: colour("line"), automargin: true, fixedrange: narrow(), ...more,
  });
  const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true, showlegend: false,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("muted") },
    margin: { l: 46, r: 12, t: 8, b: 38 }, dragmode: narrow() ? false : "zoom",
    hoverlabel: {
      bgcolor: colour("surface"), bordercolor: colour("line"), font: { color: colour("text"), size: 12 }, namelength: 40,
    },
    ...more,
  });
  const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, showTips: false };

  // -- the plots ------------------------------------------------------------------------------------------------

  function timeline(kind) {
    const { names, ordered } = shown.kinds[kind];
    const colours = kindColours(names, ordered);
    const rows = shown.runs.length;
    const gap = rows > 1 ? 0.2 / rows : 0;
    const height = (1 - gap * (rows - 1)) / rows;
    const data = [];
    const made = layout({
      margin: { l: 46, r: 12, t: 26, b: 40 }, hovermode: "x unified", annotations: [], shapes: [],
      xaxis: axis({ title: { text: shown.time }, anchor: `y${rows * 2}`, range: shown.span, showgrid: false }),
    });
    shown.runs.forEach((run, place) => {
      const top = 1 - place * (height + gap);
      const [use, waiting] = [place * 2 + 1, place * 2 + 2].map((k) => `y${k === 1 ? "" : k}`);
      const common = { x: run.times, xaxis: "x", type: "scatter", mode: "lines" };
      names.forEach((name, k) => data.push({
        ...common, y: run[kind][k], name: plain(name), yaxis: use, stackgroup: `${place}`,
        line: { width: 0, shape: "hv" }, fillcolor: colours[k], hovertemplate: "%{y:.4~g}",
      }));
      data.push({
        ...common, y: run.capacity, name: "capacity", yaxis: use,
        line: { color: colour("text"), width: 1.5, dash: "dash", shape: "hv" }, hovertemplate: "%{y:.4~g}",
      });
      data.push({
        ...common, y: run.waiting, name: "waiting demand", yaxis: waiting, fill: "tozeroy",
        fillcolor: "rgba(128,128,128,0.13)", line: { color: colour("lost"), width: 1.5, shape: "hv" },
        hovertemplate: "%{y:.4~g}",
      });
      const split = top - height * 0.7;
      made[`yaxis${use.slice(1)}`] = axis({ domain: [split + height * 0.03, top], range: [0, shown.most * 1.04], nticks: 5 });
      made[`yaxis${waiting.slice(1)}`] = axis({
        domain: [top - height, split - height * 0.03], range: [0, shown.mostWaiting * 1.08 || 1], nticks: 3,
      });
      made.annotations.push({
        text: `<b>${plain(run.label)}</b>`, x: 0, xref: "paper", xanchor: "left", y: top, yref: "paper", yanchor: "bottom",
        showarrow: false, font: { color: colour("text"), size: 13 }, yshift: 2,
      });
    });
    return { data, layout: made };
  }

  function cumulative(key) {
    const { time } = shown.distributions[key];
    const data = shown.runs.map((run, place) => ({
      x: run.distributions[key].values, y: run.distributions[key].share.map((share) => share * 100), name: plain(run.label),
      type: "scatter", mode: "lines", line: { color: runColour(place), width: 2, dash: DASHES[place % 6], shape: "hv" },
      hovertemplate: time ? "%{y:.1f} % within %{customdata}" : "%{y:.1f} % up to %{x:.3~g}",
      customdata: time ? run.distributions[key].values.map(spoken) : undefined,
    }));
    const ticks = time ? { tickvals: TIMES.map(([at]) => at), ticktext: TIMES.map(([, text]) => text) } : { dtick: 1 };
    return {
      data,
      layout: layout({
        hovermode: "closest", margin: { l: 46, r: 14, t: 8, b: 26 },
        xaxis: axis({ type: "log", ...ticks }),
        yaxis: axis({ range: [0, 101], ticksuffix: " %", nticks: 6 }),
      }),
    };
  }
  const TIMES = [[1, "1 s"], [60, "1 min"], [3600, "1 h"], [86400, "1 d"], [2592000, "30 d"]];
  function spoken(seconds) {
    const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => seconds >= size) || [1, "s"];
    return `${(seconds / size).toPrecision(3).replace(/\.?0+$/, "")} ${unit}`;
  }

  function losses() {
    const data = shown.runs.map((run, place) => ({
      x: shown.bins, y: run.losses.counts, customdata: run.losses.hours, name: plain(run.label), type: "bar",
      marker: { color: runColour(place) }, hovertemplate: `%{y} preemptions<br>%{customdata:.4~g} ${plain(shown.resource)}-hours`,
    }));
    return {
      data,
      layout: layout({
        barmode: "group", bargap: 0.25, bargroupgap: 0.06,
        xaxis: axis({ type: "category", tickangle: 0, tickfont: { size: narrow() ? 9 : 12 }, title: { text: `${plain(shown.resource)}-hours lost` }, showgrid: false }),
        yaxis: axis({ rangemode: "tozero", nticks: 6 }),
      }),
    };
  }

  function preemptions() {
    const data = shown.runs.map((run, place) => {
      let sum = 0;
      return {
        x: run.times, y: run.preemptions.map((count) => (sum += count)), customdata: run.preemptions, name: plain(run.label),
        type: "scatter", mode: "lines", line: { color: runColour(place), width: 2, dash: DASHES[place % 6], shape: "hv" },
        hovertemplate: "%{y} so far, %{customdata} in this step",
      };
    });
    return {
      data,
      layout: layout({
        hovermode: "x unified", xaxis: axis({ title: { text: shown.time }, range: shown.span, showgrid: false }),
        yaxis: axis({ rangemode: "tozero", nticks: 6 }),
      }),
    };
  }

  const PLOTS = { timeline_queue: () => timeline("queue"), timeline_priority: () => timeline("priority"), losses, preemptions };
  for (const key of Object.keys(shown.distributions)) PLOTS[`distribution_${key}`] = () => cumulative(key);

  async function draw(box) {
    const make = PLOTS[box.dataset.plot];
    if (!make || !box.offsetParent) return;
    const { data, layout } = make();
    await Plotly.react(box, data, layout, CONFIG);
    box.dataset.drawn = "";
  }
  async function drawAll(again) {
    for (const box of document.querySelectorAll(".plot")) {
      if (again || !("drawn" in box.dataset)) await draw(box);
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
    const term = event.target.closest && event.target.closest("[data-term]");
    const text = term && document.querySelector(`#measure-${CSS.escape(term.dataset.term)} dd`);
    if (!text) { hide(); return; }
    explained = term;
    tip.textContent = text.textContent;
    tip.hidden = false;
    place();
    term.setAttribute("aria-describedby", "tip");
  };
  document.addEventListener("mouseover", explain);
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
  matchMedia("(max-width: 640px)").addEventListener("change", again);
})();
