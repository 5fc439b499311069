// A run: every learner in the same world with the same luck, one record per decision. It depends on its settings alone,
// so the same settings and number of steps are always the same situation.

const NAMES = {
  biased: "Value-biased",
  likely: "Most likely",
  sampling: "Posterior sampling",
  rival: "", // by what it does otherwise: see `rivalName`
};

/** What another biased learner does otherwise. */
function rivalName(one, other) {
  if (one.search !== other.search) return other.search === "local" ? "Uphill only" : "Looking everywhere";
  const growth = { sqrt: "√t", log: "log(1 + t)", constant: "constant" }[other.schedule];
  return `With ${other.scale === 1 ? "" : `${other.scale} `}${growth} bias`;
}

class Run {
  /** settings: truth, seed, schedule, scale, search, rival (settings of another biased learner, or null), moves. */
  constructor(scene, model, settings) {
    Object.assign(this, { scene, model, settings });
    this.horizon = scene.horizon;
    this.length = 0; // steps taken; decisions for the next are there already
    this.luck = new Luck(settings.seed);
    this.losses = new Map();
    this.best = Float64Array.from(model.plan(settings.truth, new Uint8Array(model.policies.subarray(0, model.states))));
    const first = model.first(this.luck.next());
    this.tracks = {
      biased: new Biased(model, settings),
      likely: new Likely(model),
      sampling: new Sampling(model, settings.seed),
    };
    if (settings.rival) this.tracks.rival = new Biased(model, settings.rival);
    if (settings.rival) NAMES.rival = rivalName(settings, settings.rival);
    for (const [key, learner] of Object.entries(this.tracks)) {
      this.tracks[key] = { learner, state: first, steps: [], seen: [], regret: [0] };
    }
    this.decide();
  }

  /** What every learner decides where it stands. */
  decide() {
    const moved = this.settings.moves[this.length];
    for (const track of Object.values(this.tracks)) {
      if (moved !== undefined) track.state = moved;
      const { learner, state } = track;
      learner.decide(state);
      const { theta, likely, policy } = learner;
      const bias = learner.bias ? learner.bias() : 0;
      track.steps.push({ state, theta, likely, policy, bias, action: policy[state] });
    }
  }

  /** Take one step; false where the run is over. */
  step() {
    if (this.length >= this.horizon) return false;
    const uniform = this.luck.next();
    for (const track of Object.values(this.tracks)) {
      const now = track.steps[this.length];
      const i = this.model.draw(this.settings.truth, now.state, now.action, uniform);
      track.regret.push(track.regret[this.length] + this.loss(now.policy)[now.state]);
      track.seen.push(i);
      track.learner.observe(i);
      track.state = now.next = this.model.successor[i];
      now.silent = this.model.silent[this.model.kind[i]];
    }
    this.length++;
    this.decide();
    return true;
  }

  /** V* - V^pi under the truth, by state, in the units of the reward. */
  loss(policy) {
    const key = policy.join();
    if (!this.losses.has(key)) {
      this.model.mix(this.settings.truth);
      const value = this.model.evaluate(policy);
      this.losses.set(key, this.best.map((best, s) => this.model.scale * Math.max(best - value[s], 0)));
    }
    return this.losses.get(key);
  }

  /** What a learner believes its states to be worth after t steps, in the units of the reward. */
  worth(key, t) {
    const { theta, policy } = this.tracks[key].steps[t], { model } = this;
    const shift = model.offset / (1 - model.discount);
    return Float64Array.from(model.plan(theta, policy), (value) => model.scale * value + shift);
  }

  /** The layers of a learner's triangle after t steps: log-likelihood, bias and their sum over the grid. */
  layers(key, t) {
    const { steps, seen } = this.tracks[key], { model } = this, S = model.states, { state, bias } = steps[t];
    const likelihood = Learner.fitOf(model, seen.slice(0, t));
    const weight = bias || this.tracks.biased.steps[t].bias;
    const values = Float64Array.from(likelihood, (_, g) => weight * model.values[g * S + state]);
    return { likelihood, bias: values, sum: likelihood.map((fit, g) => fit + (bias ? values[g] : 0)) };
  }
}
