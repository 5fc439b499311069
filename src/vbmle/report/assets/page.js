/* Draws the figures of the page, and answers its filters, its tables and the keyboard. Fetches nothing. */
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const panels = Array.from(document.querySelectorAll(".panel"));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)");
  const hidden = new Set();
  const drawn = new Set();
  let scale = "auto"; // of regret
  let printing = false;

  const LIGHT = { ink: "#000000", soft: "#444444", line: "#d0d7de" };
  const CROWD = 6; // more agents are drawn with paler bands and without their medians
  const PAPER_WIDTH = 670; // pixels across a printed page
  const LOWEST = -3; // the least power of ten that an axis of regret resolves; below it lies 0
  const CONFIG = {
    displaylogo: false, responsive: true, showTips: false, plotlyServerURL: "", // nothing leaves this page
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    displayModeBar: touch.matches ? false : "hover",
  };

  function theme() {
    if (printing) return LIGHT;
    const found = getComputedStyle(document.documentElement);
    const read = (name) => found.getPropertyValue("--" + name).trim();
    return { ink: read("ink"), soft: read("soft"), line: read("line") };
  }

  function look(series, colors) {
    const own = data.agents[series.agent];
    if (!own) return { color: "#808080", dash: "dash", marker: "circle" };
    const color = own.color === "#000000" ? colors.ink : own.color;
    return { color: color, dash: series.faint ? "dot" : own.dash, marker: own.marker };
  }

  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const known = (value) => value !== null && value !== undefined;
  function show(value) {
    if (!known(value)) return "-";
    if (value === 0) return "0";
    const size = Math.abs(value);
    return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
  }
  function translucent(color, alpha) {
    const number = parseInt(color.slice(1), 16);
    return "rgba(" + [number >> 16, (number >> 8) & 255, number & 255, alpha].join(",") + ")";
  }

  /* A logarithmic axis that has a place for 0, and its ticks. */
  function withNothing(highest) {
    const lowest = Math.max(highest > 0 ? Math.floor(Math.log10(highest / 1000)) : LOWEST, LOWEST);
    const linear = Math.pow(10, lowest);
    const place = (v) => (!known(v) ? null : v <= linear ? (0.5 * v) / linear : 0.5 + Math.log10(v / linear));
    const top = Math.max(1.3 * highest, 10 * linear);
    const values = [0];
    for (let power = lowest; Math.pow(10, power) <= top; power += 1) values.push(Math.pow(10, power));
    const axis = {
      type: "linear", tickvals: values.map(place), ticktext: values.map((v) => String(Number(v.toPrecision(1)))),
      range: [-0.15, place(top) + 0.1],
    };
    return { place: place, axis: axis };
  }
  const straight = { place: (value) => value, axis: { type: "linear" } };

  function vertical(panel, series) {
    if (panel.yScale === "log") return { place: (v) => (known(v) && v > 0 ? v : null), axis: { type: "log" } };
    const bend = panel.kind === "regret" && scale !== "auto" ? scale === "log" : panel.yScale === "symlog";
    const values = series.flatMap((s) => [].concat(s.y || [], s.high || [])).filter(known);
    const highest = values.length ? Math.max.apply(null, values) : 0;
    if (bend) return withNothing(highest);
    // a curve at 0 is not hidden by the axis, and nothing at all has a scale too
    const top = highest > 0 ? 1.05 * highest : 1;
    return panel.form === "lines" ? { place: straight.place, axis: { type: "linear", range: [-0.03 * top, top] } } : straight;
  }

  function words(panel, series, x, n) {
    const across = panel.xLabel.replace(/:.*/, "");
    const lines = ["<b>" + escaped(series.name) + "</b>", escaped(across) + ": " + show(x[n])];
    const interval = series.low && known(series.low[n]) ? " (95%: " + show(series.low[n]) + " to " + show(series.high[n]) + ")" : "";
    lines.push((series.median ? "mean " : "") + show(series.y[n]) + interval);
    if (series.median) lines.push("median " + show(series.median[n]));
    return lines.join("<br>");
  }

  function band(x, series, place, color, floor, alpha) {
    const kept = x.map((_, n) => n).filter((n) => known(series.low[n]) && known(series.high[n]));
    const low = kept.map((n) => place(Math.max(series.low[n], floor)));
    const high = kept.map((n) => place(Math.max(series.high[n], floor)));
    const places = kept.map((n) => x[n]);
    return {
      x: places.concat(places.slice().reverse()), y: high.concat(low.reverse()), fill: "toself", mode: "lines",
      fillcolor: translucent(color, alpha), line: { width: 0 }, hoverinfo: "skip", showlegend: false,
    };
  }

  function lines(panel, series, colors) {
    const up = vertical(panel, series);
    const positive = series.flatMap((s) => s.y).filter((v) => v > 0);
    const floor = panel.yScale === "log" && positive.length ? Math.min.apply(null, positive) / 3 : -Infinity;
    const traces = [];
    const points = panel.form === "points";
    const few = new Set(series.map((s) => s.agent)).size <= CROWD;
    series.forEach((s) => {
      const style = look(s, colors), x = panel.xs[s.x];
      if (s.low && !points) traces.push(band(x, s, up.place, style.color, floor, few ? 0.14 : 0.06));
    });
    series.forEach((s) => {
      const style = look(s, colors), x = panel.xs[s.x];
      const trace = {
        x: x, y: s.y.map(up.place), name: escaped(s.name), mode: points ? "lines+markers" : "lines", showlegend: false,
        line: { color: style.color, dash: style.dash, width: s.faint ? 1.5 : 2.4 }, hoverinfo: "text",
        text: x.map((_, n) => words(panel, s, x, n)), marker: { symbol: style.marker, size: 9, color: style.color },
      };
      if (points && s.low) {
        const reach = (end, sign) => s.y.map((v, n) => (known(end[n]) ? Math.max(0, sign * (up.place(end[n]) - up.place(v))) : 0));
        trace.error_y = {
          type: "data", symmetric: false, array: reach(s.high, 1), arrayminus: reach(s.low, -1), thickness: 1.2, width: 3,
          color: style.color,
        };
      }
      traces.push(trace);
      if (s.median && !s.faint && few) {
        traces.push({
          x: x, y: s.median.map(up.place), mode: "lines", hoverinfo: "skip", showlegend: false,
          line: { color: style.color, dash: style.dash, width: 1 },
        });
      }
    });
    const xaxis = panel.xScale === "log" ? { type: "log", dtick: points ? undefined : 1 } : { type: "linear" };
    const ticks = Array.from(new Set(series.flatMap((s) => panel.xs[s.x]))).sort((a, b) => a - b);
    if (points && ticks.length <= 8) Object.assign(xaxis, { tickvals: ticks, ticktext: ticks.map(show) });
    return { traces: traces, xaxis: xaxis, yaxis: up.axis, height: 350 };
  }

  function rows(panel, series, colors) {
    const strip = panel.form === "strip";
    const places = series.flatMap((s) => panel.xs[s.x]);
    const right = strip ? withNothing(places.length ? Math.max.apply(null, places) : 0) : straight;
    const traces = [];
    series.forEach((s, row) => {
      const style = look(s, colors), x = panel.xs[s.x];
      const name = "<b>" + escaped(s.name.replace(/, \d+ of \d+ at 0$/, "")) + "</b><br>";
      if (strip) {
        const mean = x.reduce((sum, v) => sum + v, 0) / x.length;
        traces.push({
          // golden-ratio places: spread out, and the same for the same trial
          x: x.map(right.place), y: s.y.map((trial) => row + 0.56 * (((trial * 0.618034) % 1) - 0.5)), mode: "markers",
          marker: { symbol: style.marker, size: 7, color: style.color, opacity: 0.65 }, hoverinfo: "text", showlegend: false,
          text: x.map((v, n) => name + "trial " + s.y[n] + ": " + show(v)),
        });
        traces.push({
          x: [right.place(mean), right.place(mean)], y: [row - 0.36, row + 0.36], mode: "lines", hoverinfo: "text",
          text: [name + "mean " + show(mean), name + "mean " + show(mean)], line: { color: style.color, width: 3 }, showlegend: false,
        });
      } else {
        const end = s.low ? " (95%: " + show(s.low[0]) + " to " + show(s.high[0]) + ")" : "";
        traces.push({
          x: x, y: [row], mode: "markers", marker: { symbol: style.marker, size: 11, color: style.color }, showlegend: false,
          hoverinfo: "text", text: [name + show(x[0]) + end],
          error_x: s.low
            ? { type: "data", symmetric: false, array: [s.high[0] - x[0]], arrayminus: [x[0] - s.low[0]], color: style.color, thickness: 2, width: 5 }
            : { visible: false },
        });
      }
    });
    const names = series.map((s) => escaped(s.name).replace(/, (\d+ of \d+ at 0)$/, "<br><i>$1</i>"));
    const yaxis = { type: "linear", tickvals: names.map((_, n) => n), ticktext: names, range: [names.length - 0.4, -0.6] };
    const xaxis = strip ? right.axis : { type: "linear", range: [-0.03, 1.03] };
    return { traces: traces, xaxis: xaxis, yaxis: yaxis, height: rowsHeight(names.length, strip ? 350 : 160) };
  }

  const rowsHeight = (count, least) => Math.max(least, 80 + Math.min(38, 20 + 160 / count) * count);

  function draw(element) {
    const panel = data.charts[element.dataset.chart][element.dataset.panel];
    const colors = theme();
    const series = panel.series.filter((s) => !hidden.has(s.agent));
    const made = (panel.form === "strip" || panel.form === "forest" ? rows : lines)(panel, series, colors);
    const axis = { gridcolor: colors.line, linecolor: colors.line, tickcolor: colors.line, zeroline: false, automargin: true,
      exponentformat: "power", tickangle: 0, tickfont: { size: printing ? 10 : 12 } };
    const title = (text) => ({ text: escaped(text), font: { size: printing ? 10 : 13 }, standoff: 8 });
    const beside = data.charts[element.dataset.chart].find((other) => other.form === "strip");
    const tall = beside ? rowsHeight(beside.series.filter((s) => !hidden.has(s.agent)).length, 350) : 0;
    const screen = Math.round(Math.max(made.height, Math.min(tall, 520))); // as high as what stands beside it
    const height = printing ? Math.round(0.72 * screen) : screen;
    const layout = {
      height: height, margin: { l: 55, r: 14, t: 8, b: 46 }, hovermode: "closest", showlegend: false,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: touch.matches ? false : "zoom",
      font: { family: "system-ui, sans-serif", size: 12, color: colors.ink },
      hoverlabel: { align: "left", font: { size: 12 } },
      xaxis: Object.assign({ title: title(panel.xLabel) }, axis, made.xaxis),
      yaxis: Object.assign({ title: title(panel.yLabel) }, axis, made.yaxis),
      shapes: known(panel.mark)
        ? [{ type: "line", xref: "x", yref: "paper", x0: panel.mark, x1: panel.mark, y0: 0, y1: 1, line: { color: colors.soft, dash: "dot", width: 1.5 } }]
        : [],
    };
    if (panel.form === "lines" && panel.xScale === "linear" && series.length) layout.xaxis.rangemode = "tozero";
    if (printing) layout.width = paperWidth(element);
    else layout.autosize = true;
    element.style.minHeight = height + "px";
    drawn.add(element);
    return window.Plotly.react(element, made.traces, layout, CONFIG).then(() => {
      element.dataset.drawn = "yes";
    });
  }

  function paperWidth(element) {
    const many = element.closest(".grid").children.length;
    if (many === 1) return PAPER_WIDTH;
    const share = many > 2 ? 1 / many : element.parentElement.classList.contains("strip") ? 0.42 : 0.58;
    return Math.floor(share * (PAPER_WIDTH - 16 * (many - 1)));
  }
  const redraw = () => drawn.forEach((element) => draw(element));

  /* Figures are drawn when they come near, and all others when there is time. */
  function start() {
    const near = new IntersectionObserver((entries) => {
      entries.forEach((entry) => {
        if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
      });
    }, { rootMargin: "400px" });
    panels.forEach((panel) => near.observe(panel));
    const later = window.requestIdleCallback || ((call) => setTimeout(call, 50));
    (function next() {
      const waiting = panels.find((panel) => !drawn.has(panel) && panel.offsetParent !== null);
      if (waiting) later(() => { if (!drawn.has(waiting)) draw(waiting); next(); });
    })();
  }

  /* Filters */
  function mark(element, name, off) {
    if (off) element.setAttribute(name, "");
    else element.removeAttribute(name);
  }
  function refresh(scope, off) {
    const worlds = new Set(Array.from(scope.querySelectorAll("input[name=world]:not(:checked)"), (box) => box.value));
    scope.querySelectorAll("[data-world], [data-agent]").forEach((element) => {
      const set = element.dataset;
      const hide = worlds.has(set.world) || off.has(set.agent) || (set.against !== undefined && off.has(set.against));
      mark(element, "data-off", hide);
    });
  }
  function told(form) {
    const boxes = Array.from(form.querySelectorAll("input[type=checkbox]"));
    const on = boxes.filter((box) => box.checked).length;
    form.querySelector("summary span").textContent = on === boxes.length ? "all " + on : on + " of " + boxes.length;
  }
  function agentsChanged(form) {
    hidden.clear();
    form.querySelectorAll("input[name=agent]:not(:checked)").forEach((box) => hidden.add(box.value));
    told(form);
    document.querySelectorAll(".experiment").forEach((section) => refresh(section, hidden));
    redraw();
  }
  function worldsChanged(form) {
    told(form);
    const section = form.closest(".experiment");
    refresh(section, hidden);
    section.querySelectorAll(".panel").forEach((panel) => {
      if (panel.offsetParent !== null) draw(panel);
    });
  }
  function filters() {
    document.querySelectorAll("form").forEach((form) => {
      const changed = form.id === "bar" ? agentsChanged : worldsChanged;
      form.hidden = false;
      told(form);
      form.addEventListener("submit", (event) => event.preventDefault());
      form.addEventListener("change", (event) => {
        if (event.target.id === "scale") {
          scale = event.target.value;
          redraw();
        } else changed(form);
      });
      form.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
        form.querySelectorAll("input[type=checkbox]").forEach((box) => { box.checked = "all" in button.dataset; });
        changed(form);
      }));
    });
  }

  /* Tables */
  function sortBy(table, column, down) {
    const body = table.tBodies[0];
    const key = (row) => {
      const cell = row.cells[column];
      if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
      return cell.textContent === "-" ? null : cell.textContent;
    };
    const sorted = Array.from(body.rows).map((row) => [key(row), row]);
    sorted.sort((a, b) => {
      if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null); // what is missing comes last
      const one = typeof a[0] === "number" && typeof b[0] === "number" ? a[0] - b[0] : String(a[0]).localeCompare(String(b[0]), "en", { numeric: true });
      return down ? -one : one;
    });
    sorted.forEach((pair) => { pair[1].classList.remove("first"); body.appendChild(pair[1]); });
  }
  function sortable(table) {
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const down = cell.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        sortBy(table, column, down);
      });
    });
  }

  /* The keyboard: + and - zoom, arrows move, 0 or Escape goes back. */
  function keys(event) {
    const element = event.currentTarget;
    if (event.target !== element || !drawn.has(element) || event.ctrlKey || event.metaKey || event.altKey) return;
    const scale = { "+": 0.7, "=": 0.7, "-": 1 / 0.7 }[event.key];
    const move = { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key];
    if (event.key === "0" || event.key === "Escape") draw(element);
    else if (scale || move) {
      const range = element.layout.xaxis.range;
      const middle = (range[0] + range[1]) / 2 + (move || 0) * (range[1] - range[0]);
      const half = ((scale || 1) * (range[1] - range[0])) / 2;
      window.Plotly.relayout(element, { "xaxis.range": [middle - half, middle + half] });
    } else return;
    event.preventDefault();
  }

  function print(on) {
    printing = on;
    panels.filter((panel) => on || drawn.has(panel)).forEach((panel) => { if (panel.closest("[data-off]") === null) draw(panel); });
  }

  filters();
  document.querySelectorAll("table.sortable").forEach(sortable);
  panels.forEach((panel) => panel.addEventListener("keydown", keys));
  dark.addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  start();
})();
