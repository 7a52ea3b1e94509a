// The frame of a lesson: strip, headline, figure beside text, one button, notes, class and sheet. The script of the lesson
// itself stands before this one and defines LESSON:
//   stages: four functions of a view, one for each stage, which return { left, side, headline, line, say, wide, note };
//           all but `left` may be missing, and replace what the frame would say;
//   sheet:  a function of a view that returns the nodes of the printed figure.
// A view is { content, figure, state, question, picked, answered, asking, choose(number), change(fields), models, own }: `picked` is the
// number of the choice or -1, `asking` whether one can still be made; `change({ set })` keeps what was moved in the link.
// A file has `models` that read any sentence, and `own` is the one that was typed, in stage LESSON.ownStage (3). LESSON.own: its
// figure shows that sentence; "bits": `set` are then the bits of what is removed from it.
// Words arrive as data and become text nodes only.
const NS = "http://www.w3.org/2000/svg", LETTERS = "ABCDEFGH", LEAST = 5, PAUSE = 250, RETRY = 4000; // milliseconds
const VISITOR = "sentiscope-visitor"; // a cookie for as long as the browser is open: each counts once, also after a reload
const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node[name] = value;
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter((child) => child !== "" && child !== null && child !== undefined));
  return node;
};
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const vector = (tag, attributes = {}, ...children) => fill(document.createElementNS(NS, tag), attributes, children);
const write = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");
const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);
// Replaces the children of a node; one with `data-keep` stays in place as long as the new ones have its name too, so that a
// slider that is being dragged and a field that is being typed in are not taken away. It gets the handlers of the new one.
const HANDLERS = ["oninput", "onchange", "onclick"];
const arrange = (node, children) => {
  const old = new Map([...node.children].filter((child) => child.dataset.keep).map((child) => [child.dataset.keep, child]));
  const next = [children].flat(4).filter(Boolean).map((child) => {
    const kept = old.get(child.dataset?.keep);
    if (!kept) return child;
    const fresh = [child, ...child.querySelectorAll("*")];
    [kept, ...kept.querySelectorAll("*")].forEach((each, number) => HANDLERS.forEach((name) => { each[name] = fresh[number]?.[name] ?? null; }));
    return kept;
  });
  [...node.childNodes].filter((child) => !next.includes(child)).forEach((child) => child.remove());
  next.forEach((child, number) => { if (node.childNodes[number] !== child) node.insertBefore(typeof child === "string" ? document.createTextNode(child) : child, node.childNodes[number] ?? null); });
};
const say = (...children) => make("p", { class: "say" }, ...children);
const fact = (...children) => make("p", { class: "fact" }, ...children);

// Answers below each other, with the letter of their key. After the answer is known `right` is tinted and says so.
const drawOptions = (view, right = -1) => make("div", { class: "options", role: "group", "aria-label": view.question.ask },
  view.question.choices.map(({ label }, place) => make("button", {
    type: "button", "data-id": `option-${place}`, disabled: !view.asking, "aria-pressed": String(view.picked === place), class: place === right ? "right" : "",
    onclick: () => view.choose(place),
  }, make("kbd", {}, LETTERS[place]), label, make("small", {}, [view.picked === place ? "you" : "", place === right ? "right" : ""].filter(Boolean).join(", ")))));

// The answer of a two-class model as one bar; a notch where it was before.
const drawAnswer = (classes, positive, before = null) => make("div", {
  class: "answer", role: "img", "aria-label": classes.map((name, place) => `${name} ${write(place ? positive : 1 - positive)}`).join(", "),
}, [1 - positive, positive].map((share, place) => make("span", { class: place ? "plus" : "minus", style: `flex-grow:${share.toFixed(3)}` },
  share > .36 ? `${classes[place]} ${write(share)}` : "")),
before !== null && Math.abs(before - positive) > .01 ? make("i", { class: "before", style: `left:${(100 * (1 - before)).toFixed(1)}%` }) : "");

// The words of a typed text, as in `core.lessons.lesson.split_text`, with the start and end of each.
const MOST_WORDS = 14; // that can be removed, so that their rows fit on a projector
const splitText = (text, { tokenizer }) => {
  const spans = tokenizer.findWords(text).filter((span) => /[\p{L}\p{N}]/u.test(text.slice(...span))).slice(0, MOST_WORDS), at = (place) => spans[place]?.[1] ?? 0;
  return { text, spans, words: spans.map((span) => text.slice(...span)), before: spans.map(([start], place) => text.slice(at(place - 1), start)), after: text.slice(at(spans.length - 1)) };
};
// The probability of the second class without the words of some bits, the last word first.
const readWithout = ({ read, tokenizer }, { text, spans }, bits) =>
  read(spans.filter((_, place) => bits >> place & 1).reverse().reduce((left, span) => tokenizer.removeWord(left, span), text)).probabilities[1];
const nameProbability = (classes, positive) => `${classes[Number(positive >= .5)]} ${write(Math.max(positive, 1 - positive))}`;
// The answer to a typed sentence, and without the word that changes it most.
const drawTyped = (model, own) => {
  const sentence = splitText(own, model), whole = readWithout(model, sentence, 0), alone = sentence.words.map((_, place) => readWithout(model, sentence, 1 << place));
  const moved = alone.map((p) => Math.abs(p - whole)), most = moved.indexOf(Math.max(...moved));
  return [drawAnswer(model.classes, whole), most < 0 ? "" : fact(`Without \u201c${sentence.words[most]}\u201d: ${nameProbability(model.classes, alone[most])}.`)];
};

const EMPTY = { step: 1, pick: -1, again: -1, set: "", notes: false, sheet: false };

export default function ({ data, parentElement, send }) {
  const root = parentElement.querySelector(".lesson"), { lesson, content } = data;
  const start = () => ({ ...EMPTY, ...data.state, reached: Math.max(data.state.step, data.state.again >= 0 ? 4 : 1), panel: "", said: "", own: "" });
  if (data.server) document.cookie = `${VISITOR}=${data.visitor}; path=/; SameSite=Strict`;
  if (!root.state) Object.assign(root, { state: start(), hands: [[], []] }); // from then on the link follows
  if (data.problem !== root.problem) { root.problem = data.problem; if (data.problem) root.state.said = data.problem; }
  const state = root.state;
  root.models ??= (data.models ?? []).map(({ model, weights }) => openModel(model, weights));

  Object.assign(root, { send, confirmed: data.confirmed ?? 0 });
  const push = (change) => { // a busy page may not hear it: it is told again until a drawing confirms it
    root.told = Date.now();
    root.send(change);
    clearTimeout(root.again);
    if (data.server) root.again = setTimeout(() => root.confirmed < root.told && push({}), RETRY);
  };
  const tell = () => { // what the link has to restore goes to the page, and an answer into the tally
    clearTimeout(root.waiting);
    root.waiting = setTimeout(() => {
      push({ state: Object.fromEntries(Object.keys(EMPTY).map((field) => [field, state[field]])) });
    }, PAUSE);
  };
  const change = (fields) => { Object.assign(state, fields, { said: "" }); root.draw(); tell(); };
  // Each stage is an entry of the history, which `history.js` would replace: *Back* leads to the stage before.
  const address = (step) => { const link = new URL(location.href); link.searchParams.set("step", step); return link; };
  const open = (step) => {
    if (data.server && step !== state.step) {
      history.replaceState(history.state, "", address(state.step));
      History.prototype.pushState.call(history, history.state, "", address(step));
    }
    change({ step, reached: Math.max(state.reached, step) });
  };
  const goBack = () => {
    const asked = Number(new URL(location.href).searchParams.get("step")) || 1, step = Math.min(asked, state.reached);
    if (location.pathname.endsWith("/lesson") && step !== state.step) change({ step });
  };
  const turn = () => (state.step < 4 ? 0 : 1); // of the two questions
  const isAsking = () => (state.step === 1 && state.reached === 1) || (state.step === 4 && state.again < 0);
  const choose = (number) => isAsking() && change(turn() ? { again: number } : { pick: number });
  const view = () => {
    const picked = turn() ? state.again : state.pick;
    return { content, figure: content.figure, state, question: content.questions[turn()], picked, answered: picked >= 0, asking: isAsking(), choose, change, models: root.models, own: state.own.trim() };
  };

  // ---- class -----------------------------------------------------------------------------------------------------------
  const getTally = () => {
    const counted = window.sentiscopeTally;
    if (data.room) return counted?.room === data.room.code ? counted : { answered: [0, 0], counts: [null, null] };
    const answered = root.hands.map((row) => row.reduce((sum, n) => sum + (n || 0), 0));
    return { answered, counts: root.hands.map((row, turn) => (answered[turn] < LEAST ? null : content.options.map((_, place) => row[place] || 0))) };
  };
  const drawTally = (after) => {
    const { answered, counts } = getTally();
    if (!data.room && !answered[0] && !answered[1]) return "";
    if (!counts[0] && !counts[1]) return fact(`${answered[after ? 1 : 0]} answered. Bars appear from ${LEAST} answers.`);
    const top = Math.max(1, ...counts.flatMap((row) => row ?? []));
    const turns = after ? [0, 1] : [0];
    const bar = (turn, place) => make("i", { class: turn ? "after" : "", style: `width:${(100 * (counts[turn]?.[place] ?? 0)) / top}%` });
    return make("section", { class: "tally" }, make("h2", {}, after ? "Class: before and after" : "Class: first answers"),
      make("ul", {}, content.options.map((label, place) => make("li", {}, make("span", {}, label), make("span", {}, turns.map((turn) => bar(turn, place))),
        make("em", {}, turns.map((turn) => make(turn ? "b" : "span", {}, counts[turn] ? String(counts[turn][place]) : "\u2013")))))),
      after ? fact("Outline: before. Filled: after.") : "");
  };
  const clear = () => { Object.assign(root, { hands: [[], []], cleared: (root.cleared ?? 0) + 1 }); push({ reset: true }); root.draw(); };
  const drawClass = () => {
    const opened = data.room, own = opened?.own ?? true;
    // Hands are raised for a choice on the screen, which need not be the same row of the tally in both questions.
    const [shown, again] = content.questions.map((question) => question.choices.map(({ label }) => label));
    const few = shown.length <= LETTERS.length && shown.join() === again.join(), rows = few ? shown : content.options;
    const field = (turn, row, place = few ? content.questions[turn].choices[row].option : row) => make("input", {
      type: "number", min: 0, max: 999, value: root.hands[turn][place] ?? "", "data-id": `hand-${turn}-${place}`,
      "aria-label": `${rows[row]}, ${turn ? "second" : "first"} question`,
      oninput: (event) => {
        root.hands[turn][place] = Math.min(999, Math.max(0, Math.round(+event.target.value) || 0));
        clearTimeout(root.typing);
        root.typing = setTimeout(() => {
          if (opened) push({ hands: content.options.map((_, at) => [0, 1].map((each) => root.hands[each][at] || 0)) });
          root.draw();
        }, PAUSE);
      },
    });
    return panel(`class-${opened?.code}-${own}-${root.cleared ?? 0}`, "Class poll",
      data.server ? [make("h3", {}, "On their own devices"), opened
        ? [make("p", {}, "Open ", make("b", { class: "address" }, opened.link)), opened.note ? fact(opened.note) : "",
           fact("Nobody is named. Each device counts once."),
           own ? make("button", { type: "button", class: "plain", "data-id": "reset", onclick: clear }, "Delete all answers") : ""]
        : make("button", { type: "button", class: "plain", "data-id": "open", onclick: () => push({ open: true }) }, "Open a class poll")] : "",
      own ? [make("h3", {}, "Raised hands"), make("table", {}, make("thead", {}, make("tr", {}, ["Answer", "before", "after"].map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {}, rows.map((label, row) => make("tr", {}, make("th", { scope: "row" }, label), [0, 1].map((turn) => make("td", {}, field(turn, row)))))))] : "");
  };
  const drawNotes = () => panel("notes", "Teacher\u2019s notes",
    make("ul", {}, lesson.plan.map(([minute, text]) => make("li", {}, make("span", {}, `${minute} min`), make("span", {}, text)))),
    make("h3", {}, "What students often think"), make("p", {}, lesson.belief),
    make("h3", {}, "If something fails"), make("p", {}, "Print the worksheet before class. Page 2 has the answers."),
    data.server ? make("a", { href: data.notes, target: "_blank", rel: "noopener" }, "Open notes in a second window") : "");
  const panel = (keep, title, ...children) => make("aside", { class: "panel", "aria-label": title, "data-keep": keep },
    make("button", { type: "button", class: "close", "aria-label": `Close: ${title}`, "data-id": "close", onclick: () => toggle(state.panel) }, "\u00d7"), make("h2", {}, title), ...children);
  const toggle = (name) => {
    state.panel = state.panel === name ? "" : name;
    change({ notes: state.panel === "notes" });
    root.querySelector(state.panel ? ".panel button" : `[data-id="key-${name}"]`)?.focus();
  };

  // ---- sheet -----------------------------------------------------------------------------------------------------------
  const drawSheet = () => {
    const blank = { ...state, ...EMPTY }, lines = (number) => Array.from({ length: number }, () => make("p", { class: "rule" }));
    const printed = { ...view(), state: blank, question: content.questions[0], picked: -1, answered: false, asking: false };
    const tick = () => (content.questions[0].choices.length <= 6 ? make("ul", { class: "boxes" }, content.questions[0].choices.map(({ label }) => make("li", {}, label))) : "");
    return [
      make("article", { class: "leaf" }, make("p", { class: "name" }, "Name", make("u"), "Date", make("u")), make("h1", {}, lesson.title), LESSON.sheet(printed),
        lesson.stages.map((stage, place) => [make("h2", {}, `${place + 1}  ${stage}`), make("p", {}, content.tasks[place]), place === 0 || place === 3 ? tick() : "", lines(place % 3 ? 1 : 2)])),
      make("article", { class: "leaf" }, make("h1", {}, `Answers: ${lesson.title}`),
        lesson.stages.map((stage, place) => [make("h2", {}, `${place + 1}  ${stage}`), make("p", {}, content.answers[place])]), make("p", {}, content.fact)),
    ];
  };

  // ---- page ------------------------------------------------------------------------------------------------------------
  const KEYS = { n: "notes", l: "link", p: "sheet", c: "class" }, TITLES = { sheet: "worksheet", class: "class poll" };
  const isLettered = () => isAsking() && view().question.choices.length <= LETTERS.length; // then C is an answer, and Shift C the class
  const press = (key) => {
    if (key === "n") toggle("notes");
    else if (key === "c") toggle("class");
    else if (key === "p") { if (state.sheet) window.print(); else change({ sheet: true }); }
    else if (key === "l") copy();
  };
  const copy = async () => {
    const link = data.server ? location.href : lesson.link;
    try { await navigator.clipboard.writeText(link); state.said = "The link to this stage is copied."; } catch { state.said = `Link: ${link}`; }
    root.draw();
  };
  const drawStrip = () => {
    const { answered } = getTally();
    return [data.server ? make("a", { href: "lessons" }, "Lessons") : "", make("b", {}, lesson.title),
      make("ol", { "aria-label": "Stages" }, lesson.stages.map((name, place) => make("li", {}, make("button", {
        type: "button", "data-id": `stage-${place}`, "aria-current": state.step === place + 1 ? "step" : false, disabled: place + 1 > state.reached,
        onclick: () => open(place + 1),
      }, `${place + 1}  ${name}`)))),
      make("span", { class: "count" }, data.room ? `${answered[turn()]} answered` : "")];
  };
  const drawEnd = (shown) => {
    const { step } = state, stage = content.stages[step - 1], ready = step > 1 || state.pick >= 0;
    const last = step === 4 ? (data.server ? make("a", { class: state.again >= 0 ? "go" : "", href: lesson.next.href }, lesson.next.title) : "")
      : make("button", { type: "button", class: "go", "data-id": "next", disabled: !ready, onclick: () => open(step + 1) }, stage.button, make("kbd", {}, "\u2192"));
    return [last,
      step === 1 && state.pick < 0 && state.reached === 1 ? make("button", { type: "button", class: "plain", "data-id": "show", onclick: () => open(2) }, "Show without answering") : "",
      make("span", { class: "note" }, state.said || (shown.note ?? (step === 1 ? (state.pick >= 0 ? "Your mark stays on the figure." : "") : ""))),
      step === 4 && state.again >= 0 ? [data.server ? content.ways.map(({ label, href }) => make("a", { href }, label)) : "",
        make("button", { type: "button", class: "plain", "data-id": "restart", onclick: () => { change({ ...EMPTY, reached: 1 }); } }, "Start again")] : "",
      make("span", { class: "keys" }, Object.entries(KEYS).map(([key, name]) => make("button", { type: "button", "data-id": `key-${name}`, onclick: () => press(key) }, make("kbd", {}, key === "c" && isLettered() ? "\u21e7 c" : key), ` ${TITLES[name] ?? name}`)))];
  };
  const compose = () => {
    const shown = view(), stage = content.stages[state.step - 1], drawn = LESSON.stages[state.step - 1](shown);
    const after = state.step === 4 && shown.answered, reveal = state.step === 2;
    const feedback = reveal || after ? (shown.answered ? shown.question.choices[shown.picked].feedback : stage.reason) : "";
    return {
      ...drawn,
      headline: drawn.headline ?? (after ? stage.finding : stage.headline),
      line: drawn.line ?? stage.line,
      side: [
        feedback ? say(feedback) : "", after && !drawn.say ? fact(stage.reason) : "", drawn.side ?? "",
        reveal || after ? drawTally(after) : "", reveal ? fact(content.fact) : "",
        state.step === 1 ? drawJoin() : "", drawOwn(),
      ],
      spoken: feedback,
    };
  };
  const drawJoin = () => data.room ? make("p", { class: "join" }, "Answer on your own device", make("b", { class: "address" }, data.room.link)) : "";

  const drawOwn = () => {
    if (data.server || state.step !== (LESSON.ownStage ?? 3)) return "";
    if (!root.models.length) return fact("The answers in this file are recorded: its models do not run in a browser.");
    const type = ({ target }) => {
      clearTimeout(root.typing);
      root.typing = setTimeout(() => change({ own: target.value, ...(LESSON.own === "bits" ? { set: "" } : {}) }), PAUSE);
    };
    return [make("label", { class: "own", "data-keep": "own" }, "Your own sentence", make("input", { type: "text", maxlength: 150, value: state.own, "data-id": "own", oninput: type })),
      state.own.trim() && !LESSON.own ? drawTyped(root.models[0], state.own.trim()) : ""];
  };

  const draw = () => {
    const focused = root.getRootNode().activeElement?.dataset?.id;
    if (!root.page) {
      const part = (name, tag = "div") => (root[name] = make(tag, { class: name }));
      root.live = make("p", { class: "spoken", "aria-live": "polite" });
      root.page = make("div", { class: "page" }, part("strip", "header"), part("top"), make("div", { class: "middle" }, part("left"), part("side")), part("end", "footer"), part("holder"));
      root.sheet = make("div", { class: "sheet" });
      arrange(root.sheet, [make("p", { class: "bar" }, make("button", { type: "button", class: "plain", onclick: () => window.print() }, "Print"),
        make("button", { type: "button", class: "plain", onclick: () => change({ sheet: false }) }, "Back to the lesson")), drawSheet()]);
      root.replaceChildren(root.page, root.live, root.sheet);
    }
    if (state.notes && !state.panel) state.panel = "notes";
    const drawn = compose(), { side } = root;
    root.classList.toggle("on-sheet", state.sheet);
    root.classList.toggle("beside", Boolean(state.panel));
    root.classList.toggle("wide", Boolean(drawn.wide));
    arrange(root.strip, drawStrip());
    arrange(root.top, [make("h1", {}, drawn.headline), make("p", {}, drawn.line)]);
    arrange(root.left, drawn.left);
    arrange(side, drawn.wide ? [] : drawn.side);
    arrange(root.end, drawEnd(drawn));
    arrange(root.holder, state.panel === "notes" ? drawNotes() : state.panel === "class" ? drawClass() : []);
    for (const [name, value] of Object.entries({ tabindex: 0, role: "region", "aria-label": "Beside the figure" })) {
      if (side.scrollHeight > side.clientHeight + 1) side.setAttribute(name, value); else side.removeAttribute(name);
    }
    const spoken = [drawn.headline, drawn.spoken, state.said].filter(Boolean).join(" ");
    if (root.live.textContent !== spoken) root.live.textContent = spoken;
    if (focused) (root.querySelector(`[data-id="${focused}"]:not(:disabled)`) ?? root.querySelector(".go:not(:disabled)"))?.focus({ preventScroll: true });
  };

  const listen = (event) => {
    const at = event.composedPath()[0], key = event.key;
    if (event.ctrlKey || event.metaKey || event.altKey || (key !== "Escape" && at.matches?.("input, textarea, select, [contenteditable=true]"))) return;
    const letter = LETTERS.toLowerCase().indexOf(key.toLowerCase());
    if (key === "Escape" && state.sheet) change({ sheet: false });
    else if (key === "Escape" && state.panel) toggle(state.panel);
    else if (state.sheet && key !== "p") return;
    else if (key === "ArrowRight" && state.step < 4 && (state.step > 1 || state.pick >= 0)) open(state.step + 1);
    else if (key === "ArrowLeft" && state.step > 1) open(state.step - 1);
    else if (isLettered() && !event.shiftKey && key.length === 1 && letter >= 0 && letter < view().question.choices.length) choose(letter);
    else if (key.length === 1 && key.toLowerCase() in KEYS) press(key.toLowerCase());
    else return;
    event.preventDefault();
  };
  document.removeEventListener("keydown", root.listen);
  window.removeEventListener("sentiscope-tally", root.count);
  window.removeEventListener("popstate", root.goBack);
  Object.assign(root, { listen, goBack });
  root.count = () => root.draw();
  root.draw = draw;
  document.addEventListener("keydown", root.listen);
  window.addEventListener("sentiscope-tally", root.count);
  window.addEventListener("popstate", root.goBack);
  draw();
  return () => {
    document.removeEventListener("keydown", root.listen);
    window.removeEventListener("sentiscope-tally", root.count);
    window.removeEventListener("popstate", root.goBack);
  };
}
