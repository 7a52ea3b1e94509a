// "Figures · SVG / PNG": clicks the download button of every chart on the page, and requests the SVG of other figures.
const PAUSE = 250; // ms between files; browsers drop faster downloads
const INLINE = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "opacity", "font-family", "font-size",
  "font-weight", "text-anchor"];

const save = (address, name) => {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
};

// A copy with inline styles, since an exported file has no style sheet.
const standalone = (svg) => {
  const copy = svg.cloneNode(true), box = svg.getBoundingClientRect();
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of INLINE) node.setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  const page = document.createElementNS(svg.namespaceURI, "rect");
  page.setAttribute("width", "100%");
  page.setAttribute("height", "100%");
  page.setAttribute("fill", getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor);
  copy.prepend(page);
  return new XMLSerializer().serializeToString(copy);
};

const saveSvg = async (svg, name, format) => {
  const address = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone(svg));
  if (format === "svg") return save(address, `${name}.svg`);
  const image = new Image(), box = svg.getBoundingClientRect(), canvas = document.createElement("canvas");
  image.src = address;
  await image.decode();
  [canvas.width, canvas.height] = [2 * box.width, 2 * box.height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), `${name}.png`);
};

const figures = async (format) => {
  const pause = () => new Promise((done) => setTimeout(done, PAUSE));
  for (const graph of document.querySelectorAll("[data-testid=stPlotlyChart] .js-plotly-plot")) {
    const options = graph._context?.toImageButtonOptions; // the button reads these at the click
    if (options) options.format = format;
    graph.querySelector(".modebar-btn[data-title^='Download']")?.click();
    if (options) options.format = "svg";
    await pause();
  }
  const drawn = [];
  window.dispatchEvent(new CustomEvent("sentiscope-export", { detail: drawn }));
  for (const { svg, name } of drawn) {
    await saveSvg(svg, name, format);
    await pause();
  }
};

export default function ({ parentElement }) {
  for (const button of parentElement.querySelectorAll("button")) button.onclick = () => figures(button.value);
}
