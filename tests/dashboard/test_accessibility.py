"""Every page: axe, width, foreign requests, focus; Korean, Bangla, Arabic and mixed sentences in a browser."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from browsing import LOOKS, enter, is_too_wide, looks, open_page, see, settle, show, switch_theme, violations, visit
from playwright.sync_api import Page, expect

from core import api
from dashboard.screens import list_entries

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ACCENT = {"light": "rgb(10, 100, 96)", "dark": "rgb(99, 197, 188)"}
TABBED = ("sentence", "steps", "performance", "data", "train")
STOPS = 36
HALF = 6
SEEN = """accent => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const lined = (e) => getComputedStyle(e).outlineStyle === "solid" && getComputedStyle(e).outlineColor === accent
    && parseFloat(getComputedStyle(e).outlineWidth) >= 2;
  const name = at.getAttribute("aria-label") || at.innerText || at.tagName;
  if (at === document.body || at.dataset.testid === "stMain") return [name, true];
  const halo = getComputedStyle(at.parentElement.parentElement || at).boxShadow;
  if (at.type === "range" && !at.closest(".levers")) return [name, halo !== "none"];
  for (let e = at, up = 0; e && up < 6; e = e.parentElement, up++) {
    const box = e.getBoundingClientRect();
    if (lined(e) && box.width > 8 && box.height > 8) return [name, true];
  }
  if (at.closest(".head_view")) return [name, true];
  return [name, false];
}"""
"""The line is around what has the focus or its field; a slider's handle has a halo (a lever a line), the head view
marks of its own."""


def walked(page) -> Iterator[str]:
    """Visit all pages of the navigation, so that new pages are checked too; yields the path of each.

    Start has the whole window; a link of its own leads to the menu.
    """
    entries, way_out = page.get_by_test_id("stSidebarNavLink"), page.locator(".start header a", has_text="Runs")
    entries.first.wait_for(state="attached")
    paths = [(entry.get_attribute("href") or "").rsplit("/", 1)[-1] for entry in entries.all()]
    assert paths in [list(list_entries(tagging=tagging)) for tagging in (False, True)]
    for place, path in enumerate(paths):
        if way_out.is_visible():
            way_out.click()
        entries.nth(place).click()
        page.wait_for_url(lambda url, path=path: urlsplit(url).path == f"/{path}")
        settle(page)
        yield path


def list_faults(page, complaints, rules=()) -> list[str]:
    """List accessibility errors of the open page as it looks now."""
    found = [*violations(page, rules), *complaints, *page.get_by_test_id("stException").all_inner_texts()]
    found += ["too wide"] * is_too_wide(page)
    complaints.clear()
    return found


def test_pages_of_a_finished_run_have_no_serious_faults(browser, server):
    page, complaints = visit(browser, server)
    open_page(page, f"{server}/models?run=finished")
    for path in walked(page):
        assert "run=finished" in page.url, path
        for rules in looks(page):
            assert list_faults(page, complaints, rules) == [], (path, rules)


def test_pages_without_a_run_have_no_serious_faults(browser, empty_server):
    """Pages with little content: half are checked light and wide, half dark and narrow."""
    page, complaints = visit(browser, empty_server)
    open_page(page, empty_server)
    for number, path in enumerate(walked(page)):
        assert list_faults(page, complaints) == [], path
        if number == HALF:
            show(page, *LOOKS[1])


def test_all_tab_stops_have_an_outline(browser, server, table):
    page, _ = visit(browser, server)
    unseen = []
    for path in TABBED:
        page.emulate_media(color_scheme="light")
        open_page(page, f"{server}/{path}?run=finished&data={table}")
        for theme, key in (("light", "Tab"), ("dark", "Shift+Tab")):  # forwards and backwards
            switch_theme(page, theme)
            for _ in range(STOPS):
                page.keyboard.press(key)
                name, seen = page.evaluate(SEEN, ACCENT[theme])
                if not seen:
                    unseen.append((path, theme, name))
    assert unseen == []


def test_theme_switch_updates_text_and_figures_of_an_open_page(browser, server):
    page, _ = visit(browser, server)
    open_page(page, f"{server}/performance?run=finished")
    title, drawn = page.get_by_role("heading", level=1), page.locator(".js-plotly-plot .main-svg").first
    ink = {"light": "rgb(34, 38, 43)", "dark": "rgb(233, 231, 226)"}
    paper = {"light": "rgb(253, 252, 250)", "dark": "rgb(21, 24, 28)"}
    for theme in ("light", "dark", "light", "dark"):  # twice: a theme can be chosen again
        page.emulate_media(color_scheme=theme)
        expect(title).to_have_css("color", ink[theme])
        expect(drawn).to_have_css("background-color", paper[theme])


ARABIC = "الفيلم رائع جداً، شكراً OK! (2024)"
BANGLA = "গল্পটি খুব চমৎকার, ক্ষমা করবেন।"
KOREAN = "이 영화 정말 재미있었어요! 👍🏽"
MIXED = "@user12 RT الفيلم رائع جداً، شكراً لكم!"
TEXTS = (ARABIC, BANGLA, KOREAN, MIXED, "감사합니다" * 40, "https://example.org/" + "a-long-path/" * 20)


@pytest.fixture(scope="module")
def address(library, server, tmp_path_factory) -> str:
    """The app with a tiny run on sentences in these scripts, each in two variants."""
    folder = tmp_path_factory.mktemp("scripts")
    words = ("나쁘다 খারাপ سيئ", "좋다 ভালো جيد")
    rows = [(f"{text} {words[row % 2]} {row}", row % 2) for row in range(30) for text in TEXTS]
    random = np.random.default_rng(0)
    frame = pd.DataFrame(rows, columns=["text", "label"])
    frame["label"] = np.where(random.random(len(frame)) < 0.4, 1 - frame["label"], frame["label"])
    frame.to_csv(folder / "scripts.csv", index=False)
    tiny = {"model.width": 16, "model.layers": 1, "training.threads": 1, "training.epochs": 1}
    api.train(str(folder / "scripts.csv"), "vanilla", tiny, name="scripts", store=library)
    return server


def read(page: Page, text: str) -> None:
    """Type a sentence, and wait until its words are there."""
    enter(page.get_by_role("textbox", name="Sentence", exact=True), text)
    expect(page.locator(".words ul li").first).to_have_text(re.compile(f"^{text[0]}"))
    settle(page)


def overflow(page: Page) -> float:
    """Pixels by which user text extends beyond the page."""
    written = ".words li, .words .cause, .reader .words li, .reader .list li, .s-toks b, .s-now"
    rights = "all => all.map((each) => each.getBoundingClientRect().right - document.documentElement.clientWidth)"
    return max([0.0, *page.locator(written).evaluate_all(rights)])


def test_words_follow_the_direction_of_their_text_and_keep_their_position(page, address):
    open_page(page, f"{address}/sentence?run=scripts")
    for text, from_the_right in ((ARABIC, True), (MIXED, True), (BANGLA, False), (KOREAN, False)):
        read(page, text)
        shown = page.locator(".words ul li")
        words, boxes = shown.locator("b").all_text_contents(), [each.bounding_box() for each in shown.all()]
        chips = [(word, box["x"], box["y"]) for word, box in zip(words, boxes, strict=True) if box]
        line = [left for _, left, top in chips if top == chips[0][2]]
        assert len(line) > 3 and line == sorted(line, reverse=from_the_right), text
        assert "".join(word for word, *_ in chips) == "".join(text.split())
        assert page.locator(".words ul li small").first.evaluate("each => getComputedStyle(each).direction") == "ltr"
    page.set_viewport_size({"width": 1024, "height": 900})
    for text in TEXTS[4:]:  # very long words
        read(page, text)
        assert overflow(page) == 0, text
        drawn = page.locator(".head_view svg text").evaluate_all("all => all.map((each) => each.textContent)")
        assert drawn and all(len(word) <= 14 for word in drawn)


def test_each_listed_sentence_has_its_own_direction(page, address):
    page.goto(f"{address}/errors?run=scripts")
    rows = page.locator(".reader .list li .text")
    see(rows.first)
    seen = rows.evaluate_all("all => all.map((each) => [each.textContent, each.dir])")
    assert {way for text, way in seen if text.startswith("الفيلم")} <= {"rtl"}
    assert {way for text, way in seen if text.startswith(("이", "গ"))} <= {"ltr"} and len({way for _, way in seen}) == 2
    page.locator(".reader .list li", has_text="الفيلم").first.click()
    expect(page.locator(".reader ul.words")).to_have_attribute("dir", "rtl")
    assert overflow(page) == 0
