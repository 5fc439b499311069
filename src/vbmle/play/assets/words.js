// One sentence on what just happened.

const STREAK = 3;
const ORDINALS = ["", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

function ordinal(n) {
  if (n < ORDINALS.length) return ORDINALS[n];
  const tail = n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th";
  return `${n}${tail}`;
}

/** How often in a row a learner has done the same and learnt nothing by it. */
function idleFor(steps, t) {
  let n = 0;
  while (n < t && steps[t - 1 - n].silent && steps[t - 1 - n].action === steps[t - 1].action) n++;
  return n;
}

/** What a learner did in its last step, and where that led. */
function deed(scene, steps, t) {
  const last = steps[t - 1];
  return `${scene.verbs[last.action]} and ends up ${scene.states[last.next]}`;
}

/** The same, for the one that may be stuck. */
function idleDeed(scene, steps, t) {
  const last = steps[t - 1], idle = idleFor(steps, t), verb = scene.verbs[last.action];
  if (idle >= STREAK) return `${verb} for the ${ordinal(idle)} time in a row and learns nothing`;
  if (last.silent) return `${verb}, which looks the same under every mixture`;
  return deed(scene, steps, t);
}

/** The sentence after t steps. */
function sentence(run, t) {
  const { scene } = run, likely = run.tracks.likely.steps, biased = run.tracks.biased.steps;
  const does = (steps) => scene.verbs[steps[0].action];
  if (t === 0) {
    const same = likely[0].action === biased[0].action;
    const seen = `No data yet${run.recorded ? "" : ": every mixture is about equally likely"}.`;
    if (same) return `${seen} The most likely model and the biased one start the same way: each ${does(likely)}.`;
    return `${seen} The most likely model ${does(likely)}; the biased one ${does(biased)}.`;
  }
  const one = likely[t - 1], other = biased[t - 1];
  const alike = one.state === other.state && one.action === other.action && one.next === other.next;
  if (alike) return `Step ${t}: the most likely model and the biased one agree: each ${deed(scene, biased, t)}.`;
  return `Step ${t}: the most likely model ${idleDeed(scene, likely, t)}; the biased one ${deed(scene, biased, t)}.`;
}
