// A mixture of three base models: probabilities, plans, and how values depend on theta.

const TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, i4: Int32Array };

/** An array from its type and its bytes in base 64. */
function unpack({ type, bytes }) {
  return new TYPES[type](Uint8Array.from(atob(bytes), (sign) => sign.charCodeAt(0)).buffer);
}

class Model {
  constructor(data) {
    Object.assign(this, data);
    const arrays = ["indptr", "successor", "phi", "reward", "allowed", "initial", "values", "policies"];
    for (const name of arrays) this[name] = unpack(data[name]);
    const S = this.states, rows = S * this.actions;
    this.p = new Float64Array(this.successor.length);
    this.r = new Float64Array(rows);
    this.lu = new Float64Array(S * S);
    this.V = new Float64Array(S);
    this.policy = new Uint8Array(S);
    this.visits = new Float64Array(S);
    this.slopes = [0, 1, 2].map(() => new Float64Array(S));
    this.grid = new Grid(this.resolution);
    this.findKinds();
  }

  /** Transitions with the same features tell the same about theta: `kind` of each, features and log p by kind. */
  findKinds() {
    const seen = new Map(), phi = this.phi;
    this.kind = Int32Array.from(this.successor, (_, i) => {
      const key = [phi[3 * i], phi[3 * i + 1], phi[3 * i + 2]].join();
      if (!seen.has(key)) seen.set(key, seen.size);
      return seen.get(key);
    });
    this.kinds = [...seen.keys()].map((key) => key.split(",").map(Number));
    this.silent = this.kinds.map(([a, b, c]) => a === b && b === c);
    this.logs = new Map();
    this.mattering = [];
  }

  /** Whether it makes a difference under any theta what is done in a state. */
  matters(state) {
    return (this.mattering[state] ??= this.differs(state));
  }

  differs(state) {
    const rows = [];
    for (let a = 0; a < this.actions; a++) {
      const row = state * this.actions + a, from = this.indptr[row], to = this.indptr[row + 1];
      const parts = [this.successor.slice(from, to), this.phi.slice(3 * from, 3 * to), this.reward.slice(3 * row, 3 * row + 3)];
      if (this.allowed[row]) rows.push(parts.join(";"));
    }
    return rows.some((row) => row !== rows[0]);
  }

  /** The first action that a state has. */
  firstAction(state) {
    return this.allowed.indexOf(1, state * this.actions) - state * this.actions;
  }

  /** The index of a transition. */
  find(state, action, next) {
    const row = state * this.actions + action;
    return this.successor.subarray(0, this.indptr[row + 1]).indexOf(next, this.indptr[row]);
  }

  /** log p of a kind of transition at all points of the grid. */
  logGrid(kind) {
    if (!this.logs.has(kind)) {
      const [a, b, c] = this.kinds[kind];
      this.logs.set(kind, Float64Array.from(this.grid.thetas, ([x, y, z]) => Math.log(a * x + b * y + c * z)));
    }
    return this.logs.get(kind);
  }

  /** The transition from a row (s, a) that a uniform number leads to, as `World.next_state` draws it. */
  draw(theta, state, action, uniform) {
    const row = state * this.actions + action, first = this.indptr[row], end = this.indptr[row + 1];
    const chance = (i) => Math.max(0, dot(theta, this.phi, 3 * i));
    let total = 0;
    for (let i = first; i < end; i++) total += chance(i);
    let sum = 0, i = first;
    for (; i < end - 1; i++) if ((sum += chance(i)) > uniform * total) break;
    return i;
  }

  /** The first state that a uniform number leads to. */
  first(uniform) {
    let sum = 0, s = 0;
    const total = this.initial.reduce((a, b) => a + b, 0);
    for (; s < this.states - 1; s++) if ((sum += this.initial[s]) > uniform * total) break;
    return s;
  }

  /** Set transition probabilities and rewards to those of theta. */
  mix(theta) {
    for (let i = 0; i < this.p.length; i++) this.p[i] = dot(theta, this.phi, 3 * i);
    for (let row = 0; row < this.r.length; row++) this.r[row] = dot(theta, this.reward, 3 * row);
  }

  /** V becomes the value of the policy, lu the factors of I - gamma P. Needs `mix` before. */
  evaluate(policy) {
    const { states: S, actions: A, lu, V, p, indptr, successor, discount } = this;
    lu.fill(0);
    for (let s = 0; s < S; s++) {
      const row = s * A + policy[s];
      lu[s * S + s] = 1;
      for (let i = indptr[row]; i < indptr[row + 1]; i++) lu[s * S + successor[i]] -= discount * p[i];
      V[s] = this.r[row];
    }
    factor(lu, S);
    solve(lu, S, V);
    return V;
  }

  /** Make the policy greedy for V, keeping actions that tie; returns how many changed. */
  improve(policy) {
    const { states: S, actions: A, V, r, allowed } = this;
    let changed = 0;
    const margin = 1e-13 * (1 + V.reduce((most, v) => Math.max(most, Math.abs(v)), 0));
    for (let s = 0; s < S; s++) {
      let chosen = policy[s], best = r[s * A + chosen] + this.discount * this.ahead(s * A + chosen, V);
      for (let a = 0; a < A; a++) {
        if (a === policy[s] || !allowed[s * A + a]) continue;
        const q = r[s * A + a] + this.discount * this.ahead(s * A + a, V);
        if (q > best + margin) (best = q), (chosen = a);
      }
      if (chosen !== policy[s]) (policy[s] = chosen), changed++;
    }
    return changed;
  }

  /** What an action is worth in a state at a point of the grid. */
  choiceAt(g, state, action) {
    const theta = this.grid.thetas[g], row = state * this.actions + action, V = this.values.subarray(g * this.states);
    let sum = 0;
    for (let i = this.indptr[row]; i < this.indptr[row + 1]; i++) sum += dot(theta, this.phi, 3 * i) * V[this.successor[i]];
    return dot(theta, this.reward, 3 * row) + this.discount * sum;
  }

  /** The mean of V after a row (s, a). */
  ahead(row, V) {
    let sum = 0;
    for (let i = this.indptr[row]; i < this.indptr[row + 1]; i++) sum += this.p[i] * V[this.successor[i]];
    return sum;
  }

  /** Policy iteration from a policy on: V, lu and `this.policy` become those of an optimal policy. */
  plan(theta, from) {
    this.mix(theta);
    this.policy.set(from);
    for (let round = 0; round < 200; round++) {
      this.evaluate(this.policy);
      if (!this.improve(this.policy)) break;
    }
    return this.V;
  }

  /** V, lu and `this.policy` become those of one policy. */
  valueOf(theta, policy) {
    this.mix(theta);
    this.policy.set(policy);
    return this.evaluate(this.policy);
  }

  /** Slope and curvature of V(state) in theta, for the last plan: z_k = dV/dtheta_k by one solve each. */
  bend(state) {
    const { states: S, actions: A, discount, visits, slopes, lu, policy, V } = this;
    visits.fill(0);
    visits[state] = 1;
    solveTransposed(lu, S, visits);
    slopes.forEach((z, k) => {
      for (let s = 0; s < S; s++) {
        const row = s * A + policy[s];
        z[s] = this.reward[3 * row + k] + discount * this.aheadIn(row, k, V);
      }
    });
    const slope = slopes.map((z) => z.reduce((sum, value, s) => sum + visits[s] * value, 0));
    slopes.forEach((z) => solve(lu, S, z));
    const half = slopes.map((_, j) => slopes.map((z) => {
      let sum = 0;
      for (let s = 0; s < S; s++) {
        if (visits[s] > 1e-15) sum += visits[s] * this.aheadIn(s * A + policy[s], j, z);
      }
      return discount * sum;
    }));
    return { slope, curve: half.map((line, j) => line.map((value, k) => value + half[k][j])) };
  }

  /** The mean of x after a row (s, a) in base model k. */
  aheadIn(row, k, x) {
    let sum = 0;
    for (let i = this.indptr[row]; i < this.indptr[row + 1]; i++) sum += this.phi[3 * i + k] * x[this.successor[i]];
    return sum;
  }
}

/** <theta, table[at .. at+2]>. */
function dot(theta, table, at) {
  return theta[0] * table[at] + theta[1] * table[at + 1] + theta[2] * table[at + 2];
}
