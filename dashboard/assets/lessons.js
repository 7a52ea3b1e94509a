// The list of lessons: a small figure, the title, what it teaches, and its minutes. Each row is a link.
const NS = "http://www.w3.org/2000/svg";
const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter(Boolean));
  return node;
};
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const vector = (tag, attributes = {}, ...children) => fill(document.createElementNS(NS, tag), attributes, children);
const drawShape = ([path, color, opacity, stroke]) => vector("path", { d: path, opacity, ...(stroke
  ? { fill: "none", stroke: `var(--${color})`, "stroke-width": stroke } : { fill: `var(--${color})` }) });

export default function ({ data, parentElement }) {
  parentElement.querySelector(".lessons").replaceChildren(make("ul", {}, ...data.lessons.map((lesson, place) => make("li", {},
    make("a", { href: lesson.href }, vector("svg", { viewBox: "0 0 138 70", "aria-hidden": "true" }, ...lesson.small.map(drawShape)),
      make("span", { class: "place" }, String(place + 1)), make("span", {}, make("b", {}, lesson.title), lesson.line),
      make("span", { class: "minutes" }, `${lesson.minutes} min`, lesson.note && make("small", {}, lesson.note)))))));
}
