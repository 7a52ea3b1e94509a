// A drawing given as an SVG string, which is parsed as a separate document without scripts, and then copied.
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".diagram");
  const drawn = new DOMParser().parseFromString(data.svg, "image/svg+xml").documentElement;
  const svg = document.importNode(drawn, true);
  root.dataset.mark = "";
  root.replaceChildren(svg);
  if (root.exporter) window.removeEventListener("sentiscope-export", root.exporter);
  root.exporter = (event) => event.detail.push({ name: data.name, svg });
  window.addEventListener("sentiscope-export", root.exporter);
  return () => window.removeEventListener("sentiscope-export", root.exporter);
}
