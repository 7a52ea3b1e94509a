"""Korean, Bangla, Arabic and mixed sentences in a browser: positions of words and fixed elements."""

import re

import numpy as np
import pandas as pd
import pytest
from browsing import open_page, settle, visit
from playwright.sync_api import Page, expect

from core import api

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ARABIC = "الفيلم رائع جداً، شكراً OK! (2024)"
BANGLA = "গল্পটি খুব চমৎকার, ক্ষমা করবেন।"
KOREAN = "이 영화 정말 재미있었어요! 👍🏽"
MIXED = "@user12 RT الفيلم رائع جداً، شكراً لكم!"
TEXTS = (ARABIC, BANGLA, KOREAN, MIXED, "감사합니다" * 40, "https://example.org/" + "a-long-path/" * 20)


@pytest.fixture(scope="module")
def address(library, server, tmp_path_factory) -> str:
    """The app with a tiny run on sentences in these scripts, each in two variants."""
    folder = tmp_path_factory.mktemp("scripts")
    rows = [
        (f"{text} {'좋다 ভালো جيد' if row % 2 else '나쁘다 খারাপ سيئ'} {row}", row % 2)
        for row in range(30)
        for text in TEXTS
    ]
    random = np.random.default_rng(0)
    frame = pd.DataFrame(rows, columns=["text", "label"])
    frame["label"] = np.where(random.random(len(frame)) < 0.4, 1 - frame["label"], frame["label"])
    frame.to_csv(folder / "scripts.csv", index=False)
    tiny = {"model.width": 16, "model.layers": 1, "training.threads": 1, "training.epochs": 1}
    api.train(str(folder / "scripts.csv"), "vanilla", tiny, name="scripts", store=library)
    return server


def read(page: Page, text: str) -> None:
    """Type a sentence, and wait until its words are there."""
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(text)
    field.press("Enter")
    expect(page.locator(".words ul li").first).to_have_text(re.compile(f"^{text[0]}"))
    settle(page)


def lefts(page: Page) -> list[tuple[str, float, float]]:
    """Each chip of the strip with its left edge and its line."""
    chips = page.locator(".words ul li")
    words, boxes = chips.locator("b").all_text_contents(), [each.bounding_box() for each in chips.all()]
    return [(word, box["x"], box["y"]) for word, box in zip(words, boxes, strict=True) if box]


def overflow(page: Page) -> float:
    """Pixels by which user text extends beyond the page."""
    written = ".words li, .words .cause, .reader .words li, .reader .list li, .s-toks b, .s-now"
    rights = "all => all.map((each) => each.getBoundingClientRect().right - document.documentElement.clientWidth)"
    return max([0.0, *page.locator(written).evaluate_all(rights)])


def test_words_follow_the_direction_of_their_text_and_keep_their_position(browser, address):
    page, complaints = visit(browser, address)
    open_page(page, f"{address}/sentence?run=scripts")
    for text, from_the_right in ((ARABIC, True), (MIXED, True), (BANGLA, False), (KOREAN, False)):
        read(page, text)
        chips = lefts(page)
        line = [left for _, left, top in chips if top == chips[0][2]]
        assert len(line) > 3 and line == sorted(line, reverse=from_the_right), text
        assert "".join(word for word, *_ in chips) == "".join(text.split())
        small = page.locator(".words ul li small").first
        assert small.evaluate("each => getComputedStyle(each).direction") == "ltr"
    page.set_viewport_size({"width": 1024, "height": 900})
    for text in TEXTS[4:]:  # very long words
        read(page, text)
        assert overflow(page) == 0, text
        drawn = page.locator(".head_view svg text").evaluate_all("all => all.map((each) => each.textContent)")
        assert drawn and all(len(word) <= 14 for word in drawn)
    assert complaints == []


def test_each_listed_sentence_has_its_own_direction(browser, address):
    page, complaints = visit(browser, address)
    page.goto(f"{address}/errors?run=scripts")
    rows = page.locator(".reader .list li .text")
    expect(rows.first).to_be_visible()
    settle(page)
    seen = rows.evaluate_all("all => all.map((each) => [each.textContent, each.dir])")
    assert {way for text, way in seen if text.startswith("الفيلم")} <= {"rtl"}
    assert {way for text, way in seen if text.startswith(("이", "গ"))} <= {"ltr"}
    assert len({way for _, way in seen}) == 2
    row = page.locator(".reader .list li", has_text="الفيلم").first
    row.click()
    expect(page.locator(".reader ul.words")).to_have_attribute("dir", "rtl")
    assert overflow(page) == 0
    assert complaints == []
