// A filter written as a sentence: each word opens a menu with the wrong and right rows of every option, and a field takes a
// search text. Words that are not set are behind one button. Choices are reported to the page. User text is inserted as text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "" && value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const MANY = 10; // least options of a menu with a search field
const FIXED = ["outcome", "split"]; // words that are always shown
const write = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const EDGE = 12; // free pixels at the window's edges
const memory = {}; // state of the last drawn component, since a rerun may create it again

export default function ({ data, parentElement, send: tell }) {
  const root = parentElement.querySelector(".filter");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  // New data, such as tags, must not close an open menu.
  const lost = memory.root && memory.root !== root && !memory.root.isConnected && document.activeElement === document.body;
  const kept = (root.kept ??= lost ? memory.root.kept : {});
  const focused = root.getRootNode().activeElement?.dataset?.id ?? (lost ? kept.focused : undefined);
  const opened = new Map();
  if (!root.heard) {
    root.heard = true;
    root.addEventListener("focusin", (event) => { kept.focused = event.target.dataset.id; });
    root.addEventListener("focusout", () => setTimeout(() => { if (root.isConnected && !root.contains(root.getRootNode().activeElement)) delete kept.focused; }));
  }
  memory.root = root;
  const send = (word, value) => tell({ word, value });

  const word = (given) => {
    const id = `word-${given.name}`, many = Boolean(given.typed) || given.options.length > MANY;
    const open = make("button", { type: "button", class: given.set ? "word set" : "word", "aria-haspopup": "listbox", "aria-expanded": "false", "data-id": id }, given.shown);
    const field = make("input", { type: "search", placeholder: given.typed ?? "Search", "aria-label": `Search ${given.about}`, "data-id": `search-${given.name}` });
    const most = Math.max(1, ...given.options.map(({ parts }) => parts.reduce((sum, n) => sum + n, 0)));
    const items = given.options.map((option, i) => {
      const item = make("li", { role: "option", id: `${id}-${i}`, "aria-selected": String(option.value === given.value), class: option.n ? "" : "none", title: option.label },
        make("span", {}, option.label), ...option.parts.map((n) => make("span", { class: "n" }, write(n))),
        ...(option.parts.length ? [make("i", {}, ...option.parts.map((n) => make("b", { style: `width:${(100 * n) / most}%` })))] : []));
      item.onclick = () => take(option);
      return item;
    });
    const list = make("ul", { role: "listbox", tabindex: "0", "aria-label": given.about, "data-id": `list-${given.name}` }, ...items);
    const head = make("div", { class: "top", "aria-hidden": "true" }, make("span", {}, given.about), ...(given.options[0]?.parts.length ? ["wrong", "right"].map((name) => make("span", { class: "n" }, name)) : []));
    const box = make("div", { class: "box", popover: "auto" }, ...(many ? [field] : []), head, list);
    let at = Math.max(0, given.options.findIndex((option) => option.value === given.value));
    const there = () => items.filter((item) => !item.hidden);
    const mark = (item) => {
      if (!item) return;
      at = items.indexOf(item);
      items.forEach((each) => each.classList.toggle("at", each === item));
      list.setAttribute("aria-activedescendant", item.id);
      item.scrollIntoView({ block: "nearest" });
      if (kept.open?.name === given.name) kept.open.value = given.options[at].value;
    };
    const take = (option) => {
      delete kept.open;
      box.hidePopover();
      open.focus();
      send(given.name, option.value);
    };
    const put = () => {
      const place = open.getBoundingClientRect(), wide = box.offsetWidth;
      box.style.left = `${Math.max(EDGE, Math.min(place.left, innerWidth - wide - EDGE))}px`;
      box.style.top = `${place.bottom + 6}px`;
      box.style.maxHeight = `${Math.max(160, innerHeight - place.bottom - 6 - EDGE)}px`;
    };
    const show = () => { // at once, since the next key is for the opened menu
      box.showPopover({ source: open });
      open.setAttribute("aria-expanded", "true");
      const before = kept.open?.name === given.name ? kept.open : { part: "", value: given.options[at]?.value };
      kept.open = { ...before, name: given.name };
      put();
      field.value = before.part;
      search();
      mark(items[given.options.findIndex((option) => option.value === before.value)] ?? there()[0]);
      (many ? field : list).focus();
    };
    open.onclick = () => { if (box.matches(":popover-open")) box.hidePopover(); else show(); };
    box.addEventListener("toggle", (event) => {
      if (event.newState === "open") return;
      open.setAttribute("aria-expanded", "false");
      if (box.isConnected && kept.open?.name === given.name) delete kept.open;
    });
    const search = () => {
      if (given.typed) return; // typed text is searched in the rows, not in these options
      const part = field.value.toLowerCase();
      given.options.forEach((option, i) => { items[i].hidden = !option.label.toLowerCase().includes(part); });
    };
    field.oninput = () => {
      search();
      kept.open.part = field.value;
      mark(there()[0]);
    };
    opened.set(given.name, show);
    box.onkeydown = (event) => {
      event.stopPropagation(); // the page's shortcuts are off while a menu is open
      const shown = there(), now = shown.indexOf(items[at]);
      const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: shown.length - 1 }[event.key];
      if (to !== undefined && !(event.target === field && ["Home", "End"].includes(event.key))) {
        event.preventDefault();
        mark(shown[Math.max(0, Math.min(shown.length - 1, to))]);
      } else if (event.key === "Enter" || (event.key === " " && event.target === list)) {
        event.preventDefault();
        const typed = given.typed && event.target === field ? field.value.trim() : "";
        if (typed) take({ value: typed });
        else if (shown.includes(items[at])) take(given.options[at]);
      }
    };
    return make("span", { class: "part" }, ...(given.lead ? [make("span", { class: "lead" }, given.lead)] : []), open, box);
  };
  const further = (given) => {
    const out = make("button", { type: "button", class: "word set", "aria-label": `Remove: ${given.shown}`, title: "Remove", "data-id": `out-${given.value}` }, given.shown, make("s", { "aria-hidden": "true" }, "\u00d7"));
    out.onclick = () => send("further", given.value);
    return make("span", { class: "part" }, make("span", { class: "lead" }, "and"), out);
  };

  const field = make("input", { type: "search", placeholder: data.hint, "aria-label": "Texts containing", title: data.ways, maxlength: 200, "data-id": "containing" });
  const typing = kept.typed !== undefined && focused === "containing";
  field.value = typing ? kept.typed : data.contains;
  const say = () => { const typed = field.value.trim(); delete kept.typed; if (typed !== data.contains) send("text", typed); };
  field.oninput = () => { kept.typed = field.value; if (!field.value && data.contains) say(); };
  field.onkeydown = (event) => { event.stopPropagation(); if (event.key === "Enter") say(); if (event.key === "Escape") field.blur(); };
  field.onblur = () => { delete kept.typed; };
  field.onchange = say;

  const used = ({ name, set }) => set || FIXED.includes(name), words = data.words.map((given) => [given, word(given)]);
  const pick = (wanted) => words.filter(([given]) => wanted(given)).map(([, node]) => node);
  const others = make("span", { class: "others", id: "others" }, ...pick((given) => !used(given)));
  const add = make("button", { type: "button", class: "word", "aria-controls": "others", "data-id": "add" }, "add filter");
  const unfold = () => { others.hidden = !kept.more; add.setAttribute("aria-expanded", String(Boolean(kept.more))); };
  add.onclick = () => { kept.more = !kept.more; unfold(); };
  unfold();
  root.replaceChildren(
    ...pick(({ name }) => FIXED.includes(name)), make("span", { class: "lead" }, "sentences"),
    ...pick((given) => used(given) && !FIXED.includes(given.name)), ...data.further.map(further),
    make("span", { class: "part" }, make("span", { class: "lead" }, "containing"), field), ...(others.children.length ? [others, add] : []),
  );
  if (focused) root.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  if (kept.open) opened.get(kept.open.name)?.();
}
