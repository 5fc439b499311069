// Start: from the address, or with the first story; a page with a model of your own starts there.

const data = JSON.parse($("data").textContent);
const app = new App(data.scenes);
connect(app);
const first = app.scenes[data.first];
const story = STORIES[0];
const beginning = data.first === story.settings.world ? { ...startOf(first), ...story.settings, story: story.id } : startOf(first);
app.load(fromAddress(location.hash, app.scenes) ?? beginning);

/** What tests ask the page. */
window.playground = {
  app,
  stories: STORIES,
  luck: (...entropy) => new Luck(...entropy),
  /** The maximiser of likelihood plus bias for transitions [s, a, s'] of a world. */
  estimate(world, seen, state, bias) {
    const model = app.model(app.scenes[world]), learner = new Biased(model, { schedule: "sqrt", scale: 1, search: "global" });
    for (const [s, a, to] of seen) learner.observe(model.find(s, a, to));
    learner.mostLikely();
    const { theta, f, policy } = learner.maximise(state, bias);
    const fit = (counts) => new Objective(model, counts, RIDGE, 0, state).likelihood(theta);
    const known = fit(learner.counts) - fit(learner.seen()); // what is the same under every theta
    return { theta, objective: f + known, policy: [...policy], likely: learner.likely };
  },
  /** The path, decisions and regret of every learner of the run on show. */
  tracks() {
    const { run } = app;
    const plain = ({ state, action, next, theta, policy, bias }) =>
      ({ state, action, next, theta: [...theta], policy: [...policy], bias });
    const entries = Object.entries(run.tracks).map(([key, { steps, regret }]) =>
      [key, { regret: regret.slice(1), steps: steps.slice(0, run.length).map(plain) }]);
    return Object.fromEntries(entries);
  },
};
