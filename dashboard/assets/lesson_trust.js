// Can you trust an explanation? Two explanations beside each other, the answer as their words are removed, and a slider for both.
const NAMES = ["A", "B"], getInk = (place, picked) => (place === picked ? "var(--accent)" : "var(--ink)");

const drawText = (sentence, gone = []) => make("p", { class: "words" }, sentence.words.map((word, place) => [sentence.before[place], make(gone.includes(place) ? "s" : "span", {}, word)]), sentence.after);
const drawYou = () => make("small", { class: "mark" }, "you");

// Words with a bar for each explanation; the reader's own choice is framed.
const drawExplanations = (sentence, picked) => make("table", { class: "both" },
  make("thead", {}, make("tr", {}, make("th"), NAMES.map((name, place) => make("th", { scope: "col", class: picked === place ? "mine" : "" }, `Explanation ${name}`, picked === place ? drawYou() : "")))),
  make("tbody", {}, sentence.words.map((word, at) => make("tr", {}, make("th", { scope: "row" }, word),
    sentence.weights.map((weights, place) => make("td", { class: picked === place ? "mine" : "" }, make("i", { style: `width:${100 * weights[at]}%`, role: "img", "aria-label": write(weights[at]) })))))));

// Curves: what is left of the answer after 0, 1, ... words. `at`: where the slider stands.
const drawCurves = (sentence, picked, at = -1) => {
  const size = sentence.words.length, [width, height, left, top, right, bottom] = [760, 300, 44, 14, 44, 34];
  const x = (step) => left + (step / size) * (width - left - right), y = (p) => top + (1 - p) * (height - top - bottom);
  const line = (curve, attributes) => vector("path", { d: curve.map((p, step) => `${step ? "L" : "M"}${x(step)} ${y(p)}`).join(""), fill: "none", ...attributes });
  const end = (curve, place) => { // the letter stands where both are farthest apart
    const gaps = curve.map((p, step) => Math.abs(p - sentence.curves[1 - place][step])), best = gaps.indexOf(Math.max(...gaps));
    const above = curve[best] > sentence.curves[1 - place][best];
    return vector("text", { x: x(best) + (above ? 12 : -12), "text-anchor": above ? null : "end", y: y(curve[best]) + (above ? -10 : 4), class: `letter ${picked === place ? "mine" : ""}` }, NAMES[place], picked === place ? " you" : "");
  };
  return make("div", { class: "curves", role: "img", "aria-label": NAMES.map((name, place) => `${name}: ${sentence.curves[place].map((p) => write(p)).join(", ")}`).join(". ") },
    vector("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      [0, .5, 1].map((p) => [vector("line", { x1: left, x2: width - right, y1: y(p), y2: y(p), stroke: "var(--rule)" }), vector("text", { x: left - 8, y: y(p) + 5, "text-anchor": "end", class: "tick" }, p === .5 ? "0.5" : String(p))]),
      sentence.words.concat("").map((_, step) => vector("text", { x: x(step), y: height - 14, "text-anchor": "middle", class: "tick" }, String(step))),
      at < 0 ? "" : vector("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom, stroke: "var(--muted)", "stroke-width": 2 }),
      line(sentence.random, { stroke: "var(--muted)", "stroke-width": 2, "stroke-dasharray": "3 6" }),
      sentence.curves.map((curve, place) => [line(curve, { stroke: getInk(place, picked), "stroke-width": picked === place ? 5 : 3, "stroke-dasharray": place ? "10 4" : null }),
        curve.map((p, step) => vector("circle", { cx: x(step), cy: y(p), r: step === at ? 8 : 4, fill: getInk(place, picked) })), end(curve, place)])));
};
const drawOrders = (sentence, picked, count = -1) => make("ul", { class: "orders" }, NAMES.map((name, place) => make("li", { class: picked === place ? "mine" : "" }, make("b", {}, name, picked === place ? drawYou() : ""),
  make("ol", {}, sentence.orders[place].map((at, step) => make("li", { class: step < count ? "gone" : "" }, sentence.words[at]))))));
const drawKey = (sentence) => make("p", { class: "fact key" }, `Up: probability of ${sentence.answer}. Across: words removed. Dotted: random words. Below: their order.`);

const drawTest = (sentence, picked) => [drawText(sentence), drawCurves(sentence, picked), drawKey(sentence), drawOrders(sentence, picked)];

const LESSON = {
  stages: [
    (view) => ({ left: [drawText(view.figure.first), drawExplanations(view.figure.first, view.picked)], side: [say(view.question.ask), drawOptions(view)] }),
    (view) => ({ left: drawTest(view.figure.first, view.picked), side: [drawOptions(view, view.question.right)] }),
    (view) => {
      const { figure, state } = view, { first } = figure, size = first.words.length;
      const count = state.set === "" ? figure.step : Math.min(size, Math.max(0, Math.round(+state.set) || 0)), words = count === 1 ? "1 word" : `${count} words`;
      const left = first.curves.map((curve) => curve[count]), [low, high] = left[0] <= left[1] ? [0, 1] : [1, 0];
      const told = (place) => `${NAMES[place]} ${write(left[place])}`;
      return {
        headline: count === 0 ? `With all words: ${first.answer} ${write(left[0])}.` : count === size ? `Without all words: ${first.answer} ${write(left[0])}.` : `Without the first ${count === 1 ? "word" : words}: ${told(0)}, ${told(1)}.`,
        left: [drawText(first), drawCurves(first, state.pick, count),
          make("label", { class: "slider", "data-keep": "count" }, make("span", {}, "Words removed"), make("input", { type: "range", min: 0, max: size, step: 1, value: count, "data-id": "count", oninput: (event) => view.change({ set: event.target.value }) })),
          drawOrders(first, state.pick, count)],
        side: [say(count === 0 || count === size ? "Here both leave the same text." : left[high] - left[low] < .05 ? "Here both are alike." : `The answer needs the words of ${NAMES[low]} more: without them it falls to ${write(left[low])}.`),
          fact(`${capitalize(words)} removed at random: ${write(first.random[count])} on average.`), state.pick > 1 ? fact(`Your choice: ${view.content.questions[0].choices[state.pick].label}.`) : ""],
      };
    },
    (view) => {
      const { figure, picked, answered, question } = view, { second } = figure;
      return {
        left: answered ? drawTest(second, picked) : [drawText(second), drawExplanations(second, picked)],
        side: answered ? [drawOptions(view, question.right)] : [say(question.ask), drawOptions(view)],
      };
    },
  ],
  sheet: (view) => [drawText(view.figure.first), drawExplanations(view.figure.first, -1)],
};
