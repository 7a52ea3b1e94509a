"""The bench in a browser: axe with everything open, the keyboard alone, the answer in sight, unexpected texts."""

import re
from urllib.parse import quote_plus

import pytest
from browsing import is_too_wide, looks, open_page, settle, violations, visit
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MAIN = "[data-testid=stMain]"
TEXT = "Although+the+paperback+had+splendid+essays,+it+repelled+me."
OPEN = (
    "sentence?run=starter-ndt-pm1-n2&more=all&text=A+good+film.&donor=A+dull+film.&methods=all&edit=h1.1,l1c1:0.9"
    "&pinned=A+bad+film.&pinned-run=starter-differential&beside=starter-sentiformer"
)


def test_open_bench_sections_have_no_serious_accessibility_faults(browser, server):
    page, complaints = visit(browser, server)
    open_page(page, f"{server}/{OPEN}")
    for title in (
        "Can I trust this explanation?",
        "Activation patching",
        "Compared with the pinned sentence",
        "Two models",
    ):
        expect(page.get_by_role("heading", name=re.compile(title)).first).to_be_visible()
    expect(page.locator("th", has_text="Shapley").first).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    settle(page)
    page.wait_for_function("!document.querySelector('[data-stale=true]')")  # faded elements have less contrast
    for rules in looks(page):
        assert violations(page, rules) == [] and not is_too_wide(page)
    assert complaints == []


FOCUSED = (
    "(e => { while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; })(document.activeElement)"
)
"""The focused element, also inside components."""


def tab_to(page: Page, what: str, most: int = 60) -> None:
    """Press Tab until the focused element matches a selector."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(f"what => ({FOCUSED}).matches(what)", what):
            return
    raise AssertionError(f"Tab does not reach {what}")


def test_bench_can_be_used_with_the_keyboard_alone(browser, server):
    page, complaints = visit(browser, server)
    open_page(page, f"{server}/sentence?run=starter-ndt-pm1-n2&text={TEXT}")
    tab_to(page, "input[aria-label='Sentence']")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("A good film.")
    page.keyboard.press("Enter")
    page.wait_for_function("decodeURIComponent(location.search).includes('A+good+film.')")
    settle(page)
    tab_to(page, ".levers input[type=range]")
    before = page.evaluate(f"{FOCUSED}.value")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.search.includes('edit=')")
    settle(page)
    assert page.evaluate(f"{FOCUSED}.value") != before  # still focused
    tab_to(page, ".levers td button")
    page.keyboard.press("Enter")
    page.wait_for_function("decodeURIComponent(location.search).includes('m1.')")
    settle(page)
    tab_to(page, ".st-key-more button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("What would change the prediction"))).to_be_visible()
    assert complaints == []


BAD = {
    "empty": "",
    "blank": "   ",
    "one word": "good",
    "unknown": "zxqv wqzx kkjq",
    "emoji": "👍🏽 👩‍👩‍👧 😀😀😀",
    "right to left": "הסרט הזה היה נהדר فيلم رائع",
    "markup": "<img src=x onerror=alert(1)><script>alert(2)</script><b>bad</b> film",
    "one long word": "x" * 600,
    "long": "good film and bad film " * 400,
}


def test_unusual_texts_are_predicted(browser, server):
    page, complaints = visit(browser, server, width=1024)
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    open_page(page, f"{server}/sentence?run=starter-ndt-pm1-n2&text={quote_plus(BAD['markup'])}")
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    for kind, text in BAD.items():
        field.fill(text)
        field.press("Enter")
        settle(page)
        assert quote_plus(text.strip()[:20]) in page.url, kind
        expect(page.locator(".st-key-answer .s-bar").first).to_be_visible()
        assert page.get_by_test_id("stException").count() == 0 and page.locator("img[src=x]").count() == 0, kind
        assert not is_too_wide(page, MAIN) and complaints == [] and said == [], kind
