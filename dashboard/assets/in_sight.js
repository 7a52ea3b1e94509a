// What a click has answered is brought into the window, no further than needed, so that what was clicked stays near.
let last = "";

export default function ({ data, parentElement }) {
  if (data.what === last) return;
  last = data.what;
  const main = document.querySelector("[data-testid=stMain]");
  const place = parentElement.querySelector("div"); // the parent is a shadow root, which has no place of its own
  setTimeout(() => {
    const top = place.getBoundingClientRect().top;
    const least = 80;
    const most = Math.max(least, innerHeight - data.room);
    if (top < least) main.scrollBy({ top: top - least });
    else if (top > most) main.scrollBy({ top: top - most });
  }, 50); // after what follows has been drawn
}
