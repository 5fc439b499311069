// Maximising f(theta) = sum n log<phi, theta> - ridge/2 |theta|^2 + bias V*(state; theta) over the triangle.
//
// V* is a maximum of smooth functions, one per policy, so a maximum of f never lies on a kink: Newton steps within one
// policy converge to it. A step works on the corners that theta leans on (its face); a corner joins when the slope
// towards it exceeds that along the face.

const CENTRE = [1 / 3, 1 / 3, 1 / 3];
const ROOT2 = Math.SQRT1_2, ROOT6 = 1 / Math.sqrt(6);

class Objective {
  /** counts: how often each kind of transition was seen. */
  constructor(model, counts, ridge, bias, state) {
    Object.assign(this, { model, ridge, bias, state });
    this.fixed = false; // whether V is that of one policy instead of the best
    const seen = [];
    counts.forEach((n, kind) => n > 0 && seen.push(n, ...model.kinds[kind]));
    this.seen = Float64Array.from(seen); // how often, and the three features, one after the other
  }

  likelihood(theta) {
    const { seen } = this;
    let sum = 0;
    for (let i = 0; i < seen.length; i += 4) {
      const p = dot(theta, seen, i + 1);
      if (p <= 0) return -Infinity;
      sum += seen[i] * Math.log(p);
    }
    return sum - 0.5 * this.ridge * dot(theta, theta, 0);
  }

  /** f(theta); the model is left planned for theta. */
  at(theta, from) {
    const fit = this.likelihood(theta);
    if (fit === -Infinity || this.bias === 0) return fit;
    return fit + this.bias * (this.fixed ? this.model.valueOf(theta, from) : this.model.plan(theta, from))[this.state];
  }

  /** Slope and curvature of f at the theta that was asked about last. */
  bend(theta) {
    const { seen, ridge } = this, slope = theta.map((part) => -ridge * part);
    let aa = ridge, bb = ridge, cc = ridge, ab = 0, ac = 0, bc = 0;
    for (let i = 0; i < seen.length; i += 4) {
      const p = dot(theta, seen, i + 1), n = seen[i], a = seen[i + 1] / p, b = seen[i + 2] / p, c = seen[i + 3] / p;
      slope[0] += n * a;
      slope[1] += n * b;
      slope[2] += n * c;
      aa += n * a * a;
      bb += n * b * b;
      cc += n * c * c;
      ab += n * a * b;
      ac += n * a * c;
      bc += n * b * c;
    }
    const curve = [[-aa, -ab, -ac], [-ab, -bb, -bc], [-ac, -bc, -cc]];
    if (this.bias === 0) return { slope, curve };
    const value = this.model.bend(this.state);
    return {
      slope: slope.map((g, j) => g + this.bias * value.slope[j]),
      curve: curve.map((line, j) => line.map((h, k) => h + this.bias * value.curve[j][k])),
    };
  }
}

/** Directions that keep the sum of theta, along a face given by its corners. */
function directions(face) {
  if (face.length === 3) return [[ROOT2, -ROOT2, 0], [ROOT6, ROOT6, -2 * ROOT6]];
  const line = [0, 0, 0];
  line[face[0]] = ROOT2;
  line[face[1]] = -ROOT2;
  return [line];
}

/** The Newton step along a face, and how much it promises; curvature that is not downward is turned. */
function newton(face, { slope, curve }) {
  const along = directions(face);
  const g = along.map((d) => dot(d, slope, 0));
  const H = along.map((d) => along.map((e) => dot(d, curve.map((line) => dot(e, line, 0)), 0)));
  const least = 1e-9 * (1 + Math.hypot(...g));
  const down = (h) => -Math.max(Math.abs(h), least);
  let parts;
  if (along.length === 1) parts = [-g[0] / down(H[0][0])];
  else {
    const middle = (H[0][0] + H[1][1]) / 2, off = (H[0][0] - H[1][1]) / 2, radius = Math.hypot(off, H[0][1]);
    const angle = 0.5 * Math.atan2(H[0][1], off), c = Math.cos(angle), s = Math.sin(angle);
    const first = -(c * g[0] + s * g[1]) / down(middle + radius), second = -(c * g[1] - s * g[0]) / down(middle - radius);
    parts = [c * first - s * second, s * first + c * second];
  }
  let gain = 0;
  parts.forEach((part, i) => (gain += part * g[i]));
  const step = [0, 1, 2].map((k) => along.reduce((sum, d, i) => sum + parts[i] * d[k], 0));
  return { step, gain };
}

/** The corners that theta leans on, and those that it gains by leaning on. */
function faceOf(theta, slope) {
  const level = dot(theta, slope, 0), tolerance = 1e-9 * (1 + Math.abs(level));
  return [0, 1, 2].filter((k) => theta[k] > 0 || slope[k] > level + tolerance);
}

/** The Newton step from theta, without corners that it would leave the triangle by. */
function stepFrom(theta, shape) {
  let face = faceOf(theta, shape.slope);
  while (face.length > 1) {
    const way = newton(face, shape), inside = face.filter((k) => theta[k] > 0 || way.step[k] >= 0);
    if (inside.length === face.length) return way;
    face = inside;
  }
  return { step: [0, 0, 0], gain: 0 };
}

/** How high a climb from theta could lead, by a generous guess: twice what Newton promises, and a bit. */
function promise(objective, theta, policy) {
  const f = objective.at(theta, policy);
  return f === -Infinity ? Infinity : f + 2 * stepFrom(theta, objective.bend(theta)).gain + 0.1;
}

/** Climb from theta to a local maximum; returns theta, f and the policy that is optimal there. */
function climb(objective, start, from) {
  const { model } = objective;
  let theta = [...start], policy = Uint8Array.from(from), f = objective.at(theta, policy);
  if (f === -Infinity) f = objective.at((theta = theta.map((part) => 0.99 * part + 0.01 / 3)), policy);
  for (let round = 0; round < 60; round++) {
    if (objective.bias > 0) policy.set(model.policy);
    const shape = objective.bend(theta);
    const { step, gain } = stepFrom(theta, shape);
    if (!(gain > 1e-13 * (1 + Math.abs(f)))) break;
    const next = search(objective, theta, f, step, gain, policy);
    if (!next) break;
    ({ theta, f } = next);
  }
  return { theta, f, policy };
}

/** Halve a step until f grows as promised; a step to the edge ends on it. Null where nothing is gained. */
function search(objective, theta, f, step, gain, policy) {
  let room = 1, wall = -1;
  step.forEach((d, k) => {
    if (d < 0 && -theta[k] / d < room) (room = -theta[k] / d), (wall = k);
  });
  for (let part = room, tries = 0; tries < 40; tries++, part /= 2) {
    const next = theta.map((value, k) => Math.max(0, value + part * step[k]));
    if (part === room && wall >= 0) next[wall] = 0;
    const sum = next[0] + next[1] + next[2];
    next.forEach((value, k) => (next[k] = value / sum));
    const height = objective.at(next, policy);
    if (height >= f + 1e-4 * part * gain) return height > f ? { theta: next, f: height } : null;
  }
  objective.at(theta, policy);
  return null;
}
