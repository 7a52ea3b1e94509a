// Says when the colours of the page are no longer those in which the figures were drawn: when they change, and at once
// where they did before this was here to see it.
export default function ({ data, parentElement, setTriggerValue }) {
  const probe = parentElement.querySelector(".theme");
  const tell = () => {
    const dark = getComputedStyle(probe).color === "rgb(255, 255, 255)";
    const name = dark ? "dark" : "light";
    if (dark !== data.dark && probe.dataset.told !== name) setTriggerValue("changed", name);
    probe.dataset.told = name; // what the server has been told and still draws otherwise is not said again and again
  };
  tell();
  probe.ontransitionend = tell; // one at a time: what an earlier run knew of the server's colours no longer holds
}
