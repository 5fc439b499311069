// The world, once for each learner: states as tiles, tinted by what the learner believes them to be worth, with the action
// of its policy, and the learner as a dot.

const TILE = 100, BOARDS = ["likely", "biased", "sampling"];
const MANY = 120; // of more states only those of the learner that is watched are shown
const SHAPES = { likely: "●", biased: "◆", sampling: "▲", rival: "◇" };

/** Places for states that have none: in rows as even as can be, none wider than `most`. */
function inRows(states, most) {
  const rows = Math.ceil(states / most), columns = Math.ceil(states / rows);
  return Array.from({ length: states }, (_, s) => [s % columns, Math.floor(s / columns)]);
}

class Boards {
  /** choose(state): a state was picked; watch(key): a learner was. */
  constructor(root, { choose, watch }) {
    Object.assign(this, { root, choose, watch });
  }

  /** Draw the tiles of a scene. `matters[s]`: whether the action makes a difference there. */
  show(scene, matters) {
    this.scene = scene;
    this.matters = matters;
    this.most = this.inRow(scene);
    this.at = scene.at.length ? scene.at : inRows(scene.states.length, this.most);
    const wide = Math.max(...this.at.map(([x]) => x)) + 1, high = Math.max(...this.at.map(([, y]) => y)) + 1;
    this.rows = !scene.at.length || wide / high > 2.5;
    this.root.className = scene.states.length > MANY ? "rows large" : this.rows ? "rows" : "square";
    this.root.replaceChildren();
    this.parts = {};
    for (const key of BOARDS) this.parts[key] = this.board(key, wide, high);
  }

  /** How many states fit into a row: tiles stay large enough for a finger, unless there are very many. */
  inRow(scene) {
    const [most, least] = scene.states.length > MANY ? [48, 14] : scene.states.length > 60 ? [40, 22] : [13, 34];
    return Math.max(4, Math.min(most, Math.floor(this.root.clientWidth / least)));
  }

  fits(scene) {
    return scene.at.length > 0 || this.most === this.inRow(scene);
  }

  board(key, wide, high) {
    const box = document.createElement("div"), title = document.createElement("button");
    box.className = `board ${key}`;
    title.type = "button";
    title.innerHTML = `<span>${SHAPES[key]} ${NAMES[key]}</span> <span></span>`;
    title.className = key;
    title.addEventListener("click", () => this.watch(key));
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${wide * TILE} ${high * TILE}`);
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", `${NAMES[key]}: its world`);
    svg.style.maxHeight = this.rows ? `${(high * 5.2).toFixed(1)}rem` : "15rem";
    const tiles = this.at.map(([x, y], state) => this.tile(svg, x, y, state));
    const dot = draw(svg, "circle", { class: "here", r: 17, cx: 0, cy: 0 });
    svg.addEventListener("keydown", (event) => this.keys(event, tiles));
    box.append(title, svg);
    this.root.append(box);
    return { title, lost: title.lastElementChild, tiles, dot };
  }

  tile(svg, x, y, state) {
    const group = draw(svg, "g", { class: "tile", role: "button", tabindex: -1, transform: `translate(${x * TILE},${y * TILE})` });
    const rect = draw(group, "rect", { x: 3, y: 3, width: TILE - 6, height: TILE - 6, rx: 12 });
    const mark = this.scene.marks[state] ?? "";
    const size = mark.length > 7 ? 14 : 17;
    draw(group, "text", { class: "mark", x: TILE / 2, y: 90, "font-size": size }, mark);
    group.append(" ");
    const glyph = draw(group, "text", { x: TILE / 2, y: 66, "font-size": 38 });
    group.addEventListener("click", () => this.choose(state));
    return { group, rect, glyph, state };
  }

  /** Arrows walk over the tiles, Enter puts the learners there. */
  keys(event, tiles) {
    const at = tiles.findIndex((tile) => tile.group === document.activeElement);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") this.choose(at);
    else {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!way) return;
      const cost = ([x, y]) => {
        const dx = x - this.at[at][0], dy = y - this.at[at][1], along = dx * way[0] + dy * way[1];
        return along > 0.1 ? along + 3 * Math.abs(dx * way[1] + dy * way[0]) : Infinity;
      };
      const costs = this.at.map(cost), next = costs.indexOf(Math.min(...costs));
      if (costs[next] < Infinity) this.focus(tiles, next);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  focus(tiles, at) {
    tiles.forEach((tile, s) => tile.group.setAttribute("tabindex", s === at ? 0 : -1));
    tiles[at].group.focus();
  }

  /** Show what each learner does and believes after t steps. */
  update(run, t, watched) {
    const { scene } = this, gold = ramp("--gold").text;
    const worth = Object.fromEntries(BOARDS.map((key) => [key, run.worth(key, t)]));
    const all = BOARDS.flatMap((key) => [...worth[key]]), low = Math.min(...all), high = Math.max(...all);
    for (const key of BOARDS) {
      const { title, lost, tiles, dot } = this.parts[key], track = run.tracks[key], { state, policy } = track.steps[t];
      lost.textContent = `lost ${short(track.regret[t])}`;
      title.setAttribute("aria-pressed", key === watched);
      title.parentNode.classList.toggle("watched", key === watched);
      title.title = `Watch: show what ${NAMES[key].toLowerCase()} believes`;
      tiles.forEach(({ group, rect, glyph }, s) => {
        const share = high > low ? (worth[key][s] - low) / (high - low) : 0;
        put(rect, "fill", gold[Math.round(255 * share)]);
        const sign = this.matters[s] ? scene.glyphs[policy[s]] : "";
        if (glyph.textContent !== sign) glyph.textContent = sign;
        const action = this.matters[s] ? `; plan: ${scene.actions[policy[s]]}` : "";
        const shown = [scene.marks[s], sign].filter(Boolean).join(" ");  // what stands on it is part of its name
        const name = `${shown ? `${shown}: ` : ""}${scene.states[s]}${action}; worth ${short(worth[key][s])}${s === state ? "; here now" : ""}`;
        put(group, "aria-label", name);
        if (document.activeElement !== group) put(group, "tabindex", s === state ? 0 : -1);
      });
      const [x, y] = this.at[state];
      dot.style.transform = `translate(${x * TILE + TILE / 2}px, ${y * TILE + 23}px)`;
    }
  }
}
