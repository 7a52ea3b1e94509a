// Can you trust accuracy? Squares of sentences by kind, an axis with the reader's mark, and a mixture to be moved.
const place = (figure, value) => `left:${(100 * (value - figure.from)) / (100 - figure.from)}%`;

const drawAxis = ({ figure, picked, answered, state }, { test, hard }, mixed = null) => {
  const pick = state.step < 4 ? state.pick : picked, mark = answered ? figure.values[pick] : null;
  const at = (name, value, text = "", style = "") => make("span", { class: name, style: `${place(figure, value)};${style}` }, text);
  const ticks = [40, 50, 60, 70, 80, 90, 100].map((value) => at("tick", value, String(value)));
  const shown = hard ? [at("range", hard.low, "", `width:${(100 * (hard.high - hard.low)) / (100 - figure.from)}%`), at("line wrong", hard.value),
    at("label wrong", hard.value, `harder ${Math.round(hard.value)}`)] : [];
  return make("div", { class: "axis", role: "img", "aria-label": `Right answers of 100. Test set ${Math.round(test.value)}`
    + (hard ? `, harder sentences ${Math.round(hard.value)}` : "") + (mixed === null ? "" : `, your mixture ${Math.round(mixed)}`) + (mark === null ? "" : `, you ${mark}`) },
  make("i", { class: "base" }), ticks, at("label", figure.guessing, "guessing"), shown, at("line", test.value), at("label", test.value, `test set ${Math.round(test.value)}`),
  mixed === null ? "" : at("mixed", mixed), mark === null ? "" : at("you", mark, "you"));
};

const drawKinds = (kinds, view, shown) => {
  const rows = shown ? kinds : kinds.toSorted((one, other) => one.name.localeCompare(other.name)); // the order must not tell
  return make("ul", { class: shown ? "kinds" : "kinds waiting" }, rows.map((kind) => make("li", { class: shown && kind.right / kind.n <= .55 ? "low" : "" },
    make("span", {}, kind.name),
    make("div", {}, kind.items.map((item, number) => shown
      ? make("button", { type: "button", class: item.ok ? "" : "wrong", "data-id": `${kind.name}-${number}`, tabindex: number ? -1 : 0, "aria-label": `${item.ok ? "right" : "wrong"}: ${item.text}`,
        onmouseenter: () => read(view, item), onfocus: () => read(view, item), onkeydown: walk })
      : make("i"))),
    make("span", {}, shown ? `${kind.right} of ${kind.n}` : ""))));
};
const walk = (event) => { // along a row with up and down: left and right are the stages
  const next = { ArrowDown: event.target.nextSibling, ArrowUp: event.target.previousSibling }[event.key];
  if (!next) return;
  event.preventDefault();
  next.focus();
};
const read = ({ figure }, item) => { figure.reading = item; const line = figure.line; line?.replaceChildren(...writeSentence(item)); };
const writeSentence = (item) => [make("q", {}, item.text), make("br"), `means ${item.label}, model says `,
  item.ok ? "the same" : make("b", {}, item.predicted), ` (${write(item.sure)})`];
const drawSentence = (figure) => (figure.line = make("p", { class: "sentence" }, writeSentence(figure.reading ?? figure.example)));

const drawMixture = (view) => {
  const { figure, change, state } = view, share = state.set === "" ? figure.first : Math.min(100, Math.max(0, Math.round(+state.set / figure.step) * figure.step || 0));
  const found = figure.mixed[share / figure.step], [usual, hard] = found.wrong;
  const squares = Array.from({ length: 100 }, (_, at) => { // wrong ones come last among theirs
    const isHard = at >= 100 - share, isWrong = isHard ? at >= 100 - hard : at >= 100 - share - usual;
    return make("i", { class: `${isHard ? "hard" : ""} ${isWrong ? "wrong" : ""}` });
  });
  const moved = (event) => change({ set: event.target.value });
  return {
    wide: true, headline: found.headline,
    left: [drawAxis({ ...view, picked: state.pick, answered: state.pick >= 0 }, figure, found.accuracy),
      make("div", { class: "mixture", role: "img", "aria-label": found.headline }, squares),
      make("label", { class: "slider", "data-keep": "share" }, make("span", {}, "Hard sentences in 100"),
        make("input", { type: "range", min: 0, max: 100, step: figure.step, value: share, "data-id": "share", oninput: moved })),
      make("div", { class: "below" }, say(`${found.note} Which of your own texts are hard?`), fact(figure.mixture))],
  };
};

const LESSON = {
  ownStage: 2,
  stages: [
    (view) => ({
      left: [drawAxis(view, { test: view.figure.test }), drawKinds(view.figure.kinds, view, false),
        make("p", { class: "sentence" }, make("q", {}, view.figure.example.text), make("br"), "One of the harder sentences. Each square is one sentence.")],
      side: [say(view.question.ask), drawOptions(view)],
    }),
    (view) => ({ left: [drawAxis(view, view.figure), drawKinds(view.figure.kinds, view, true), drawSentence(view.figure)] }),
    drawMixture,
    (view) => {
      const { figure, question, answered } = view, { other } = figure;
      return {
        left: [drawAxis(view, answered ? other : { test: other.test }), drawKinds(other.kinds, { ...view, figure: other }, answered), answered ? drawSentence(other) : ""],
        side: answered ? [drawOptions(view, question.right)] : [say(question.ask), drawOptions(view)],
      };
    },
  ],
  sheet: (view) => [drawAxis(view, { test: view.figure.test })],
};
