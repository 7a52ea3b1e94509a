// Start: predict, reveal, why, try yours, result. Each sentence brings the predictions without every subset of its words, so
// that nothing waits for the server until somebody types. Words arrive as data and become text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node[name] = value;
    else if (value !== "" && value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((each) => each !== "" && each !== null && each !== undefined && each !== false));
  return node;
};
const write = (value) => value.toFixed(2).replace("-", "\u2212");
const sign = (value) => (value >= 0.005 ? "+" : "") + write(Math.abs(value) < 0.005 ? 0 : value);
const quote = (word) => {
  const signs = [...word], short = signs.length > LONG_WORD ? `${signs.slice(0, LONG_WORD).join("")}\u2026` : word;
  return `\u201c${/[\u0590-\u08ff]/u.test(short) ? `\u2068${short}\u2069` : short}\u201d`; // keeps right-to-left words in place
};
const list = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);
const PREDICT = "predict", SEEN = "seen", WHY = "why", RESULT = "result";
const APPEAR = 0.12; // seconds between two words that get their colour
const SLOW = 300; // milliseconds after which waiting is shown
const STEPS = 5, FULL = 2.5; // shades of a word, and the least effect with the strongest one
const SCALES = [[88, 1], [200, 0.62], [Infinity, 0.45]]; // of the letters of a sentence with so many characters at most
const LONG_WORD = 24; // characters: a longer piece of a sentence may break

// The predictions of a sentence without some of its words; `gone` holds numbers of words.
const read = (question) => {
  const row = (gone) => question.subset.reduce((bits, word, i) => bits | (gone.has(word) ? 1 << i : 0), 0);
  const chances = (gone) => {
    const odds = [1, ...question.scores.map((column) => Math.exp(column[row(gone)]))];
    const sum = odds.reduce((a, b) => a + b);
    return odds.map((each) => each / sum);
  };
  const answer = (gone) => { const all = chances(gone); return all.indexOf(Math.max(...all)); };
  return { chances, answer, words: question.words.map(([start, end]) => question.text.slice(start, end)) };
};

export default function ({ data, parentElement, send }) {
  const root = parentElement.querySelector(".start");
  if (!root.live) {
    root.live = make("p", { class: "live", "aria-live": "polite" });
    root.page = make("div", { class: "page" });
    root.replaceChildren(root.live, root.page);
  }
  const subjectNow = JSON.stringify(data.subject);
  if (root.subject !== subjectNow) {
    root.subject = subjectNow;
    const own = !data.questions.length && !data.state; // no sentence of the list
    root.view = { at: data.at, stage: PREDICT, own, pick: -1, gone: new Set(), typed: "", asked: null, picks: new Map(), hands: new Map(), counting: false, appeared: 0 };
  }
  const view = root.view, { classes, order, ends } = data;
  const isEnd = (place) => (place === ends.minus ? "minus" : place === ends.plus ? "plus" : "");
  const link = (page, words, more = "", attributes = {}) => make("a", { href: data.links[page], "data-id": `to-${page}`, ...attributes }, make("b", {}, words), more && make("span", {}, more));
  const button = (id, words, onclick, attributes = {}) => make("button", { type: "button", "data-id": id, onclick, ...attributes }, words);

  // What is on the screen: a sentence of the list, or the one that was typed once the server has answered.
  const own = () => (view.own && view.asked && data.own?.number === view.asked.number ? data.own : null);
  const subject = () => (view.own ? own()?.question : data.questions[view.at]);
  const label = () => (view.own ? view.asked?.label : subject().label);
  const waiting = () => view.own && view.asked && !own();

  const show = (change) => { Object.assign(view, change); draw(); };
  const choose = (place) => {
    if (view.stage !== PREDICT || place === undefined || place >= classes.length) return;
    if (view.own) { ask(place); return; }
    view.picks.set(view.at, place);
    show({ stage: SEEN, pick: place, gone: new Set(), appeared: Date.now() });
  };
  const ask = (place) => {
    const text = view.typed.trim().replace(/\s+/gu, " ");
    if (!text) { root.page.querySelector("textarea")?.focus(); return; }
    const number = Date.now();
    send({ ask: { number, text, label: place } });
    show({ stage: SEEN, pick: place, gone: new Set(), asked: { number, text, label: place, since: number }, appeared: 0 });
    setTimeout(() => root.remind(), SLOW); // of the data that are the latest by then
  };
  const open = (at) => {
    if (at >= data.questions.length) { show({ stage: RESULT, own: false }); return; }
    if (at !== view.at) send({ at });
    show({ at, stage: PREDICT, own: false, pick: -1, gone: new Set() });
  };
  const next = () => (view.own ? tryOwn() : open(view.at + 1));
  const tryOwn = () => show({ stage: PREDICT, own: true, pick: -1, gone: new Set(), typed: "", asked: null });
  const leaveOwn = () => {
    if (!data.questions.length) { tryOwn(); return; }
    const pick = view.picks.get(view.at) ?? -1;
    show({ own: false, asked: null, pick, gone: new Set(), stage: pick < 0 ? PREDICT : SEEN });
  };
  const toggle = (word) => {
    view.gone.has(word) ? view.gone.delete(word) : view.gone.add(word);
    draw();
  };

  // The sentence: words have their colour once the answer is known, and are buttons where they can be removed.
  const sentence = () => {
    if (view.own && (view.stage === PREDICT || !subject())) {
      const field = make("textarea", { rows: 2, spellcheck: "false", dir: "auto", "data-id": "typed", "data-text": true, "aria-label": "Your sentence", placeholder: "Write a sentence that fools it", readonly: view.stage !== PREDICT });
      field.value = view.asked?.text ?? view.typed;
      field.oninput = () => { view.typed = field.value; };
      return field;
    }
    const question = subject(), { words } = read(question), shown = view.stage !== PREDICT && question.scores.length > 0;
    const pushes = question.effects.map((value) => (question.predicted === ends.minus ? -value : value));
    const top = Math.max(FULL, ...pushes.map(Math.abs));
    const parts = [];
    let after = 0;
    question.words.forEach(([start, end], place) => {
      const style = [`--turn:${(place * APPEAR - (Date.now() - view.appeared) / 1000).toFixed(2)}s`];
      const shade = Math.round(STEPS * Math.min(1, Math.abs(pushes[place]) / top));
      if (shown && shade) style.push(...["background", "color"].map((name, i) => `${name}:${data.ramps[pushes[place] > 0 ? "plus" : "minus"][shade][i]}`));
      const removable = view.stage === WHY && question.subset.includes(place), out = view.gone.has(place);
      const kind = [out && "out", shown && question.unknown.includes(place) && "unknown", shown && Date.now() - view.appeared < 3000 && "fresh"].filter(Boolean).join(" ");
      const word = removable
        ? button(`word-${place}`, words[place], () => toggle(place), { class: kind, style: style.join(";"), "aria-pressed": String(out), "aria-label": `${words[place]}, ${sign(pushes[place])}`, "data-mark": true })
        : make("span", { class: kind, style: style.join(";") }, words[place]);
      const number = view.stage === WHY ? make("small", { dir: "ltr", "aria-hidden": "true", "data-mark": true }, sign(pushes[place])) : "";
      parts.push([after, start, null], [start, end, make("span", { class: "word" }, word, number)]);
      after = end;
    });
    parts.push([after, question.text.length, null]);
    const scale = SCALES.find(([characters]) => question.text.length <= characters)[1];
    return make("ul", { class: "words", dir: "auto", style: `--scale:${scale}`, "data-text": true, "aria-label": question.text }, pieces(question.text, parts));
  };
  // Pieces between blanks stay together, so that a full stop never begins a line.
  const pieces = (text, parts) => {
    const found = [[]];
    for (const [start, end, node] of parts) {
      const texts = node ? [node] : text.slice(start, end).split(/(\s+)/u).filter(Boolean);
      for (const each of texts) {
        if (typeof each === "string" && !each.trim()) found.push([]);
        else found.at(-1).push(each);
      }
    }
    const lengths = (nodes) => nodes.reduce((sum, each) => sum + (each.textContent ?? each).length, 0);
    return found.filter((each) => each.length).flatMap((each) => [make("li", { class: lengths(each) > LONG_WORD ? "long" : "" }, each), " "]);
  };

  // One bar for all classes, the left end first. The notches show the answer before words were removed.
  const bar = (question) => {
    const reading = read(question), now = reading.chances(view.gone), before = reading.chances(new Set());
    const place = order.length === 2 ? [ends.minus, ends.plus] : order;
    const parts = place.map((each, i) => make("span", { class: isEnd(each) || "middle", style: `flex-grow:${now[each].toFixed(4)}`, title: `${classes[each]} ${write(now[each])}` },
      now[each] > 0.2 && make("i", { class: i && i === place.length - 1 ? "last" : "" }, `${classes[each]} ${write(now[each])}`)));
    let edge = 0;
    const notches = view.gone.size ? place.slice(0, -1).map((each) => { edge += before[each]; return make("u", { style: `left:${(100 * edge).toFixed(2)}%` }); }) : [];
    return make("div", { class: "bar", role: "img", "data-mark": true, "aria-label": place.map((each) => `${classes[each]} ${write(now[each])}`).join(", ") }, parts, notches);
  };
  // Whose mark stands on which side of the bar.
  const marks = () => {
    const counts = view.own ? null : view.hands.get(view.at), true_ = view.own ? "you mean" : "true label";
    const of = (place) => [
      view.pick === place && !view.own && make("b", {}, "\u25bc you"),
      label() === place && (view.own ? make("b", {}, "\u25bc you mean") : true_),
      counts?.some((each) => each) && `class ${counts[place] ?? 0}`,
    ].filter(Boolean).flatMap((each, i) => (i ? [" \u00b7 ", each] : [each]));
    const two = order.length === 2 ? [ends.minus, ends.plus] : null;
    const rest = order.filter((place) => of(place).length).flatMap((place, i) => [i ? " \u00b7 " : "", of(place), ` (${classes[place]})`]);
    return make("div", { class: "marks" }, two ? two.map((place) => make("span", {}, of(place))) : make("span", {}, rest));
  };

  const verdict = (question) => {
    const said = classes[question.predicted], meant = classes[label()], right = view.pick === label();
    const fooled = question.predicted !== label(), bad = make("span", { class: "bad" }, "Fooled.");
    const truth = data.writer ? `The writer means ${meant}.` : `The true label is ${meant}.`;
    if (view.own) return fooled ? [bad, ` It says ${said}. You mean ${meant}.`] : [`Not fooled. It says ${said}, as you do.`];
    if (fooled && right) return [bad, ` It says ${said}. You were right.`];
    if (fooled) return [view.pick === question.predicted ? `It says ${said}, and so did you. ${truth}` : `It says ${said}. ${truth}`];
    return [right ? `It says ${said}. You were both right.` : `It says ${said} and is right. This one fooled you.`];
  };
  const reason = (question) => {
    const { words, answer } = read(question), { effects, predicted, subset } = question;
    const most = Math.max(...effects), lead = effects.indexOf(most), unknown = question.unknown.length;
    const first = most > 0 ? `${quote(words[lead])} pushes most towards ${classes[predicted]}.` : "No single word decides.";
    // Of the removals that are as short, the one of the words with the largest effects: it fits the colours.
    const others = subset.filter((word) => word !== lead).sort((a, b) => effects[b] - effects[a]);
    const removals = question.flip.length === 1 ? [[lead]] : others.map((word) => [lead, word].sort((a, b) => a - b));
    const flip = question.flip.length ? removals.find((gone) => answer(new Set(gone)) !== predicted) ?? question.flip : [];
    const without = flip.length === 1 && flip[0] === lead && most > 0 ? "it," : list(flip.map((word) => quote(words[word])));
    const turned = flip.length ? ` Without ${without} the model says ${classes[answer(new Set(flip))]}.`
      : words.length > 2 ? " Removing two words does not flip the answer." : "";
    const strange = unknown ? ` ${unknown === 1 ? "1 word is" : `${unknown} words are`} unknown to the model.` : "";
    return `${first}${turned}${strange}`;
  };
  const removal = (question) => {
    const { words, answer } = read(question), gone = [...view.gone].sort((a, b) => a - b).map((word) => quote(words[word]));
    if (!gone.length) return "Click a word to remove it. The bar answers at once.";
    return `Removed: ${gone.join(", ")}. ${answer(view.gone) === question.predicted ? "Not enough to flip it." : "The answer flips."}`;
  };

  const header = () => make("header", {}, make("b", {}, "Sentiscope"), make("nav", { "aria-label": "Pages" }, [["lessons", "Lessons"], ["runs", "Runs"], ["train", "Train"], ["data", "Your data"]].map(([page, words]) => make("a", { href: data.links[page], "data-id": `head-${page}` }, words))));
  const note = (title, words, action) => make("div", { class: "note", role: "status" }, make("span", {}, title && make("b", {}, title), words), action && button("begun", action, () => send({ open: "begun" }), { class: "link" }));
  const notes = () => (data.note ? note("", data.note) : data.again && note("Continue: ", data.again.text, data.again.action)); // there is room for one
  const model = () => data.model && make("a", { href: data.links.runs, "data-id": "model", title: "The model that answers" }, `Model ${data.model}`);
  const dots = () => make("div", { class: "dots" }, view.own ? "Your sentence" : [
    make("span", { "aria-hidden": "true" }, data.questions.map((question, at) => make("i", { class: view.picks.has(at) && question.scores.length ? (question.predicted === question.label ? "ok" : "no") : at === view.at ? "at" : "" }))),
    `Sentence ${view.at + 1} of ${data.questions.length}`], model());

  const buttons = () => {
    if (view.counting && !view.own && !view.hands.has(view.at)) view.hands.set(view.at, []);
    const counts = view.counting && !view.own ? view.hands.get(view.at) : null;
    return make("div", { class: `choose${order.length > 2 ? " many" : ""}`, role: "group", "aria-label": "Classes" }, order.map((place, i) =>
      button(`class-${place}`, [make("span", {}, classes[place]), counts && make("em", {}, `${counts[place] ?? 0} hands`), order.length > 2 && i < 9 && make("kbd", {}, String(i + 1))], () => choose(place), { class: isEnd(place) })));
  };
  const hands = () => {
    const counts = view.hands.get(view.at);
    const fields = order.map((place) => {
      const field = make("input", { type: "number", min: 0, max: 999, "data-id": `hands-${place}`, value: counts[place] ?? "", "aria-label": `Hands for ${classes[place]}` });
      field.oninput = () => {
        counts[place] = Math.max(0, Math.min(999, Math.round(+field.value) || 0));
        root.page.querySelector(`[data-id="class-${place}"] em`).textContent = `${counts[place]} hands`;
      };
      return make("label", {}, `${classes[place]} `, field);
    });
    return [...fields, button("hands", "Clear hands", () => { view.hands.delete(view.at); show({ counting: false }); }, { class: "link" })];
  };
  const back = () => data.questions.length > 0 && button("back", "Back to the sentences", leaveOwn, { class: "link" });
  const hint = () => {
    const keys = order.length === 2 ? ["\u2190", "\u2192"].map((each) => make("kbd", {}, each)) : [];
    if (view.own) return make("div", { class: "hint" }, make("span", {}, "Then the model answers."), make("span", {}, keys), back());
    if (view.counting) return make("div", { class: "hint" }, hands());
    return make("div", { class: "hint" }, make("span", {}, data.state ? "Choose first." : "The model has answered. Choose first."), make("span", {}, keys),
      button("hands", "Show of hands", () => { show({ counting: true }); root.page.querySelector("input").focus(); }, { class: "link" }));
  };

  const predict = () => [make("h1", { class: "ask" }, view.own ? "What do you mean by it?" : data.ask), buttons(), hint()];
  const panel = ({ title, text, action, other, bad }) => make("div", { class: `state${bad ? " bad" : ""}`, role: "status" }, make("h1", {}, title), make("p", {}, text),
    make("div", {}, action && make("a", { class: "go", href: action.href, "data-id": "action" }, action.text), other && make("a", { href: other.href, "data-id": "other" }, other.text)));
  const saving = () => {
    const rest = data.saved >= data.enough ? button("train", "Train with them", () => send({ open: "train" }), { class: "link" }) : `From ${data.enough} on you can train with them.`;
    return make("span", { class: "count" }, data.saved ? `${data.saved} saved. ` : "", data.saved ? rest : "");
  };
  const actions = (question) => {
    const kept = view.own && own()?.saved, fooled = view.own && question.predicted !== label();
    const save = () => send({ save: { number: view.asked.number } });
    const main = !view.own ? button("next", [view.at + 1 < data.questions.length ? "Next sentence" : "Result", make("kbd", {}, "\u2192")], next, { class: data.state ? "link" : "go" })
      : fooled ? button("save", kept ? "Saved" : "Save this sentence", save, { class: "go", "aria-disabled": kept ? "true" : null, ...(kept ? { onclick: null } : {}) })
        : button("again", ["Try another", make("kbd", {}, "\u2192")], tryOwn, { class: "go" });
    const why = view.stage === WHY ? button("why", "Put all back", () => show({ gone: new Set() }), { class: "link" }) : button("why", ["Why?", make("kbd", {}, "w")], () => show({ stage: WHY, appeared: 0 }), { class: "link" });
    return make("div", { class: "acts" }, main, !data.state && why, view.own && fooled && button("again", "Try another", tryOwn, { class: "link" }),
      view.own ? back() : !data.state && button("own", "Try your own", tryOwn, { class: "link" }), view.own && saving());
  };
  const seen = () => {
    if (data.state) return [marks(), panel(data.state), actions(subject())];
    const answered = own(), question = subject();
    if (answered?.problem) {
      return [make("div", { class: "marks" }), make("div", { class: "bar empty" }), make("h1", {}, "It cannot answer."), make("p", { class: "why" }, answered.problem),
        make("div", { class: "acts" }, button("again", "Try another", tryOwn, { class: "go" }), make("a", { href: answered.link, "data-id": "sentence" }, "Open it in Sentence"))];
    }
    if (!question) return [marks(), make("div", { class: "bar empty" }, Date.now() - view.asked.since >= SLOW && make("i", {}, "Reading \u2026"))];
    const now = read(question).answer(view.gone), turned = now !== question.predicted;
    const head = view.stage === WHY ? [`${turned ? "Now it" : "The model"} says ${classes[now]}.`] : verdict(question);
    return [marks(), bar(question), make("h1", {}, head), make("p", { class: "why" }, view.stage === WHY ? removal(question) : reason(question)), actions(question)];
  };

  const score = () => [...view.picks].reduce(([you, model], [at, pick]) => [you + (pick === data.questions[at].label), model + (data.questions[at].predicted === data.questions[at].label)], [0, 0]);
  const footer = () => {
    const [you, model] = score();
    return make("footer", {}, make("div", { class: "score", hidden: !data.questions.length, "aria-label": "Score", role: "group" }, make("span", {}, "You"), make("b", {}, String(you)), !data.state && [make("span", {}, "Model"), make("b", {}, String(model))]),
      make("nav", { "aria-label": "Go on" }, link("lessons", "Lessons", "10 to 15 minutes"), link("train", "Train a model", "about 1 minute"), link("data", "Use your data", "CSV or Excel")));
  };
  const result = () => {
    const [you, model] = score(), n = view.picks.size;
    const rows = [...view.picks.keys()].sort((a, b) => a - b).map((at) => data.questions[at]);
    const told = (question) => (question.predicted === question.label ? "model right" : make("b", {}, "model fooled"));
    const ways = [["accuracy", "Why does it fail?", "Lesson: Can you trust accuracy?", "10 min"], ["sentence", "What happens inside?", "Open a sentence in the model", ""],
      ["train", "Make it better", "Train a model while you watch", "about 1 min"], ["data", "Use your own data", "CSV, Excel or text files", ""]];
    return make("div", { class: "main low" }, make("h1", { class: "big" }, `You got ${you} of ${n} right.`, !data.state && ` The model got ${model}.`),
      make("p", { class: "why" }, data.accuracy, " ", button("first", "Play again", () => { view.picks.clear(); open(0); }, { class: "link" }), " ", view.saved, data.saved > 0 && saving()),
      make("ul", { class: "sum" }, rows.map((question) => make("li", { "data-text": true }, make("span", {}, question.text), !data.state && make("em", {}, told(question))))),
      make("nav", { class: "ways", "aria-label": "Go on" }, ways.map(([page, title, words, time]) => make("a", { href: data.links[page], "data-id": `way-${page}` }, make("b", {}, title), make("span", {}, words), make("span", {}, time)))));
  };

  const draw = () => {
    const focused = root.getRootNode().activeElement?.dataset?.id;
    const place = make("div", { class: "sentence" }), body = [];
    if (view.stage === RESULT) body.push(header(), notes(), result());
    else if (!data.questions.length && data.state) body.push(header(), notes(), make("div", { class: "main" }, panel(data.state)), footer());
    else {
      place.append(sentence());
      body.push(header(), notes(), make("div", { class: "main" }, dots(), place, view.stage === PREDICT ? predict() : seen()), footer());
    }
    root.page.replaceChildren(...body.flat().filter(Boolean));
    root.live.textContent = view.stage === PREDICT ? "" : [...root.page.querySelectorAll(".main > h1, .main > .why")].map((each) => each.textContent).join(" ");
    if (focused || view.own) refocus(focused);
  };
  // The focus stays where it was; what is gone hands it to the main button, or to the field of one's own sentence.
  const refocus = (focused) => {
    const find = (id) => root.page.querySelector(`[data-id="${CSS.escape(id)}"]`);
    const first = view.own && view.stage === PREDICT && !focused?.startsWith("class-") ? "typed" : "";
    const node = (first && find(first)) || (focused && find(focused)) || (focused && root.page.querySelector(".go, .choose button"));
    node?.focus({ preventScroll: true });
  };

  const press = (event) => {
    const target = event.composedPath()[0], typing = target.matches?.("input, textarea, select, [contenteditable]");
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !root.isConnected) return;
    if (event.key === "Escape" && view.own) {
      event.preventDefault();
      view.typed || view.asked ? tryOwn() : leaveOwn();
      return;
    }
    if (typing) {
      if (event.key === "Enter" && !event.shiftKey && root.contains(target)) {
        event.preventDefault();
        const fields = [...root.page.querySelectorAll(".main input")], after = fields[fields.indexOf(target) + 1];
        (after ?? root.page.querySelector(".choose button"))?.focus();
      }
      return;
    }
    if (event.repeat) return; // a key held down answers no sentence that nobody has read
    const side = { ArrowLeft: ends.minus, ArrowRight: ends.plus }[event.key], digit = /^[1-9]$/.test(event.key) ? order[+event.key - 1] : undefined;
    const elsewhere = !root.contains(target) && target.closest?.("[data-testid=stSidebar], [role=dialog]");
    if (elsewhere || view.stage === RESULT || (!data.questions.length && !view.own)) return;
    if (view.stage === PREDICT) {
      const place = order.length === 2 && side !== undefined ? side : digit;
      if (place !== undefined) { event.preventDefault(); choose(place); }
    } else if (waiting()) return;
    else if (event.key === "ArrowRight" || (event.key === "Enter" && target === document.body)) { event.preventDefault(); next(); }
    else if (event.key === "w" && !data.state && subject()) { event.preventDefault(); view.stage === WHY ? show({ gone: new Set() }) : show({ stage: WHY, appeared: 0 }); }
  };
  root.remind = () => { if (waiting()) draw(); };
  if (root.press) document.removeEventListener("keydown", root.press);
  root.press = press;
  document.addEventListener("keydown", press);
  if (own() && !view.asked.shown) { view.asked.shown = true; view.appeared = Date.now(); }
  draw();
  return () => document.removeEventListener("keydown", root.press);
}
