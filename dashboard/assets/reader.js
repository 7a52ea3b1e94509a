// A list of the selected sentences, next to the open one. j and k move here without the page; a sentence must stay open for
// a moment before the page is told. Rows are sent in portions: near the end of the present rows, the next ones are
// requested. User text is inserted as text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "" && value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};
const write = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");
const REST = 350; // milliseconds after the last move, so that holding a key is one visit
const BEFORE = 2, AHEAD = 12, NEAR = 4; // rows around the open one whose details are requested, and the least distance to a row without details
// As in core.text.graphemes: a text is right-to-left if most of its letters are.
const FROM_THE_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const way = (text) => {
  if (!FROM_THE_RIGHT.test(text)) return "ltr";
  const letters = text.match(/\p{L}/gu) ?? [];
  return letters.filter((letter) => FROM_THE_RIGHT.test(letter)).length > letters.length / 2 ? "rtl" : "ltr";
};
const ROOMY = 0.3; // least share of a bar with room for its label
const KEEP = 10000; // milliseconds for which state is kept, since a rerun may create this component again
const memory = { time: -KEEP };
const SOON = 40; // distance to the last present row at which the next rows are requested
const MOST = 3000; // most rows in the list, since more are slow to draw; End and Home reach all rows
const NARROW = 1100; // window width in pixels below which the list shows only texts
const KEYS = [["j", "next"], ["k", "previous"]], MORE = [["s", "open Sentence"], ["?", "all keys"]];
const CODING = [["1\u20139", "code"], ["n", "note"], ["u", "undo"]];
const NAME = "sentiscope-author"; // stored in the browser: the annotator's name
const TRIES = 5; // attempts to send the name to the page
const OPENING = 3000; // milliseconds for Sentence to open; another message meanwhile would replace the request
const LONGEST = 4000; // most characters of a note
const PAUSE = 1500; // milliseconds of pause in writing after which a note is sent, so that closing the tab loses nothing
const AGAIN = 5000; // milliseconds until unconfirmed changes are sent again
const BUSY = 4; // attempts that a busy page delays; some pages always seem busy
const GAP = KEEP; // milliseconds in which the component may be created again; keys pressed meanwhile are for the new one
const VISITOR = "sentiscope-visitor"; // a session cookie that identifies a visitor without a name
const shelf = { // a browser may refuse storage
  get: () => { try { return localStorage.getItem(NAME); } catch { return null; } },
  set: (name) => { try { localStorage.setItem(NAME, name); } catch { /* the user is asked again */ } },
  clear: () => { try { localStorage.removeItem(NAME); } catch { /* nothing was stored */ } },
};
const remember = (secret) => {
  const cookie = `${VISITOR}=${secret}`;
  if (secret && !document.cookie.split("; ").includes(cookie)) document.cookie = `${cookie}; path=/; SameSite=Strict`;
};
const NOTHING = { codes: [], note: "" };
// A row's codes and note with changes that the page has not confirmed: codes added (true) or removed, and the note.
const changed = ({ codes, note }, said) => {
  if (!said) return { codes, note };
  const given = new Set(codes);
  for (const [name, [on]] of said.codes) on ? given.add(name) : given.delete(name);
  return { codes: [...given], note: said.note?.[0] ?? note };
};
const thin = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const FIELDS = "input, textarea, select, [contenteditable=''], [contenteditable=true]";
// While there is no reader, keys are kept for the next one. Codes are kept only for a reader at the same row, since another
// would give them to its own row.
const pressed = (event) => ({ key: event.key, repeat: event.repeat, inside: event.composedPath()[0] });
const rests = (event) => event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.composedPath()[0].matches?.(FIELDS);
const wait = (event) => {
  if (performance.now() - memory.gone > GAP) document.removeEventListener("keydown", wait);
  else if (!rests(event) && /^[jk1-9]$/.test(event.key)) memory.keys.push(pressed(event));
};
const idle = () => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning";

// The present rows: the new ones, joined with adjacent earlier ones. Rows from an outdated position of the page do not
// replace those around the reader's position.
const joined = (before, data, wanted) => {
  const came = { start: data.start, rows: data.rows };
  if (!before || before.total !== data.total) return came;
  const apart = came.start > before.start + before.rows.length || came.start + came.rows.length < before.start;
  if (apart) return wanted(came) || !wanted(before) ? came : before;
  const start = Math.min(before.start, came.start), rows = [];
  before.rows.forEach((row, i) => { rows[before.start + i - start] = row; });
  came.rows.forEach((row, i) => { rows[came.start + i - start] = row; });
  return { start, rows };
};
// Surplus rows are removed at the end that is farther from the open row.
const cut = ({ start, rows }, place) => {
  if (rows.length <= MOST) return { start, rows };
  const from = Math.min(rows.length - MOST, Math.max(0, place - MOST / 2));
  return { start: start + from, rows: rows.slice(from, from + MOST) };
};

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".reader");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  // Unconfirmed changes are kept even if the page times out or the selection changes.
  const { said, count, undoing, later, session } = memory.kept ?? {}, held = memory.kept ? { said, count, undoing, later, session } : {};
  if (!root.kept) root.kept = memory.stamp === data.stamp && performance.now() - memory.time < KEEP ? memory.kept : held;
  const kept = root.kept;
  Object.assign(memory, { stamp: data.stamp, kept });
  if (kept.stamp !== data.stamp) Object.assign(kept, { stamp: data.stamp, at: data.at, given: data.at, details: new Map(), asked: new Set(), coded: new Map(), rows: undefined, goal: undefined });
  // Answers to our own reports are earlier positions; any other position is a move by the page, such as a click on Next.
  // The row of an undone change may equal the last report, although the reader has moved since.
  const reported = (kept.reports ??= []).indexOf(data.at);
  if ((kept.undone ??= data.undone) < data.undone) Object.assign(kept, { undone: data.undone, given: data.at, at: data.at, reports: [], goal: undefined });
  else if (reported >= 0) Object.assign(kept, { given: data.at, reports: kept.reports.slice(reported + 1) });
  else if (kept.given !== data.at) Object.assign(kept, { given: data.at, at: data.at });
  if (kept.whole !== data.whole) Object.assign(kept, { whole: data.whole, asked: new Set(), rows: undefined }); // tags and late details are available now
  for (const [key, detail] of Object.entries(data.details)) kept.details.set(key, detail);

  const coding = data.coding;
  // Unconfirmed local changes override the page's data; each change has a number.
  kept.count ??= coding?.handled ?? 0;
  // After a timeout or a restart of the server, there is a new session: it gets the annotator and the unconfirmed changes
  // of the previous one, and repeats no undo.
  const anew = coding && kept.session && kept.session !== coding.session;
  if (anew) Object.assign(kept, { undoing: 0, undone: data.undone, naming: 0 });
  if (coding) Object.assign(kept, { session: coding.session, handled: coding.handled });
  kept.again = data.again;
  kept.said ??= new Map(); // kept when the author changes: the person who gave a name made these changes
  if (coding) for (const [key, said] of kept.said) {
    const now = changed(kept.coded.get(key)?.own ?? NOTHING, said);
    for (const [name, [, number]] of said.codes) if (number <= coding.handled) said.codes.delete(name);
    if (said.note?.[1] <= coding.handled) delete said.note;
    if (said.codes.size || said.note) continue;
    kept.said.delete(key);
    kept.coded.set(key, { ...kept.coded.get(key), own: now }); // the row is no longer sent
  }
  // Codes of earlier rows are outdated after a change of author, or of codes below the reader.
  const view = coding && `${coding.author} ${coding.changed}`;
  if (kept.view !== view) Object.assign(kept, { view, coded: new Map(), rows: undefined });
  if (coding) for (const { key } of data.rows) kept.coded.set(key, { own: coding.own[key], others: coding.others[key] });
  const within = ({ rows, start }) => kept.goal >= start && kept.goal < start + rows.length;
  const here = ({ rows }) => rows.findIndex((row) => row.key === kept.at);
  const all = joined(kept.rows, data, (some) => (kept.goal === undefined ? here(some) >= 0 : within(some)));
  if (within(all)) Object.assign(kept, { at: all.rows[kept.goal - all.start].key, goal: undefined });
  const { rows, start } = cut(all, Math.max(0, here(all)));
  const shift = kept.rows ? kept.rows.start - start : 0, moved = kept.drawn !== kept.at;
  Object.assign(kept, { rows: { rows, start, total: data.total }, around: undefined, drawn: kept.at });
  if (coding) remember(coding.secret);
  // Sent until the page confirms it, since an earlier message may have carried an empty field.
  if (coding?.author) {
    kept.naming = TRIES;
    shelf.set(coding.author);
  } else if (coding?.unnamed) shelf.clear(); // the user removed the name
  else if (coding && (kept.naming ??= 0) < TRIES && shelf.get()) setStateValue("named", { name: shelf.get(), time: ++kept.naming });
  const own = (key) => changed(kept.coded.get(key)?.own ?? NOTHING, kept.said.get(key));
  clearTimeout(kept.waiting);
  if (!rows.length) {
    const nearly = data.empty[2] ? make("button", { type: "button" }, data.empty[2]) : null;
    if (nearly) nearly.onclick = () => setStateValue("nearly", Date.now());
    document.removeEventListener("keydown", root.heard); // its rows are outdated
    document.removeEventListener("keydown", wait);
    Object.assign(memory, { keys: [], left: undefined });
    root.replaceChildren(make("div", { class: "empty" }, make("b", {}, data.empty[0]), make("span", {}, data.empty[1]), nearly));
    return undefined;
  }
  let place = Math.max(0, here({ rows }));
  const classed = (name, text = name) => make("span", { class: "class", style: data.shades[name] ? `color:${data.shades[name]}` : "" }, text);

  // Values that are equal in all rows are left out; without room, both are.
  const varies = (name) => new Set(rows.map((row) => row[name])).size > 1;
  const both = innerWidth < NARROW ? [] : ["true", "predicted"].filter(varies);
  const longest = Math.max(...both.flatMap((name) => [name.length, ...rows.map((row) => row[name].length)]));
  root.style.setProperty("--columns", `minmax(0,1fr) ${both.map(() => `${Math.min(6.5, 0.5 * longest + 0.4)}rem`).join(" ")} 2.9rem ${coding ? "3.2rem" : ""}`);
  const last = start + rows.length, part = start ? `${thin(start + 1)} to ${thin(last)}` : `first ${thin(last)}`;
  const portion = rows.length < data.total ? `, ${part} of ${data.many}` : "";
  const heading = `sentence, ${data.orders.find(([name]) => name === data.order)?.[1]}${portion}`;
  const order = make("select", { "aria-label": "Order of the sentences" }, ...data.orders.map(([name, text]) => make("option", { value: name || " ", selected: name === data.order ? "selected" : "" }, text)));
  order.onchange = () => setStateValue("order", { name: order.value.trim(), time: Date.now() });
  const heads = [...both.map((name) => [name, ""]), ["prob.", "n"], ...(coding ? [["code", "n"]] : [])];
  const head = make("div", { class: "head" }, make("span", { title: heading }, order, ...(portion ? [`, ${thin(start + 1)}\u2013${thin(last)} of ${data.many}`] : [])), ...heads.map(([text, kind]) => make("span", { class: kind, "aria-hidden": "true" }, text)));
  const items = rows.map((row, i) => {
    const cells = both.map((name) => classed(row[name]));
    const item = make("li", { role: "option", id: `row-${i}`, title: row.text, "data-text": "row" }, make("span", { class: "text", dir: way(row.text) }, row.text), ...cells, make("span", { class: "n" }, write(row.p)), coding ? make("span", { class: "n soft" }) : null);
    item.onclick = () => jump(i);
    return item;
  });
  const list = make("ul", { class: "list", role: "listbox", tabindex: "0", "aria-label": heading }, ...items);
  const pane = make("div", { class: "pane", role: "region", "aria-label": "Open sentence" });
  const keys = [...KEYS, ...(coding ? CODING : []), ...MORE];
  const help = make("dl", { class: "keys", hidden: "hidden" }, ...keys.flatMap(([key, text]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, text)]),
    make("dd", { class: "soft" }, "Shortcuts are off while you type; Esc goes back."));
  const foot = make("div", { class: "foot" }, ...keys.map(([key, text]) => make("span", {}, make("kbd", {}, key), text)), make("span", { class: "done", role: "status", title: coding?.done }, coding?.done ?? ""));
  // Data from the page do not replace a note that is being written.
  const before = root.querySelector("textarea");
  const writing = before && before === before.getRootNode().activeElement ? { key: before.dataset.key, text: before.value, range: [before.selectionStart, before.selectionEnd] } : null;
  if (before) before.onblur = null;
  const former = root.querySelector(".list"), active = former?.getRootNode().activeElement;
  const focused = [".list", ".head select"].find((part) => active && active === root.querySelector(part));
  let naming = Boolean(kept.adding?.isConnected) && kept.adding === kept.adding.getRootNode().activeElement;
  const top = former ? former.scrollTop + shift * (former.scrollHeight / former.children.length) : 0;
  root.replaceChildren(make("div", { class: "left" }, head, list), pane, foot, help);
  list.scrollTop = top; // the scroll position stays, although rows were added above
  if (focused) root.querySelector(focused).focus({ preventScroll: true });

  const words = (row, detail) => {
    const shown = detail?.words ?? row.text.split(/\s+/).filter(Boolean).map((word) => ({ word }));
    return make("ul", { class: "words", dir: way(row.text), "data-text": "open", "aria-label": "words with their effect" }, ...shown.map((item) => {
      const style = item.colour ? `background-color:${item.colour};color:${item.ink}` : "";
      const kinds = [item.unknown ? "unknown" : "", item.away ? "away" : ""].join(" ").trim();
      return make("li", { class: kinds, style, dir: /\p{L}/u.test(item.word) ? "auto" : "", title: item.about ?? "" }, item.word, item.about ? make("span", { class: "sr" }, `, ${item.about}`) : null);
    }));
  };
  const legend = (detail) => {
    if (!detail?.words) return make("div", { class: "legend" }, data.without || (detail ? "" : "computing word effects \u2026"));
    const [from, to] = detail.ends, stops = detail.ramp.map((colour, i) => `${colour} ${(100 * i) / detail.ramp.length}% ${(100 * (i + 1)) / detail.ramp.length}%`);
    return make("div", { class: "legend", title: detail.full }, `effect ${from}`, make("i", { style: `background:linear-gradient(90deg,${stops.join(",")})` }), to,
      detail.unknown ? make("span", { class: "frame" }, "not in the vocabulary") : null);
  };
  const answer = (row) => {
    const said = data.several
      ? make("span", {}, ...(row.missed ? ["missed ", make("b", {}, row.missed)] : []), row.missed && row.invented ? ", " : "", ...(row.invented ? ["invented ", make("b", {}, row.invented)] : []),
          row.missed || row.invented ? "" : "every label is right")
      : make("span", {}, "label ", make("b", {}, classed(row.true)), ", predicted ", make("b", {}, classed(row.predicted)));
    const bar = make("div", { class: data.several ? "bars" : "bar", role: "img", "aria-label": row.chances.map(([name, p]) => `${name} ${write(p)}`).join(", ") });
    for (const [name, p] of row.chances) {
      const fill = data.fills[name] ?? data.fills[""];
      if (data.several) bar.append(make("span", {}, name), make("i", { style: `--p:${100 * p}%` }), make("span", { class: "n" }, write(p)));
      else bar.append(make("span", { style: `width:${100 * p}%;background:${fill[0]};color:${fill[1]}`, title: `${name} ${write(p)}` }, p > ROOMY ? `${name} ${write(p)}` : ""));
    }
    return make("div", { class: "answer" }, said, bar);
  };
  const nearest = (detail) => {
    if (!detail || detail.later) return null;
    const lines = (detail.near ?? []).map(([text, label, by, likeness]) => make("li", { title: text, "data-text": "near" }, classed(label), make("span", { dir: way(text) }, text), make("span", { class: "soft n" }, `${by} ${write(likeness)}`)));
    const title = make("div", { class: "top" }, make("span", {}, lines.length ? `Nearest training sentences${detail.among ? ` ${detail.among}` : ""}` : detail.lone ?? ""), make("span", {}, lines.length ? "similarity (cosine)" : ""));
    return make("div", { class: "near" }, detail.double ? make("p", { class: "double" }, detail.double) : null, title, make("ul", { "aria-label": "nearest training sentences" }, ...lines));
  };
  // Codes keep their position for every sentence: below the prediction, above parts that may be missing.
  const short = (codes) => codes.map((code) => coding.digits[code] ?? code).join(" ");
  const mark = (i) => {
    if (!coding) return;
    const { codes, note } = own(rows[i].key), others = (kept.coded.get(rows[i].key)?.others ?? []).map((each) => short(each.codes)).filter(Boolean);
    items[i].lastChild.textContent = [short(codes), note ? "\u270e" : "", others.length ? `(${others.join(" | ")})` : ""].filter(Boolean).join(" ");
  };
  // A state, not a trigger, since a busy page receives only the last waiting trigger.
  // Sends changes, not the row's codes: the same author may have changed others in another browser.
  const say = ({ key, name, note, goesOn }) => {
    const said = kept.said.get(key) ?? { codes: new Map() }, number = ++kept.count;
    if (note !== undefined) said.note = [note, number, goesOn];
    else said.codes.set(name, [!own(key).codes.includes(name), number]);
    kept.said.set(key, said);
    memory.time = performance.now();
    mark(rows.findIndex((row) => row.key === key));
    sayAll();
  };
  const sayAll = () => {
    const told = ({ codes, note }) => ({ codes: Object.fromEntries(codes), ...(note ? { note } : {}) });
    const changes = Object.fromEntries([...kept.said].map(([row, each]) => [row, told(each)]));
    const numbers = [...kept.said.values()].flatMap(({ codes, note }) => [...[...codes.values()].map(([, number]) => number), ...(note ? [note[1]] : [])]);
    setStateValue("coded", { count: Math.max(0, ...numbers), rows: changes, session: coding.session, told: performance.now() });
  };
  if (anew && kept.said.size) sayAll();
  // Sends failed or lost changes again, but does not disturb a busy page.
  clearInterval(kept.trying);
  let busy = 0;
  kept.trying = setInterval(() => {
    if (!root.isConnected) clearInterval(kept.trying);
    else if (!idle() && ++busy < BUSY) return;
    else if (kept.again) setStateValue("again", performance.now()); // the page still counts failures, but there may be no codes to send
    else if (coding && (kept.undoing ?? 0) > kept.handled) takeBack();
    else if (coding && kept.said.size) sayAll();
  }, AGAIN);
  const takeBack = (count = kept.undoing) => {
    if (kept.said.size) sayAll(); // earlier changes first
    setStateValue("undo", { count, session: coding.session, told: performance.now() });
  };
  // One at a time: only the page knows what an undo changes, so later changes wait for it.
  const act = (step) => {
    if ((kept.undoing ?? 0) > coding.handled) (kept.later ??= []).push(step);
    else if (step.undo) takeBack(kept.undoing = ++kept.count);
    else say(step);
  };
  // A note is sent when its field loses the focus, and after a pause; one undo reverts what was sent at once.
  const tell = (note, over) => {
    clearTimeout(kept.noting);
    const { key } = note.dataset;
    if (note.value !== own(key).note) {
      act({ key, note: note.value, goesOn: kept.writing === key });
      kept.writing = key;
    }
    if (over) delete kept.writing;
  };
  const toggle = (name) => {
    act({ key: rows[place].key, name });
    show();
  };
  // One field for all sentences, so that a redraw keeps what is typed.
  const adding = (kept.adding ??= make("input", { "aria-label": "New code", placeholder: "New code", title: "Enter adds it and gives it to this sentence", maxlength: 60 }));
  adding.dataset.code = "";
  adding.onkeydown = (event) => {
    if (event.key === "Escape") { adding.blur(); list.focus(); }
    if (event.key !== "Enter" || !adding.value.trim()) return;
    setStateValue("added", { name: adding.value.trim(), key: rows[place].key, session: coding.session, time: Date.now() });
    adding.value = "";
  };
  const codes = (row) => {
    if (!coding) return "";
    const given = own(row.key);
    const buttons = coding.book.map(({ name, key, about }) => {
      const button = make("button", { type: "button", "aria-pressed": String(given.codes.includes(name)), "data-code": name, title: about || name }, key ? make("kbd", {}, key) : null, name);
      button.onclick = () => toggle(name);
      return button;
    });
    const note = make("textarea", { "aria-label": "Note", placeholder: "Note (n)", rows: 1, maxlength: LONGEST, "data-key": row.key });
    note.value = given.note;
    note.onblur = () => tell(note, true);
    note.oninput = () => {
      clearTimeout(kept.noting);
      kept.noting = setTimeout(() => tell(note), PAUSE);
    };
    note.onkeydown = (event) => { if (event.key === "Escape") { note.blur(); list.focus(); } };
    const others = (kept.coded.get(row.key)?.others ?? []).map(({ author, codes: theirs, note: wrote }) => make("li", {}, make("b", {}, author), ` ${theirs.join(", ") || "no code"}${wrote ? `: ${wrote}` : ""}`));
    return make("div", { class: "coding" }, make("div", { class: "codes", role: "group", "aria-label": "codes" }, ...buttons, adding),
      note, others.length ? make("ul", { class: "others", "aria-label": "codes of others" }, ...others) : null);
  };
  const show = (follow = true) => {
    const row = rows[place], detail = kept.details.get(row.key);
    const pressed = pane.contains(pane.getRootNode().activeElement) ? pane.getRootNode().activeElement.dataset.code : naming ? "" : undefined;
    naming = false;
    items.forEach((item, i) => { if ((item.getAttribute("aria-selected") === "true") !== (i === place)) item.setAttribute("aria-selected", String(i === place)); });
    list.setAttribute("aria-activedescendant", `row-${place}`);
    const own = make("span", { class: "own", title: row.own, "data-text": "own" }, row.own);
    pane.replaceChildren(
      make("div", { class: "top" }, make("b", {}, `${thin(start + place + 1)} of ${data.many}`), own),
      words(row, detail), legend(detail), answer(row), codes(row),
      make("ul", { class: "tags", "aria-label": "tags" }, ...row.tags.map((tag) => make("li", {}, tag))),
      nearest(detail) ?? "",
    );
    if (pressed === "") adding.focus({ preventScroll: true });
    else if (pressed !== undefined) pane.querySelector(`[data-code="${CSS.escape(pressed)}"]`)?.focus({ preventScroll: true });
    const top = items[place].offsetTop - list.offsetTop;
    if (follow && (top < list.scrollTop || top > list.scrollTop + list.clientHeight - items[place].offsetHeight)) list.scrollTop = top - list.clientHeight / 2;
  };
  const opens = () => performance.now() - (kept.opening ?? -OPENING) < OPENING;
  // One report for all moves: the open row, and the rows without details.
  const report = (pause) => {
    clearTimeout(kept.waiting);
    kept.waiting = setTimeout(() => {
      if (opens()) return;
      const unknown = ({ key }) => !kept.asked.has(key) && (!kept.details.has(key) || (data.whole && kept.details.get(key).later));
      const soon = rows.slice(place, place + NEAR).some(unknown);
      const want = soon ? rows.slice(Math.max(0, place - BEFORE), place + AHEAD).filter(unknown).map((row) => row.key) : [];
      want.forEach((key) => kept.asked.add(key));
      const late = [...kept.asked].filter((key) => !kept.details.has(key)); // requested, but perhaps lost
      if (kept.told !== rows[place].key) kept.reports.push(rows[place].key);
      if (want.length || kept.told !== rows[place].key) setTriggerValue("rest", { at: rows[place].key, want: [...new Set([...late.slice(-AHEAD), ...want])], around: kept.around, undone: kept.undone });
      kept.told = rows[place].key;
    }, pause);
  };
  // The next or previous rows are requested before the present ones end.
  const ask = (around) => {
    if (kept.around !== undefined || opens()) return;
    Object.assign(kept, { around, told: kept.at });
    kept.reports.push(kept.at);
    setTriggerValue("rest", { at: kept.at, want: [], around, undone: kept.undone });
  };
  const ahead = (to) => {
    if (to >= rows.length - SOON && last < data.total) ask(last);
    else if (to < SOON && start > 0) ask(start - 1);
  };
  const go = (to) => {
    const goal = Math.min(data.total - 1, Math.max(0, start + (kept.goal === undefined ? to : kept.goal - start + to - place)));
    place = Math.min(rows.length - 1, Math.max(0, goal - start));
    kept.goal = goal === start + place ? undefined : goal; // already requested
    kept.at = rows[place].key;
    memory.time = performance.now();
    show();
    if (kept.goal === undefined) ahead(place);
    else ask(goal);
    report(REST);
  };
  const jump = (to) => { delete kept.goal; go(to); };
  list.onscroll = () => {
    if (rows.length >= MOST || list.scrollHeight <= list.clientHeight) return;
    const size = list.scrollHeight / rows.length;
    if (list.scrollTop < (SOON / 4) * size && start > 0) ask(start - 1);
    else if (list.scrollTop + list.clientHeight > list.scrollHeight - (SOON / 4) * size && last < data.total) ask(last);
  };
  const press = {
    j: () => go(place + 1),
    k: () => go(place - 1),
    s: () => { kept.opening = performance.now(); setTriggerValue("open", rows[place].key); },
    ...(coding ? { n: () => pane.querySelector("textarea").focus(), u: () => act({ undo: true }) } : {}),
    "?": () => { help.hidden = !help.hidden; },
    Escape: () => { help.hidden = true; },
  };
  const walk = { ArrowDown: () => go(place + 1), ArrowUp: () => go(place - 1), Home: () => jump(-start), End: () => jump(data.total - 1 - start), Enter: press.s };
  const answered = ({ key, repeat, inside }) => {
    const code = coding?.book.find((each) => each.key && String(each.key) === key);
    const act = code ? () => toggle(code.name) : press[key] ?? (inside === list ? walk[key] : undefined);
    if (act && !(repeat && (code || key === "u"))) act(); // holding these keys counts once
    return Boolean(act);
  };
  const heard = (event) => {
    if (rests(event)) return;
    if (!root.isConnected) {
      left();
      if (!memory.root) wait(event);
      return;
    }
    if (answered(pressed(event)) && event.key !== "Escape") event.preventDefault();
  };
  const left = () => {
    document.removeEventListener("keydown", heard);
    if (root.heard !== heard || memory.root !== root) return; // another component has replaced this one
    Object.assign(memory, { gone: performance.now(), left: data.stamp, row: kept.at, keys: [], root: undefined });
    document.addEventListener("keydown", wait);
  };
  if (coding && kept.later?.length && kept.undoing <= coding.handled) kept.later.splice(0).forEach(act);
  rows.forEach((_, i) => mark(i));
  show(moved || !former);
  if (writing && writing.key !== rows[place].key) {
    tell(before, true);
  } else if (writing) {
    const note = pane.querySelector("textarea");
    note.value = writing.text;
    note.focus();
    note.setSelectionRange(...writing.range);
    if (note.value !== own(writing.key).note) note.oninput();
  }
  kept.told ??= rows[place].key;
  if (kept.goal !== undefined) ask(kept.goal); // the answer was for another request
  report(0);
  // The previous component may still exist after a redraw, and would handle keys with its old rows.
  document.removeEventListener("keydown", root.heard);
  document.removeEventListener("keydown", wait);
  root.heard = heard;
  const missed = memory.left === data.stamp && performance.now() - memory.gone < GAP ? memory.keys : []; // only for the same sentences
  const same = memory.row === rows[place].key;
  Object.assign(memory, { root, keys: [] });
  document.addEventListener("keydown", heard);
  missed.filter(({ key }) => same || "jk".includes(key)).forEach(answered);
  return left;
}
