// Moves the keyboard focus to the selection bar if the button that made the selection is gone, or would keep it.
let last = 0;

export default function ({ data }) {
  if (data.count <= last) return;
  last = data.count;
  const take = () => {
    const now = document.activeElement ?? document.body;
    if (now !== document.body && !now.closest("[class*=st-key-select-]")) return;
    const button = document.querySelector(".st-key-selected button:enabled");
    if (button) { button.focus({ preventScroll: true }); end(); }
  };
  const trying = setInterval(take, 100);
  const end = () => { clearInterval(trying); for (const each of ["keydown", "pointerdown"]) removeEventListener(each, end, true); };
  for (const each of ["keydown", "pointerdown"]) addEventListener(each, end, true);
  setTimeout(end, 3000);
}
