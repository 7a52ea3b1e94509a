// Says when the colours of the page are no longer those in which the figures were drawn.
export default function ({ data, parentElement, setTriggerValue }) {
  const probe = parentElement.querySelector(".theme");
  const tell = () => {
    const dark = getComputedStyle(probe).color === "rgb(255, 255, 255)";
    if (dark !== data.dark) setTriggerValue("changed", dark ? "dark" : "light");
  };
  probe.addEventListener("transitionend", tell);
  return () => probe.removeEventListener("transitionend", tell);
}
