// Draws the tree as bars, a plot for every pool and the table of numbers, from the page's own data. Nothing is loaded.
"use strict";
(() => {
  const shown = JSON.parse(document.getElementById("shares").textContent);
  const page = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = () => window.innerWidth <= 640;
  const colour = (name) => getComputedStyle(page).getPropertyValue(`--${name}`).trim();
  // Plotly takes names for markup of its own.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const percent = (share) => `${Number((100 * share).toPrecision(4))}%`;
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const COLOURS = ["run-0", "run-1", "run-2", "run-3", "run-4", "kind-7", "kind-4", "kind-6"];
  const [MOST_PANELS, MOST_LINES, MOST_BARS, MOST_ROWS] = [12, COLOURS.length, 80, 2000];
  const PARTS = { strong: "run-0", integral: "run-3", weight: "run-2" };

  const resource = () => document.getElementById("resource").value;
  const pool = () => Number(document.getElementById("pool").value);
  const title = (one) => (one.kind === "root" ? "the root" : one.name);

  // The places of a pool and of all below it: they follow each other.
  function below(place) {
    const found = [place];
    const depth = shown.elements[place].depth;
    for (let at = place + 1; at < shown.elements.length && shown.elements[at].depth > depth; at += 1) found.push(at);
    return found;
  }

  // -- what all plots have --------------------------------------------------------------------------------------

  const axis = (more) => ({
    gridcolor: colour("line"), zeroline: false, linecolor: colour("line"), ticks: "outside", ticklen: 4,
    tickcolor: colour("line"), automargin: true, fixedrange: narrow(), ...more,
  });
  const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true, showlegend: false,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("muted") },
    dragmode: narrow() ? false : "zoom",
    hoverlabel: {
      bgcolor: colour("surface"), bordercolor: colour("line"), font: { color: colour("text"), size: 12 }, namelength: 40,
    },
    ...more,
  });
  const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, showTips: false };
  // A saved picture stands alone: with the pool's name, a legend, and a ground of its own.
  const saving = (panel) => ({
    ...CONFIG, displayModeBar: "hover", displaylogo: false,
    modeBarButtons: [[{
      name: "save", title: "Save as SVG", icon: Plotly.Icons.camera,
      click: (box) => Plotly.downloadImage({ data: box.data, layout: {
        ...box.layout, title: { text: plain(panel.title) }, showlegend: true, legend: { traceorder: "reversed" },
        paper_bgcolor: colour("surface"), plot_bgcolor: colour("surface"), margin: { l: 60, r: 20, t: 80, b: 60 },
      } }, { format: "svg", width: 800, height: 450, filename: panel.path.concat("shares").join("-") }),
    }]],
  });
  const childColour = (place) => colour(COLOURS[place] || "kind-10");

  // -- the tree as bars -----------------------------------------------------------------------------------------

  async function bars(places) {
    const name = resource();
    const some = ({ demand_share: demand, guarantee }) => demand[name] > 0 || guarantee[name] > 0;
    const concerned = places.filter((place, k) => k === 0 || some(shown.elements[place]));
    const rows = concerned.slice(0, MOST_BARS);
    const all = rows.map((place) => shown.elements[place]);
    const at = all.map((_, k) => k);
    const words = all.map((one) =>
      `<b>${plain(title(one))}</b><br>fair share ${percent(one.fair_share[name])}: strong ${percent(one.parts.strong[name])}, `
      + `integral ${percent(one.parts.integral[name])}, by weight ${percent(one.parts.weight[name])}<br>`
      + `usage ${percent(one.usage_share[name])}, demand ${percent(one.demand_share[name])}`);
    const common = { y: at, orientation: "h", type: "bar", hovertext: words, hovertemplate: "%{hovertext}<extra></extra>" };
    const of = (key) => all.map((one) => 100 * one[key][name]);
    const part = (key) => all.map((one) => 100 * one.parts[key][name]);
    const sum = (...many) => at.map((k) => many.reduce((total, list) => total + list[k], 0));
    const [strong, integral, weight] = ["strong", "integral", "weight"].map(part);
    const most = Math.max(0.1, ...of("fair_share"), ...of("usage_share")) * 1.08;
    const traces = [
      { ...common, x: of("demand_share"), width: 0.8, marker: { color: "rgba(128,128,128,0.10)", line: { color: colour("muted"), width: 1 } } },
      { ...common, x: strong, width: 0.46, marker: { color: colour(PARTS.strong) } },
      { ...common, x: integral, base: strong, width: 0.46, marker: { color: colour(PARTS.integral) } },
      { ...common, x: weight, base: sum(strong, integral), width: 0.46, marker: { color: colour(PARTS.weight) } },
      {
        x: of("usage_share"), y: at, type: "scatter", mode: "markers", hovertext: words, hovertemplate: "%{hovertext}<extra></extra>",
        marker: { symbol: "line-ns", size: 17, line: { width: 3, color: colour("text") } }, cliponaxis: false,
      },
    ];
    // Labels of an axis end at it; here they begin at the left, further in the deeper they are.
    const names = all.map((one) => clipped(title(one), narrow() ? 14 : 30));
    const [step, letter] = narrow() ? [8, 6.6] : [16, 7];
    const inset = all.map((one) => step * (one.depth - all[0].depth));
    const left = Math.max(...names.map((text, k) => inset[k] + letter * text.length)) + 16;
    const labels = names.map((text, k) => ({
      text: plain(text), x: 0, xref: "paper", xanchor: "left", xshift: inset[k] - left, y: k, yanchor: "middle",
      showarrow: false, font: { color: colour("text"), size: 12 },
    }));
    const box = document.getElementById("bars");
    box.style.height = `${58 + 27 * all.length}px`;
    await Plotly.react(box, traces, layout({
      barmode: "overlay", hovermode: "closest", margin: { l: left, r: 16, t: 6, b: 40 }, annotations: labels,
      xaxis: axis({ range: [0, Math.max(Math.min(Math.max(...of("demand_share")) * 1.04, 110), most)], ticksuffix: "%", title: { text: `share of ${plain(name)}` } }),
      yaxis: axis({ range: [all.length - 0.4, -0.6], showgrid: false, showticklabels: false, ticks: "", fixedrange: true, automargin: false }),
    }), CONFIG);
    const others = places.length - concerned.length;
    note("bars-note", [
      concerned.length > rows.length ? `${rows.length} of ${concerned.length} are shown; choose a pool further down.` : "",
      others ? `Without ${others} that have nothing to do with ${name}.` : "",
    ].join(" "));
  }
  const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const note = (id, text) => { document.getElementById(id).textContent = text; };

  // -- one plot a pool ------------------------------------------------------------------------------------------

  function figure(panel) {
    const made = document.createElement("figure");
    made.className = "figurebox";
    made.dataset.pool = panel.title;
    const caption = document.createElement("figcaption");
    caption.textContent = panel.title;
    const under = document.createElement("span");
    under.textContent = `gets ${percent(panel.share)}`
      + (panel.guarantee > 0 ? `, guaranteed ${percent(panel.guarantee)}` : "")
      + (panel.limit < 1 ? `, at most ${percent(panel.limit)}` : "")
      + `, asks for ${percent(panel.demand)}, uses ${percent(panel.usage)}`;
    caption.append(under);
    const box = document.createElement("div");
    box.className = "plot";
    box.style.height = "300px";
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `${panel.title}: shares of its children by what it offers; ${panel.offered}`);
    made.append(caption, box, legend(panel));
    return [made, box];
  }

  function legend(panel) {
    const list = document.createElement("ul");
    list.className = "legend";
    const entry = (stroke, dash, text) => {
      const one = document.createElement("li");
      const sign = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      Object.entries({ x1: 0, x2: 24, y1: 4, y2: 4 }).forEach(([key, value]) => line.setAttribute(key, value));
      line.style.stroke = stroke;
      if (dash) line.setAttribute("stroke-dasharray", dash);
      sign.append(line);
      sign.setAttribute("aria-hidden", "true");
      one.append(sign, text);
      list.append(one);
    };
    const strokes = ["", "7 4", "2 3", "7 3 2 3"];
    panel.lines.slice(0, MOST_LINES).forEach((line, k) => entry(childColour(k), strokes[k % 4], `${clipped(line.name, 28)} ${percent(line.share)}`));
    if (panel.lines.length > MOST_LINES) entry(colour("kind-10"), "", `${panel.lines.length - MOST_LINES} others`);
    entry(colour("text"), "", "together");
    return list;
  }

  function curves(panel) {
    const scale = panel.fifo ? 1 : 100;
    const hundred = (values) => values.map((value) => 100 * value);
    const along = (values) => values.map((value) => scale * value);
    const end = scale * panel.end;
    const offer = Math.min(scale * panel.offer, end);
    const traces = [{
      x: along(panel.sum[0]), y: hundred(panel.sum[1]), type: "scatter", mode: "lines", name: "together",
      line: { color: colour("text"), width: 3 }, hovertemplate: "%{y:.4~g}%",
    }];
    [...panel.lines.keys()].reverse().forEach((k) => traces.push({
      x: along(panel.lines[k].x), y: hundred(panel.lines[k].y), type: "scatter", mode: "lines", name: plain(panel.lines[k].name),
      line: { color: childColour(k), width: 2, dash: k < MOST_LINES ? DASHES[k % 4] : "solid" }, hovertemplate: "%{y:.4~g}%",
    }));
    traces.push({
      x: panel.lines.map(() => offer), y: panel.lines.map((line) => 100 * line.share), type: "scatter", mode: "markers", name: "", showlegend: false,
      marker: { size: 9, color: panel.lines.map((_, k) => childColour(k)), line: { width: 1.5, color: colour("surface") } },
      text: panel.lines.map((line) => `${plain(line.name)} gets ${percent(line.share)}`), hovertemplate: "%{text}<extra></extra>", cliponaxis: false,
    });
    const start = panel.lines.map((line, k) => [line.guarantee, k]).filter(([share]) => share > 0);
    traces.push({
      x: start.map(() => 0), y: start.map(([share]) => 100 * share), type: "scatter", mode: "markers", name: "", showlegend: false, cliponaxis: false,
      marker: { symbol: "triangle-right", size: 10, color: start.map(([, k]) => childColour(k)) },
      text: start.map(([share, k]) => `${plain(panel.lines[k].name)} is guaranteed ${percent(share)}`), hovertemplate: "%{text}<extra></extra>",
    });
    const shapes = [
      { type: "line", x0: offer, x1: offer, y0: 0, y1: 1, yref: "paper", line: { color: colour("text"), width: 1.2, dash: "dash" }, layer: "below" },
      { type: "line", x0: 0, x1: 1, xref: "paper", y0: 100 * panel.share, y1: 100 * panel.share, line: { color: colour("text"), width: 1.2, dash: "dash" }, layer: "below" },
    ];
    const bound = (share) => shapes.push({ type: "line", x0: 0, x1: 1, xref: "paper", y0: 100 * share, y1: 100 * share, line: { color: colour("muted"), width: 1.2, dash: "dot" }, layer: "below" });
    if (panel.guarantee > 0) bound(panel.guarantee);
    if (panel.limit < 1 && panel.limit <= panel.top) bound(panel.limit);
    const side = offer > 0.7 * end ? "right" : offer < 0.3 * end ? "left" : "center";
    const ticks = panel.fifo ? { dtick: Math.max(1, Math.ceil(panel.end / 12)) } : { ticksuffix: "%" };
    return {
      traces,
      layout: layout({
        hovermode: "x unified", margin: { l: 46, r: 14, t: 26, b: 40 }, shapes,
        annotations: [{
          text: plain(panel.offered), x: offer, xanchor: side, y: 1, yref: "paper", yanchor: "bottom", showarrow: false,
          font: { color: colour("text"), size: 12 },
        }],
        xaxis: axis({ range: [0, end], title: { text: panel.along }, showgrid: false, ...ticks }),
        yaxis: axis({ range: [0, 100 * panel.top], ticksuffix: "%", nticks: 6 }),
      }),
    };
  }

  async function plots(places) {
    const wanted = new Set(places);
    const found = shown.panels[resource()].filter((panel) => wanted.has(panel.place) && (panel.demand > 0 || panel.place === places[0]));
    const into = document.getElementById("panels");
    into.querySelectorAll(".plot").forEach((box) => Plotly.purge(box));
    into.replaceChildren();
    const some = found.slice(0, MOST_PANELS);
    const figures = some.map(figure);
    into.append(...figures.map(([made]) => made)); // all of them first: how wide each is depends on the others
    for (const [k, [, box]] of figures.entries()) {
      const { traces, layout: how } = curves(some[k]);
      await Plotly.newPlot(box, traces, how, saving(some[k]));
    }
    note("panels-note", found.length > MOST_PANELS ? `${MOST_PANELS} of ${found.length} pools are shown; choose a pool further down.` : "");
  }

  // -- numbers --------------------------------------------------------------------------------------------------

  function numbers(places) {
    const name = resource();
    const first = shown.elements[places[0]].depth;
    const rows = places.slice(0, MOST_ROWS).map((place) => {
      const one = shown.elements[place];
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = title(one);
      head.style.paddingLeft = `${16 + 18 * (one.depth - first)}px`;
      row.append(head);
      const state = one.starvation === "non_starving" ? one.status : one.starvation;
      const satisfied = one.satisfaction >= 1e9 ? "infinite" : String(Number(one.satisfaction.toPrecision(4)));
      const cells = [
        String(one.weight), percent(one.suggestion), percent(one.fair_share[name]), percent(one.usage_share[name]),
        percent(one.demand_share[name]), one.guarantee[name] ? percent(one.guarantee[name]) : "–",
        one.limit[name] < 1 ? percent(one.limit[name]) : "–", satisfied, state.replaceAll("_", " "),
      ];
      cells.forEach((text, k) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        if (k < cells.length - 1) cell.className = "figure";
        row.append(cell);
      });
      return row;
    });
    document.getElementById("rows").replaceChildren(...rows);
  }

  // -- and begin ------------------------------------------------------------------------------------------------

  let turn = Promise.resolve();
  function draw() {
    turn = turn.then(async () => {
      delete page.dataset.drawn;
      for (const sign of document.querySelectorAll(".legend [data-part]")) sign.style.background = colour(PARTS[sign.dataset.part]);
      const places = below(pool());
      numbers(places);
      await bars(places);
      await plots(places);
      page.dataset.drawn = dark.matches ? "dark" : "light";
    });
  }
  document.getElementById("resource").addEventListener("change", draw);
  document.getElementById("pool").addEventListener("change", draw);
  dark.addEventListener("change", draw);
  matchMedia("(max-width: 640px)").addEventListener("change", draw);
  draw();
})();
