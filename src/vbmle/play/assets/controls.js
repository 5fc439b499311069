// The parts of the page around the drawings: titles, buttons, settings, keys.

const chosenScale = () => Number(Math.pow(10, $("scale").value / 4).toPrecision(2)); // four steps to a factor of ten
const RIVALS = {
  "": "nobody", "log:1:global": "log(1 + t)", "sqrt:1:global": "√t",
  "sqrt:1:local": "√t, uphill only", "sqrt:0.1:global": "0.1 √t",
};

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
  else {
    const likely = at.watch !== "likely" && `<b class="likely">●</b> most likely`;
    const parts = ["<b>★</b> the truth (drag it)", likely, chosen, "dashed: the best action changes"];
    $("marks").innerHTML = parts.filter(Boolean).join(" · ");
  }
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

/** Connect buttons, settings and keys with the app. */
function connect(app) {
  $("restart").addEventListener("click", () => app.step(-Infinity));
  $("back").addEventListener("click", () => app.step(-1));
  $("forth").addEventListener("click", () => app.step(1));
  $("play").addEventListener("click", () => app.toggle());
  $("scrub").addEventListener("input", () => (app.pause(), app.goTo(Number($("scrub").value))));
  $("speed").addEventListener("change", () => app.set({ speed: Number($("speed").value) }));
  $("world").addEventListener("change", () => app.load({ ...startOf(app.scenes[$("world").value]), speed: app.at.speed }));
  $("schedule").addEventListener("change", () => app.change({ ...FREE, schedule: $("schedule").value }));
  $("search").addEventListener("change", () => app.change({ ...FREE, search: $("search").value }));
  $("rival").addEventListener("change", () => app.change({ ...FREE, rival: readLearner($("rival").value) }));
  $("scale").addEventListener("change", () => app.change({ ...FREE, scale: chosenScale() }));
  $("scale").addEventListener("input", () => ($("scale-shown").textContent = chosenScale()));
  $("seed").addEventListener("change", () => app.change({ ...FREE, seed: Math.max(0, Math.floor($("seed").value) || 0) }));
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
