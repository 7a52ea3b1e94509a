// Levers: a cell has the push of its part and silences it when pressed, a slider moves a weight. What was changed goes to
// the page as parts of its link. Words arrive as data and become text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "" && value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const write = (value) => value.toFixed(2).replace("-", "\u2212");
const PAUSE = 200; // milliseconds after the last move of a slider: a key that is held down is one change
const AHEAD = 3000; // so long an older answer of the page does not move a slider back

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".levers");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  root.ahead ??= new Map();
  const focused = root.getRootNode().activeElement?.dataset?.id;
  const move = (parts) => setTriggerValue("moved", parts);

  const button = (cell) => {
    const made = make("button", {
      type: "button", class: cell.away ? "away" : "", style: `background-color:${cell.colour};color:${cell.ink}`,
      "aria-pressed": cell.off, "aria-label": cell.about, title: cell.about, "data-id": Object.keys(cell.parts).join(),
    }, cell.push);
    made.onclick = () => move(Object.fromEntries(Object.entries(cell.parts).map(([key, part]) => [key, cell.off ? null : part])));
    return made;
  };

  const slider = (lever) => {
    const ahead = root.ahead.get(lever.part);
    const value = ahead && Date.now() - ahead.when < AHEAD ? ahead.value : lever.value;
    const shown = make("b", {}, write(value));
    const input = make("input", {
      type: "range", min: lever.low, max: lever.high, step: lever.step, "aria-label": lever.about,
      title: `${lever.about}; double click or Delete: back to it`, "data-id": lever.part,
    });
    input.value = value;
    const send = (wanted) => move({ [lever.part]: wanted === null ? null : `${lever.part}:${wanted}` });
    const put = (wanted) => {
      shown.textContent = write(wanted);
      root.ahead.set(lever.part, { value: wanted, when: Date.now() });
      clearTimeout(root.waiting);
      const back = Math.abs(wanted - lever.learned) < lever.step / 2;
      root.waiting = setTimeout(() => send(back ? null : wanted), PAUSE);
    };
    const reset = () => { input.value = lever.learned; put(lever.learned); };
    input.oninput = () => put(+input.value);
    input.ondblclick = reset;
    input.onkeydown = (event) => { if (event.key === "Delete" || event.key === "Backspace") reset(); };
    const learned = (lever.learned - lever.low) / (lever.high - lever.low);
    return make("label", { class: `lever${lever.moved ? " moved" : ""}` },
      make("span", { "aria-hidden": "true" }, lever.label, shown), make("i", { style: `--learned:${learned}` }, input));
  };

  const row = (line, first) => {
    if (line.sliders) {
      const cells = line.sliders.map((each) => make("td", {}, ...(each === null ? [] : [typeof each === "string" ? each : slider(each)])));
      return make("tr", { class: first ? "sliders" : "sliders sep" }, make("th", { scope: "row" }, make("b", {}, line.label)), ...cells);
    }
    return make("tr", {}, make("th", { scope: "row" }, line.label), ...line.cells.map((cell) => make("td", {}, button(cell))));
  };

  const grid = (given) => {
    const names = given.columns.map((name) => make("th", { scope: "col" }, make("span", {}, name)));
    const corner = given.corner ? make("th", { scope: "col" }, given.corner) : make("td");
    const wide = given.columns.length > 5 ? " wide" : "";
    const table = make("table", { class: (given.slant ? "slant" : "") + wide, "aria-label": given.title || "push of each part" },
      make("colgroup", {}, make("col", { class: "names" })), make("thead", {}, make("tr", {}, corner, ...names)),
      make("tbody", {}, ...given.rows.map((line, i) => row(line, i === 0))));
    table.onkeydown = (event) => arrows(event, table);
    table.querySelectorAll("td button").forEach((each, i) => each.setAttribute("tabindex", i ? -1 : 0));
    const title = given.title ? [make("div", { class: "top more" }, make("h2", {}, given.title), make("span", {}, "press to close it"))] : [];
    return [...title, make("div", { class: "scroll" }, table)];
  };

  // One stop of Tab for each grid; arrows go from cell to cell.
  const arrows = (event, table) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || event.target.tagName !== "BUTTON") return;
    event.preventDefault();
    const rows = [...table.tBodies[0].rows].map((each) => [...each.querySelectorAll("button")]).filter((each) => each.length);
    const y = rows.findIndex((each) => each.includes(event.target)), x = rows[y].indexOf(event.target);
    const next = rows[y + step[0]]?.[Math.min(x + step[1], (rows[y + step[0]]?.length ?? 1) - (step[0] ? 1 : 0))];
    if (!next) return;
    reach(table, next);
    next.focus();
  };
  const reach = (table, cell) => table.querySelectorAll("td button").forEach((each) => each.setAttribute("tabindex", each === cell ? 0 : -1));

  const top = make("div", { class: "top" }, make("h2", {}, "Levers"));
  if (data.changed) {
    const back = make("button", { type: "button", class: "reset", "data-id": "reset" }, "Back to the model as trained");
    back.onclick = () => { root.ahead.clear(); move({ reset: null }); };
    top.append(back);
  } else top.append(make("span", {}, data.hint));
  const said = data.changed ? [make("p", { role: "status", class: data.brief ? "brief" : "", title: `${data.changed}. ${data.said}` }, make("b", {}, data.changed), `. ${data.said}`)] : [];
  root.replaceChildren(top, ...said, ...data.grids.flatMap(grid),
    ...data.alone.map((lever) => make("div", { class: "alone" }, slider(lever))), ...(data.brief ? [] : [make("p", {}, data.full)]));
  const again = focused && root.querySelector(`[data-id="${CSS.escape(focused)}"]`);
  if (again) {
    if (again.tagName === "BUTTON" && again.closest("table")) reach(again.closest("table"), again);
    again.focus({ preventScroll: true });
  } else if (focused === "reset") root.querySelector("input, td button")?.focus({ preventScroll: true });
}
