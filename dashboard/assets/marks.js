// Interval tables: built from nodes made in Python, with keyboard control, selection, check boxes and unfolding added.
// User text is inserted as text nodes only.
const SVG = "http://www.w3.org/2000/svg";

const build = (node, space) => {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, ...children] = node, within = tag === "svg" ? SVG : space;
  const made = within ? document.createElementNS(within, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.map((child) => build(child, within)));
  return made;
};

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".marks");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(name, value);
  // The browser's state has priority, so that a late answer does not undo a click, unless the page sends a new state.
  const given = JSON.stringify([data.picked, data.ticked]);
  root.chosen ??= { unfolded: new Set() };
  if (root.given !== given) Object.assign(root.chosen, { picked: data.picked, ticked: new Set(data.ticked) });
  root.given = given;
  const chosen = root.chosen;
  const rows = () => [...root.querySelectorAll("tbody tr[data-id]")];
  const find = (id) => rows().find((row) => row.dataset.id === id);
  const tell = (name) => setStateValue(name, name === "picked" ? chosen.picked : [...chosen[name]]);

  const refresh = () => {
    root.querySelector("tbody")?.setAttribute("data-mark", "");
    for (const row of rows()) {
      const { id, of } = row.dataset;
      row.setAttribute("aria-selected", chosen.picked === id);
      if (row.hasAttribute("aria-expanded")) {
        row.setAttribute("aria-expanded", chosen.unfolded.has(id));
        row.querySelector(".fold").textContent = chosen.unfolded.has(id) ? "\u25be" : "\u25b8";
      }
      if (of) row.hidden = !chosen.unfolded.has(of);
      const box = row.querySelector("input");
      if (box) box.checked = chosen.ticked.has(id);
      row.classList.toggle("ticked", Boolean(box?.checked));
    }
  };
  const toggle = (name, id) => {
    if (!chosen[name].delete(id)) chosen[name].add(id);
    refresh();
    tell(name);
  };
  const pick = (row) => {
    if (!data.picks) return;
    chosen.picked = chosen.picked === row.dataset.id ? "" : row.dataset.id;
    refresh();
    tell("picked");
  };
  const step = (row, by) => {
    const shown = rows().filter((each) => !each.hidden);
    shown[shown.indexOf(row) + by]?.focus();
  };
  const fold = (row, open) => {
    const foldable = row.hasAttribute("aria-expanded");
    if (foldable && chosen.unfolded.has(row.dataset.id) !== open) toggle("unfolded", row.dataset.id);
    else if (!open && row.dataset.of) find(row.dataset.of).focus();
    else if (open && foldable) step(row, 1);
  };
  const press = {
    ArrowDown: (row) => step(row, 1),
    ArrowUp: (row) => step(row, -1),
    ArrowRight: (row) => fold(row, true),
    ArrowLeft: (row) => fold(row, false),
    Home: () => rows()[0]?.focus(),
    End: () => rows().filter((row) => !row.hidden).at(-1)?.focus(),
    Enter: (row) => pick(row),
    " ": (row) => (row.querySelector("input") ? toggle("ticked", row.dataset.id) : pick(row)),
  };

  const drawing = JSON.stringify(data.table);
  if (root.drawn !== drawing) {
    root.drawn = drawing;
    const at = root.getRootNode().activeElement?.closest?.("tr")?.dataset.id;
    root.replaceChildren(build(data.table));
    if (at) find(at)?.focus({ preventScroll: true });
  }
  refresh();
  root.onclick = (event) => {
    const row = event.target.closest("tbody tr[data-id]");
    if (!row) return;
    if (event.target.closest("td.box")) {
      if (row.querySelector("input")) toggle("ticked", row.dataset.id);
    } else if (event.target.closest(".fold") && row.hasAttribute("aria-expanded")) toggle("unfolded", row.dataset.id);
    else pick(row);
  };
  root.onkeydown = (event) => {
    const row = event.target.closest("tbody tr[data-id]"), act = press[event.key];
    if (!row || !act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(row);
  };
}
