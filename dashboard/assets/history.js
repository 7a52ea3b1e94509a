// Changes within one page replace its history entry; only another page adds an entry, so that one press of *Back* leads to
// the previous page, and *Forward* to the next. Streamlit adds an entry for every value that it writes into a link, and
// for pages that it still reports after *Back* has left them. On the way to another page, it removes this page's values
// and may write those of the next page: the entry of the page that is left stays as it was at the click.
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
