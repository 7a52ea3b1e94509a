// A table of coloured numbers with row and column names. User text is inserted as text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "") node.setAttribute(name, value);
  node.append(...children);
  return node;
};

const cell = ({ text, colour, ink, away, about }) =>
  make("td", { class: about ? (away ? "away" : "") : "none", title: about, style: `background-color:${colour};color:${ink}` }, text);

export default function ({ data, parentElement }) {
  const { heads, rows, label, lines, colours } = data;
  const root = parentElement.querySelector(".cells");
  for (const [name, value] of Object.entries(colours)) root.style.setProperty(`--${name}`, value);
  const columns = heads.map(({ name, about }) => make("th", { scope: "col", title: about }, name));
  const body = rows.map(({ name, cells }) => make("tr", {}, make("th", { scope: "row", title: name }, name), ...cells.map(cell)));
  const table = make("table", { "aria-label": label },
    make("thead", {}, make("tr", {}, make("td", { class: "none" }), ...columns)), make("tbody", {}, ...body));
  root.replaceChildren(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table),
    ...lines.map((line) => make("p", {}, line)));
}
