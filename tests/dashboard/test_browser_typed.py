"""The field of a sentence in Chromium."""

from __future__ import annotations

import pytest
from browsing import visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ENDS = """() => {
    const field = document.querySelector(".st-key-text input");
    const counter = document.querySelector(".st-key-text [data-testid=InputInstructions]");
    const text = field.getBoundingClientRect().right - parseFloat(getComputedStyle(field).paddingRight);
    return [text, counter.getBoundingClientRect().left];
}"""


def test_the_counter_of_a_long_text_is_not_printed_over_it(browser, server):
    page, _ = visit(browser, server)
    page.goto(f"{server}/sentence?run=starter-vanilla")
    page.locator(".st-key-text input").fill("not good " * 2_000)
    page.locator(".st-key-text [data-testid=InputInstructions]").wait_for()
    text, counter = page.evaluate(ENDS)
    assert text <= counter
