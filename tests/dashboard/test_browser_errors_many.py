"""Errors with a thousand sentences in a real browser: words of an outcome by keyboard, the list beyond what is sent."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from answering import answering, right_where, texts
from browsing import dashboard, settle, visit
from playwright.sync_api import Page, expect

from core.runs.store import RunStore

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROWS = 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    """The app with a run of a thousand sentences; what is good and said to be bad speaks of rain."""
    folder, each = tmp_path_factory.mktemp("many") / "runs", np.arange(ROWS)
    labels, wrong = each % 2, each % 8 == 1
    frame = texts(labels)
    frame["text"] = [f"a day of {'rain' if bad else 'sun'}, number {row}" for row, bad in zip(each, wrong, strict=True)]
    answering(RunStore(folder), "many", right_where(~wrong, labels), frame)
    with dashboard(folder) as address:
        yield address


def opened(page: Page, address: str) -> None:
    """The page with its list, and with all tags."""
    page.goto(address)
    expect(page.locator(".reader .list li").first).to_be_visible(timeout=120_000)
    expect(page.locator(".st-key-fig-outcome-words tr[data-id]").first).to_be_visible(timeout=120_000)
    settle(page)


def test_a_word_of_an_outcome_is_picked_and_let_go_of_by_keyboard(browser, server):
    page, complaints = visit(browser, server)
    opened(page, f"{server}/errors?run=many")
    row = page.locator("tr[data-id='false negative: rain']")
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".filter [aria-label='Texts containing']")).to_have_value("rain", timeout=30_000)
    assert parse_qs(urlsplit(page.url).query)["select"] == ["truth=good;said!=good;text~rain"]
    expect(row).to_have_attribute("aria-selected", "true")
    expect(row).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".filter [aria-label='Texts containing']")).to_have_value("", timeout=30_000)
    assert parse_qs(urlsplit(page.url).query)["select"] == ["wrong"]
    assert complaints == []
