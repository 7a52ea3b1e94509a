"""Errors in a browser: keys, filters, links; runs of every kind; a thousand sentences; test beside training."""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts
from browsing import LOOKS, enter, is_too_wide, looks, see, settle, violations, visit
from playwright.sync_api import Page, expect

from core import api
from core.error_analysis.predictions_table import read_table

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FILLERS = ["film", "day", "it", "was", "the", "long", "and", "then"]
TWENTY = [f"topic {number}" for number in range(20)]
ROWS = 1000


def opened(page: Page, address: str) -> None:
    """The page with its list, and with all tags."""
    page.goto(address)
    expect(page.locator(".reader .list li").first).to_be_visible(timeout=120_000)
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)


def place(page: Page) -> str:
    """The position in the reader: `2 of 16`."""
    return page.locator(".reader .top b").first.inner_text()


def test_keys_move_link_follows_fields_keep_letters_and_filter_works_by_keyboard(page, server, library):
    opened(page, f"{server}/errors?run=finished&select=all&order=random")  # an order that is none is ignored
    assert place(page) == "1 of 16"
    for key in "jjjk":
        page.keyboard.press(key)
    expect(page.locator(".reader .top b").first).to_have_text("3 of 16")
    page.wait_for_url("**at=**")
    read = page.locator(".reader .list li[aria-selected=true]").get_attribute("title")
    settle(page)
    page.locator(".filter input[aria-label='Texts containing']").fill("jk")
    assert place(page) == "3 of 16"
    page.locator(".filter input[aria-label='Texts containing']").fill("")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.locator(".reader .keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".reader .keys")).to_be_hidden()
    assert [each for rules in looks(page) for each in violations(page, rules)] == []
    page.reload()
    expect(page.locator(".reader .list li[aria-selected=true]")).to_have_attribute("title", read)
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)
    expect(page.get_by_role("button", name="any class")).to_have_count(0)  # only what is set is shown
    page.get_by_role("button", name="add filter").press("Enter")
    page.get_by_role("button", name="any class").first.press("Enter")
    options = page.get_by_role("listbox", name="true class")
    table = read_table(library, "finished")
    wrong = table.wrong[table.frame["true"] == "negative"]
    said = [str(int(wrong.sum())), str(int((~wrong).sum()))]
    expect(options).to_be_visible()
    expect(options.get_by_role("option").nth(1).locator(".n")).to_have_text(said)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".filter .word.set", has_text="negative")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;true=negative"]
    settle(page)
    assert place(page).endswith(f"of {page.locator('.reader .list li').count()}")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", level=1, name="Sentence")).to_be_visible()
    page.goto(f"{server}/errors?run=finished&select=text~no%20such%20words")
    expect(page.locator(".reader .empty")).to_contain_text("No sentence is left")


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
def kinds(library, server, tmp_path_factory) -> str:
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


def sound(page: Page, complaints: list[str]) -> None:
    """No serious accessibility errors, no overflow, no browser errors, no traceback."""
    assert violations(page) == [] and not is_too_wide(page) and page.locator("[data-testid=stException]").count() == 0
    assert complaints == []


def test_run_without_errors_shows_a_notice_and_a_next_step(browser, kinds):
    page, complaints = visit(browser, kinds, *LOOKS[1])
    page.goto(f"{kinds}/errors?run=none-wrong")
    see(page.get_by_text("All 24 are right"))
    sound(page, complaints)
    page.get_by_role("button", name="Lowest margin first").click()
    expect(page.locator(".reader .top b").first).to_have_text("1 of 24")


@pytest.mark.parametrize(
    ("run", "wrong", "look"), [("one-class", 4, LOOKS[0]), ("twenty", 48, LOOKS[1]), ("several", 12, LOOKS[0])]
)
def test_list_codes_and_tags_work_for_each_kind_of_run(browser, kinds, run, wrong, look):
    page, complaints = visit(browser, kinds, *look)
    opened(page, f"{kinds}/errors?run={run}")
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
        opened(page, f"{kinds}/errors?run=twenty&select=true%3Dtopic 0%3Bpredicted%3Dtopic 1")
        expect(page.locator(".reader .top b").first).to_contain_text("of")


@pytest.fixture(scope="module")
def thousand(library, server) -> str:
    """The app with a run of 1000 sentences; positive texts predicted as negative mention rain."""
    each = np.arange(ROWS)
    labels, wrong = each % 2, each % 8 == 1
    frame = texts(labels)
    frame["text"] = [f"a day of {'rain' if bad else 'sun'}, number {row}" for row, bad in zip(each, wrong, strict=True)]
    frame["tweet"] = [f"t-{row}" for row in each]
    frame["date"] = [f"2026-{1 + row % 12:02}-{1 + row % 28:02}" for row in each]
    for name in ("many", "late"):
        answering(library, name, right_where(~wrong, labels), frame)
    return server


def test_ids_and_rules_can_be_typed_and_invalid_ones_are_reported(page, thousand):
    opened(page, f"{thousand}/errors?run=many&select=all")
    page.get_by_role("button", name="add filter").click()
    page.get_by_role("button", name="any tweet").click()
    enter(page.get_by_role("searchbox", name="Search tweet"), "t-7")
    expect(page.locator(".filter .word.set", has_text="tweet t-7")).to_be_visible()
    expect(page.locator(".reader .list li")).to_have_count(1)
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;tweet=t-7"]
    settle(page)
    search = page.locator(".filter [aria-label='Texts containing']")
    enter(search, "tweet=t-11")
    expect(page.locator(".filter .word.set", has_text="tweet t-11")).to_be_visible()
    expect(search).to_have_value("")
    settle(page)
    enter(search, "date>=soon")
    expect(page.get_by_text("'soon' is no date")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;tweet=t-11"]
    settle(page)
    page.get_by_role("button", name="coded or not").click()
    expect(page.get_by_role("option", name="noted, not coded yet")).to_be_visible()
    page.keyboard.press("Escape")


def test_arriving_tags_keep_open_menus_and_the_focus(page, thousand):
    page.goto(f"{thousand}/errors?run=late&select=all")
    page.get_by_role("button", name="add filter").press("Enter")
    page.get_by_role("button", name="any class").first.press("Enter")
    options = page.get_by_role("listbox", name="true class")
    expect(options).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)
    expect(options).to_be_focused()
    expect(options.locator("li.at")).to_contain_text("good")
    page.keyboard.press("Enter")
    expect(page.locator(".filter .word.set", has_text="good")).to_be_focused(timeout=30_000)
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;true=good"]


def test_keys_move_beyond_the_sent_rows_and_the_link_follows(page, thousand):
    opened(page, f"{thousand}/errors?run=many&select=all")
    assert page.locator(".reader .list li").count() == 300
    page.locator(".reader .list li").nth(295).click()
    for _ in range(25):
        page.keyboard.press("j")
        page.evaluate("new Promise(requestAnimationFrame)")
    expect(page.locator(".reader .top b").first).to_have_text("321 of 1\u202f000")
    for _ in range(3):
        page.keyboard.press("k")
    expect(page.locator(".reader .top b").first).to_have_text("318 of 1\u202f000")
    page.locator(".reader .list").focus()
    page.keyboard.press("End")
    expect(page.locator(".reader .top b").first).to_have_text("1\u202f000 of 1\u202f000")
    expect(page.locator(".reader .list")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator(".reader .top b").first).to_have_text("1 of 1\u202f000")
    page.keyboard.press("End")
    expect(page.locator(".reader .top b").first).to_have_text("1\u202f000 of 1\u202f000")
    read = page.locator(".reader .list li[aria-selected=true]").get_attribute("title")
    expect(page.locator(".st-key-selected-now .s-now")).to_contain_text(str(read))
    page.reload()
    expect(page.locator(".reader .top b").first).to_have_text("1\u202f000 of 1\u202f000")


def test_list_grows_when_scrolled_and_the_bar_shows_the_position(page, thousand):
    opened(page, f"{thousand}/errors?run=many&select=all")
    page.locator(".reader .list li").nth(299).scroll_into_view_if_needed()
    expect(page.locator(".reader .list li").nth(400)).to_be_attached(timeout=20_000)
    top, size = page.locator(".reader .list").evaluate("(it) => [it.scrollTop, it.scrollHeight / it.children.length]")
    assert 250 < top / size < 400 and place(page) == "1 of 1\u202f000"
    assert page.locator(".reader .list li").first.get_attribute("aria-selected") == "true"
    opened(page, f"{thousand}/errors?run=many&select=wrong")  # the bar shows the current sentence
    for number in range(2, 5):
        page.keyboard.press("j")
        expect(page.locator(".reader .top b").first).to_have_text(f"{number} of 125")
        expect(page.locator(".st-key-selected-now .s-at")).to_have_text(f"{number} / 125")
    page.locator(".st-key-selected-Next button").click()
    expect(page.locator(".reader .top b").first).to_have_text("5 of 125")
    expect(page.locator(".st-key-selected-now .s-at")).to_have_text("5 / 125")


@pytest.fixture(scope="module")
def shifted(library, server, tmp_path_factory) -> str:
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


def open_shift(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#at-outcome-cloud")).to_be_visible(timeout=240_000)
    settle(page)


def selected(page: Page) -> str:
    return parse_qs(urlsplit(page.url).query)["select"][0]


def test_shift_is_computed_on_demand_and_its_words_select_rows(page, shifted):
    open_shift(page, f"{shifted}/errors?run=shifted&more=all")
    page.get_by_role("button", name="Compare with training").press("Enter")
    expect(page.get_by_text("A word classifier can separate test from training")).to_be_visible(timeout=240_000)
    settle(page)
    page.locator("[class*=st-key-fig-shift-words] tr", has_text="tomorrow").first.click()
    expect(page.locator(".s-now", has_text="360 of 360")).to_be_visible()
    assert selected(page) == "all;word=tomorrow"
    settle(page)
    assert violations(page) == []


def test_cloud_word_is_reached_by_keyboard_and_filters(page, shifted):
    open_shift(page, f"{shifted}/errors?run=shifted&more=all")
    word = page.get_by_role("button", name="ironic").first
    expect(word).to_be_visible()
    word.focus()
    page.keyboard.press("Enter")
    pressed = page.locator(".cloud button[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    expect(pressed).to_contain_text("ironic")
    assert re.fullmatch(r"true!?=\w+;predicted!?=\w+;word=ironic", selected(page))
    assert "36 of 360" in page.locator(".s-now").inner_text()
    settle(page)
    assert [each for rules in looks(page) for each in violations(page, rules)] == []
    pressed.press("Enter")
    expect(pressed).to_have_count(0)
