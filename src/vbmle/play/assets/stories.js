// Six situations, each with a question that comes before its answer. {biased}, {likely}, {sampling} and {rival} stand for what
// each has lost at the end.

const STORIES = [
  {
    id: "trap",
    title: "The trap",
    settings: { world: "trap", seed: 1, layer: "sum" },
    question: "Staying at home pays a little, reliably. Going out would pay more, but nobody knows that yet. The most likely model says: " +
      "stay. Will its planner ever find out?",
    answers: ["Sooner or later", "Never"],
    right: 1,
    end: 80,
    verdict: "Never: staying at home shows nothing of the odds outside, so the most likely model stays the same. It has lost {likely}. " +
      "The biased learner tries what would be good if it were true, sees that it is, and has lost {biased}.",
  },
  {
    id: "door",
    title: "The closed door",
    settings: { world: "desk", seed: 1, layer: "sum" },
    question: "A reception costs 7 euros a minute, which does not pay on an average day. Today is a rush. How does a planner that trusts " +
      "the most likely model find out?",
    answers: ["It counts who comes in", "It does not"],
    right: 1,
    end: 80,
    verdict: "It does not: it closes the door, and behind a closed door every day looks the same. That has cost {likely} euros. " +
      "The bias favours the rush, because a rush would pay; the door opens, people come, and the guess becomes knowledge: {biased} euros.",
  },
  {
    id: "far",
    title: "The far reward",
    settings: { world: "river", seed: 1, layer: "sum" },
    question: "A reward of 1 waits on the right bank, a crumb on the left. All three start on the left, and the first strokes go badly. " +
      "Who gives up?",
    answers: ["Nobody", "The most likely model's planner", "The biased learner"],
    right: 1,
    end: 80,
    verdict: "After a few bad strokes the current looks too strong to the most likely model. Its planner turns back, and on the left bank it never " +
      "swims again: it loses {likely}. The biased learner has the same luck and loses {biased}.",
  },
  {
    id: "basin",
    title: "The wrong basin",
    settings: { world: "lake", seed: 0, search: "local", rival: { schedule: "sqrt", scale: 1, search: "global" }, layer: "sum" },
    question: "Likelihood plus bias has several peaks. Here the biased learner (◆) only walks uphill from its last guess. " +
      "Does it matter which peak it stands on?",
    answers: ["No, the data will move it", "Yes, it costs"],
    right: 1,
    end: 60,
    verdict: "It costs: by only walking uphill it clung to a lower peak and lost {biased}. The same learner, looking everywhere (◇), " +
      "lost {rival}. The theory needs the highest peak, not the nearest.",
  },
  {
    id: "much",
    title: "Too much bias",
    settings: { world: "desk", seed: 1, truth: [0.7, 0.2, 0.1], rival: { schedule: "log", scale: 1, search: "global" }, layer: "bias" },
    question: "Now it is a calm hour: closing the door is right. The bias of the biased learner (◆) grows like √t. " +
      "Is hope free?",
    answers: ["Yes, it learns soon enough", "No, it keeps opening the door"],
    right: 1,
    end: 120,
    verdict: "No: √t grows so fast that hope returns again and again, at {biased} euros. With log(1 + t) the same learner (◇) lost {rival}. " +
      "And the most likely model, right by luck, lost {likely}.",
  },
  {
    id: "none",
    title: "No need to explore",
    settings: { world: "shop", seed: 1, layer: "likelihood" },
    question: "In the shop every day's sales say something about demand, whatever was ordered. How much does optimism gain here?",
    answers: ["A lot", "Almost nothing"],
    right: 1,
    end: 120,
    verdict: "Almost nothing: {biased} euros lost with a bias, {likely} without. Where every action informs, the most likely model " +
      "is soon the right one. Not every world needs exploration.",
  },
];
