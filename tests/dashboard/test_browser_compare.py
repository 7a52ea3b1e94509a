"""Compare in a browser: a row of the pairs is picked, a cell of the matrix opens its sentences."""

import numpy as np
import pytest
from answering import answering, right_where, texts
from browsing import settle, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LABELS = np.arange(90) % 2
RANDOM = np.random.default_rng(0)
RIGHT = {"a": RANDOM.random(90) < 0.95, "b": RANDOM.random(90) < 0.8, "c": RANDOM.random(90) < 0.6}

ALONE = "Only {} is right on {} sentences"


def count_alone(one: str, other: str) -> int:
    """How many sentences only the first of two runs predicts correctly."""
    return int((RIGHT[one] & ~RIGHT[other]).sum())


@pytest.fixture(scope="module")
def address(library, server):
    """The app, with three runs on the same rows."""
    for (name, right), preset in zip(RIGHT.items(), ("vanilla", "differential", "ndt-01-n2"), strict=True):
        answering(library, name, right_where(right, LABELS), texts(LABELS), preset=preset)
    return server


def test_picked_pair_and_clicked_cell_show_their_sentences(address, browser):
    page, _ = visit(browser, address)
    page.set_viewport_size({"width": 1440, "height": 1800})
    page.goto(f"{address}/compare?compare=a&compare=b&compare=c")
    expect(page.get_by_text(ALONE.format("a", count_alone("a", "b")))).to_be_visible()
    settle(page)
    page.locator("tr[data-id='B-C'] th").click()
    expect(page.get_by_text(ALONE.format("b", count_alone("b", "c")))).to_be_visible()
    assert "pair=B-C" in page.url
    page.locator(".st-key-fig-compare-matrix g.point path").nth(2).click(force=True)  # the second row, the first column
    count = int((~RIGHT["b"] & RIGHT["c"]).sum())
    expect(page.get_by_text(f"{count} sentences", exact=True)).to_be_visible()
    expect(page.locator(".s-sel", has_text="B wrong, C right")).to_be_visible()
    expect(page.locator(".s-now", has_text="B wrong, C right")).to_be_visible()
