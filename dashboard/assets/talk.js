// Two buttons of the sidebar: present this page, and add its link, as the address bar has it now, to a talk (key a).
export default function ({ data, parentElement, send }) {
  const root = parentElement.querySelector(".talk");
  const make = (label, press) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: label, onclick: press });
    return button;
  };
  const present = () => {
    const address = new URL(location.href);
    address.searchParams.set("present", "1");
    location.assign(address);
  };
  const add = () => send({ talk: data.talk, link: location.pathname + location.search });
  const note = document.createElement("output");
  note.textContent = data.message;
  root.replaceChildren(make("Present", present), make("Add to talk", add), note);
  const press = (event) => {
    if (event.key !== "a" || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.composedPath().some((each) => each.matches?.("input, textarea, select, [contenteditable], [role=grid], .reader"))) return;
    add();
  };
  document.removeEventListener("keydown", root.press); // that of the drawing before
  root.press = press;
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}
