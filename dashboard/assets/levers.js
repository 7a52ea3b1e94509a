// Levers: a cell shows the effect of its part and switches it off at a click, a slider changes a weight along its curve, a
// bar opens a gate. Changes are reported to the page as parts of its link. User text is inserted as text nodes only.
const NS = "http://www.w3.org/2000/svg";
const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) if (value !== "" && value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const vector = (tag, attributes = {}, ...children) => fill(document.createElementNS(NS, tag), attributes, children);
const write = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");
const RESET = "reset";
const PAUSE = 200; // milliseconds after the last move of a slider, so that holding a key is one change
const AHEAD = 3000; // milliseconds in which an outdated answer of the page does not move a slider back
const LEAST = 1.15, USUAL = 1.42, MOST = 1.75; // row heights in rem

export default function ({ data, parentElement, send }) {
  const root = parentElement.querySelector(".levers");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  root.ahead ??= new Map();
  if (root.layer !== data.layer) { root.layer = data.layer; root.open = data.layer; }
  const focused = root.getRootNode().activeElement?.dataset?.id;
  const move = (parts) => {
    clearTimeout(root.waiting);
    const over = RESET in parts;
    send(over ? parts : { ...root.slid, ...parts }, over);
    root.slid = {};
  };

  const button = (cell) => {
    const made = make("button", {
      type: "button", class: `${cell.away ? "away " : ""}${cell.measured}`, style: `background-color:${cell.colour};color:${cell.ink}`,
      "aria-pressed": cell.off, "aria-label": cell.about, title: cell.about, "data-id": Object.keys(cell.parts).join(),
    }, cell.push);
    made.onclick = () => move(Object.fromEntries(Object.entries(cell.parts).map(([key, part]) => [key, cell.off ? null : part])));
    return made;
  };

  // A slider for mouse and keyboard; `put` shows its position.
  const range = (lever, put) => {
    if (Math.abs(root.ahead.get(lever.part)?.value - lever.value) < lever.step / 2) root.ahead.delete(lever.part); // the page has received it
    const ahead = root.ahead.get(lever.part);
    const input = make("input", {
      type: "range", min: lever.low, max: lever.high, step: lever.step, "aria-label": lever.about,
      title: `${lever.about}; double click or Delete: reset`, "data-id": `slide-${lever.part}`,
    });
    const show = (value) => { input.setAttribute("aria-valuetext", put(value)); return value; };
    input.value = show(ahead && Date.now() - ahead.when < AHEAD ? ahead.value : lever.value);
    const slide = (wanted) => {
      show(wanted);
      root.ahead.set(lever.part, { value: wanted, when: Date.now() });
      clearTimeout(root.waiting);
      const back = Math.abs(wanted - lever.learned) < lever.step / 2;
      root.slid = { ...root.slid, [lever.part]: back ? null : `${lever.part}:${wanted}` };
      root.waiting = setTimeout(() => move({}), PAUSE);
    };
    const reset = () => { input.value = lever.learned; slide(lever.learned); };
    input.oninput = () => slide(+input.value);
    input.ondblclick = reset;
    input.onkeydown = (event) => { if (event.key === "Delete" || event.key === "Backspace") reset(); };
    return input;
  };
  const share = (lever, value) => Math.max(0, Math.min(1, (value - lever.low) / (lever.high - lever.low)));

  const slider = (lever) => {
    const shown = make("b"), dot = make("u"), curve = lever.curve;
    const chance = (value) => {
      const { values, chances } = curve, after = values.findIndex((each) => each >= value - 1e-9);
      if (after <= 0) return chances.at(after); // before the first or after the last value
      const part = (value - values[after - 1]) / (values[after] - values[after - 1]);
      return chances[after - 1] + part * (chances[after] - chances[after - 1]);
    };
    const input = range(lever, (value) => {
      shown.textContent = write(value);
      dot.style.setProperty("--x", share(lever, value));
      if (!curve) return write(value);
      dot.style.setProperty("--y", chance(value));
      return `${write(value)}, ${curve.what} ${write(chance(value))}`;
    });
    if (curve) input.title += `; ${curve.what} ${write(chance(lever.learned))} there, ${write(chance(0))} at 0`;
    const marks = [["learned", lever.learned], ["zero", 0], ...(curve && curve.start !== null ? [["start", curve.start]] : [])];
    const track = make("i", { class: curve ? "curve" : "" }, ...(curve ? [path(lever, curve)] : []),
      ...marks.map(([name, value]) => make("s", { class: name, style: `--x:${share(lever, value)}` })), dot, input);
    return make("label", { class: `lever${lever.moved ? " moved" : ""} ${lever.measured ?? ""}` },
      make("span", { "aria-hidden": "true", "data-mark": "value" }, lever.label, shown), track);
  };
  const path = (lever, curve) => {
    const inside = curve.values.map((value, i) => [value, curve.chances[i]]).filter(([value]) => value >= lever.low - 1e-9 && value <= lever.high + 1e-9);
    const points = inside.map(([value, chance]) => `${(100 * share(lever, value)).toFixed(2)},${(100 * (1 - chance)).toFixed(2)}`);
    return vector("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      ...(curve.half ? [vector("line", { x1: 0, x2: 100, y1: 50, y2: 50, class: "half" })] : []),
      vector("polyline", { points: points.join(" ") }));
  };

  const gate = (lever, many) => {
    const bar = make("u"), shown = make("b", { "aria-hidden": "true" });
    const input = range(lever, (value) => {
      shown.textContent = write(value, many ? 1 : 2);
      bar.style.setProperty("--y", value);
      return write(value);
    });
    return make("label", { class: `gate${lever.moved ? " moved" : ""}` },
      make("i", { style: `--learned:${lever.learned}` }, bar, input), shown);
  };

  const row = (line, first) => {
    if (line.sliders) {
      const cells = line.sliders.map((each) => make("td", { "data-mark": typeof each === "string" ? "weight" : "" }, ...(each === null ? [] : [typeof each === "string" ? each : slider(each)])));
      const open = make("button", { type: "button", class: "open", "aria-label": line.label, "data-id": `open-${line.layer}` }, line.label);
      open.onclick = () => { root.open = line.layer; fit(); };
      return make("tr", { class: first ? "sliders" : "sliders sep", "data-layer": line.layer },
        make("th", { scope: "row" }, make("b", {}, line.label), open), ...cells);
    }
    if (line.gates) return make("tr", { class: "gates" }, make("th", { scope: "row", "data-mark": "name" }, line.label), ...line.gates.map((each) => make("td", {}, gate(each, line.gates.length > 8))));
    return make("tr", { "data-of": line.of ?? "", "data-all": line.all ?? "" }, make("th", { scope: "row", "data-mark": "name" }, line.label), ...line.cells.map((cell) => make("td", { colspan: line.span ?? "", "data-mark": "part" }, button(cell))));
  };

  const grid = (given) => {
    const names = given.columns.map((name) => make("th", { scope: "col", "data-mark": "name" }, make("span", {}, name)));
    const corner = given.corner ? make("th", { scope: "col" }, given.corner) : make("td");
    const wide = given.columns.length > 5 ? " wide" : "";
    const table = make("table", { class: (given.slant ? "slant" : "") + wide, "aria-label": given.title || "effect of each part" },
      make("colgroup", {}, make("col", { class: "names" })), make("thead", {}, make("tr", {}, corner, ...names)),
      make("tbody", {}, ...given.rows.map((line, i) => row(line, i === 0))));
    table.onkeydown = (event) => arrows(event, table);
    table.querySelectorAll("td button").forEach((each, i) => each.setAttribute("tabindex", i ? -1 : 0));
    const title = given.title ? [make("div", { class: "top more" }, make("h2", {}, given.title), make("span", {}, given.hint))] : [];
    return [...title, make("div", { class: "scroll" }, table)];
  };

  // Each grid is one Tab stop; arrow keys move between cells.
  const arrows = (event, table) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || event.target.tagName !== "BUTTON" || event.target.className === "open") return;
    event.preventDefault();
    const rows = [...table.tBodies[0].rows].filter((each) => !each.hidden).map((each) => [...each.querySelectorAll("td button")]).filter((each) => each.length);
    const y = rows.findIndex((each) => each.includes(event.target)), x = rows[y].indexOf(event.target);
    const next = rows[y + step[0]]?.[Math.min(x + step[1], (rows[y + step[0]]?.length ?? 1) - (step[0] ? 1 : 0))];
    if (!next) return;
    reach(table, next);
    next.focus();
  };
  const reach = (table, cell) => table.querySelectorAll("td button").forEach((each) => each.setAttribute("tabindex", each === cell ? 0 : -1));

  // On a page, the rows share the rest of the first screen. Without enough room, only one layer shows its heads; with even
  // less, the other layers show only their weights.
  const main = root.getRootNode().host?.closest("[data-testid=stMain]");
  const fold = (level) => {
    root.classList.toggle("folded", level > 0);
    for (const each of root.querySelectorAll("[data-of], [data-all]")) {
      const layer = +(each.dataset.of ?? each.dataset.all), open = each.closest("table.slant") ? data.layer : root.open;
      each.hidden = layer !== open && level > (each.dataset.of ? 0 : 1);
    }
    for (const each of root.querySelectorAll("tr[data-layer] .open")) each.setAttribute("aria-expanded", String(+each.closest("tr").dataset.layer === root.open));
    for (const table of root.querySelectorAll("table")) {
      const cells = [...table.querySelectorAll("td button")].filter((each) => !each.closest("tr").hidden);
      if (cells.length && !cells.some((each) => each.tabIndex === 0)) reach(table, cells[0]);
    }
  };
  const high = (rows) => { root.style.setProperty("--row", `${rows}rem`); return root.offsetHeight; };
  const fit = () => {
    fold(0);
    if (!main) return high(USUAL);
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const left = main.clientHeight - (root.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop) - 4;
    let taken = high(LEAST);
    for (let level = 1; level <= 2 && taken > left; level++) { fold(level); taken = high(LEAST); }
    if (left < 0.6 * taken) { fold(0); high(USUAL); return; } // levers below the first screen may be long
    const rows = [...root.querySelectorAll("tbody tr")].filter((each) => !each.hidden).length;
    high(Math.max(LEAST, Math.min(MOST, LEAST + (left - taken) / rows / rem / 1.1)));
  };

  // How a part is switched off; an exported file has no page to report to.
  const ways = () => make("div", { class: "choice" }, make("span", { "aria-hidden": "true" }, "Replace by"), make("div", { class: "ways", role: "group", "aria-label": "A switched-off part outputs" }, ...data.silent.ways.map(([way, words]) => {
    const chosen = make("button", { type: "button", "aria-pressed": way === data.silent.now, title: words, "data-id": `silent-${way}` }, way);
    chosen.onclick = () => move({ silent: way });
    return chosen;
  })));
  // A choice among few ways, such as where the positions come from.
  const choice = ({ part, label, now, ways: named }) => make("div", { class: "choice" }, make("span", { "aria-hidden": "true" }, label), make("div", { class: "ways", role: "group", "aria-label": label }, ...named.map(([way, name, words]) => {
    const chosen = make("button", { type: "button", "aria-pressed": way === now, title: words, "data-id": `${part}-${name}` }, name);
    chosen.onclick = () => move({ [part]: way ? `${part}:${way}` : null });
    return chosen;
  })));
  const note = data.note ? [make("span", {}, data.note)] : [];
  const top = make("div", { class: "top" }, make("h2", {}, "Parts"), ...note, ...(main ? [ways()] : []));
  const alone = data.alone.map((lever) => make("div", { class: "alone" }, slider(lever)));
  if (data.brief) top.append(...alone);
  const said = [];
  if (data.changed) {
    const back = make("button", { type: "button", class: "reset", "data-id": "reset" }, data.brief ? "Back to trained" : "Back to the model as trained");
    back.onclick = () => { root.ahead.clear(); move({ [RESET]: null }); };
    const words = make("p", { role: "status", title: `${data.changed}. ${data.said}` }, ...(data.brief ? [data.said] : [make("b", {}, data.changed), `. ${data.said}`]));
    if (!data.brief) top.append(back);
    said.push(data.brief ? make("div", { class: "brief" }, back, words) : words);
  } else if (!data.brief || !alone.length) top.append(make("span", {}, data.hint));
  root.replaceChildren(top, ...said, ...data.grids.flatMap(grid), ...(data.brief ? [] : alone), ...(main ? data.choices.map(choice) : []), ...(data.brief ? [] : [make("p", {}, data.full)]));
  fit();
  const again = focused && root.querySelector(`[data-id="${CSS.escape(focused)}"]`);
  if (again) {
    if (again.tagName === "BUTTON" && again.closest("td")) reach(again.closest("table"), again);
    again.focus({ preventScroll: true });
  } else if (focused === "reset") root.querySelector("input, td button")?.focus({ preventScroll: true });

  root.observer?.disconnect();
  let last = 0;
  root.observer = new ResizeObserver(() => { // content above may be drawn later
    const now = root.clientWidth + 1e4 * (main ? main.clientHeight + root.getBoundingClientRect().top + main.scrollTop : 0);
    if (Math.abs(now - last) > 2) { last = now; fit(); }
  });
  root.observer.observe(root);
  if (main?.firstElementChild) root.observer.observe(main.firstElementChild);
  return () => root.observer.disconnect();
}
