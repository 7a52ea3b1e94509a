// Head view: words on both sides, with lines between them. Width and darkness show the weight, each column is a head.
// Negative weights are dashed lines and hatched cells.
// User text is inserted as text nodes only.
const NS = "http://www.w3.org/2000/svg";
const LEAST = 16; // pixels of a row
const STRONG = 0.1; // share of the strongest colour below which a hovered word has no line

const add = (parent, tag, attributes = {}, text) => {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
};

// Cut between graphemes; East Asian ones are a little wider than two characters.
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}]/u;
const LONGEST = 14;
const short = (word) => {
  const parts = [...new Intl.Segmenter().segment(word)].map(({ segment }) => [segment, WIDE.test(segment) ? 2.2 : 1]);
  let left = LONGEST - 1, cut = 0;
  while (cut < parts.length && parts[cut][1] <= left) left -= parts[cut++][1];
  return cut === parts.length || (cut === parts.length - 1 && parts[cut][1] <= left + 1) ? word : `${parts.slice(0, cut).map(([part]) => part).join("")}\u2026`;
};
const write = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".head_view");
  const { tokens, maps, top, size, muted } = data;
  const H = maps.length, L = tokens.length, above = size * 2.15, most = size * 1.75;
  let row = most, font = size;
  root.style.setProperty("--muted", muted);
  if (root.heads?.size === undefined || root.count !== H) root.heads = new Set(maps.keys());
  root.count = H;
  let at = null; // {side: 0 attends | 1 is attended to, index}
  let parts = null;

  const hatch = `away-${data.name}`; // a unique id, since a document may have several
  const weight = (head, side, index, other) => (side ? maps[head][other][index] : maps[head][index][other]);
  const y = (index) => above + index * row + row / 2;
  const everywhere = maps.flat(2).map(Math.abs).sort((a, b) => b - a);
  const resting = Math.min(1, Math.max(0.25, (everywhere[3 * L] || 0) / top)); // without hovering, about three lines per word

  // On a page, the rows share the rest of the first screen; elsewhere their height is not limited.
  const main = root.getRootNode().host?.closest("[data-testid=stMain]");
  const fitting = () => {
    if (!main) return most;
    const left = main.clientHeight - (root.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop);
    const below = data.brief ? size * 2.2 : size * 10; // a projector has no room for the names of further sections
    const fits = (left - above - below) / L;
    return fits < LEAST * 0.6 ? most : Math.max(LEAST, Math.min(most, fits)); // a view below the first screen may be long
  };

  const build = () => {
    row = fitting();
    font = Math.min(size, row * 0.9);
    root.style.setProperty("--fs", `${font}px`);
    const focused = root.getRootNode().activeElement?.dataset?.id;
    const width = Math.max(340, root.clientWidth);
    const cell = Math.max(13, Math.min(size * 1.9, width * 0.055, (width * 0.34) / H - 3)); // leaves room for the lines
    const name = Math.min(width * 0.24, size * 7);
    const xl = name, xc = width - H * (cell + 3) - 4, xr = xc - name * 0.95;
    const svg = document.createElementNS(NS, "svg");
    for (const [k, v] of Object.entries({ viewBox: `0 0 ${width} ${above + L * row + 4}`, role: "group", "aria-label": data.label })) {
      svg.setAttribute(k, v);
    }
    const pattern = add(add(svg, "defs"), "pattern", {
      id: hatch, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
    });
    add(pattern, "rect", { width: 2.5, height: 5, fill: "currentColor" });
    add(svg, "text", { x: xl - 10, y: size * 1.4, "text-anchor": "end", class: "small" }, "from");
    add(svg, "text", { x: xr + 10, y: size * 1.4, class: "small" }, "to");
    add(svg, "text", { x: xc - 7, y: size * 1.4, "text-anchor": "end", class: "small" }, xc - xr > size * 5.5 ? "head" : "");
    parts = { svg, xl, xr, lines: add(svg, "g", { fill: "none", stroke: "currentColor" }), words: [[], []], heads: [], cells: [] };
    for (const side of [0, 1]) tokens.forEach((token, index) => word(side, token, index, name));
    for (let h = 0; h < H; h++) column(h, xc + h * (cell + 3), cell);
    svg.onmouseleave = () => point(null);
    const say = document.createElement("p");
    say.setAttribute("aria-live", "polite");
    parts.say = say;
    root.replaceChildren(svg, say);
    update();
    if (focused) root.querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
  };

  const word = (side, token, index, width) => {
    const g = add(parts.svg, "g", {
      "data-id": `${side}-${index}`, "data-mark": "word", class: "word", tabindex: index === 0 ? 0 : -1, role: "button",
      "aria-label": (side ? "attention to " : "attention from ") + token,
    });
    add(g, "rect", { x: side ? parts.xr : 0, y: y(index) - row / 2, width, height: row, fill: "transparent" });
    const place = { x: side ? parts.xr + 10 : parts.xl - 10, y: y(index) + font * 0.34, "text-anchor": side ? "start" : "end" };
    add(g, "text", place, short(token));
    g.onmouseenter = g.onfocus = () => point({ side, index });
    g.onkeydown = (event) => {
      const step = { ArrowUp: [side, index - 1], ArrowDown: [side, index + 1], ArrowLeft: [0, index], ArrowRight: [1, index] }[event.key];
      if (event.key === "Escape") point(null);
      if (!step) return;
      event.preventDefault();
      const next = parts.words[step[0]][step[1]];
      if (!next) return;
      g.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    };
    parts.words[side].push(g);
  };

  const column = (h, x, cell) => {
    const button = add(parts.svg, "g", { "data-id": `head-${h}`, class: "head", tabindex: 0, role: "button", "aria-label": `head ${h + 1}${data.about[h] ? `, ${data.about[h]}` : ""}` });
    add(button, "title", {}, `head ${h + 1}${data.about[h] ? `: ${data.about[h]}` : ""}. Click: show or hide it.`);
    add(button, "rect", { x, y: size * 0.35, width: cell, height: size * 1.45, rx: 4 });
    add(button, "text", { x: x + cell / 2, y: size * 1.4 }, h + 1);
    button.onclick = () => {
      if (root.heads.has(h) && root.heads.size > 1) root.heads.delete(h);
      else root.heads.add(h);
      update();
    };
    button.ondblclick = () => { root.heads.clear(); root.heads.add(h); update(); };
    button.onkeydown = (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); button.onclick(); }
    };
    parts.heads.push(button);
    parts.cells.push(tokens.map((_, j) => {
      const rect = add(parts.svg, "rect", {
        x, y: y(j) - row / 2 + 1.5, width: cell, height: row - 3, rx: 2, stroke: muted, "stroke-opacity": 0.25,
      });
      add(rect, "title");
      return rect;
    }));
  };

  // Hovering a word also highlights it in the word strip, and vice versa.
  const tell = (tokens) => window.dispatchEvent(new CustomEvent("sentiscope-word", { detail: { tokens, from: root } }));
  const point = (place) => {
    if (place?.side === at?.side && place?.index === at?.index) return;
    at = place;
    tell(at && [at.index + data.first]);
    update();
  };

  const drawLines = () => {
    parts.lines.replaceChildren();
    const middle = (parts.xl + parts.xr) / 2;
    for (const h of root.heads) for (let i = 0; i < L; i++) for (let j = 0; j < L; j++) {
      if (at && (at.side ? at.index !== j : at.index !== i)) continue;
      const value = maps[h][i][j], share = Math.min(1, Math.abs(value) / top);
      if (share < (at ? STRONG : resting)) continue;
      add(parts.lines, "path", {
        d: `M${parts.xl} ${y(i)}C${middle} ${y(i)} ${middle} ${y(j)} ${parts.xr} ${y(j)}`,
        "stroke-width": 0.6 + share * (at ? 6 : 4), "stroke-opacity": at ? 0.25 + 0.75 * share : 0.12 + 0.6 * share * share,
        ...(value < 0 ? { "stroke-dasharray": "6 4" } : {}),
      });
    }
  };

  const drawWords = () => {
    const linked = (index) => [...root.heads].some((h) => Math.abs(weight(h, at.side, at.index, index)) >= STRONG * top);
    parts.words.forEach((column, side) => column.forEach((g, index) => {
      const active = at && at.side === side && at.index === index;
      g.classList.toggle("on", Boolean(active));
      g.classList.toggle("dim", Boolean(at && !active && (at.side === side || !linked(index))));
    }));
  };

  const drawCells = () => {
    for (let h = 0; h < H; h++) {
      const on = root.heads.has(h);
      parts.heads[h].setAttribute("aria-pressed", on);
      for (let j = 0; j < L; j++) {
        let value = 0;
        if (at) value = weight(h, at.side, at.index, j);
        else for (let i = 0; i < L; i++) value += maps[h][i][j] / L;
        const rect = parts.cells[h][j];
        rect.setAttribute("fill", value < 0 ? `url(#${hatch})` : "currentColor");
        rect.setAttribute("fill-opacity", on ? Math.min(1, Math.abs(value) / top) : 0);
        rect.firstChild.textContent = `head ${h + 1}, ${tokens[j]}: ${write(value, 3)}${value < 0 ? ", subtracted" : ""}`;
      }
    }
  };

  const sayIt = () => {
    parts.say.replaceChildren();
    if (!at) { parts.say.textContent = data.hint; return; }
    const mean = tokens.map((_, j) => [...root.heads].reduce((sum, h) => sum + weight(h, at.side, at.index, j), 0) / root.heads.size);
    const best = [...mean.keys()].sort((a, b) => Math.abs(mean[b]) - Math.abs(mean[a])).slice(0, 3);
    const bold = document.createElement("b");
    bold.textContent = tokens[at.index];
    const rest = best.map((j) => `${tokens[j]} ${write(mean[j])}`).join(", ");
    parts.say.append(bold, (at.side ? " gets attention from " : " attends to ") + rest + (root.heads.size > 1 ? " (mean over heads)" : ""));
  };

  const update = () => { drawLines(); drawWords(); drawCells(); sayIt(); };

  build();
  root.observer?.disconnect();
  let last = root.clientWidth;
  root.observer = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - last) > 4 || Math.abs(fitting() - row) > 0.5) { last = root.clientWidth; build(); }
  });
  root.observer.observe(root);
  if (main?.firstElementChild) root.observer.observe(main.firstElementChild); // content above may be drawn later
  if (root.exporter) window.removeEventListener("sentiscope-export", root.exporter);
  root.exporter = (event) => event.detail.push({ name: data.name, svg: parts.svg });
  window.addEventListener("sentiscope-export", root.exporter);
  if (root.hears) window.removeEventListener("sentiscope-word", root.hears);
  root.hears = ({ detail: { tokens, from } }) => {
    if (from === root) return;
    const index = tokens ? tokens[0] - data.first : -1;
    at = index >= 0 && index < L ? { side: 1, index } : null;
    update();
  };
  window.addEventListener("sentiscope-word", root.hears);
  return () => {
    root.observer.disconnect();
    window.removeEventListener("sentiscope-export", root.exporter);
    window.removeEventListener("sentiscope-word", root.hears);
  };
}
