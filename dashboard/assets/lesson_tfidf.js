// What can TF-IDF not see? Two sentences with the same words, their counts, the answers of two models, and accuracy over length.
const nameAnswer = (figure, positive) => `${figure.classes[Number(positive >= .5)]} ${write(Math.max(positive, 1 - positive))}`;

// The counts of the words in both sentences, and the answers; `shown` is how many answers of TF-IDF are drawn.
const drawPair = (figure, pair, shown, both) => [
  make("ol", { class: "pair" }, pair.texts.map((text, place) => make("li", {}, make("q", {}, text),
    [["TF-IDF", pair.tfidf, place < shown], ["transformer", pair.transformer, both]].map(([name, answers, known]) => make("div", { class: "row" }, make("span", {}, name),
      known ? drawAnswer(figure.classes, answers[place]) : make("div", { class: "answer unknown" }, "?")))))),
  make("table", { class: "counts" }, make("caption", {}, "What TF-IDF sees"), make("thead", {}, make("tr", {}, ["word", "first", "second"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, pair.counts.map(([word, ...counts]) => make("tr", {}, make("th", { scope: "row" }, word), counts.map((count) => make("td", {}, String(count))))))),
];

// Accuracy of each model at one length, as bars from guessing to always right.
const drawLengths = (figure, at, moved) => [
  make("div", { class: "slider" }, make("label", { "data-keep": "words" }, make("span", {}, "Words of a text"), make("input", {
    type: "range", min: 0, max: figure.lengths.length - 1, step: 1, value: at, "data-id": "words", "aria-valuetext": `${figure.lengths[at]} words`, oninput: (event) => moved(+event.target.value),
  })), make("b", {}, String(figure.lengths[at]))),
  make("p", { class: "pattern", "aria-hidden": "true" }, Array.from({ length: figure.lengths[at] }, (_, place) => make("i", { class: place === 0 ? "first" : place === figure.lengths[at] - 1 ? "last" : "" },
    place === 0 ? "not" : place === figure.lengths[at] - 1 ? "good" : "\u00b7"))),
  make("table", { class: "models" }, make("tbody", {}, figure.models.map(({ name, accuracy }) => {
    const share = accuracy[at], lost = share < figure.found;
    return make("tr", { class: lost ? "lost" : "" }, make("th", { scope: "row" }, name), make("td", {}, make("span", { class: "bar" }, make("i", { style: `width:${100 * share}%` }), make("em", { style: `left:${100 * figure.chance}%` }))),
      make("td", { class: "value" }, write(share)));
  }))),
];
const readAt = (text, figure) => Math.min(figure.lengths.length - 1, Math.max(0, Math.round(+text) || 0));

const LESSON = {
  stages: [
    (view) => ({ left: drawPair(view.figure, view.figure.pairs[0], 1, false), side: [say(view.question.ask), drawOptions(view)] }),
    (view) => ({ left: drawPair(view.figure, view.figure.pairs[0], 2, true), side: [drawOptions(view, view.question.right)] }),
    (view) => {
      const { figure, state } = view, at = readAt(state.set, figure), n = figure.lengths[at];
      const lost = figure.models.filter(({ accuracy }) => accuracy[at] < figure.found).map(({ name }) => name);
      return {
        headline: lost.length === figure.models.length ? `${n} words: all models guess.` : `${n} words: ${figure.models.length - lost.length} of ${figure.models.length} models find the rule.`,
        left: drawLengths(figure, at, (place) => view.change({ set: String(place) })),
        side: [say(lost.length ? `They guess: ${lost.join(", ")}.` : "None guesses."), fact("Bar: accuracy on texts that end with \u201cgood\u201d. Mark: guessing."), fact("A window sees only the last words. An LSTM carries the first word along.")],
      };
    },
    (view) => {
      const { figure, answered, question } = view;
      return { left: drawPair(figure, figure.pairs[1], answered ? 2 : 1, answered), side: answered ? [drawOptions(view, question.right)] : [say(question.ask), drawOptions(view)] };
    },
  ],
  sheet: (view) => drawPair(view.figure, view.figure.pairs[0], 1, false),
};
