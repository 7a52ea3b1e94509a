"""Tokens in a browser: a kind of error sets the filter, a typed sentence gets tags, no accessibility errors."""

import re

import pytest
from browsing import looks, settle, violations, visit
from named_words import write_conll
from playwright.sync_api import Page, expect

from core import api

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TINY = {"model.width": 16, "model.ff_width": 16, "training.epochs": 4, "training.batch_size": 8, "training.lr": 0.01}


@pytest.fixture(scope="module")
def address(library, server, tmp_path_factory) -> str:
    """The app with one run, `names`, which is half trained."""
    file = write_conll(tmp_path_factory.mktemp("tokens") / "names.conll", 160)
    api.train(str(file), "vanilla", TINY | {"training.threads": 1}, name="names", store=library)
    return server


def note(page: Page, words: str) -> None:
    """The text next to the heading of the sentences."""
    expect(page.locator(".s-fig", has=page.locator("#at-tag-sentences")).locator("span")).to_have_text(words)


def test_error_kind_filters_and_typed_sentence_has_the_tags_of_the_command_line(browser, address, library):
    outcomes = api.evaluate("names", store=library)["outcomes"]
    kinds = [kind for kind, spans in outcomes.items() if spans and kind != "right"]
    assert kinds, "the run makes mistakes to look at"
    page, complaints = visit(browser, address)
    page.goto(f"{address}/tokens?run=names&more=Your%20sentence")
    expect(page.locator(".tagged li").first).to_be_visible()
    expect(page.locator(".tagged li .wrong").first).to_be_visible()
    for kind in kinds:
        settle(page)
        page.get_by_role("radio", name=kind, exact=True).click()
        note(page, re.compile(rf"^\d+ of 16, {kind}$"))
        expect(page.locator(".tagged li em", has_text=kind).first).to_be_visible()
        texts = page.locator(".tagged").first.locator("li").evaluate_all("all => all.map((each) => each.textContent)")
        assert texts and all(kind in text for text in texts)
    settle(page)
    page.get_by_role("radio", name="all sentences", exact=True).click()
    note(page, "16 of 16, all sentences")
    expect(page).to_have_url(re.compile(r"tag-outcome=all"))
    page.reload()
    note(page, "16 of 16, all sentences")
    text = "in Old Pell it rained , said Almo Tarn ."
    (said,) = api.predict("names", [text], store=library)["predictions"]
    assert said["spans"]
    settle(page)
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    field.fill(text)
    field.press("Enter")
    typed = page.locator(".tagged").last.locator("b")
    expect(typed).to_have_text([span["text"] for span in said["spans"]])
    expect(page.locator(".tagged").last.locator("small")).to_have_text([span["type"] for span in said["spans"]])
    settle(page)
    for rules in looks(page):
        assert violations(page, rules) == []
    assert complaints == []
