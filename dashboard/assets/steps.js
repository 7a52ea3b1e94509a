// Steps: a row of stages, and below it the open stage: formula, matrices, and the formula with the numbers of one cell.
// User text is inserted as text nodes only. Formulas are our own MathML, parsed as a document without scripts.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "" && value !== null && value !== false) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const formula = (text) => document.importNode(new DOMParser().parseFromString(text, "application/xml").documentElement, true);
const minus = (text) => text.replace("-", "\u2212");
const write = (value) => {
  if (value === null) return "\u2212\u221e";
  const size = Math.abs(value);
  return minus(size && size < 0.005 ? "0.00" : value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2));
};
const quoted = (token) => (/[\p{L}\p{N}]/u.test(token) ? token : `\u201c${token}\u201d`); // a comma between commas is unreadable
const AHEAD = 3000; // milliseconds in which an outdated answer of the page does not change the stage
const WIDEST = 3.4, LOWEST = 0.64, LEGIBLE = 0.98, HIGHEST = 1.9; // cell sizes in rem: width and height limits, and the least size with a number
const TAKES_ARROWS = "input, textarea, select, [contenteditable=true], [role=radio], [role=slider], [role=listbox], [role=option], [role=combobox], [role=tab], [role=menuitem], [role=grid], [role=toolbar]";

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".steps");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const place = (key) => data.stages.findIndex((stage) => stage.key === key);
  const waits = root.sent && Date.now() - root.sent < AHEAD && place(root.key) >= 0;
  if (root.key === undefined || place(root.key) < 0 || (data.at !== root.given && !waits)) root.key = data.at;
  root.given = data.at;
  root.cells ??= {};

  const stage = () => data.stages[place(root.key)];
  const go = (key, focus) => {
    if (!key || key === root.key) return;
    root.key = key;
    root.sent = Date.now();
    setTriggerValue("stage", key);
    draw();
    if (focus) rail.querySelector("[aria-current]")?.focus({ preventScroll: true });
  };
  const step = (by, focus) => go(data.stages[place(root.key) + by]?.key, focus);

  // The cell that fills the formula: the last hovered one, else the largest value of the result.
  const chosen = (open) => {
    const kept = root.cells[open.key], matrix = kept && open.matrices[kept[0]];
    if (matrix && kept[1] < matrix.rows.length && kept[2] < matrix.columns.length) return kept;
    const last = open.matrices.length - 1;
    let best = [last, 0, 0], most = -Infinity;
    open.matrices[last]?.cells.forEach((row, i) => row.forEach((value, j) => {
      const size = open.matrices[last].score ? value ?? -Infinity : Math.abs(value ?? 0);
      if ((i !== j || row.length === 1) && size > most) [best, most] = [[last, i, j], size];
    }));
    return best;
  };

  const rail = make("ol", { class: "rail", "aria-label": "stages" });
  const tell = make("div", { class: "tell" });
  const filled = make("div", { class: "filled", "aria-live": "polite" });
  const matrices = make("div", { class: "matrices" });
  const body = make("div", { class: "body" }, tell, matrices);

  const fill = () => {
    const open = stage();
    if (!open.matrices.length) return filled.replaceChildren();
    const [m, i, j] = chosen(open), matrix = open.matrices[m];
    const where = `${quoted(matrix.rows[i])}, ${matrix.dimensions ? `dimension ${matrix.columns[j]}` : quoted(matrix.columns[j])}`;
    const name = make("span", { class: "name" }, formula(matrix.name));
    filled.replaceChildren(make("small", {}, where), make("p", {}, name, ` = ${matrix.fills[i][j]}`));
  };
  const point = (m, i, j) => {
    root.cells[stage().key] = [m, i, j];
    mark();
    fill();
  };
  const mark = () => {
    const open = stage(), [m, i, j] = chosen(open), at = open.matrices[m];
    const alike = (n) => same(open.matrices[n].rows, at.rows) && same(open.matrices[n].columns, at.columns);
    [...matrices.querySelectorAll("table")].forEach((one, n) => one.querySelectorAll("th").forEach((name) => {
      name.classList.toggle("on", alike(n) && (name.dataset.row === String(i) || name.dataset.column === String(j)));
    }));
    for (const cell of matrices.querySelectorAll("td[data-at]")) {
      const on = cell.dataset.at === `${m}.${i}.${j}`;
      cell.classList.toggle("on", on);
      const [n, y, x] = cell.dataset.at.split(".").map(Number);
      cell.classList.toggle("too", !on && y === i && x === j && alike(n));
      cell.tabIndex = on || (n !== m && y === 0 && x === 0) ? 0 : -1;
    }
  };

  const table = (matrix, m, cell, line) => {
    const shades = data.shades, wide = width(matrix, cell.width);
    const tall = matrix.rows.length === 1 ? Math.max(cell.height, 1.4 * rem) : cell.height;
    const readable = wide >= need(matrix) * rem && tall >= LEGIBLE * rem;
    const rowsKnown = line.some((one) => same(one.rows, matrix.rows));
    const top = (name, j) => make("th", { scope: "col", title: name, "data-column": j }, make("span", {}, name));
    const head = [...matrix.columns.map(top), ...matrix.beside.map((name) => make("th", { scope: "col", class: "word" }, name))];
    const rows = matrix.cells.map((values, i) => {
      const cells = values.map((value, j) => {
        const shade = shades[Math.round((shades.length - 1) * ink(matrix, value))];
        const text = matrix.count ? String(value) : write(value);
        const td = make("td", {
          "data-at": `${m}.${i}.${j}`, tabindex: -1, title: `${matrix.rows[i]}, ${matrix.columns[j]}: ${text}`,
          class: value === null ? "hidden" : value < 0 && !matrix.score ? "below" : "", style: value === null ? "" : `background-color:${shade[0]};color:${shade[1]}`,
        }, make("span", {}, value === null ? "hidden" : text));
        td.onmouseenter = td.onfocus = td.onclick = () => point(m, i, j);
        return td;
      });
      const words = (matrix.words[i] ?? []).map((word) => make("td", { class: "word" }, word));
      return make("tr", {}, make("th", { scope: "row", title: matrix.rows[i], "data-row": i }, make("span", {}, matrix.rows[i])), ...cells, ...words);
    });
    const few = known(matrix) || (slants(matrix) && wide < rem); // names of narrow columns would overlap
    const kinds = [readable ? "" : "small", slants(matrix) && !few ? "slanted" : "", rowsKnown ? "no-rows" : "", few ? "no-columns" : ""];
    const made = make("table", { "data-mark": "matrix", class: kinds.filter(Boolean).join(" ") },
      make("caption", {}, formula(matrix.name), ...(matrix.note ? [make("small", {}, matrix.note)] : [])),
      make("thead", {}, make("tr", {}, make("td", { class: "corner" }), ...head)), make("tbody", {}, ...rows));
    made.style.setProperty("--w", `${wide}px`);
    made.style.setProperty("--h", `${tall}px`);
    made.style.setProperty("--up", `${up(matrix)}rem`);
    made.onkeydown = (event) => arrows(event, made, m, matrix);
    return made;
  };
  // Each matrix is one Tab stop; arrow keys move between its cells.
  const arrows = (event, made, m, matrix) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by || !event.target.dataset.at) return;
    event.preventDefault();
    event.stopPropagation();
    const [, i, j] = event.target.dataset.at.split(".").map(Number);
    const y = Math.min(matrix.rows.length - 1, Math.max(0, i + by[0])), x = Math.min(matrix.columns.length - 1, Math.max(0, j + by[1]));
    made.querySelector(`td[data-at="${m}.${y}.${x}"]`)?.focus({ preventScroll: true });
  };

  // Approximate size of a matrix in rem: row names, a number, the head with slanted names.
  const longest = (words) => Math.max(0, ...words.map((word) => word.length));
  const names = (matrix) => Math.min(8, 0.9 + 0.47 * longest(matrix.rows));
  const need = (matrix) => 0.25 + 0.47 * longest(matrix.cells.flat().map((value) => (value === null ? "" : matrix.count ? String(value) : write(value))));
  const slants = (matrix) => !matrix.dimensions && matrix.columns.length > 3 && longest(matrix.columns) > 3;
  const up = (matrix) => Math.min(4, 0.6 + 0.36 * longest(matrix.columns));
  // Of matrices with the same columns, the first has all names; the others show only the chosen cell's name.
  const known = (matrix) => slants(matrix) && stage().matrices.find((one) => same(one.columns, matrix.columns)) !== matrix;
  const above = (matrix) => 1.75 + (slants(matrix) && !known(matrix) ? up(matrix) : 1.3);
  const narrow = (matrix) => matrix.columns.length < 4;
  const least = (matrix) => Math.max(need(matrix), matrix.dimensions || slants(matrix) ? 0 : Math.min(7, 0.5 + 0.47 * longest(matrix.columns)));
  const width = (matrix, cell) => (narrow(matrix) ? Math.max(Math.min(cell, WIDEST * rem), least(matrix) * rem) : cell);
  const same = (one, other) => one.length === other.length && one.every((name, i) => name === other[i]);
  const ink = (matrix, value) => {
    if (matrix.count || value === null) return 0;
    if (matrix.score) return (value - matrix.low) / (matrix.top - matrix.low || 1);
    return Math.min(1, Math.abs(value) / matrix.top);
  };
  const lines = (all, many) => {
    const per = Math.ceil(all.length / many);
    return Array.from({ length: many }, (_, n) => all.slice(n * per, (n + 1) * per)).filter((line) => line.length);
  };
  // The cell size with which all matrices fit, in one to three lines; readable numbers have priority.
  const fit = (open, wide, high) => {
    let best = null;
    for (let many = 1; many <= Math.min(3, open.matrices.length); many++) {
      const rows = lines(open.matrices, many);
      const w = Math.min(WIDEST * rem, ...rows.map((line) => {
        const fixed = line.reduce((sum, one, n) => sum + (line.slice(0, n).some((other) => same(other.rows, one.rows)) ? 0 : names(one)) + 6 * one.beside.length
          + (narrow(one) ? one.columns.length * least(one) : 0), 0) + (line.length - 1) * 1.5;
        const columns = line.reduce((sum, one) => sum + (narrow(one) ? 0 : one.columns.length), 0);
        return columns ? (wide - fixed * rem) / columns - 1.2 : fixed * rem <= wide ? WIDEST * rem : 0;
      }));
      const fixed = rows.reduce((sum, line) => sum + Math.max(...line.map(above)) + 0.6, 0);
      const h = Math.min(HIGHEST * rem, (high - fixed * rem) / rows.reduce((sum, line) => sum + Math.max(...line.map((one) => one.rows.length)), 0) - 1);
      const reads = open.matrices.every((one) => width(one, w) >= need(one) * rem) && h >= LEGIBLE * rem, fits = w >= 0.6 * rem && h >= LOWEST * rem;
      const worth = (reads ? 100 : fits ? 50 : 0) + Math.min(w, 1.6 * h) / rem;
      if (!best || worth > best.worth) best = { worth, width: Math.max(0.5 * rem, w), height: Math.max(LOWEST * rem, h), many };
    }
    return best;
  };

  const show = () => {
    const open = stage(), number = place(root.key), last = data.stages.length - 1;
    const heading = make("h2", {}, open.title, make("small", {}, `${number + 1} of ${last + 1}`));
    const back = make("button", { type: "button", disabled: number === 0, "aria-label": "Previous stage" }, "\u2039");
    const next = make("button", { type: "button", disabled: number === last, "aria-label": "Next stage" }, "\u203a");
    back.onclick = () => step(-1);
    next.onclick = () => step(1);
    const top = make("div", { class: "top" }, heading, make("div", { class: "turn" }, back, next, make("span", { "aria-hidden": "true" }, "or \u2190 \u2192")));
    const written = make("div", { class: "formulas" }, ...open.formulas.map((each) => make("div", {}, formula(each))));
    const reading = make("p", { class: "reading" }, open.reading);
    tell.replaceChildren(top, written, reading, filled);
    fill();
    body.className = "body side";
    squeeze();
    if (!open.matrices.length) {
      matrices.replaceChildren();
      return;
    }
    const height = () => Math.max(12 * rem, innerHeight - matrices.getBoundingClientRect().top - scrolled() - 0.9 * rem);
    const whole = root.clientWidth, aside = Math.min(20 * rem, 0.36 * whole);
    const side = fit(open, whole - aside - 2 * rem, height());
    body.className = "body band";
    const band = fit(open, whole - 0.4 * rem, height());
    const better = side.worth >= band.worth ? side : band;
    body.className = `body ${better === side ? "side" : "band"}`;
    squeeze();
    matrices.replaceChildren(...lines(open.matrices, better.many).map((line) => make("div", { class: "line" },
      ...line.map((matrix, n) => table(matrix, open.matrices.indexOf(matrix), better, line.slice(0, n))))));
    mark();
    shrink(lines(open.matrices, better.many), better);
  };
  // A formula cannot break, so a wide one is written smaller.
  const squeeze = () => tell.querySelectorAll(".formulas div").forEach((line) => {
    line.style.fontSize = "";
    const share = line.clientWidth / Math.max(1, line.scrollWidth);
    if (share < 1) line.style.fontSize = `${Math.max(0.66, share * 0.98)}em`;
  });
  // Shrinks what is still slightly too large.
  const shrink = (rows, cell) => {
    const all = [...matrices.querySelectorAll("table")];
    const over = matrices.getBoundingClientRect().bottom + scrolled() - innerHeight + 0.2 * rem;
    const count = rows.reduce((sum, line) => sum + Math.max(...line.map((one) => one.rows.length)), 0);
    const height = Math.max(LOWEST * rem, cell.height - over / count - 0.5);
    if (over > 0 && height < cell.height) all.forEach((one) => one.style.setProperty("--h", `${height}px`));
    const wide = matrices.scrollWidth - matrices.clientWidth;
    const columns = Math.max(...rows.map((line) => line.reduce((sum, one) => sum + one.columns.length, 0)));
    if (wide > 0) all.forEach((one) => one.style.setProperty("--w", `${Math.max(0.5 * rem, parseFloat(one.style.getPropertyValue("--w")) - wide / columns - 0.5)}px`));
  };
  const scrolled = () => document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0;
  const draw = () => {
    rail.replaceChildren(...data.stages.map((each) => {
      const button = make("button", { type: "button", class: each.matrices.length ? "" : "none", "aria-current": each.key === root.key ? "step" : null, "data-title": each.title }, each.title);
      button.onclick = () => go(each.key, true);
      return make("li", {}, button);
    }));
    if (!root.contains(rail)) root.replaceChildren(rail, body, ...(data.left_out ? [make("p", { class: "left-out" }, data.left_out)] : []));
    rail.style.fontSize = ""; // one line, if that takes little
    const share = rail.clientWidth / [...rail.children].reduce((sum, each) => sum + each.getBoundingClientRect().width + 0.15 * rem, 0.5);
    if (share < 1 && share > 0.85) rail.style.fontSize = `${0.88 * 0.97 * share}rem`;
    show();
  };

  const active = () => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at;
  };
  root.pressed && document.removeEventListener("keydown", root.pressed);
  root.pressed = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], at = active();
    if (!by || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (at?.matches?.(TAKES_ARROWS) || at?.closest?.("[role=radiogroup], [role=grid], [role=toolbar]")) return;
    event.preventDefault();
    step(by, root.getRootNode().activeElement?.closest?.(".rail"));
  };
  document.addEventListener("keydown", root.pressed);
  root.replaceChildren();
  draw();
  root.seen?.disconnect();
  let wide = root.clientWidth, tall = innerHeight;
  root.seen = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - wide) < 4 && Math.abs(innerHeight - tall) < 4) return;
    [wide, tall] = [root.clientWidth, innerHeight];
    show();
  });
  root.seen.observe(root);
  return () => {
    root.seen.disconnect();
    document.removeEventListener("keydown", root.pressed);
  };
}
