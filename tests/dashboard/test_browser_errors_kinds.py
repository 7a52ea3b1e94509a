"""Errors in a browser for special runs: no errors, one class, twenty classes, multilabel."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import LOOKS, is_too_wide, settle, violations, visit
from playwright.sync_api import Page, expect

from core import api

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FILLERS = ["film", "day", "it", "was", "the", "long", "and", "then"]
TWENTY = [f"topic {number}" for number in range(20)]


def folder(at: Path, name: str, labels: Sequence[str], wrong: float, only: str = "") -> str:
    """A folder of three splits; of each label a text holds its word, of so many test texts that of another.

    `only`: the one label of the test split.
    """
    random, home = np.random.default_rng(0), at / name
    home.mkdir()
    for split, n in (("train", 30 * len(labels)), ("validation", 6 * len(labels)), ("test", 12 * len(labels))):
        rows = []
        for number in range(n):
            own = only if only and split == "test" else labels[number % len(labels)]
            told = labels[(number + 1) % len(labels)] if split == "test" and number < wrong * n else own
            words = [*random.choice(FILLERS, 5), *(word.replace(" ", "") for word in told.split(";")), f"n{number}"]
            rows.append({"text": " ".join(words), "label": own})
        pd.DataFrame(rows).to_csv(home / f"{split}.csv", index=False)
    return str(home)


@pytest.fixture(scope="module")
def address(library, server, tmp_path_factory) -> str:
    """The app with a run of each kind."""
    at, sets = tmp_path_factory.mktemp("kinds"), ["late", "late;loud", "loud", "warm", "late;warm"]
    for name, labels, wrong, only in (
        ("none-wrong", ["bad", "good"], 0.0, ""),
        ("one-class", ["bad", "good"], 0.2, "good"),
        ("twenty", TWENTY, 0.2, ""),
        ("several", sets, 0.2, ""),
    ):
        api.train(folder(at, name, labels, wrong, only), "tfidf-logreg", {}, name=name, store=library)
    return server


def opened(page: Page, address: str) -> None:
    """The page with its tags."""
    page.goto(address)
    expect(page.locator(".reader .list li").first).to_be_visible(timeout=120_000)
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)


def sound(page: Page, complaints: list[str]) -> None:
    """No serious accessibility errors, no overflow, no browser errors, no traceback."""
    assert violations(page) == [] and not is_too_wide(page)
    assert page.locator("[data-testid=stException]").count() == 0
    assert complaints == []


def test_run_without_errors_shows_a_notice_and_a_next_step(browser, address):
    page, complaints = visit(browser, address, *LOOKS[1])
    page.goto(f"{address}/errors?run=none-wrong")
    expect(page.get_by_text("All 24 are right")).to_be_visible()
    settle(page)
    sound(page, complaints)
    page.get_by_role("button", name="Lowest margin first").click()
    expect(page.locator(".reader .top b").first).to_have_text("1 of 24")


@pytest.mark.parametrize(
    ("run", "wrong", "look"), [("one-class", 4, LOOKS[0]), ("twenty", 48, LOOKS[1]), ("several", 12, LOOKS[0])]
)
def test_list_codes_and_tags_work_for_each_kind_of_run(browser, address, run, wrong, look):
    page, complaints = visit(browser, address, *look)
    opened(page, f"{address}/errors?run={run}")
    expect(page.locator(".reader .top b").first).to_have_text(f"1 of {wrong}")
    page.keyboard.press("j")
    expect(page.locator(".reader .top b").first).to_have_text(f"2 of {wrong}")
    expect(page.get_by_role("heading", name="Codes")).to_be_attached()
    sound(page, complaints)
    if run == "twenty":  # the filter lists all values; two of them make a selection
        page.get_by_role("button", name="add filter").click()
        page.get_by_role("button", name="any class").first.click()
        options = page.get_by_role("listbox", name="true class")
        for name in TWENTY:
            expect(options.locator("li", has_text=name).first).to_be_attached()
        opened(page, f"{address}/errors?run=twenty&select=true%3Dtopic 0%3Bpredicted%3Dtopic 1")
        expect(page.locator(".reader .top b").first).to_contain_text("of")
