
// Around the function draw of a component. Older data are not drawn over newer ones. `send` gives the page a change: of two
// messages that wait for a busy page it hears the later one alone, and a message takes the link as it was when it left.
// So every change has a number, and each message has all that no drawing has confirmed; `over` drops those before it.
export default (given) => {
  const place = given.parentElement, { turn, confirmed } = given.data;
  if (turn < place.latest?.data.turn) return undefined;
  place.latest = given;
  place.sent = (place.sent ?? []).filter(([number]) => number > confirmed);
  const send = (change, over = false) => {
    const last = place.sent.at(-1)?.[0] ?? place.latest.data.confirmed;
    const number = Math.max(Date.now(), last + 1); // a component that is mounted later goes on from there
    place.sent = [...(over ? [] : place.sent), [number, change]];
    given.setTriggerValue("changes", place.sent);
  };
  const end = draw({ ...given, send });
  return () => place.latest === given && end?.();
};
