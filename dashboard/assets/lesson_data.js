// What does a model learn from? Two recorded trainings: what it gets right step by step, and what it says to six sentences.
const nameAnswer = (figure, positive) => `${figure.classes[Number(positive >= .5)]} ${write(Math.max(positive, 1 - positive))}`;
const LINES = [["known", "its own sentences"], ["fresh", "new sentences"]];

// Lines of accuracy over the recorded steps up to `at`, which stand at equal distances; empty before an answer.
const drawLines = (record, at) => {
  const last = record.steps.length - 1, [width, height, left, top, right, bottom] = [760, 230, 44, 12, 224, 32];
  const x = (place) => left + (place / last) * (width - left - right), y = (share) => top + ((1 - share) / .6) * (height - top - bottom);
  const shown = record.steps.slice(0, at + 1), now = record.steps[Math.max(0, at)];
  const near = Math.abs(y(now.known) - y(now.fresh)) < 22; // labels may not cover each other
  return make("div", { class: "lines", role: "img", "aria-label": at < 0 ? "Not trained yet" : LINES.map(([name, label]) => `${label}: ${write(now[name])} right`).join(", ") },
    vector("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      [.5, .75, 1].map((share) => [vector("line", { x1: left, x2: width - right, y1: y(share), y2: y(share), stroke: "var(--rule)" }), vector("text", { x: left - 8, y: y(share) + 6, "text-anchor": "end" }, String(share))]),
      record.steps.map(({ step }, place) => (place % 6 === 0 || place === last) && vector("text", { x: x(place), y: height - 8, "text-anchor": "middle" }, String(step))).filter(Boolean),
      vector("text", { x: width - right + 26, y: height - 8 }, "step"),
      at < 0 ? [] : [vector("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom, stroke: "var(--rule)", "stroke-width": 2 }),
        LINES.map(([name, label], turn) => [
          vector("path", { d: shown.map((each, place) => `${place ? "L" : "M"}${x(place)} ${y(each[name])}`).join(""), class: name }), vector("circle", { cx: x(at), cy: y(now[name]), r: 5, class: name }),
          vector("text", { x: x(at) + 10, y: y(now[name]) + 6 + (near ? (turn ? 12 : -12) : 0), class: name }, `${label} ${write(now[name])}`)])]));
};

// What the model says to each sentence after step `at`; `mine` is the option chosen for the one that was asked about.
const drawProbes = (figure, record, at, mine) => make("table", { class: at < 0 ? "probes waiting" : "probes" }, make("tbody", {}, figure.probes.map((text, place) => {
  const p = at < 0 ? .5 : record.steps[at].answers[place], wrong = at >= 0 && figure.classes[Number(p >= .5)] !== figure.meant[place], asked = place === record.asked;
  return make("tr", { class: asked ? "asked" : "" }, make("th", { scope: "row" }, text, record.unknown[place].length && at >= 0 ? make("small", {}, ` unknown: ${record.unknown[place].join(", ")}`) : ""),
    make("td", {}, make("span", { class: "share" }, make("i", { style: at < 0 ? null : `--p:${100 * (1 - p)}%` }), asked && mine >= 0 ? make("em", { style: `left:${100 * figure.marks[mine]}%` }, "you") : "")),
    make("td", { class: wrong ? "wrong" : "" }, at < 0 ? "" : `${nameAnswer(figure, p)}${wrong ? " wrong" : ""}`));
})));

const drawTraining = (figure, record, at, mine, moved) => {
  const last = record.steps.length - 1;
  return [drawLines(record, at),
    moved ? make("div", { class: "slider" }, make("button", { type: "button", class: "plain", "data-id": "reset-step", disabled: at <= 0, onclick: () => moved(0) }, "Reset"),
      make("button", { type: "button", class: "plain", "data-id": "one-step", disabled: at >= last, onclick: () => moved(at + 1) }, "Step"),
      make("label", { "data-keep": "step" }, make("span", {}, "Training step"), make("input", { type: "range", min: 0, max: last, step: 1, value: at, "data-id": "step", oninput: (event) => moved(+event.target.value) }))) : "",
    drawProbes(figure, record, at, mine)];
};
const tell = (record, at) => { // what the numbers of this step say
  const { known, fresh, step } = record.steps[at];
  if (known < .6) return step ? "It has hardly learned anything yet." : "Before the first step it guesses.";
  if (known - fresh > .2) return "It knows its own sentences, and new ones much less. It learns by heart.";
  return fresh >= .9 ? "It is right on new sentences too." : "It gets better on new sentences too.";
};
const readAt = (text, record) => (text === "" ? record.steps.length - 1 : Math.min(record.steps.length - 1, Math.max(0, Math.round(+text) || 0)));
const writeLoss = ({ loss }) => fact(loss === null ? "Loss: none before the first step." : `Loss: ${write(loss)}. It falls as the model fits its own sentences.`);

const LESSON = {
  stages: [
    (view) => ({ left: drawTraining(view.figure, view.figure.first, -1, view.picked, null), side: [say(`\u201c${view.figure.probes[view.figure.first.asked]}\u201d`), say(view.question.ask), drawOptions(view)] }),
    (view) => ({ left: drawTraining(view.figure, view.figure.first, view.figure.first.steps.length - 1, view.picked, null), side: [drawOptions(view, view.question.right)] }),
    (view) => {
      const { figure, state } = view, { first } = figure, at = readAt(state.set, first), now = first.steps[at], last = first.steps.at(-1);
      return {
        headline: `Step ${now.step} of ${last.step}: ${write(now.known)} of its own sentences right, ${write(now.fresh)} of new ones.`,
        left: drawTraining(figure, first, at, state.pick, (place) => view.change({ set: String(place) })),
        side: [say(tell(first, at)), fact(`\u201c${figure.probes[first.asked]}\u201d: ${nameAnswer(figure, now.answers[first.asked])}.`), writeLoss(now)],
      };
    },
    (view) => {
      const { figure, picked, answered, question } = view, { second } = figure, last = second.steps.length - 1, at = answered ? figure.at ?? last : -1;
      return {
        line: answered && at < last ? `Step ${second.steps[at].step} of ${second.steps[last].step}. ${tell(second, at)}` : undefined,
        left: drawTraining(figure, second, at, picked, answered ? (place) => { figure.at = place; view.change({}); } : null),
        side: answered ? [drawOptions(view, question.right)] : [say(`\u201c${figure.probes[second.asked]}\u201d`), say(question.ask), drawOptions(view)],
      };
    },
  ],
  sheet: (view) => [drawLines(view.figure.first, -1)],
};
