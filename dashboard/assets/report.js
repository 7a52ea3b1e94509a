// A report: unpacks its data, draws its figures in the screen's theme, and shows the table of predictions.
// User text is inserted as text nodes only. DRAW maps component names to their draw functions.
const PAGE = 50; // rows of the table on one page
const MOST = 60; // most values of a column with a menu
const NARROW = "\u202f";

const unpack = async (name) => {
  const block = document.getElementById(`packed-${name}`);
  if (!block) return "";
  const bytes = Uint8Array.from(atob(block.textContent), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, NARROW);

const save = (name, text) => {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};

// As core.formatting: an apostrophe before what a spreadsheet would evaluate.
const FORMULA = /^(?:[\s\x00-\x20\x85\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/;
const guarded = (text) => (FORMULA.test(text.replace(/^'+/, "")) ? `'${text}` : text);
const cell = (value) => (typeof value === "string" ? `"${guarded(value).replaceAll('"', '""')}"` : value ?? "");
const csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";

// Draws one figure after the other, so that the page stays responsive, but all at once for printing. Only the last call counts.
let turn = 0;
const draw = async (data, atOnce = false) => {
  turn += 1;
  const mine = turn;
  for (const place of document.querySelectorAll("[data-chart]")) {
    if (!atOnce) await new Promise((done) => setTimeout(done));
    if (mine !== turn) return;
    const found = data.charts[place.dataset.chart], { data: traces, layout } = structuredClone(found.chart);
    delete layout.width;
    Plotly.react(place, traces, { ...layout, autosize: true }, { ...found.config, responsive: true });
  }
  for (const place of document.querySelectorAll("[data-component]")) {
    const found = data.components[place.id || place.closest("figure").id];
    DRAW[found.name]({ data: structuredClone(found.data), parentElement: place, setStateValue: () => {}, setTriggerValue: () => {}, send: () => {} });
  }
};

// --- the table of predictions ---

const words = (column, row) => {
  const value = column.values[row];
  if (column.kind === "choice") return column.options[value];
  if (column.kind === "set") return value.map((each) => column.options[each]).join(", ");
  if (column.kind === "number") return value === null ? "" : value.toFixed(column.places).replace("-", "\u2212");
  return value;
};
const plain = (column, row) => (column.kind === "number" ? column.values[row] : words(column, row));
const sortable = (column, row) => (["text", "set"].includes(column.kind) ? words(column, row) : column.values[row] ?? -Infinity);

const classes = ({ kind, main, small, aside }) =>
  [kind === "number" && "number", kind === "set" && "several", main && "main", small && "small", aside && "aside"].filter(Boolean).join(" ");

class Rows {
  constructor(root, { columns, n, file }) {
    Object.assign(this, { root, columns, n, file, asked: "", chosen: new Map(), by: null, down: false, start: 0 });
    this.found = columns.map((column) => column.kind === "text" && Array.from({ length: n }, (_, row) => column.values[row].toLowerCase()));
    this.status = element("span", { role: "status" });
    this.before = this.button("Previous", () => this.turn(-PAGE));
    this.after = this.button("Next", () => this.turn(PAGE));
    const bar = element("div", { class: "bar" }, this.status, this.before, this.after, this.button("These rows · CSV", () => this.write()));
    this.body = element("tbody");
    const table = element("table", {}, element("caption", { class: "out" }, "Predictions"), element("thead", {}, this.heads()), this.body);
    const scroll = element("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Predictions" }, table);
    root.append(this.filter(), bar, scroll);
    this.refresh();
  }

  button(label, act) {
    const made = element("button", { type: "button" }, label);
    made.onclick = act;
    return made;
  }

  filter() {
    const search = element("input", { type: "search", autocomplete: "off", "aria-label": "Search" });
    search.oninput = () => { this.asked = search.value.trim().toLowerCase(); this.refresh(); };
    const form = element("form", { class: "filter", role: "search", "aria-label": "Predictions" }, element("label", {}, "Search", search));
    form.onsubmit = (event) => event.preventDefault();
    this.columns.forEach((column, place) => {
      if (!column.options || column.options.length < 2 || column.options.length > MOST) return;
      const choose = element("select", { "aria-label": column.label }, element("option", { value: "" }, "all"));
      column.options.forEach((option, at) => choose.append(element("option", { value: at }, option || "(none)")));
      if (column.first) {
        const at = column.options.indexOf(column.first);
        if (at >= 0) { choose.value = at; this.chosen.set(place, at); }
      }
      choose.onchange = () => {
        if (choose.value === "") this.chosen.delete(place);
        else this.chosen.set(place, Number(choose.value));
        this.refresh();
      };
      form.append(element("label", {}, column.label, choose));
    });
    return form;
  }

  heads() {
    const row = element("tr");
    this.columns.forEach((column, place) => {
      const head = element("th", { scope: "col", class: classes(column) });
      const sort = this.button(column.label, () => {
        this.down = this.by === place ? !this.down : column.kind === "number";
        this.by = place;
        for (const each of row.children) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
        this.refresh();
      });
      head.append(sort);
      row.append(head);
    });
    return row;
  }

  left() {
    const rows = [];
    for (let row = 0; row < this.n; row += 1) {
      const fits = [...this.chosen].every(([place, at]) => {
        const value = this.columns[place].values[row];
        return Array.isArray(value) ? value.includes(at) : value === at;
      });
      if (fits && (!this.asked || this.found.some((column) => column && column[row].includes(this.asked)))) rows.push(row);
    }
    if (this.by === null) return rows;
    const keys = rows.map((row) => sortable(this.columns[this.by], row)), sign = this.down ? -1 : 1;
    const order = rows.map((_, at) => at).sort((a, b) => sign * (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0) || a - b);
    return order.map((at) => rows[at]);
  }

  refresh() {
    this.rows = this.left();
    this.start = 0;
    this.show();
  }

  turn(by) {
    this.start = Math.max(0, Math.min(this.start + by, this.rows.length - 1));
    this.show();
  }

  show() {
    const end = Math.min(this.start + PAGE, this.rows.length), whole = this.rows.length === this.n ? "" : ` of ${count(this.n)}`;
    const part = this.rows.length > PAGE ? `, ${count(this.start + 1)} to ${count(end)} shown` : "";
    this.status.textContent = `${count(this.rows.length)}${whole} sentences${part}`;
    this.before.disabled = this.start === 0;
    this.after.disabled = end >= this.rows.length;
    this.body.replaceChildren(...this.rows.slice(this.start, end).map((row) => this.row(row)));
  }

  row(row) {
    const cells = this.columns.map((column) => {
      const text = words(column, row), marked = column.marks && column.options[column.values[row]] === column.marks;
      return element("td", { class: `${classes(column)}${marked ? " wrong" : ""}`, dir: "auto" }, text);
    });
    return element("tr", {}, ...cells);
  }

  write() {
    const body = this.rows.map((row) => this.columns.map((column) => plain(column, row)));
    save(`${this.file}.csv`, csv([this.columns.map((column) => column.label), ...body]));
  }
}

const start = async () => {
  if (!window.DecompressionStream) {
    const old = "This browser is too old for the figures and the table of predictions. Use one from 2023 or later.";
    document.querySelector("main").prepend(element("p", { role: "alert" }, old));
    return;
  }
  const data = JSON.parse(await unpack("data")), root = document.getElementById("rows");
  window.sentiscopeReport = data;
  if (root && data.rows.columns) new Rows(root, data.rows);
  for (const button of document.querySelectorAll("[data-file]")) {
    button.onclick = () => save(button.dataset.file, data.numbers[button.dataset.file]);
  }
  const plotly = await unpack("plotly");
  if (plotly) document.head.append(Object.assign(document.createElement("script"), { textContent: plotly }));
  addEventListener("beforeprint", () => draw(data, true));
  await draw(data);
  document.documentElement.dataset.drawn = "true";
};
start();
