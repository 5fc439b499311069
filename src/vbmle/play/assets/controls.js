// The parts of the page around the drawings: stories, buttons, settings, keys.

const chosenScale = () => Number(Math.pow(10, $("scale").value / 4).toPrecision(2)); // four steps to a factor of ten
const RIVALS = { "": "nobody", "log:1:global": "log(1 + t)", "sqrt:1:global": "√t", "sqrt:1:local": "√t, uphill only", "sqrt:0.1:global": "0.1 √t" };

/** Names and signs of a world. */
function describeScene(scene) {
  $("worlds-title").textContent = scene.title;
  $("about").textContent = scene.about;
  const signs = scene.glyphs.map((glyph, a) => `<b>${glyph}</b> ${escaped(scene.actions[a])}`);
  const tint = "Gold: what the learner believes a state is worth.";
  const parts = [scene.caption && `Squares: ${scene.caption}.`, signs.length <= 12 && `${signs.join(" · ")}.`, tint];
  $("glyphs").innerHTML = parts.filter(Boolean).join(" ");
}

function escaped(text) {
  return Object.assign(document.createElement("i"), { textContent: text }).innerHTML;
}

/** What the marks in the triangle are, for the learner that is watched. */
function showMarks({ at, run }) {
  $("mixtures-title").innerHTML = `What the <span class="${at.watch}">${NAMES[at.watch].toLowerCase()}</span> learner believes`;
  $("losses-title").textContent = `What each has lost so far${run.scene.unit === "reward" ? "" : `, in ${run.scene.unit}`}`;
  const chosen = `<b class="${at.watch}">${SHAPES[at.watch]}</b> planned for`;
  if (run.recorded) $("marks").innerHTML = `Bars: weights planned for. Lines: the truth.`;
  else $("marks").innerHTML = [`<b>★</b> the truth (drag it)`, at.watch !== "likely" && `<b class="likely">●</b> most likely`, chosen,
    "dashed: the best action changes"].filter(Boolean).join(" · ");
}

function showTransport({ at, run, playing }) {
  $("play").textContent = playing ? "Pause" : "Play";
  $("scrub").max = run.horizon;
  $("scrub").value = at.t;
  $("scrub").setAttribute("aria-valuetext", `step ${at.t} of ${run.horizon}`);
  $("clock").textContent = `step ${at.t} of ${run.horizon}`;
}

/** Put the settings into their controls. */
function fillSettings({ at, scenes }) {
  $("world").replaceChildren(...Object.values(scenes).map((scene) => new Option(scene.title, scene.key)));
  for (const name of ["world", "schedule", "search", "speed", "seed"]) $(name).value = at[name];
  $("scale").value = Math.round(4 * Math.log10(at.scale || 0.01));
  $("scale-shown").textContent = `${Number(at.scale.toPrecision(2))}`;
  const rival = at.rival ? learnerText(at.rival) : "", known = { ...RIVALS, [rival]: RIVALS[rival] ?? rival };
  $("rival").replaceChildren(...Object.entries(known).map(([value, name]) => new Option(name, value)));
  $("rival").value = rival;
}

/** The six cards and the state of the one that is open. */
function showStory(app) {
  const { story: id, answer, t } = app.at, story = STORIES.find((each) => each.id === id);
  const tabs = STORIES.map((each, i) => {
    const tab = button(`${i + 1} ${each.title}`, () => openStory(app, each));
    tab.setAttribute("aria-pressed", each === story);
    return tab;
  });
  const shown = [app.scene.key, id, answer, Boolean(story && answer !== null && t >= story.end)].join();
  if (shown === $("card").dataset.shown) return;
  $("card").dataset.shown = shown;
  const focus = [...$("tabs").children].indexOf(document.activeElement);
  $("tabs").replaceChildren(...tabs);
  if (focus >= 0) tabs[focus].focus();
  const over = story && answer !== null && t >= story.end;
  $("question").textContent = over ? "" : story?.question ?? (app.scene.recorded ? "A recorded run: play it, or step through it. Or open one of the stories, which are live."
    : "Free play: change anything below, drag the truth, click a square. Or open one of the stories.");
  const guesses = (story?.answers ?? []).map((text, i) => {
    const guess = button(text, () => guessed(app, story, i));
    guess.setAttribute("aria-pressed", i === answer);
    return guess;
  });
  if (over) guesses.push(nextButton(app, story));
  $("answers").replaceChildren(...guesses);
  $("verdict").textContent = over ? verdict(app, story) : "";
}

function button(text, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", press);
  return made;
}

function nextButton(app, story) {
  const next = STORIES[(STORIES.indexOf(story) + 1) % STORIES.length];
  const made = button(`Next: ${next.title.toLowerCase()}`, () => openStory(app, next));
  made.className = "next";
  return made;
}

function openStory(app, story) {
  const scene = app.scenes[story.settings.world];
  app.load({ ...startOf(scene), ...story.settings, story: story.id });
}

/** A guess was made: play to the story's end, in about seven seconds, or at once where motion is not wanted. */
function guessed(app, story, answer) {
  app.load({ ...startOf(app.scenes[story.settings.world]), ...story.settings, story: story.id, answer });
  if (CALM.matches) app.load({ ...app.at, t: story.end });
  else app.play(story.end, story.end / 7);
}

/** The answer, with the numbers of this run. */
function verdict({ run, at }, story) {
  const text = story.verdict.replace(/\{(\w+)\}/g, (_, key) => short(run.tracks[key]?.regret[story.end] ?? NaN));
  return `${at.answer === story.right ? "Right." : "Not quite."} ${text}`;
}

/** Connect buttons, settings and keys with the app. */
function connect(app) {
  const free = { story: null, answer: null };
  $("restart").addEventListener("click", () => app.step(-Infinity));
  $("back").addEventListener("click", () => app.step(-1));
  $("forth").addEventListener("click", () => app.step(1));
  $("play").addEventListener("click", () => app.toggle());
  $("scrub").addEventListener("input", () => (app.pause(), app.goTo(Number($("scrub").value))));
  $("speed").addEventListener("change", () => app.set({ speed: Number($("speed").value) }));
  $("world").addEventListener("change", () => app.load({ ...startOf(app.scenes[$("world").value]), speed: app.at.speed }));
  $("schedule").addEventListener("change", () => app.change({ ...free, schedule: $("schedule").value }));
  $("search").addEventListener("change", () => app.change({ ...free, search: $("search").value }));
  $("rival").addEventListener("change", () => app.change({ ...free, rival: readLearner($("rival").value) }));
  $("scale").addEventListener("change", () => app.change({ ...free, scale: chosenScale() }));
  $("scale").addEventListener("input", () => ($("scale-shown").textContent = chosenScale()));
  $("seed").addEventListener("change", () => app.change({ ...free, seed: Math.max(0, Math.floor($("seed").value) || 0) }));
  $("share").addEventListener("click", () => copyLink(app));
  document.addEventListener("keydown", (event) => keys(app, event));
  addEventListener("hashchange", () => {
    const at = fromAddress(location.hash, app.scenes);
    if (at && location.hash !== app.address) app.load(at);
  });
  addEventListener("resize", () => app.resized());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.render());
}

function keys(app, event) {
  const busy = event.target.closest("input, select, [role=slider]");
  if (busy || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === " " && event.target.closest("button, a")) return;
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity }[event.key];
  if (event.key === " ") app.toggle();
  else if (steps) app.step(steps);
  else return;
  event.preventDefault();
}

async function copyLink(app) {
  history.replaceState(null, "", (app.address = toAddress(app.at)));
  try {
    await navigator.clipboard.writeText(location.href);
    $("share").textContent = "Copied";
  } catch {
    $("share").textContent = "It is in the address bar";
  }
  setTimeout(() => ($("share").textContent = "Copy link"), 2000);
}
