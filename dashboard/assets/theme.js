// Reports to the page when its colours differ from those of the drawn figures: after a change, and at once if they already
// changed before this script ran.
export default function ({ data, parentElement, setTriggerValue }) {
  const probe = parentElement.querySelector(".theme");
  const tell = () => {
    const dark = getComputedStyle(probe).color === "rgb(255, 255, 255)";
    const name = dark ? "dark" : "light";
    if (dark !== data.dark && probe.dataset.told !== name) setTriggerValue("changed", name);
    probe.dataset.told = name; // each theme is reported only once
  };
  tell();
  probe.ontransitionend = tell; // only one listener: an earlier run has outdated colours
}
