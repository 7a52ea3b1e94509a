"""Our components in a browser: drawn in another order than their data came in, and pressed before they are drawn."""

import pytest
from browsing import visit

from dashboard.widgets.figure import wrap_script

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SCRIPT = """export default ({ data, parentElement }) => {
  parentElement.textContent = data.word;
  return () => { parentElement.ended = `${parentElement.ended ?? ""}${data.word}`; };
}"""
DRAWN = """async ([script, given]) => {
  const { default: draw } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const place = document.createElement("div"), ends = given.map((data) => draw({ data, parentElement: place }));
  ends.forEach((end) => end?.());
  return [place.textContent, place.ended];
}"""


GIVEN = {
    "in turn": ([(1, "old"), (2, "new")], "new"),
    "the older last": ([(2, "new"), (1, "old")], "new"),
    "the same data in another theme": ([(1, "same"), (1, "again")], "again"),
}


def test_latest_data_stay_and_only_their_drawing_is_completed(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/_stcore/health")
    for name, (given, shown) in GIVEN.items():
        told = [{"turn": turn, "word": word} for turn, word in given]
        assert page.evaluate(DRAWN, [wrap_script(SCRIPT), told]) == [shown, shown], name
    assert complaints == []


PRESSED = """async (script) => {
  const { default: draw } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const place = document.createElement("div"), told = [];
  const drawn = (turn, confirmed) => draw({ data: { turn, confirmed }, parentElement: place,
    setTriggerValue: (name, value) => told.push([name, value]) });
  drawn(1, 0);
  place.send("a");
  place.send("b");
  drawn(2, told[0][1][0][0]); // confirms the first
  place.send("c");
  place.send("reset", true);
  drawn(3, told.at(-1)[1][0][0]);
  place.send("d");
  return told;
}"""


def test_each_message_contains_all_unconfirmed_changes(browser, server):
    page, _ = visit(browser, server)
    page.goto(f"{server}/_stcore/health")
    told = page.evaluate(
        PRESSED, wrap_script("export default ({ parentElement, send }) => { parentElement.send = send; }")
    )
    assert {name for name, _ in told} == {"changes"}
    assert [[change for _, change in sent] for _, sent in told] == [["a"], ["a", "b"], ["b", "c"], ["reset"], ["d"]]
    numbers = [number for _, sent in told for number, _ in sent]
    assert numbers == sorted(numbers) and len(set(numbers)) == 5, "each change keeps its number"
