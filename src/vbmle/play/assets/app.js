// The situation, and how it changes: everything shown is a function of the settings and of the number of steps.

const $ = (id) => document.getElementById(id);
const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const FRAME = 12; // milliseconds of computing in a frame

class App {
  constructor(scenes) {
    this.scenes = Object.fromEntries(scenes.map((scene) => [scene.key, scene]));
    this.models = {};
    this.boards = new Boards($("boards"), { choose: (state) => this.moveTo(state), watch: (key) => this.set({ watch: key }) });
    this.chart = new Chart($("chart"));
    this.bars = new Bars($("triangle"));
    this.triangle = new Triangle($("triangle"), $("layers"), {
      drop: (truth) => this.change({ ...FREE, truth, moves: {} }),
      pick: (layer) => this.set({ layer }),
    });
    this.playing = false;
  }

  model(scene) {
    return (this.models[scene.key] ??= new Model(scene.model));
  }

  /** Take up a situation from its settings; what is shown waits until it has been replayed. */
  load(at) {
    this.pause();
    const scene = this.scenes[at.world], isNew = this.at?.world !== at.world;
    this.at = { ...at };
    this.scene = scene;
    document.body.classList.toggle("recorded", Boolean(scene.recorded));
    document.body.classList.toggle("live", !scene.recorded);
    if (isNew) this.showScene(scene);
    this.run = scene.recorded ? new RecordedRun(scene) : new Run(scene, this.model(scene), this.at);
    fillSettings(this);
    this.goTo(at.t);
  }

  showScene(scene) {
    const model = scene.recorded ? null : this.model(scene);
    this.boards.show(scene, scene.states.map((_, s) => !model || model.matters(s)));
    if (model) this.triangle.show(scene, model);
    else this.bars.show(scene);
    describeScene(scene);
  }

  /** Lay the world out anew where the page has become wider or narrower. */
  resized() {
    if (this.boards.fits(this.scene)) return;
    this.showScene(this.scene);
    this.render();
  }

  /** Other settings for the world: the same luck, replayed to the same step. */
  change(some) {
    this.load({ ...this.at, ...some });
  }

  /** Settings that change what is shown, not what happens. */
  set(some) {
    Object.assign(this.at, some);
    this.render();
  }

  /** Put every learner into a state now, and go on from there. */
  moveTo(state) {
    if (this.scene.recorded) return;
    const moves = Object.fromEntries(Object.entries(this.at.moves).filter(([step]) => Number(step) < this.at.t));
    this.change({ ...FREE, moves: { ...moves, [this.at.t]: state } });
  }

  /** Show the situation after t steps, and compute what is missing in pieces that keep the page answering. */
  goTo(t) {
    this.target = Math.max(0, Math.min(t, this.run.horizon));
    this.pursue();
  }

  pursue() {
    const { run } = this, until = performance.now() + FRAME;
    while (run.length < this.target && performance.now() < until) run.step();
    this.at.t = Math.min(this.target, run.length);
    const busy = this.at.t < this.target;
    document.body.dataset.busy = busy;
    this.render();
    if (!busy) showStory(this);
    if (busy) requestAnimationFrame(() => run === this.run && this.pursue());
  }

  step(by) {
    this.pause();
    this.goTo(this.target + by);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play(until = this.run.horizon, speed = null) {
    if (this.at.t >= until) this.goTo(0);
    Object.assign(this, { playing: true, until, pace: speed, owed: 0, clock: performance.now() });
    $("sentence").setAttribute("aria-live", "off");
    this.frame();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    $("sentence").setAttribute("aria-live", "polite");
    if (this.run) this.render();
  }

  /** Steps that are due since the last frame, as many of them as fit into this one. */
  frame() {
    if (!this.playing) return;
    const now = performance.now();
    this.owed += ((now - this.clock) / 1000) * (this.pace ?? this.at.speed);
    this.clock = now;
    const due = Math.floor(this.owed), t = this.at.t;
    this.owed -= due;
    if (due > 0) {
      for (let i = 0; i < due && this.at.t < this.until && performance.now() < now + FRAME; i++) {
        if (this.at.t === this.run.length) this.run.step();
        this.target = ++this.at.t;
      }
      if (this.at.t > t) this.render();
    }
    if (this.at.t >= this.until) {
      this.pause();
      showStory(this);
    } else requestAnimationFrame(() => this.frame());
  }

  render() {
    const { run, at } = this;
    this.boards.update(run, at.t, at.watch);
    this.chart.update(run, at.t);
    if (run.recorded) this.bars.update(run, at.t, at.watch);
    else this.triangle.update(run, at.t, at.watch, at.layer);
    $("sentence").textContent = sentence(run, at.t);
    showTransport(this);
    showMarks(this);
    this.remember();
  }

  /** Keep the address up to date; while playing not in every frame, which browsers refuse. */
  remember() {
    const address = toAddress(this.at);
    if (address === this.address || this.playing) return;
    clearTimeout(this.writing);
    this.address = address;
    this.writing = setTimeout(() => history.replaceState(null, "", address), 60);
  }
}
