// The six cards: what they show, and how they play.

const FREE = { story: null, answer: null };
const IDLE = {
  live: "Free play: change anything below, drag the truth, click a square. Or open one of the stories.",
  recorded: "A recorded run: play it, or step through it. Or open one of the stories, which are live.",
};

/** The cards, and what the open one shows, where it has changed. */
function showStory(app) {
  const { story: id, answer, t } = app.at, story = STORIES.find((each) => each.id === id);
  const over = Boolean(story && answer !== null && t >= story.end), shown = [app.scene.key, id, answer, over].join();
  if (shown === $("card").dataset.shown) return;
  $("card").dataset.shown = shown;
  showTabs(app, story);
  const guesses = (story?.answers ?? []).map((text, i) => {
    const guess = button(text, () => guessed(app, story, i));
    guess.setAttribute("aria-pressed", i === answer);
    return guess;
  });
  $("question").textContent = over ? "" : story?.question ?? (app.scene.recorded ? IDLE.recorded : IDLE.live);
  $("verdict").textContent = over ? verdict(app, story) : "";
  const within = $("answers").contains(document.activeElement), buttons = over ? [nextButton(app, story)] : guesses;
  $("answers").replaceChildren(...buttons);
  if (within) (buttons[over ? 0 : answer ?? 0])?.focus(); // the button that was pressed is a new one now
}

function showTabs(app, story) {
  const tabs = STORIES.map((each, i) => {
    const tab = button(`${i + 1} ${each.title}`, () => openStory(app, each));
    tab.setAttribute("aria-pressed", each === story);
    return tab;
  });
  const focus = [...$("tabs").children].indexOf(document.activeElement), open = tabs[STORIES.indexOf(story)];
  $("tabs").replaceChildren(...tabs);
  if (focus >= 0) tabs[focus].focus();
  if (open) $("tabs").scrollLeft = open.offsetLeft - $("tabs").offsetLeft - 40;
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
