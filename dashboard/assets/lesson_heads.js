// What does one head do? Attention maps of all heads in ink, the answer without each, and switches for every set of heads.
const capped = (figure, head) => capitalize(figure.names[head]);

// A map as lines from each word to those that it attends to; with words it is large, without them a small picture.
const drawMap = (map, words, width, height) => {
  const middle = (row) => (height * (row + .5)) / map.length, [left, right] = words ? [68, width - 68] : [4, width - 4], half = (left + right) / 2;
  const lines = map.flatMap((row, from) => row.map((weight, to) => weight && vector("path", {
    d: `M${left} ${middle(from)}C${half} ${middle(from)} ${half} ${middle(to)} ${right} ${middle(to)}`, fill: "none", stroke: "var(--ink)",
    "stroke-width": .6 + 2.4 * Math.abs(weight), "stroke-opacity": Math.min(1, .06 + Math.abs(weight)), "stroke-dasharray": weight < 0 ? "5 4" : null,
    "vector-effect": words ? null : "non-scaling-stroke",
  })).filter(Boolean));
  const texts = words?.flatMap((word, row) => [vector("text", { x: left - 8, y: middle(row) + 5, "text-anchor": "end" }, word), vector("text", { x: right + 8, y: middle(row) + 5 }, word)]) ?? [];
  return vector("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: words ? null : "none", "aria-hidden": true }, lines, texts);
};

const drawZoom = (figure, sentence, head) => [make("h2", {}, capped(figure, head), make("small", {}, " from \u2192 to")), drawMap(sentence.maps[head], sentence.tokens, 240, Math.max(160, 21 * sentence.tokens.length))];
const placeZoom = (figure, sentence, head) => {
  figure.zoom = make("div", { class: "zoom", role: "img", "aria-label": `Attention of ${figure.names[head]}` }, drawZoom(figure, sentence, head));
  return figure.zoom;
};
const lookAt = (figure, sentence, head) => {
  figure.at = head;
  figure.zoom?.replaceChildren(...drawZoom(figure, sentence, head));
  figure.zoom?.setAttribute("aria-label", `Attention of ${figure.names[head]}`);
};

// All heads, a row for each layer. `without` shows the answer without each head; `off` are the bits of those switched off.
const drawGrid = ({ figure }, sentence, { mine = -1, without = false, off = null, press = null }) => {
  const cells = [make("span"), ...Array.from({ length: figure.heads }, (_, head) => make("span", { class: "column" }, `head ${head + 1}`))];
  figure.names.forEach((name, head) => {
    if (head % figure.heads === 0) cells.push(make("span", {}, `layer ${head / figure.heads + 1}`));
    const p = sentence.alone[head], flips = without && (p >= .5) !== (sentence.positive >= .5), isOff = off !== null && Boolean(off >> head & 1), isMine = mine === head;
    const pressed = off !== null ? isOff : press && !without ? isMine : null;
    cells.push(make(press ? "button" : "div", {
      type: press ? "button" : null, "data-mark": "", "data-id": press && `head-${head}`, class: ["cell", isMine ? "mine" : "", flips ? "flips" : "", isOff ? "off" : ""].join(" "),
      "aria-label": press && `${capitalize(name)}${without ? `, without it ${figure.classes[1]} ${write(p)}` : ""}${isMine ? ", your choice" : ""}`, "aria-pressed": pressed === null ? null : String(pressed),
      onclick: press && (() => press(head)), onmouseenter: () => lookAt(figure, sentence, head), onfocus: () => lookAt(figure, sentence, head), onkeydown: press && ((event) => walkGrid(event, figure, head)),
    }, isMine ? make("span", { class: "mark" }, "you") : "", drawMap(sentence.maps[head], null, 200, 100),
    isOff ? make("span", { class: "switched" }, "off") : "",
    without ? make("span", { class: "share" }, make("i", { style: `--p:${100 * (1 - p)}%` }), make("b", {}, write(p))) : ""));
  });
  return make("div", { class: "grid", style: `--columns:${figure.heads};--rows:${figure.layers}` }, cells);
};
const walkGrid = (event, figure, head) => { // up and down a column: left and right are the stages
  const to = head + { ArrowDown: figure.heads, ArrowUp: -figure.heads }[event.key];
  const next = event.target.parentNode.querySelector(`[data-id="head-${to}"]`);
  if (next) { event.preventDefault(); next.focus(); }
};
const drawHead = (figure, sentence, positive = sentence.positive) => make("div", { class: "asked" }, make("q", {}, sentence.text), drawAnswer(figure.classes, positive, sentence.positive));
const nameAnswer = (figure, positive) => nameProbability(figure.classes, positive);
// A typed sentence as the figure describes one; what is hardly attended to is not drawn.
const describeTyped = (text, model) => {
  const { tokens, layers, probabilities } = model.read(text), maps = layers.flatMap((layer) => model.combineMaps(layer).at(-1));
  return { text, tokens, maps: maps.map((map) => map.map((row) => row.map((weight) => (Math.abs(weight) < .01 ? 0 : weight)))), positive: probabilities[1], alone: [] };
};

const LESSON = {
  own: "bits",
  stages: [
    (view) => {
      const { figure, picked, question } = view, at = figure.at ?? (picked >= 0 ? picked : figure.first.dark[0]);
      return {
        left: [drawHead(figure, figure.first), drawGrid(view, figure.first, { mine: picked, press: view.choose })],
        side: [placeZoom(figure, figure.first, at), fact("A line leads from a word to a word it attends to. Stronger: more attention.")],
        note: picked >= 0 ? `Your choice: ${figure.names[picked]}.` : "Choose a head first.",
      };
    },
    (view) => {
      const { figure, picked } = view;
      return {
        left: [drawHead(figure, figure.first), drawGrid(view, figure.first, { mine: picked, without: true, press: (head) => lookAt(figure, figure.first, head) })],
        side: [placeZoom(figure, figure.first, figure.right)],
      };
    },
    (view) => {
      const { figure, state, models: [model], own } = view, first = own ? describeTyped(own, model) : figure.first;
      const bits = Math.min(2 ** figure.names.length - 1, Math.max(0, Math.round(+state.set) || 0)), places = [...figure.names.keys()];
      const measure = (bits) => (model ? model.read(first.text, { off: places.filter((head) => bits >> head & 1) }).probabilities[1] : figure.sets[bits] / 1000);
      const positive = measure(bits), off = figure.names.filter((_, head) => bits >> head & 1), flipped = (positive >= .5) !== (first.positive >= .5), last = figure.last ?? figure.right;
      const press = (head) => { figure.last = head; view.change({ set: String(bits ^ 1 << head) }); };
      const easy = !own && flipped && bits >> figure.right & 1 ? ` Now try it with ${figure.names[figure.right]} on.` : "";
      return {
        headline: flipped ? `Flipped: ${nameAnswer(figure, positive)}.` : bits ? `Still ${nameAnswer(figure, positive)}.` : own ? `${capitalize(nameAnswer(figure, positive))}.` : undefined,
        line: own ? "Click a head to switch it off." : undefined,
        left: [drawHead(figure, first, positive), drawGrid(view, first, { mine: own ? -1 : state.pick, off: bits, press })],
        side: [say(off.length ? `Off: ${off.join(", ")}.${easy}` : figure.all_on), placeZoom(figure, first, last),
          bits ? make("button", { type: "button", class: "plain", "data-id": "all-on", onclick: () => view.change({ set: "" }) }, "Switch all on") : ""],
      };
    },
    (view) => {
      const { figure, picked, answered } = view, shown = answered ? figure.second.alone[picked] : figure.second.positive;
      return {
        left: [drawHead(figure, figure.second, shown), drawGrid(view, figure.second, { mine: picked, without: answered, press: answered ? (head) => lookAt(figure, figure.second, head) : view.choose })],
        side: [placeZoom(figure, figure.second, answered ? figure.right : figure.at ?? figure.right)],
        note: answered ? "" : "Choose a head.",
      };
    },
  ],
  sheet: (view) => [drawGrid(view, view.figure.first, {})],
};
