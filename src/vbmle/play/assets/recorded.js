// A run that was made beforehand, for models without a triangle of three: the same views, without the live parts.

class RecordedRun {
  constructor(scene) {
    this.scene = scene;
    this.recorded = true;
    this.horizon = this.length = scene.horizon;
    this.settings = { truth: scene.truth };
    const { length: d } = scene.truth, S = scene.states.length;
    this.tracks = {};
    this.values = {};
    for (const [key, data] of Object.entries(scene.runs)) {
      const states = unpack(data.states), chosen = unpack(data.chosen), thetas = unpack(data.thetas);
      const policies = unpack(data.policies), regret = [0, ...unpack(data.regret)];
      const steps = Array.from(chosen, (which, t) => {
        const policy = policies.subarray(which * S, which * S + S), state = states[t];
        return { state, next: states[t + 1], policy, which, action: policy[state], theta: thetas.subarray(t * d, t * d + d) };
      });
      this.tracks[key] = { steps, regret };
      this.values[key] = unpack(data.values);
    }
  }

  step() {
    return false;
  }

  worth(key, t) {
    const S = this.scene.states.length, { which } = this.tracks[key].steps[t];
    return this.values[key].subarray(which * S, which * S + S);
  }
}

/** The weights that a learner plans for, as bars, with the truth as a line: for any number of base models. */
class Bars {
  constructor(root) {
    this.root = root;
  }

  show(scene) {
    this.scene = scene;
    this.root.replaceChildren();
    const d = scene.truth.length, line = Math.max(12, Math.min(34, 380 / d));
    const shape = { viewBox: `0 0 400 ${d * line + 24}`, class: "bars", role: "img" }, svg = (this.svg = draw(this.root, "svg", shape));
    svg.style.position = "static";
    const ends = [...scene.truth, 0, 1, ...Object.values(scene.range)];
    this.low = Math.min(...ends);
    this.x = (value) => 90 + (300 * (value - this.low)) / (Math.max(...ends) - this.low);
    this.rows = scene.truth.map((real, k) => {
      const y = 4 + k * line, thick = line - 4;
      if (line > 13) draw(svg, "text", { x: 84, y: y + thick / 2 + 4, "text-anchor": "end" }, scene.models[k]);
      draw(svg, "rect", { class: "slot", x: 90, y, width: 300, height: thick });
      const bar = draw(svg, "rect", { class: "value", y, height: thick });
      draw(svg, "line", { class: "real", x1: this.x(real), x2: this.x(real), y1: y - 1, y2: y + thick + 1 });
      return bar;
    });
  }

  update(run, t, watched) {
    const { theta } = run.tracks[watched].steps[t], zero = this.x(0);
    this.svg.setAttribute("class", `bars ${watched}`);
    this.rows.forEach((bar, k) => {
      bar.setAttribute("x", Math.min(zero, this.x(theta[k])));
      bar.setAttribute("width", Math.abs(this.x(theta[k]) - zero));
    });
    const said = run.scene.models.map((name, k) => `${name} ${theta[k].toFixed(2)} (truth ${run.scene.truth[k].toFixed(2)})`);
    this.svg.setAttribute("aria-label", `Weights planned for: ${said.join(", ")}.`);
  }
}
