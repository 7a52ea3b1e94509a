// Which word decides? A sentence whose words are buttons, the answer without each word beside its attention, and all sets of words.
const isPositive = (p) => p >= .5;
const nameAnswer = (figure, positive) => nameProbability(figure.classes, positive);

// The sentence; `gone` are the bits of the words that are removed. Without `press` the words are no buttons.
const drawWords = (sentence, { mine = -1, flips = -1, gone = 0, press = null, toggles = false }) => make("p", { class: "words" }, sentence.words.map((word, place) => {
  const away = Boolean(gone >> place & 1), is = `word ${mine === place ? "mine" : ""} ${flips === place ? "flips" : ""} ${away ? "gone" : ""}`;
  const inside = [word, mine === place ? make("small", { class: "mark" }, "you") : ""];
  return [sentence.before[place], press ? make("button", {
    type: "button", class: is, "data-id": `word-${place}`, "aria-pressed": String(toggles ? away : mine === place), "aria-label": `${toggles ? "Remove " : ""}${word}${mine === place ? ", your choice" : ""}`,
    onclick: () => press(place), onkeydown: (event) => walkWords(event, place),
  }, inside) : make("span", { class: is }, inside)];
}), sentence.after);
const walkWords = (event, place) => { // along the sentence with up and down: left and right are the stages
  const to = event.currentTarget.closest(".words").querySelector(`[data-id="word-${place + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN)}"]`);
  if (to) { event.preventDefault(); to.focus(); }
};

// A row for each word: the answer without it, and below the same name its attention.
const drawRows = (figure, sentence, { mine = -1, alone = sentence.alone, from = sentence.positive, gone = 0, attention = true, waiting = false }) => {
  const most = attention ? Math.max(...sentence.attention) : 1;
  return make("table", { class: `effects ${waiting ? "waiting" : ""}` }, make("thead", {}, make("tr", {}, ["", `P(${figure.classes[1]}) without the word`, ...(attention ? ["attention"] : [])].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, sentence.words.map((word, place) => {
      const p = alone[place], flips = !waiting && isPositive(p) !== isPositive(from), away = Boolean(gone >> place & 1);
      return make("tr", { class: `${flips ? "flips" : ""} ${away ? "gone" : ""} ${mine === place ? "mine" : ""}` },
        make("th", { scope: "row" }, word, mine === place ? make("small", { class: "mark" }, "you") : ""),
        make("td", {}, make("span", { class: "share" }, make("i", { style: waiting ? null : `--p:${100 * (1 - p)}%` }), make("b", {}, away ? "put back " : "", waiting ? "" : write(p)))),
        attention ? make("td", {}, make("span", { class: "read" }, make("i", { style: waiting ? null : `--p:${100 * sentence.attention[place] / most}%` }), make("b", {}, waiting ? "" : write(sentence.attention[place])))) : "");
    })));
};
const drawBar = (figure, positive, before) => make("div", { class: "said" }, drawAnswer(figure.classes, positive, before));

const LESSON = {
  own: "bits",
  stages: [
    (view) => {
      const { figure, picked } = view, { first } = figure;
      return {
        left: [drawWords(first, { mine: picked, press: view.choose }), drawBar(figure, first.positive, null), drawRows(figure, first, { mine: picked, waiting: true })],
        side: [say("Click the word."), fact("The bar shows the answer to the whole sentence.")],
        note: picked >= 0 ? `Your choice: ${first.words[picked]}.` : "",
      };
    },
    (view) => {
      const { figure, picked } = view, { first } = figure;
      return { left: [drawWords(first, { mine: picked, flips: first.deciding }), drawBar(figure, first.positive, null), drawRows(figure, first, { mine: picked })] };
    },
    (view) => {
      const { figure, state, models: [model], own: typed } = view, first = typed ? splitText(typed, model) : figure.first, right = typed ? MOST_WORDS : first.deciding;
      const split = model && splitText(first.text, model), measure = (bits) => (model ? readWithout(model, split, bits) : figure.sets[bits] / 1e6), whole = measure(0);
      const bits = Math.min(2 ** first.words.length - 1, Math.max(0, Math.round(+state.set) || 0)), positive = measure(bits), flipped = isPositive(positive) !== isPositive(whole);
      const off = first.words.filter((_, place) => bits >> place & 1), own = Boolean(bits >> right & 1), mine = typed ? -1 : state.pick;
      const press = (place) => view.change({ set: String(bits ^ 1 << place) });
      const next = own ? ` Put \u201c${first.words[right]}\u201d back and try others.` : "";
      return {
        headline: flipped ? `Flipped: ${nameAnswer(figure, positive)}.` : bits ? `Still ${nameAnswer(figure, positive)}.` : typed ? `${capitalize(nameAnswer(figure, whole))}.` : undefined,
        line: typed ? (/\p{L}/u.test(first.after) ? `Click one of the first ${MOST_WORDS} words to remove it.` : "Click words to remove them.") : undefined,
        left: [drawWords(first, { mine, gone: bits, press, toggles: true }), drawBar(figure, positive, whole),
          drawRows(figure, first, { mine, gone: bits, from: positive, alone: first.words.map((_, place) => measure(bits ^ 1 << place)), attention: false })],
        side: [say(off.length ? `Removed: ${off.join(", ")}.${next}` : "No word is removed yet."), fact("Each row: the answer after clicking that word."),
          bits ? make("button", { type: "button", class: "plain", "data-id": "all-back", onclick: () => view.change({ set: "" }) }, "Put all back") : ""],
      };
    },
    (view) => {
      const { figure, picked, answered } = view, { second } = figure;
      return {
        left: [drawWords(second, { mine: picked, flips: answered ? second.deciding : -1, press: answered ? null : view.choose }), drawBar(figure, second.positive, null), drawRows(figure, second, { mine: picked, waiting: !answered })],
        side: answered ? [] : [say("Click the word.")],
        note: "",
      };
    },
  ],
  sheet: (view) => [drawWords(view.figure.first, {}), drawBar(view.figure, view.figure.first.positive, null)],
};
