
// Wraps the function draw of a component, and never draws older data over newer data. `send` reports a change to the page:
// a busy page receives only the last waiting message, and a message carries the link of the time when it was sent. So
// every change has a number, and each message contains all unconfirmed changes; `over` drops those before it.
export default (given) => {
  const place = given.parentElement, { turn, confirmed } = given.data;
  if (turn < place.latest?.data.turn) return undefined;
  place.latest = given;
  place.sent = (place.sent ?? []).filter(([number]) => number > confirmed);
  const send = (change, over = false) => {
    const last = place.sent.at(-1)?.[0] ?? place.latest.data.confirmed;
    const number = Math.max(Date.now(), last + 1); // a later component continues these numbers
    place.sent = [...(over ? [] : place.sent), [number, change]];
    given.setTriggerValue("changes", place.sent);
  };
  const end = draw({ ...given, send });
  return () => place.latest === given && end?.();
};
