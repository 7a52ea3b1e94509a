// The words of a text: colour and number show the effect, the bar shows attention. User text is inserted as text nodes only.
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "") node.setAttribute(name, value);
  node.append(...children);
  return node;
};

const chip = (item) => {
  if (item.folded) return make("li", { class: "folded" }, `\u2026 ${item.folded} more`);
  const kinds = ["unknown", "unread", "most"].filter((kind) => item[kind]).join(" ");
  const word = make("b", { // a bracket has no own direction and is mirrored with the text
    dir: /\p{L}/u.test(item.word) ? "auto" : "", class: item.away ? "away" : "", style: `background-color:${item.colour};color:${item.ink}`, "aria-hidden": "true",
  }, item.word);
  const bar = item.read === null ? [] : [make("i", {
    class: item.read < 0 ? "away" : "", style: `--read:${Math.min(100, 100 * Math.abs(item.read)).toFixed(0)}%`,
  })];
  const heard = make("span", { class: "heard" }, item.about);
  return make("li", { class: kinds, title: item.about, "data-mark": "word" }, word, heard, make("small", { "aria-hidden": "true" }, item.push), ...bar);
};

const key = ({ ends, ramp, away, push, read, unknown, unread }) => {
  const stops = ramp.map((colour, i) => `${colour} ${(100 * i) / ramp.length}% ${(100 * (i + 1)) / ramp.length}%`);
  const scale = make("i", { style: `background:linear-gradient(90deg,${stops.join(",")})` });
  const parts = [make("span", {}, ...(away ? [] : [ends[0]]), scale, `${ends[1]}: ${push}`)];
  if (away) parts.push(make("span", {}, make("i", { class: "away", style: `--full:${ramp[ramp.length - 1]}` }), away));
  if (read) parts.push(make("span", {}, read));
  if (unknown) parts.push(make("span", {}, make("i", { class: "frame" }), unknown));
  if (unread) parts.push(make("span", {}, make("s", {}, "struck"), ` ${unread}`));
  return make("div", { class: "key" }, ...parts);
};

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".words");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  const chips = data.items.map(chip), reads = data.reads ? "reads" : "";
  const names = make("div", { class: `names ${reads}`, "aria-hidden": "true" }, make("span"), make("span", {}, "effect"),
    ...(data.reads ? [make("span", {}, "attention")] : []));
  const cause = data.cause.map(([kind, text]) =>
    kind ? make(kind === "unknown" ? "span" : "b", { class: kind === "unknown" ? "x" : "" }, text)
      : text.replace("ρ = ", "ρ\u00a0=\u00a0"));
  root.replaceChildren(
    make("div", { class: `strip ${reads}` }, names, make("ul", { "aria-label": data.label, dir: data.dir }, ...chips)),
    make("p", { class: data.brief ? "cause brief" : "cause" }, ...cause),
    ...(data.brief ? [] : [key(data.legend)]),
  );

  // Hovering a word also highlights it in the attention figure, and vice versa.
  const light = (tokens) => chips.forEach((each, i) =>
    each.classList.toggle("on", Boolean(tokens && data.items[i].tokens?.some((token) => tokens.includes(token)))));
  const tell = (tokens) => window.dispatchEvent(new CustomEvent("sentiscope-word", { detail: { tokens, from: root } }));
  chips.forEach((each, i) => {
    each.onmouseenter = () => tell(data.items[i].tokens ?? null);
    each.onmouseleave = () => tell(null);
  });
  if (root.hears) window.removeEventListener("sentiscope-word", root.hears);
  root.hears = (event) => light(event.detail.tokens);
  window.addEventListener("sentiscope-word", root.hears);
  return () => window.removeEventListener("sentiscope-word", root.hears);
}
