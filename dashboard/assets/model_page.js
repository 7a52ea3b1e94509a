// The page of an exported run: reads a text, shows the answer, the effect of each word, and the attention of the heads.
const part = (id) => document.getElementById(id);
const make = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const signed = (value) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(2);
const MOST_WORDS = 300, MOST_TOKENS = 40; // words that are deleted one by one, and tokens of the head view
const STRONG = 4; // the effect in the strongest colour

const model = JSON.parse(part("model").textContent), opened = openModel(model, part("weights").textContent);
const { tokenizer, read, chooseTarget, computeOdds, measureEffect, combineMaps } = opened;
// The weight in the strongest colour: the 98.5th percentile.
const findTop = (rows) => {
  const weights = rows.flat(3).map(Math.abs).sort((a, b) => a - b), place = 0.985 * (weights.length - 1), low = Math.floor(place);
  const usual = weights[low] + (place - low) * ((weights[low + 1] ?? weights[low]) - weights[low]), most = weights.at(-1);
  return most < 1e-6 ? 1 : usual > 1e-6 * most ? usual : most;
};

const showAnswer = ({ probabilities, cut, ids }) => {
  part("answer").replaceChildren(...model.classes.map((name, i) => {
    const share = make("i", { style: `--share:${(100 * probabilities[i]).toFixed(1)}%`, class: model.classes.length === 2 && i === 0 ? "minus" : "" });
    return make("li", {}, make("span", {}, name), share, make("b", {}, probabilities[i].toFixed(3)));
  }));
  part("note").textContent = cut ? `The model reads the first ${ids.length} tokens; ${cut} at the end are cut off.` : "";
};

let turn = 0; // a newer text ends the work on an older one
const showEffects = async (text, found) => {
  const mine = ++turn, target = chooseTarget(found), odds = computeOdds(found.probabilities, target), heard = tokenizer.findRead(text);
  const items = tokenizer.findWords(text).slice(0, MOST_WORDS).map((word) => [word, make("small", {}, "\u2026")]);
  part("effects").replaceChildren(...items.map(([word, number]) => make("li", {}, make("b", { dir: "auto" }, text.slice(...word)), number)));
  const left = tokenizer.findWords(text).length - items.length;
  part("effects-note").textContent = `${left ? `The first ${MOST_WORDS} words. ` : ""}Log-odds of \u201c${model.classes[target]}\u201d with the word minus without it. Blue: the word raises them. Orange: it lowers them.`;
  part("effects").setAttribute("aria-busy", "true");
  for (const [word, number] of items) {
    await new Promise((go) => setTimeout(go));
    if (mine !== turn) return;
    const effect = measureEffect(heard, word, target, odds);
    number.textContent = signed(effect);
    number.parentElement.style.setProperty("--strength", `${Math.min(50, (50 * Math.abs(effect)) / STRONG).toFixed(0)}%`);
    number.parentElement.classList.toggle("minus", effect < 0);
  }
  part("effects").removeAttribute("aria-busy");
};

const showHeads = ({ tokens, layers }) => {
  const layer = Number(part("layer").value), which = Number(part("map").value);
  part("heads").hidden = !layers.length;
  if (!layers.length) return;
  const rows = combineMaps(layers[layer]), shown = tokens.slice(0, MOST_TOKENS);
  const maps = rows[which].map((map) => map.slice(0, MOST_TOKENS).map((row) => row.slice(0, MOST_TOKENS).map((value) => Number(value.toFixed(3)))));
  const cut = tokens.length > MOST_TOKENS ? ` The first ${MOST_TOKENS} of ${tokens.length} tokens.` : "";
  part("heads-note").textContent = cut;
  drawHeadView({
    parentElement: part("heads"),
    data: {
      tokens: shown, maps, first: 0, top: findTop(rows), size: 16.5, muted: "var(--quiet)", name: "heads", brief: false, about: [],
      label: `Attention, layer ${layer + 1}, ${model.maps[which]}.${cut}`,
      hint: `Stronger line: more attention. Dashed or hatched: subtracted. Point at a word, or use arrow keys.`,
    },
  });
};

const show = () => {
  const text = part("text").value, found = read(text);
  showAnswer(found);
  showHeads(found);
  showEffects(text, found);
};
const fill = (select, names, chosen) => {
  select.replaceChildren(...names.map((name, value) => make("option", { value, ...(value === chosen ? { selected: "" } : {}) }, name)));
  select.onchange = () => showHeads(read(part("text").value));
  select.parentElement.hidden = names.length < 2;
};

fill(part("layer"), [...Array(model.layers).keys()].map((layer) => `Layer ${layer + 1}`), model.layers - 1);
fill(part("map"), model.maps, model.maps.length - 1);
let waiting;
part("text").oninput = () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, 150);
};
show();
window.sentiscope = { ...opened, findTop };
