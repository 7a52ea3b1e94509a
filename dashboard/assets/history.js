// What changes within one page corrects its address; only another page that somebody asked for is a further step, so that
// one press of *Back* leads to the page before, and *Forward* to the one after. Streamlit enters every value that it
// writes into a link as a step of its own, and every page that it still hears of after *Back* has led away from it. On its
// way to another page it takes out what belongs to this one and may write what belongs to the next: the page that is left
// stays as it was at the click that led away.
if (!window.sentiscopeHistory) {
  window.sentiscopeHistory = true;
  const push = history.pushState.bind(history);
  let clicked = location.href, asked = false;
  addEventListener("click", () => { clicked = location.href; asked = true; }, { capture: true });
  addEventListener("keydown", () => (asked = true), { capture: true });
  addEventListener("popstate", () => (asked = false), { capture: true });
  history.pushState = (state, title, url) => {
    const path = location.pathname;
    if (!asked || new URL(url, location.href).pathname === path) {
      history.replaceState(state, title, url);
    } else {
      if (new URL(clicked).pathname === path) history.replaceState(history.state, title, clicked);
      push(state, title, url);
      asked = false;
    }
  };
}
