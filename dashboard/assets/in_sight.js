// Scrolls the result of a click into view, but no further than necessary, so that the clicked element stays near.
let last = "";

export default function ({ data, parentElement }) {
  if (data.what === last) return;
  last = data.what;
  const main = document.querySelector("[data-testid=stMain]");
  const place = parentElement.querySelector("div"); // the parent is a shadow root without a position
  const bring = () => {
    const top = place.getBoundingClientRect().top;
    const least = 80;
    const most = Math.max(least, innerHeight - data.room);
    if (top < least) main.scrollBy({ top: top - least });
    else if (top > most) main.scrollBy({ top: top - most });
  };
  // Other parts of the page are still being drawn: keep it in view until the user scrolls or all is drawn.
  const drawn = new ResizeObserver(bring);
  drawn.observe(main.querySelector("[data-testid=stMainBlockContainer]") ?? main);
  const ends = ["wheel", "touchstart", "keydown", "pointerdown"];
  const end = () => {
    drawn.disconnect();
    for (const each of ends) removeEventListener(each, end, true);
  };
  for (const each of ends) addEventListener(each, end, true);
  setTimeout(end, 5000);
}
