// The presenter's strip and keys: exhibits of the talk, the picker of pages (g), caption (c), blank screen (b), Esc to leave.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const KEYS = [["\u2190 \u2192", "previous, next"], ["c", "caption"], ["b", "blank"], ["Esc", "leave"]];
const FIELDS = "input, textarea, select";
const PATIENCE = 5000; // milliseconds after which a request counts as lost

export default function ({ data, parentElement, send }) {
  const root = parentElement.querySelector(".present");
  root.shows ??= { picker: false, blank: false };
  const show = root.shows;
  const pages = Object.fromEntries(data.groups.flatMap(([, list]) => list.map(([letter, , page]) => [letter, page])));
  // One request at a time, and the last key meanwhile waits: a page that is being left would take a second one back to it.
  const ask = (change) => {
    const waits = show.turn === data.turn && Date.now() - show.since < PATIENCE;
    Object.assign(show, waits ? { next: change } : { next: null, turn: data.turn, since: Date.now() });
    if (!waits) send(change);
  };
  const go = (exhibit) => {
    if (exhibit < 0 || exhibit >= data.exhibits.length) return;
    show.to = exhibit;
    draw();
    ask({ exhibit });
  };
  const step = (by) => go((show.to ?? data.at) + by);
  const open = (page) => { show.picker = false; ask({ page }); };
  const button = (attributes, press, ...children) => {
    const made = make("button", { type: "button", ...attributes }, ...children);
    made.onclick = press;
    return made;
  };
  const toggle = (name) => { show[name] = !show[name]; draw(); focusPicker(); };
  // A dialog that opens has the focus, and one that closes gives it back.
  const focusPicker = () => root.querySelector(show.picker ? ".picker button" : '[data-id="picker"]').focus({ preventScroll: true });

  const draw = () => {
    const focused = root.getRootNode().activeElement?.dataset?.id;
    const exhibits = data.exhibits.map((title, place) => make("li", {}, button(
      { "data-id": `exhibit-${place}`, ...(place === (show.to ?? data.at) ? { "aria-current": "true" } : {}) }, () => go(place), `${place + 1} ${title}`,
    )));
    const strip = make("div", { class: "strip" }, make("ol", { "aria-label": "Exhibits" }, ...exhibits), make("b", {}, data.run),
      button({ "data-id": "picker", "aria-expanded": show.picker }, () => toggle("picker"), make("kbd", {}, "g"), " go to"),
      button({ "data-id": "leave", "aria-label": "Leave the presenter" }, () => send({ leave: true }), "\u2715"));
    root.replaceChildren(strip);
    if (show.picker) {
      const groups = data.groups.map(([group, list]) => make("div", {}, make("h2", {}, group || "Begin"), make("ul", {}, ...list.map(
        ([letter, title, page]) => make("li", {}, button({ "data-id": page }, () => open(page), make("kbd", {}, letter), title)),
      ))));
      const keys = KEYS.map(([key, what]) => make("span", {}, make("kbd", {}, key), what));
      root.append(make("div", { class: "picker", role: "dialog", "aria-label": "Go to a page" }, ...groups, make("p", {}, ...keys)));
    }
    if (show.blank) root.append(make("div", { class: "blank", role: "img", "aria-label": "Blank screen; b shows the figure" }));
    if (focused) root.querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
  };
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.composedPath()[0].matches?.(FIELDS)) return;
    const { key } = event;
    if (key === "Escape") {
      if (show.picker || show.blank) { show.picker = show.blank = false; draw(); focusPicker(); } else ask({ leave: true });
    } else if (show.picker && pages[key]) open(pages[key]);
    else if (key === "g") toggle("picker");
    else if (key === "b") toggle("blank");
    else if (key === "c") document.documentElement.classList.toggle("s-captioned");
    else if (key === "ArrowRight") step(1);
    else if (key === "ArrowLeft") step(-1);
    else return;
    event.preventDefault();
  };
  if (show.turn !== data.turn) {
    const { next } = show;
    show.next = null;
    if (next && next.exhibit !== data.at) ask(next);
    else show.to = null;
  }
  draw();
  document.removeEventListener("keydown", root.press); // that of the drawing before
  root.press = press;
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}
