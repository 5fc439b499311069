/* Draws the figures of the page. Fetches nothing. */
window.figures = (function () {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const panels = Array.from(document.querySelectorAll(".panel"));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)");
  const hidden = { agents: new Set(), worlds: new Set() };
  const drawn = new Set();
  let scale = "auto"; // of regret, distance and error
  let printing = false;

  const LIGHT = { ink: "#000000", soft: "#444444", line: "#d0d7de" };
  const CROWD = 6; // more agents are drawn with paler bands and without their medians
  const PAPER_WIDTH = 670; // pixels across a printed page
  const LETTER = 6; // pixels across a letter of an axis
  const TICKS = 4; // powers of ten that are named on the axis of rows
  const LOWEST = -3; // the least power of ten that an axis of regret resolves; below it lies 0
  const CONFIG = { displaylogo: false, responsive: true, showTips: false, plotlyServerURL: "", displayModeBar: false };

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
    return size >= 1e7 || size < 1e-4 ? value.toExponential(2) : Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 7 });
  }
  function translucent(color, alpha) {
    const number = parseInt(color.slice(1), 16);
    return "rgba(" + [number >> 16, (number >> 8) & 255, number & 255, alpha].join(",") + ")";
  }

  /* Without the agents and worlds that are left out. A mean over worlds is taken over those that are left, without its interval. */
  function chosen(panel) {
    return panel.series.filter((s) => !hidden.agents.has(s.agent)).map((s) => {
      let x = panel.xs[s.x];
      if (s.worlds && s.worlds.some((world) => hidden.worlds.has(world))) {
        const kept = x.map((_, n) => n).filter((n) => !hidden.worlds.has(s.worlds[n]));
        const only = { agent: s.agent, name: s.name, faint: s.faint, at: kept.map((n) => x[n]) };
        ["y", "low", "high", "median"].forEach((key) => { if (s[key]) only[key] = kept.map((n) => s[key][n]); });
        return only;
      }
      if (s.parts && Object.keys(s.parts).some((world) => hidden.worlds.has(world))) {
        const parts = Object.keys(s.parts).filter((world) => !hidden.worlds.has(world)).map((world) => s.parts[world]);
        const mean = parts.length ? parts[0].map((_, n) => parts.reduce((sum, part) => sum + part[n], 0) / parts.length) : [];
        const across = panel.form === "forest";
        return { agent: s.agent, name: s.name, at: across ? mean : parts.length ? x : [], y: across ? s.y : mean };
      }
      return Object.assign({}, s, { at: x });
    }).filter((s) => s.at.length);
  }

  /* A logarithmic axis that has a place for 0, and its ticks. */
  function withNothing(highest, most) {
    const lowest = Math.max(highest > 0 ? Math.floor(Math.log10(highest / 1000)) : LOWEST, LOWEST);
    const linear = Math.pow(10, lowest);
    const place = (v) => (!known(v) ? null : v <= linear ? (0.5 * v) / linear : 0.5 + Math.log10(v / linear));
    const top = Math.max(1.3 * highest, 10 * linear);
    const values = [0];
    const powers = [];
    for (let power = lowest; Math.pow(10, power) <= top; power += 1) powers.push(Math.pow(10, power));
    const step = most && powers.length > most ? Math.ceil((powers.length - 1) / most) : 1; // side by side, more would run into each other
    values.push(...powers.filter((_, n) => (powers.length - 1 - n) % step === 0 && (step === 1 || n > 0)));
    const axis = {
      type: "linear", tickvals: values.map(place), ticktext: values.map((v) => show(Number(v.toPrecision(1)))),
      range: [-0.15, place(top) + 0.1],
    };
    return { place: place, axis: axis };
  }
  const straight = { place: (value) => value, axis: { type: "linear" } };

  /* The axis by choice, or the one that the figure came with. */
  function wanted(own) {
    if (scale === "auto") return own;
    return scale === "linear" ? "linear" : own === "log" ? "log" : "symlog";
  }
  /* A logarithmic axis: ticks at powers of ten alone, where there are some. */
  function powers(series) {
    const values = series.flatMap((s) => s.y).filter((v) => known(v) && v > 0);
    const wide = values.length > 0 && Math.max.apply(null, values) > 30 * Math.min.apply(null, values);
    return wide ? { type: "log", dtick: 1 } : { type: "log" };
  }
  function vertical(panel, series) {
    const kind = panel.kind === "profile" ? "linear" : wanted(panel.yScale);
    if (kind === "log") return { place: (v) => (known(v) && v > 0 ? v : null), axis: powers(series) };
    const values = series.flatMap((s) => [].concat(s.y || [], s.high || [])).filter(known);
    const highest = values.length ? Math.max.apply(null, values) : 0;
    if (kind === "symlog") return withNothing(highest);
    // a curve at 0 is not hidden by the axis, and nothing at all has a scale too
    const top = highest > 0 ? 1.05 * highest : 1;
    return panel.form === "lines" ? { place: straight.place, axis: { type: "linear", range: [-0.03 * top, top] } } : straight;
  }

  function words(panel, series, n) {
    const across = panel.xLabel.replace(/:.*/, "");
    const lines = ["<b>" + escaped(series.name) + "</b>", across + ": " + show(series.at[n])];
    const interval = series.low && known(series.low[n]) ? " (95%: " + show(series.low[n]) + " to " + show(series.high[n]) + ")" : "";
    lines.push((series.median ? "mean " : "") + show(series.y[n]) + interval);
    if (series.median) lines.push("median " + show(series.median[n]));
    return lines.join("<br>");
  }

  function band(s, place, color, floor, alpha) {
    const kept = s.at.map((_, n) => n).filter((n) => known(s.low[n]) && known(s.high[n]));
    const low = kept.map((n) => place(Math.max(s.low[n], floor)));
    const high = kept.map((n) => place(Math.max(s.high[n], floor)));
    const places = kept.map((n) => s.at[n]);
    return {
      x: places.concat(places.slice().reverse()), y: high.concat(low.reverse()), fill: "toself", mode: "lines",
      fillcolor: translucent(color, alpha), line: { width: 0 }, hoverinfo: "skip", showlegend: false,
    };
  }

  function lines(panel, series, colors) {
    const up = vertical(panel, series);
    const positive = series.flatMap((s) => s.y).filter((v) => v > 0);
    const floor = up.axis.type === "log" && positive.length ? Math.min.apply(null, positive) / 3 : -Infinity;
    const traces = [];
    const points = panel.form === "points", scatter = panel.form === "scatter";
    const few = new Set(series.map((s) => s.agent)).size <= CROWD;
    series.forEach((s) => {
      if (s.low && panel.form === "lines") traces.push(band(s, up.place, look(s, colors).color, floor, few ? 0.14 : 0.06));
    });
    series.forEach((s) => {
      const style = look(s, colors);
      const trace = {
        x: s.at, y: s.y.map(up.place), name: escaped(s.name), showlegend: false, hoverinfo: "text",
        mode: points ? "lines+markers" : scatter ? "markers" : "lines",
        line: { color: style.color, dash: style.dash, width: s.faint ? 1.5 : 2.4 }, text: s.at.map((_, n) => words(panel, s, n)),
        marker: { symbol: style.marker, size: scatter ? 6 : 9, color: style.color, opacity: scatter ? 0.6 : 1 },
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
          x: s.at, y: s.median.map(up.place), mode: "lines", hoverinfo: "skip", showlegend: false,
          line: { color: style.color, dash: style.dash, width: 1 },
        });
      }
    });
    const xaxis = panel.xScale === "log" ? { type: "log", dtick: points ? undefined : 1 } : { type: "linear" };
    const ticks = Array.from(new Set(series.flatMap((s) => s.at))).sort((a, b) => a - b);
    if (points && ticks.length <= 8) Object.assign(xaxis, { tickvals: ticks, ticktext: ticks.map(show) });
    return { traces: traces, xaxis: xaxis, yaxis: up.axis, height: 210 };
  }

  function rows(panel, series, colors) {
    const strip = panel.form === "strip", bend = strip || panel.xScale === "symlog";
    const places = series.flatMap((s) => s.at.concat(s.high || [])).filter(known);
    const right = bend && wanted("symlog") === "symlog" ? withNothing(places.length ? Math.max.apply(null, places) : 0, TICKS) : straight;
    const names = Array.from(new Set(series.map((s) => s.name)));
    const traces = [];
    series.forEach((s) => {
      const style = look(s, colors), row = names.indexOf(s.name) - (s.faint && !strip ? 0.2 : 0);
      const name = "<b>" + escaped(s.name.replace(/, \d+ of \d+ at 0$/, "")) + "</b><br>";
      if (strip) {
        const mean = s.at.reduce((sum, v) => sum + v, 0) / s.at.length;
        traces.push({
          // golden-ratio places: spread out, and the same for the same trial
          x: s.at.map(right.place), y: s.y.map((trial) => row + 0.56 * (((trial * 0.618034) % 1) - 0.5)), mode: "markers",
          marker: { symbol: style.marker, size: 7, color: style.color, opacity: 0.65 }, hoverinfo: "text", showlegend: false,
          text: s.at.map((v, n) => name + "trial " + s.y[n] + ": " + show(v)),
        });
        traces.push({
          x: [right.place(mean), right.place(mean)], y: [row - 0.36, row + 0.36], mode: "lines", hoverinfo: "text",
          text: [name + "mean " + show(mean), name + "mean " + show(mean)], line: { color: style.color, width: 3 }, showlegend: false,
        });
        return;
      }
      const end = s.low && known(s.low[0]) ? " (95%: " + show(s.low[0]) + " to " + show(s.high[0]) + ")" : "";
      const reach = (v) => Math.abs(right.place(v) - right.place(s.at[0]));
      traces.push({
        x: [right.place(s.at[0])], y: [row], mode: "markers", showlegend: false, hoverinfo: "text", text: [name + show(s.at[0]) + end],
        marker: { symbol: style.marker + (s.faint ? "-open" : ""), size: s.faint ? 8 : 9, color: style.color },
        error_x: end
          ? { type: "data", symmetric: false, array: [reach(s.high[0])], arrayminus: [reach(s.low[0])], color: style.color, thickness: 2, width: 4 }
          : { visible: false },
      });
    });
    const labels = names.map((name) => escaped(name).replace(/, (\d+ of \d+ at 0)$/, "<br><i>$1</i>"));
    const yaxis = { type: "linear", tickvals: labels.map((_, n) => n), ticktext: labels, range: [labels.length - 0.4, -0.6] };
    const ends = panel.xRange || [0, 1];
    const xaxis = bend ? right.axis : { type: "linear", range: [ends[0] - 0.03 * (ends[1] - ends[0]), ends[1] + 0.03 * (ends[1] - ends[0])] };
    const beside = LETTER * Math.max.apply(null, [0].concat(names.map((name) => name.length)));
    const height = rowsHeight(labels.length, strip ? 36 : 19);
    return { traces: traces, xaxis: xaxis, yaxis: yaxis, height: height, place: right.place, beside: beside };
  }

  /* The title of an axis, which is HTML, in lines that have room. */
  function wrapped(text, room) {
    const most = Math.max(16, Math.floor(room / LETTER));
    const lines = [""];
    const long = (html) => html.replace(/<[^>]*>/g, "").replace(/&[^;]*;/g, "x").length;
    text.split(" ").forEach((word) => {
      const last = lines.length - 1;
      if (lines[last] && long(lines[last]) + long(word) + 1 > most) lines.push(word);
      else lines[last] += (lines[last] ? " " : "") + word;
    });
    return lines.join("<br>");
  }

  const rowsHeight = (count, tall) => 66 + Math.max(count, 3) * Math.min(tall, 14 + 160 / count);

  function draw(element) {
    const panel = data.charts[element.dataset.chart][element.dataset.panel];
    const colors = theme();
    const series = chosen(panel);
    const made = (panel.form === "strip" || panel.form === "forest" ? rows : lines)(panel, series, colors);
    const axis = { gridcolor: colors.line, linecolor: colors.line, tickcolor: colors.line, zeroline: false, automargin: true,
      exponentformat: "none", separatethousands: true, tickangle: 0, nticks: 6, tickfont: { size: printing ? 10 : 12 } };
    const title = (text, room) => ({ text: wrapped(text, room), font: { size: printing ? 10 : 12 }, standoff: 6 });
    const mark = known(panel.mark) && made.place ? made.place(panel.mark) : panel.mark;
    const height = Math.round(printing ? 0.8 * made.height : made.height);
    const layout = {
      height: height, margin: { l: 48, r: 12, t: 8, b: 40 }, hovermode: "closest", showlegend: false,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: touch.matches ? false : "zoom",
      font: { family: "system-ui, sans-serif", size: 12, color: colors.ink },
      hoverlabel: { align: "left", font: { size: 12 } },
      xaxis: Object.assign({ title: title(panel.xLabel, element.clientWidth - 70 - (made.beside || 0)) }, axis, made.xaxis),
      yaxis: Object.assign({ title: title(panel.yLabel, made.height - 20) }, axis, made.yaxis),
      shapes: known(mark)
        ? [{ type: "line", xref: "x", yref: "paper", x0: mark, x1: mark, y0: 0, y1: 1, line: { color: colors.soft, dash: "dot", width: 1.5 } }]
        : [],
    };
    if (panel.form === "lines" && panel.xScale === "linear" && series.length) layout.xaxis.rangemode = "tozero";
    if (printing) layout.width = Math.min(PAPER_WIDTH, Math.max(300, element.clientWidth));
    else layout.autosize = true;
    element.style.minHeight = height + "px";
    drawn.add(element);
    return window.Plotly.react(element, made.traces, layout, CONFIG).then(() => { element.dataset.drawn = "yes"; });
  }
  const seen = (element) => element.checkVisibility(); // false inside what is folded away
  const redraw = () => drawn.forEach((element) => { if (seen(element)) draw(element); else forget(element); });
  function forget(element) {
    drawn.delete(element);
    delete element.dataset.drawn;
  }

  /* Figures are drawn when they come near, and those that can be seen when there is time; folded ones when they are opened. */
  const near = new IntersectionObserver((entries) => {
    entries.forEach((entry) => { if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target); });
  }, { rootMargin: "400px" });
  const later = (call) => setTimeout(call, 20);
  function start() {
    const waiting = panels.find((panel) => !drawn.has(panel) && seen(panel));
    if (waiting) later(() => { if (!drawn.has(waiting) && seen(waiting)) draw(waiting); start(); });
  }

  /* The keyboard: + and - zoom, arrows move, 0 or Escape goes back. */
  function keys(event) {
    const element = event.currentTarget;
    if (event.target !== element || !drawn.has(element) || event.ctrlKey || event.metaKey || event.altKey) return;
    const zoom = { "+": 0.7, "=": 0.7, "-": 1 / 0.7 }[event.key];
    const move = { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key];
    if (event.key === "0" || event.key === "Escape") draw(element);
    else if (zoom || move) {
      const range = element.layout.xaxis.range;
      const middle = (range[0] + range[1]) / 2 + (move || 0) * (range[1] - range[0]);
      const half = ((zoom || 1) * (range[1] - range[0])) / 2;
      window.Plotly.relayout(element, { "xaxis.range": [middle - half, middle + half] });
    } else return;
    event.preventDefault();
  }

  function print(on) {
    printing = on;
    panels.forEach((panel) => { if (panel.closest("[data-off]") === null && seen(panel)) draw(panel); });
  }

  panels.forEach((panel) => { panel.addEventListener("keydown", keys); near.observe(panel); });
  dark.addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  return { start: start, redraw: redraw, hidden: hidden, setScale: (value) => { scale = value; redraw(); } };
})();
