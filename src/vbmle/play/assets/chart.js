// Cumulative regret of all learners, to the end of what has been played; what lies ahead of the cursor is faint.

const DASHES = { biased: "", likely: "7 3", sampling: "2 3", rival: "10 3 2 3" };

class Chart {
  constructor(root) {
    this.svg = draw(root, "svg", { role: "img" });
    this.root = root;
    new ResizeObserver(() => this.run && this.update(this.run, this.t)).observe(root);
  }

  update(run, t) {
    Object.assign(this, { run, t });
    const { svg } = this, wide = this.root.clientWidth || 300, high = this.root.clientHeight || 240;
    const left = 8, right = wide - 8, bottom = high - 22, top = 14;
    const entries = Object.entries(run.tracks), last = Math.max(20, run.length);
    const most = Math.max(1e-9, ...entries.map(([, track]) => track.regret[run.length]));
    const x = (step) => left + ((right - left) * step) / last, y = (value) => bottom - ((bottom - top) * value) / most;
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    svg.replaceChildren();
    draw(svg, "line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom });
    draw(svg, "line", { class: "now", x1: x(t), x2: x(t), y1: top, y2: bottom });
    draw(svg, "text", { x: left, y: high - 6 }, "step 0");
    draw(svg, "text", { x: right, y: high - 6, "text-anchor": "end" }, `${last}`);
    const point = (step, value) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`;
    const curve = (track, from, to) => track.regret.slice(from, to + 1).map((lost, i) => point(from + i, lost)).join(" ");
    for (const [key, track] of entries) {
      const looks = { "stroke-dasharray": DASHES[key] };
      draw(svg, "polyline", { ...looks, class: `curve ${key}`, points: curve(track, 0, t) });
      const rest = { ...looks, class: `curve rest ${key}` };
      if (t < run.length) draw(svg, "polyline", { ...rest, points: curve(track, t, run.length) });
    }
    this.labels(entries, t, x, y, { left, right, bottom, top });
    const said = entries.map(([key, track]) => `${NAMES[key]} ${short(track.regret[t])}`).join(", ");
    svg.setAttribute("aria-label", `Lost after ${t} steps, in ${run.scene.unit}: ${said}.`);
  }

  /** Each curve's name and its loss at the cursor, none over another. */
  labels(entries, t, x, y, { left, right, bottom, top }) {
    const wanted = entries.map(([key, track]) => ({ key, value: track.regret[t], at: y(track.regret[t]) - 7 }));
    wanted.sort((a, b) => b.at - a.at);
    let floor = bottom - 5;
    for (const label of wanted) {
      label.at = Math.min(label.at, floor);
      floor = label.at - 16;
    }
    const over = top + 2 - Math.min(...wanted.map((label) => label.at));
    const early = x(t) < (left + right) / 2;
    for (const { key, value, at } of wanted) {
      const place = { x: early ? x(t) + 6 : x(t) - 6, y: at + Math.max(0, over), "text-anchor": early ? "start" : "end" };
      draw(this.svg, "text", { ...place, class: `label ${key}` }, `${SHAPES[key]} ${NAMES[key]} ${short(value)}`);
      const dot = this.run.tracks[key].regret[t];
      draw(this.svg, "circle", { class: `point ${key}`, r: 4, cx: x(t), cy: y(dot) });
    }
  }
}
