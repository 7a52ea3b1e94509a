// What changes within one page corrects its address; only another page is a further step, so that one press of *Back*
// leads to the page before. Streamlit enters every value that the server writes into a link as a step of its own.
const parts = (url) => {
  const { pathname, searchParams } = new URL(url, location.href);
  return { pathname, values: [...searchParams].map(String) };
};
const SOON = 2000; // milliseconds

export default function () {
  if (window.sentiscopeHistory) return;
  window.sentiscopeHistory = true;
  const push = history.pushState.bind(history);
  let left = null;
  history.pushState = (state, title, url) => {
    const now = parts(location.href);
    const next = parts(url);
    if (next.pathname === now.pathname) {
      // On its way to another page Streamlit first takes out what belongs to this one, which is to stay as it was.
      const fewer = next.values.every((value) => now.values.includes(value));
      left = fewer ? { url: location.href, at: performance.now() } : null;
      history.replaceState(state, title, url);
    } else {
      if (left && performance.now() - left.at < SOON) history.replaceState(history.state, title, left.url);
      left = null;
      push(state, title, url);
    }
  };
}
