// The whole situation as the address after #, and back. What is not there, or makes no sense, is as in the beginning.

const SPEEDS = [3, 12, 60];

/** A biased learner as text: schedule:scale exponent:search. */
const learnerText = ({ schedule, scale, search }) => [schedule, scale, search].join(":");

function readLearner(text) {
  const [schedule, scale, search] = (text ?? "").split(":");
  const size = Number(scale), known = schedule in SCHEDULES && size >= 0 && Number.isFinite(size);
  return known && ["global", "local"].includes(search) ? { schedule, scale: Number(scale), search } : null;
}

/** The settings that a world begins with. */
function startOf(scene) {
  return {
    world: scene.key, truth: scene.truth, seed: scene.seed, schedule: "sqrt", scale: 1, search: "global", rival: null,
    moves: {}, watch: "biased", layer: "sum", speed: 12, t: 0, story: null, answer: null,
  };
}

function toAddress(at) {
  const parts = {
    world: at.world, t: at.t, truth: at.truth.join(), seed: at.seed,
    bias: learnerText(at), watch: at.watch, layer: at.layer, speed: at.speed,
    rival: at.rival && learnerText(at.rival),
    moves: Object.entries(at.moves).map((pair) => pair.join(".")).join(),
    story: at.story, answer: at.answer,
  };
  const given = Object.entries(parts).filter(([, value]) => value !== null && value !== "");
  const plain = (value) => encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3A", ":");
  return "#" + given.map(([name, value]) => `${name}=${plain(value)}`).join("&");
}

/** Settings from an address; `scenes` by key. Null where it names no world. */
function fromAddress(hash, scenes) {
  const given = new URLSearchParams(hash.replace(/^#/, "")), scene = scenes[given.get("world")];
  if (!scene) return null;
  const at = startOf(scene), take = (name, valid, value) => valid && (at[name] = value);
  const count = (name) => (/^\d{1,15}$/.test(given.get(name) ?? "") ? Number(given.get(name)) : null);
  const truth = (given.get("truth") ?? "").split(",").map(Number);
  const sum = truth.reduce((total, part) => total + part, 0);
  const mixture = truth.length === 3 && truth.every((part) => part >= 0) && Math.abs(sum - 1) < 1e-9;
  take("truth", mixture && !scene.recorded, truth);
  take("seed", count("seed") !== null, count("seed"));
  take("t", count("t") !== null, Math.min(count("t"), scene.horizon));
  Object.assign(at, readLearner(given.get("bias")) ?? {});
  at.rival = readLearner(given.get("rival"));
  take("watch", BOARDS.includes(given.get("watch")), given.get("watch"));
  take("layer", given.get("layer") in LAYERS, given.get("layer"));
  take("speed", SPEEDS.includes(count("speed")), count("speed"));
  for (const pair of (given.get("moves") ?? "").split(",")) {
    const [step, state] = pair.split(".").map(Number);
    if (step >= 0 && Number.isInteger(state) && state >= 0 && state < scene.states.length) at.moves[step] = state;
  }
  const story = STORIES.find(({ id }) => id === given.get("story"));
  take("story", Boolean(story), story?.id);
  take("answer", story && count("answer") < story.answers.length, count("answer"));
  return at;
}
