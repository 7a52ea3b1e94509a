// A drawing that arrives as a string of SVG. It is parsed as a document of its own, in which nothing runs, and copied.
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".diagram");
  const drawn = new DOMParser().parseFromString(data.svg, "image/svg+xml").documentElement;
  const svg = document.importNode(drawn, true);
  root.replaceChildren(svg);
  if (root.exporter) window.removeEventListener("sentiscope-export", root.exporter);
  root.exporter = (event) => event.detail.push({ name: data.name, svg });
  window.addEventListener("sentiscope-export", root.exporter);
  return () => window.removeEventListener("sentiscope-export", root.exporter);
}
