"""Errors in a browser: test compared with training on demand; its words and word clouds set the filter."""

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from browsing import looks, settle, violations, visit
from playwright.sync_api import Page, expect

from core import api

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(library, server, tmp_path_factory) -> str:
    """The app with one run: its test texts have a word missing in training, and its errors a typical word."""
    folder, random = tmp_path_factory.mktemp("shift"), np.random.default_rng(0)
    words, signs = ["film", "day", "it", "was", "the", "long"], {"minus": "bad", "plus": "good"}
    rows = []
    for split, n in (("train", 300), ("validation", 60), ("test", 360)):
        for number in range(n):
            label = ("minus", "plus")[number % 2]
            wrong = split == "test" and number % 10 < 2
            told = signs["plus" if (label == "plus") != wrong else "minus"]
            text = " ".join([*random.choice(words, 5), told, *["ironic"] * wrong, *["tomorrow"] * (split == "test")])
            rows.append({"text": text, "label": label, "split": split})
    table = pd.DataFrame(rows)
    (folder / "own").mkdir()
    for split, part in table.groupby("split"):
        part[["text", "label"]].to_csv(folder / "own" / f"{split}.csv", index=False)
    api.train(str(folder / "own"), "tfidf-logreg", {}, name="shifted", store=library)
    return server


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#at-outcome-cloud")).to_be_visible(timeout=240_000)
    settle(page)


def selected(page: Page) -> str:
    return parse_qs(urlsplit(page.url).query)["select"][0]


def test_shift_is_computed_on_demand_and_its_words_select_rows(browser, address):
    page, complaints = visit(browser, address)
    opened(page, f"{address}/errors?run=shifted&more=all")
    page.get_by_role("button", name="Compare with training").press("Enter")
    expect(page.get_by_text("A word classifier can separate test from training")).to_be_visible(timeout=240_000)
    settle(page)
    page.locator("[class*=st-key-fig-shift-words] tr", has_text="tomorrow").first.click()
    expect(page.locator(".s-now", has_text="360 of 360")).to_be_visible()
    assert selected(page) == "all;word=tomorrow"
    settle(page)
    assert violations(page) == [] and complaints == []


def test_cloud_word_is_reached_by_keyboard_and_filters(browser, address):
    page, complaints = visit(browser, address)
    opened(page, f"{address}/errors?run=shifted&more=all")
    word = page.get_by_role("button", name="ironic").first
    expect(word).to_be_visible()
    word.focus()
    page.keyboard.press("Enter")
    pressed = page.locator(".cloud button[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    expect(pressed).to_contain_text("ironic")
    assert (
        re.fullmatch(r"true!?=\w+;predicted!?=\w+;word=ironic", selected(page))
        and "36 of 360" in page.locator(".s-now").inner_text()
    )
    settle(page)
    for rules in looks(page):
        assert violations(page, rules) == []
    assert complaints == []
    pressed.press("Enter")
    expect(pressed).to_have_count(0)
