// Sentences with spans: labels above predictions. User text is inserted as text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "") node.setAttribute(name, value);
  node.append(...children);
  return node;
};

const part = (each, types) => {
  if (!each.kind) return `${each.text} `;
  const type = types[each.kind] ?? { line: "currentColor", ground: "transparent", ink: "inherit" };
  const style = `--line:${type.line};background:${type.ground};color:${type.ink}`;
  const names = [make("small", {}, each.kind), ...(each.wrong ? ["\u00a0", make("em", {}, each.wrong)] : [])];
  return make("span", { class: each.wrong ? "wrong" : "", title: each.about }, make("b", { style }, each.text), " ", ...names, " ");
};

const line = ({ who, parts }, types) =>
  make("div", { class: "line" }, make("i", {}, who), make("p", { dir: "auto" }, ...parts.map((each) => part(each, types))));

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".tagged");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  const items = data.sentences.map(({ row, lines }) =>
    make("li", {}, ...(row < 0 ? [] : [make("u", { title: "row of the split, from 0" }, String(row))]),
      make("div", {}, ...lines.map((each) => line(each, data.types)))));
  root.replaceChildren(items.length ? make("ul", {}, ...items) : make("p", { class: "none" }, "No sentence matches the filter."),
    ...(data.more ? [make("p", { class: "none" }, data.more)] : []));
}
