"""Two text fields in a browser: typing, the link, and moving between pages."""

import re
from urllib.parse import quote

import pytest
from browsing import settle, visit
from pairs import pair_folder
from playwright.sync_api import Page, expect

from core import api
from core.text.text_pairs import join_pair

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FIRST, SECOND = "the film was good", "the meal was <b>bad</b>"
TINY = {"model.width": 8, "model.ff_width": 8, "training.epochs": 1, "training.threads": 1, "text.min_freq": 1}


@pytest.fixture(scope="module")
def address(library, server, tmp_path_factory) -> str:
    """The app, with a run that reads two texts."""
    data = pair_folder(tmp_path_factory.mktemp("pairs") / "alike", 80, 30)
    api.train(str(data), "vanilla", TINY, name="both", store=library)
    return server


def fields(page: Page, first: str, second: str) -> None:
    """The contents of both fields, once they are filled."""
    expect(page.get_by_role("textbox", name="First text", exact=True)).to_have_value(first)
    expect(page.get_by_role("textbox", name="Second text", exact=True)).to_have_value(second)


def test_both_texts_can_be_typed_linked_and_kept(browser, address):
    page, complaints = visit(browser, address)
    page.goto(f"{address}/sentence?run=both&text={quote(join_pair(FIRST, SECOND))}")
    fields(page, FIRST, SECOND)
    for name in ("Steps", "Sentence", "Errors", "Steps"):
        settle(page)
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(re.compile(rf"/{name.lower()}\b"))
        if name != "Errors":
            fields(page, FIRST, SECOND)
    settle(page)
    page.get_by_role("textbox", name="Second text", exact=True).fill("one ‖ two")
    fields(page, FIRST, "one | two")
    expect(page).to_have_url(re.compile(r"one[+ ](\||%7C)[+ ]two"))
    page.reload()
    fields(page, FIRST, "one | two")
    assert not complaints
