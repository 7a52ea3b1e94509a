"""Our components in a browser, drawn in another order than their data came in."""

from __future__ import annotations

import pytest
from browsing import visit

from dashboard.widgets.figure import in_turn

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


@pytest.mark.parametrize(
    ("given", "shown"),
    [([(1, "old"), (2, "new")], "new"), ([(2, "new"), (1, "old")], "new"), ([(1, "same"), (1, "again")], "again")],
    ids=["in turn", "the older last", "the same data in another theme"],
)
def test_the_latest_data_stay_and_only_their_drawing_is_ended(browser, server, given, shown):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/_stcore/health")
    told = [{"turn": turn, "word": word} for turn, word in given]
    assert page.evaluate(DRAWN, [in_turn(SCRIPT), told]) == [shown, shown]
    assert complaints == []
