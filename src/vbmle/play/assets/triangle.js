// The triangle of mixtures: a layer as heat, borders between best actions, the trail of what was believed, and the truth,
// which can be dragged.

const SIDE = 400, HIGH = SIDE * Math.sqrt(3) / 2, EDGE = 26; // in units of the drawing
const WIDTH = SIDE + 2 * EDGE, HEIGHT = HIGH + 2 * EDGE;
const LAYERS = { likelihood: "likelihood", bias: "bias to value", sum: "their sum" };
const TRAIL = 60;
const MARKS = { biased: "M0-12L11 0L0 12L-11 0Z", sampling: "M0-11L11 9L-11 9Z", likely: "M-9 0A9 9 0 1 0 9 0A9 9 0 1 0-9 0Z" };

/** Where theta stands: the first model left, the second at the top, the third right. */
function place(theta) {
  return [EDGE + SIDE * (theta[2] + theta[1] / 2), EDGE + HIGH * (1 - theta[1])];
}

/** The theta at a place, inside the triangle, in whole percents. */
function thetaAt(x, y) {
  const second = 1 - (y - EDGE) / HIGH, third = (x - EDGE) / SIDE - second / 2;
  return whole([1 - second - third, second, third]);
}

/** The nearest mixture in whole percents. */
function whole(theta) {
  let parts = theta.map((part) => Math.max(0, part));
  const sum = parts[0] + parts[1] + parts[2];
  parts = parts.map((part) => Math.round((100 * part) / sum));
  const most = parts.indexOf(Math.max(...parts));
  parts[most] += 100 - parts[0] - parts[1] - parts[2];
  return parts.map((part) => part / 100);
}

/** A canvas that shows heights over the grid: each pixel knows its three points and their shares. */
class Heat {
  constructor(canvas, grid, wide, padded) {
    const edge = padded ? EDGE : 0, scale = wide / (SIDE + 2 * edge);
    canvas.width = wide;
    canvas.height = Math.round((HIGH + 2 * edge) * scale);
    this.context = canvas.getContext("2d");
    const pixels = [];
    for (let y = 0; y < canvas.height; y++) for (let x = 0; x < wide; x++) {
      const second = 1 - ((y + 0.5) / scale - edge) / HIGH, third = ((x + 0.5) / scale - edge) / SIDE - second / 2;
      const theta = [1 - second - third, second, third];
      if (Math.min(...theta) >= 0) pixels.push([y * wide + x, ...grid.corners(theta)]);
    }
    const column = (k, kind) => kind.from(pixels, (pixel) => pixel[k]);
    this.at = column(0, Uint32Array);
    this.points = [1, 2, 3].map((k) => column(k, Uint16Array));
    this.shares = [4, 5, 6].map((k) => column(k, Float32Array));
    this.image = this.context.createImageData(canvas.width, canvas.height);
  }

  paint(bright, colours) {
    const data = new Uint32Array(this.image.data.buffer), { at, points: [a, b, c], shares: [u, v, w] } = this;
    for (let i = 0; i < at.length; i++) {
      data[at[i]] = colours[Math.round(255 * (u[i] * bright[a[i]] + v[i] * bright[b[i]] + w[i] * bright[c[i]]))];
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

class Triangle {
  /** drop(theta): the truth was dragged there; pick(layer): that layer is to be shown large. */
  constructor(root, layers, { drop, pick }) {
    Object.assign(this, { root, drop });
    this.thumbs = {};
    Object.entries(LAYERS).forEach(([layer, name], i) => {
      if (i) layers.append(i === 1 ? "+" : "=");
      const label = document.createElement("label");
      label.innerHTML = `<input type="radio" name="layer" value="${layer}"><canvas aria-hidden="true"></canvas>${name}`;
      label.firstChild.addEventListener("change", () => pick(layer));
      layers.append(label);
      this.thumbs[layer] = { radio: label.firstChild, canvas: label.children[1] };
    });
  }

  show(scene, model) {
    Object.assign(this, { scene, model });
    this.root.innerHTML = "<canvas aria-hidden='true'></canvas>";
    this.heat = new Heat(this.root.firstChild, model.grid, 320, true);
    for (const thumb of Object.values(this.thumbs)) thumb.heat = new Heat(thumb.canvas, model.grid, 80, false);
    const svg = (this.svg = draw(this.root, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group" }));
    const corners = [[2, HEIGHT - 6, "start"], [WIDTH / 2, 15, "middle"], [WIDTH - 2, HEIGHT - 6, "end"]];
    corners.forEach(([x, y, anchor], k) => {
      draw(svg, "text", { class: "corner", x, y, "text-anchor": anchor }, `all ${scene.models[k]}`);
    });
    this.borders = draw(svg, "g", { "aria-hidden": true });
    this.trails = draw(svg, "g", { "aria-hidden": true });
    this.likely = draw(svg, "circle", { class: "point likely", r: 8 });
    this.chosen = draw(svg, "path", { class: "point" });
    const truth = (this.truth = draw(svg, "g", { class: "truth", role: "slider", tabindex: 0 }));
    draw(truth, "circle", { r: 22 });
    draw(truth, "path", { d: star(12) });
    truth.addEventListener("keydown", (event) => this.keys(event));
    truth.addEventListener("pointerdown", (event) => this.drag(event));
  }

  /** Follow the pointer, and hand over the truth when it is let go. */
  drag(event) {
    const { truth, svg } = this;
    const follow = ({ clientX, clientY }) => {
      const box = svg.getBoundingClientRect();
      this.setTruth(thetaAt(((clientX - box.left) / box.width) * WIDTH, ((clientY - box.top) / box.height) * HEIGHT));
    };
    const done = () => {
      truth.removeEventListener("pointermove", follow);
      truth.removeEventListener("pointerup", done);
      truth.removeEventListener("pointercancel", done);
      this.drop(this.real);
    };
    truth.setPointerCapture(event.pointerId);
    truth.addEventListener("pointermove", follow);
    truth.addEventListener("pointerup", done);
    truth.addEventListener("pointercancel", done);
    event.preventDefault();
    truth.focus();
  }

  /** Left and right shift weight between the lower corners, up and down to and from the upper one. */
  keys(event) {
    const size = event.shiftKey ? 0.1 : 0.01;
    const way = { ArrowLeft: [1, 0, -1], ArrowRight: [-1, 0, 1], ArrowUp: [-0.5, 1, -0.5], ArrowDown: [0.5, -1, 0.5] }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    this.setTruth(whole(this.real.map((part, k) => part + size * way[k] * (1 + 1e-9))));
    this.drop(this.real);
  }

  setTruth(theta) {
    this.real = theta;
    this.truth.setAttribute("transform", `translate(${place(theta)})`);
    const said = this.scene.models.map((name, k) => `${name} ${percent(theta[k])}`).join(", ");
    this.truth.setAttribute("aria-label", "The truth: arrow keys move it");
    this.truth.setAttribute("aria-valuetext", said);
    this.truth.setAttribute("aria-valuenow", Math.round(100 * theta[1]));
  }

  /** Show what a learner believes after t steps. */
  update(run, t, watched, layer) {
    const track = run.tracks[watched], now = track.steps[t], layers = run.layers(watched, t);
    for (const [name, heights] of Object.entries(layers)) {
      const top = heights.reduce((a, b) => Math.max(a, b), -Infinity);
      const bright = heights.map((height) => brightness(top - height));
      const colours = ramp(HUES[name]).packed, { radio, heat } = this.thumbs[name];
      heat.paint(bright, colours);
      radio.checked = name === layer;
      if (name === layer) this.heat.paint(bright, colours);
    }
    const matters = track.steps.slice(0, t + 1).findLast(({ state }) => this.model.matters(state));
    this.drawBorders((matters ?? now).state);
    this.trails.replaceChildren();
    const past = track.steps.slice(Math.max(0, t - TRAIL), t + 1);
    if (watched !== "likely") this.trail(past.map((step) => step.likely), "likely");
    this.trail(past.map((step) => step.theta), watched);
    const [x, y] = place(now.likely);
    this.likely.setAttribute("cx", x);
    this.likely.setAttribute("cy", y);
    this.likely.style.display = watched === "likely" ? "none" : "";
    this.chosen.setAttribute("d", MARKS[watched]);
    this.chosen.setAttribute("class", `point ${watched}`);
    this.chosen.setAttribute("transform", `translate(${place(now.theta)})`);
    this.setTruth(run.settings.truth);
    const said = (theta) => this.scene.models.map((name, k) => `${name} ${percent(theta[k])}`).join(", ");
    const beliefs = `Most likely: ${said(now.likely)}. Planned for: ${said(now.theta)}.`;
    this.svg.setAttribute("aria-label", `Triangle of mixtures. ${beliefs}`);
  }

  trail(thetas, key) {
    draw(this.trails, "polyline", { class: `trail ${key}`, points: thetas.map((theta) => place(theta).join()).join(" ") });
  }

  /** Dashed lines where the best action in a state changes, and the sign of the action in each region. */
  drawBorders(state) {
    const { model, scene } = this, { grid } = model, best = (g) => model.policies[g * model.states + state];
    const gain = (g, a, b) => model.choiceAt(g, state, a) - model.choiceAt(g, state, b);
    if (this.bordered === state && this.borders.childNodes.length) return;
    this.bordered = state;
    this.borders.replaceChildren();
    const lines = [];
    for (const corners of grid.triangles) {
      const kinds = corners.map(best), crossed = [[0, 1], [1, 2], [0, 2]].filter(([i, j]) => kinds[i] !== kinds[j]);
      const points = crossed.map(([i, j]) => {
        const here = gain(corners[i], kinds[i], kinds[j]), there = gain(corners[j], kinds[j], kinds[i]);
        return between(grid.thetas[corners[i]], grid.thetas[corners[j]], here / (here + there || 1));
      });
      if (points.length >= 2) lines.push(`M${points.map((point) => point.map((v) => v.toFixed(1))).join("L")}`);
    }
    if (!lines.length) return;
    draw(this.borders, "path", { class: "border", d: lines.join("") });
    for (let a = 0; a < model.actions; a++) {
      const home = grid.heart((g) => best(g) === a);
      if (home === null) continue;
      const [x, y] = place(grid.thetas[home]);
      draw(this.borders, "text", { class: "region", x, y: y + 5 }, scene.glyphs[a]);
    }
  }
}

/** The place that lies a share of the way from one theta to another. */
function between(one, other, share) {
  return place(one.map((part, k) => part + share * (other[k] - part)));
}

/** The outline of a five-pointed star. */
function star(size) {
  const points = Array.from({ length: 10 }, (_, i) => {
    const radius = i % 2 ? size * 0.45 : size, angle = (Math.PI * i) / 5;
    return `${(radius * Math.sin(angle)).toFixed(1)} ${(-radius * Math.cos(angle)).toFixed(1)}`;
  });
  return `M${points.join("L")}Z`;
}
