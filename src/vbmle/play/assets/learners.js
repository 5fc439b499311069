// The learners: value-biased maximum likelihood, maximum likelihood, and posterior sampling. Each keeps its own counts.

const RIDGE = 1;
const SCHEDULES = { sqrt: Math.sqrt, log: Math.log1p, constant: () => 1 };
const PEAKS = 6; // basins of the grid from which a global search climbs

class Learner {
  constructor(model) {
    this.model = model;
    this.counts = new Float64Array(model.kinds.length);
    this.total = 0;
    this.fit = Float64Array.from(model.grid.thetas, (theta) => -0.5 * RIDGE * dot(theta, theta, 0));
    this.likely = CENTRE;
    this.theta = CENTRE;
    this.policy = new Uint8Array(model.states).map((_, s) => model.firstAction(s));
    this.planFor(CENTRE);
  }

  /** Learn from one transition, by its index. */
  observe(transition) {
    const kind = this.model.kind[transition];
    this.counts[kind]++;
    this.total++;
    if (this.model.silent[kind]) return; // the same under every theta: nothing to learn
    const logs = this.model.logGrid(kind);
    for (let g = 0; g < logs.length; g++) this.fit[g] += logs[g];
  }

  /** The most likely theta for what this learner has seen. */
  mostLikely() {
    const objective = new Objective(this.model, this.seen(), RIDGE, 0, 0);
    return (this.likely = climb(objective, this.likely, this.policy).theta);
  }

  /** Counts without those that say nothing: they shift the likelihood by a constant. */
  seen() {
    return this.counts.map((n, kind) => (this.model.silent[kind] ? 0 : n));
  }

  /** The policy for a theta, from the last one on. */
  planFor(theta) {
    this.theta = theta;
    this.model.plan(theta, this.policy);
    this.policy = Uint8Array.from(this.model.policy);
  }

  /** Log-likelihood over the grid for transitions seen so far, anew. */
  static fitOf(model, transitions) {
    const counts = new Map();
    for (const i of transitions) counts.set(model.kind[i], (counts.get(model.kind[i]) ?? 0) + 1);
    const fit = Float64Array.from(model.grid.thetas, (theta) => -0.5 * RIDGE * dot(theta, theta, 0));
    counts.forEach((n, kind) => {
      if (model.silent[kind]) return;
      const logs = model.logGrid(kind);
      for (let g = 0; g < fit.length; g++) fit[g] += n * logs[g];
    });
    return fit;
  }
}

/** Plans for the most likely theta. */
class Likely extends Learner {
  decide() {
    this.planFor(this.mostLikely());
  }
}

/** Plans for the theta that maximises likelihood plus bias times the value of where it stands. */
class Biased extends Learner {
  constructor(model, { schedule, scale, search }) {
    super(model);
    Object.assign(this, { schedule, scale, search });
  }

  bias() {
    return this.scale * SCHEDULES[this.schedule](this.total + 1);
  }

  decide(state) {
    this.mostLikely();
    const best = this.maximise(state, this.bias());
    this.theta = best.theta;
    this.policy = best.policy;
  }

  /** The highest of the maxima that climbs from several starts lead to; a local search has one start. */
  maximise(state, bias) {
    const { model } = this, S = model.states;
    const objective = new Objective(model, this.seen(), RIDGE, bias, state);
    if (bias === 0) return this.withoutBias(objective);
    if (this.search === "local") return climb(objective, this.theta, this.policy);
    const heights = this.fit.map((fit, g) => fit + bias * model.values[g * S + state]);
    const peaks = model.grid.peaks(heights, PEAKS);
    const starts = peaks.map((g) => [model.grid.thetas[g], model.policies.subarray(g * S, g * S + S)]);
    const found = [], near = 1.5 / model.grid.N;
    for (const [theta, policy] of [...starts, [this.theta, this.policy], [this.likely, this.policy]]) {
      const known = found.some((peak) => peak.theta.every((part, k) => Math.abs(part - theta[k]) < near));
      if (!known) found.push(climb(objective, theta, policy));
    }
    const higher = (one, other) => (other.f > one.f + 1e-12 * (1 + Math.abs(one.f)) ? other : one);
    return this.lobes(objective, found.reduce(higher));
  }

  /** Peaks closer than the grid: each belongs to a policy of its own, so climb for those of the points around. */
  lobes(objective, best) {
    const { model } = this, S = model.states, tried = new Set([best.policy.join()]);
    for (const g of model.grid.around(best.theta)) {
      const policy = model.policies.subarray(g * S, g * S + S);
      if (tried.has(policy.join())) continue;
      tried.add(policy.join());
      objective.fixed = true;
      const worthIt = promise(objective, model.grid.thetas[g], policy) > best.f;
      const bound = worthIt ? climb(objective, model.grid.thetas[g], policy) : best;
      objective.fixed = false;
      if (bound.f > best.f + 1e-10 * (1 + Math.abs(best.f))) best = climb(objective, bound.theta, policy);
    }
    return best;
  }

  withoutBias(objective) {
    const theta = this.likely;
    this.planFor(theta);
    return { theta, f: objective.likelihood(theta), policy: this.policy };
  }
}

/** Plans for a theta drawn from the posterior on the grid, anew whenever the information has doubled. */
class Sampling extends Learner {
  constructor(model, seed) {
    super(model);
    this.seed = seed;
    this.due = true;
    this.growth = 0;
    this.inverse = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  }

  decide() {
    this.mostLikely();
    if (!this.due) return;
    this.due = false;
    this.growth = 0;
    this.planFor(this.model.grid.thetas[this.drawn(new Luck(this.seed, this.total).next())]);
  }

  /** The point of the grid that a uniform number leads to, with the odds of the likelihood. */
  drawn(uniform) {
    const ridged = this.model.grid.thetas.map((theta, g) => this.fit[g] + 0.5 * RIDGE * dot(theta, theta, 0));
    const most = ridged.reduce((a, b) => Math.max(a, b), -Infinity);
    const odds = ridged.map((fit) => Math.exp(fit - most));
    const total = odds.reduce((a, b) => a + b, 0);
    let sum = 0, g = 0;
    for (; g < odds.length - 1; g++) if ((sum += odds[g]) > uniform * total) break;
    return g;
  }

  observe(transition) {
    super.observe(transition);
    const phi = this.model.kinds[this.model.kind[transition]];
    const along = this.inverse.map((line) => dot(phi, line, 0)), width = dot(phi, along, 0);
    this.inverse = this.inverse.map((line, j) => line.map((value, k) => value - (along[j] * along[k]) / (1 + width)));
    this.growth += Math.log1p(width);
    if (this.growth > Math.LN2) this.due = true;
  }
}
