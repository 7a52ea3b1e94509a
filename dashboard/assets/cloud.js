// Word clouds, one for each outcome; each word is a button that reports to the page. User text is inserted as text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".cloud");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  const focused = root.getRootNode().activeElement?.dataset?.id;
  const word = (given) => {
    const picked = given.id === data.picked;
    const button = make("button", { type: "button", "data-id": given.id, "aria-pressed": String(picked), title: given.said, style: `font-size:${given.rem}rem` }, given.words);
    button.append(make("span", { class: "sr" }, `, ${given.said}`));
    button.onclick = () => setTriggerValue("picked", picked ? "none" : given.id);
    return make("li", {}, button);
  };
  const cloud = (given) => {
    const words = given.words.length ? make("ul", { style: `--c:${given.colour}` }, ...given.words.map(word)) : make("p", {}, "No typical words.");
    return make("section", { "aria-label": given.title }, make("h3", {}, given.title), words);
  };
  const pairs = data.clouds.flatMap((_, at, all) => (at % 2 ? [] : [make("div", {}, ...all.slice(at, at + 2).map(cloud))]));
  root.replaceChildren(...pairs);
  if (focused) [...root.querySelectorAll("button")].find((each) => each.dataset.id === focused)?.focus();
}
