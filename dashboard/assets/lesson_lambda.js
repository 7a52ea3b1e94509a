// What does λ do here? The course of λ while models learn, how many of 100 answers need it, and one sentence in three models.

// Each λ over the training steps, from `low` to `high`; names at the ends of the lines keep their distance.
const drawCourse = (course, [low, high], wide) => {
  const [width, height, left, top, right, bottom] = [wide ? 760 : 430, 350, 46, 12, 108, 30], last = course.steps.at(-1);
  const x = (step) => left + (step / last) * (width - left - right), y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const lines = Object.entries(course.lines).sort(([, one], [, other]) => other.at(-1) - one.at(-1)), labels = lines.map(([, values]) => y(values.at(-1)) + 6);
  labels.forEach((at, place) => { if (place) labels[place] = Math.max(at, labels[place - 1] + 19); });
  const over = Math.max(0, labels.at(-1) - (height - bottom));
  const digits = high - low < 1 ? 1 : 0, ticks = [0, (high - (high % (digits ? .1 : 1))) / 2, high - (high % (digits ? .1 : 1))];
  return make("div", { class: "course", role: "img", "aria-label": lines.map(([name, values]) => `${name}: from ${write(values[0])} to ${write(values.at(-1))}`).join("; ") },
    vector("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      ticks.map((value) => [vector("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: value ? "" : "zero" }), vector("text", { x: left - 8, y: y(value) + 6, "text-anchor": "end" }, write(value, value % 1 ? Math.max(1, digits + (value * 10 % 1 ? 1 : 0)) : 0))]),
      vector("text", { x: left, y: height - 6 }, "λ at step 0"), vector("text", { x: width - right, y: height - 6, "text-anchor": "end" }, `step ${last}`),
      lines.map(([name, values], place) => [vector("path", { d: values.map((value, at) => `${at ? "L" : "M"}${x(course.steps[at]).toFixed(1)} ${y(value).toFixed(1)}`).join("") }),
        vector("text", { x: width - right + 8, y: labels[place] - over, class: "name" }, name)])));
};
const span = (...courses) => { const all = courses.flatMap(({ lines }) => Object.values(lines).flat()); return [Math.min(0, ...all), Math.max(...all)]; };

// A hundred answers; those that change are filled once known, and the chosen range has a frame.
const drawHundred = (figure, n, mine) => {
  const [low, high] = mine >= 0 ? figure.ranges[mine] : [1, 0];
  return make("div", { class: "hundred", role: "img", "aria-label": n === null ? "100 answers" : `${n} of 100 answers change` },
    Array.from({ length: 100 }, (_, at) => make("i", { class: `${n !== null && at < n ? "changed" : ""} ${at + 1 >= Math.max(1, low) && at < high ? "mine" : ""}` })));
};
const drawModel = (figure, course, limits, { n = null, mine = -1, wide = false, name = true } = {}) => make("section", { class: "model" },
  name ? make("h2", {}, course.name) : "", drawCourse(course, limits, wide), drawHundred(figure, n, mine),
  make("p", {}, n === null ? "100 answers. How many change with every λ at 0?" : make("b", {}, `${n} of 100 change${n === 1 ? "s" : ""}`), mine >= 0 ? make("em", { class: "you" }, "framed: you") : ""));

// The answer of each model for one factor on every λ, and its curve over all factors.
const drawFactors = (figure, at, moved) => [
  make("q", { class: "read" }, figure.text),
  make("div", { class: "slider" }, make("label", { "data-keep": "factor" }, make("span", {}, "every λ ×"), make("input", {
    type: "range", min: 0, max: figure.factors.length - 1, step: 1, value: at, "data-id": "factor", "aria-valuetext": write(figure.factors[at], 1), oninput: (event) => moved(+event.target.value),
  })), make("b", {}, write(figure.factors[at], 1))),
  make("table", { class: "factors" }, make("tbody", {}, figure.names.map((name, model) => {
    const line = figure.positive[model], x = (place) => 6 + (place / (line.length - 1)) * 208, y = (share) => 6 + (1 - share) * 68;
    return make("tr", {}, make("th", { scope: "row" }, name),
      make("td", {}, vector("svg", { viewBox: "0 0 220 80", "aria-hidden": "true" }, vector("line", { x1: 6, x2: 214, y1: 40, y2: 40, class: "half" }),
        vector("path", { d: line.map((share, place) => `${place ? "L" : "M"}${x(place)} ${y(share)}`).join("") }), vector("circle", { cx: x(at), cy: y(line[at]), r: 5 }))),
      make("td", {}, drawAnswer(figure.classes, line[at], line[figure.factors.indexOf(1)])));
  }))),
];
// What each model of a file says to a text for each factor; kept, as a slider asks again and again.
const readFactors = (sentence, models, text) => {
  if (sentence.read !== text) Object.assign(sentence, { read: text, live: models.map(({ read }) => sentence.factors.map((scale) => read(text, { scale }).probabilities[1])) });
  return { ...sentence, text, positive: sentence.live };
};
const readAt = (text, figure) => { const at = text === "" ? figure.factors.indexOf(1) : Math.round(+text) || 0; return Math.min(figure.factors.length - 1, Math.max(0, at)); };

const LESSON = {
  own: "text",
  stages: [
    (view) => ({ left: drawModel(view.figure, view.figure.first, span(view.figure.first), { mine: view.picked, wide: true, name: false }), side: [say(view.question.ask), drawOptions(view)] }),
    (view) => {
      const { figure, picked } = view, { first, usual } = figure, limits = span(first, usual);
      return { left: make("div", { class: "pair" }, drawModel(figure, first, limits, { n: first.zero, mine: picked }), drawModel(figure, usual, limits, { n: usual.zero })), side: [drawOptions(view, view.question.right)] };
    },
    (view) => {
      const { figure, models, own } = view, sentence = models.length ? readFactors(figure.sentence, models, own || figure.sentence.text) : figure.sentence, at = readAt(view.state.set, sentence), one = sentence.factors.indexOf(1);
      const flipped = sentence.names.filter((_, model) => (sentence.positive[model][at] >= .5) !== (sentence.positive[model][one] >= .5));
      return {
        headline: at === one ? "As trained. Slide every λ to 0." : `Every λ × ${write(sentence.factors[at], 1)}: ${flipped.length || "no"} of ${sentence.names.length} answers ${flipped.length === 1 ? "flips" : "flip"}.`,
        left: drawFactors(sentence, at, (place) => view.change({ set: String(place) })),
        side: [say(flipped.length ? `It flips in: ${flipped.join(", ")}.` : "No answer has flipped."), fact("Curve: probability of positive from λ × 0 to λ × 2. A flat curve: λ does nothing here.")],
      };
    },
    (view) => {
      const { figure, answered, picked, question } = view, { falling } = figure;
      return { left: drawModel(figure, falling, span(falling), { n: answered ? falling.zero : null, mine: picked, wide: true, name: false }), side: answered ? [drawOptions(view, question.right)] : [say(question.ask), drawOptions(view)] };
    },
  ],
  sheet: (view) => [drawCourse(view.figure.first, span(view.figure.first), true)],
};
