"""The table of intervals with the keyboard only: move, tick, select and unfold."""

import json
import shutil

import pytest
from browsing import settle, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def seeds(library) -> None:
    """A second seed of `finished`."""
    second = shutil.copytree(library.get_path("finished"), library.folder / "second")
    record = json.loads((second / "run.json").read_text())
    record["config"]["training"]["seed"] = 7
    (second / "run.json").write_text(json.dumps(record))


def test_rows_can_be_focused_ticked_unfolded_and_picked(browser, server, seeds):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/?run=finished")
    table = page.get_by_role("treegrid", name="Models on reviews.csv, best first")
    expect(table).to_be_visible()
    settle(page)
    folded, alone = table.locator("tr[data-id='model finished']"), table.locator("tr[data-id=baseline]")
    folded.focus()
    page.keyboard.press(" ")
    expect(folded.get_by_role("checkbox")).to_be_checked()
    expect(table.get_by_role("rowheader", name="seed 7")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(folded).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(table.locator("tr[data-id=second]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".s-sel b")).to_have_text("second")
    page.keyboard.press("ArrowLeft")
    expect(folded).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(table.get_by_role("rowheader", name="seed 7")).to_be_hidden()
    alone.focus()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Compare 2 selected", exact=True).click()
    page.wait_for_url("**/compare?**")
    for run in ("finished", "second", "baseline"):
        assert f"compare={run}" in page.url
    assert complaints == []
