"""Counter-examples in a browser: saved by keyboard, listed for the class, opened, removed."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest
from browsing import looks, settle, violations, visit
from playwright.sync_api import expect

from core.error_analysis.counter_examples import keep_example, read_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TEXT = "not <script>document.title='taken'</script> dull"


def test_saved_counter_example_is_listed_and_can_be_removed(browser, server, library):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/sentence?run=finished&text={quote(TEXT)}")
    keep = page.locator(".st-key-keep button").first
    expect(keep).to_be_visible()
    settle(page)
    keep.focus()
    page.keyboard.press("Enter")
    note = page.get_by_label("Note", exact=True)
    expect(note).to_be_visible()
    note.fill("=a note <b>")
    page.get_by_label("Your name").fill("ann")
    page.get_by_role("button", name="Save it").press("Enter")
    expect(page.get_by_text("Saved as")).to_be_visible()
    settle(page)
    assert violations(page) == []
    [kept] = read_examples(library.folder)
    assert (kept.text, kept.note, kept.author) == (TEXT, "=a note <b>", "ann")
    link = urlsplit(kept.link)
    assert link.path == "sentence" and parse_qs(link.query)["text"] == [TEXT]
    page.get_by_role("button", name="All saved sentences").press("Enter")
    expect(page.get_by_role("heading", name="Sentences that fooled it")).to_be_visible()
    grid = page.get_by_test_id("stDataFrame").last
    grid.scroll_into_view_if_needed()
    settle(page)
    grid.click(position={"x": 20, "y": 56})  # the checkbox of the first row
    back = page.get_by_role("link", name="Show how it was found")
    expect(back).to_be_visible()
    for rules in looks(page):
        assert violations(page, rules) == []
    assert page.title() != "taken"
    page.get_by_role("button", name="Remove", exact=True).press("Enter")
    page.get_by_role("button", name="Remove it").press("Enter")
    expect(page.get_by_text("No sentence is saved yet.")).to_be_visible()
    assert read_examples(library.folder) == [] and complaints == []


def test_link_returns_to_the_sentence_and_other_users_examples_appear(browser, server, library):
    keep_example(library.folder, "not bad", "positive", "", "ben", f"/sentence?run=finished&text={quote(TEXT)}")
    page, complaints = visit(browser, server)
    page.goto(f"{server}/behave?run=finished")
    expect(page.get_by_role("link", name="1 counter-example from the class")).to_be_visible()
    settle(page)
    keep_example(library.folder, "hardly slow", "positive", "", "cleo")
    expect(page.get_by_role("link", name="2 counter-examples from the class")).to_be_visible()
    settle(page)
    assert complaints == []
