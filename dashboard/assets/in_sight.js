// What a click has answered is brought into the window, no further than needed, so that what was clicked stays near.
let last = "";

export default function ({ data, parentElement }) {
  if (data.what === last) return;
  last = data.what;
  const main = document.querySelector("[data-testid=stMain]");
  const place = parentElement.querySelector("div"); // the parent is a shadow root, which has no place of its own
  const bring = () => {
    const top = place.getBoundingClientRect().top;
    const least = 80;
    const most = Math.max(least, innerHeight - data.room);
    if (top < least) main.scrollBy({ top: top - least });
    else if (top > most) main.scrollBy({ top: top - most });
  };
  // What follows, and what stands above, is drawn bit by bit: it is kept in the window until the person moves or all stands.
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
