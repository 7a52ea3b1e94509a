"""Sentence in a browser: levers on a projector, the keyboard alone, unexpected texts, and models that no starter is."""

import re
from urllib.parse import quote_plus

import pytest
from browsing import LOOKS, enter, is_too_wide, looks, open_page, see, settle, show, violations, visit
from playwright.sync_api import Page, expect

from core import api

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "Although+the+paperback+had+splendid+essays,+it+repelled+me."
HEIGHTS = """board => [board.getBoundingClientRect().bottom,
  Math.min(...[...board.querySelectorAll("td button")].filter(e => e.offsetHeight).map(e => e.offsetHeight))]"""
WORDS = {"bad": ("bad", "dull", "slow"), "fair": ("fine", "usual", "plain"), "good": ("good", "warm", "wise")}
PRESETS = {"ordered": "ndt-01-n2", "bilstm": "bilstm", "cnn": "cnn", "bayes": "tfidf-nb", "words": "lexicon"}


def opened(page: Page, address: str, link: str) -> None:
    page.goto(f"{address}/sentence?text={TEXT}&{link}")
    see(page.locator(".levers table").first)


FAMILIES = ("vanilla", "sentiformer", "lexical-last", "inceptive-16", "tweet-v1-p2", "ndt-shares", "differential")
FAMILIES += ("ndt-01-n3",)  # the last, which has three layers, stays open
THREE = ("lexical-last", "differential", "ndt-01-n3")  # the levers of three layers
EDITED = ("ndt-01-n3&edit=l:1.7,l2c1:0.9&layer=1", "sentiformer&edit=g3.2:0.3")


def fit(page: Page, name: str) -> None:
    """The board of three layers ends inside the window, with rows of a readable height."""
    bottom, row = page.locator(".levers").evaluate(HEIGHTS)
    assert bottom <= 720 and 24 <= row <= 37, name


def test_first_projector_screen_has_sentence_prediction_words_head_view_and_levers(browser, server):
    page, complaints = visit(browser, server, width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    for link in EDITED:
        opened(page, server, f"projector=true&run=starter-{link}")
        fit(page, link)
    for name in FAMILIES:
        opened(page, server, f"projector=true&run=starter-{name}&more=all")
        places = [".st-key-typed", ".st-key-answer .s-bar", ".words .strip", ".head_view", ".levers"]
        boxes = [page.locator(place).first.bounding_box() for place in places]
        assert all(boxes) and [box["y"] for box in boxes[:4]] == sorted(box["y"] for box in boxes[:4]), name
        typed, _, words, picture, levers = boxes
        assert typed["y"] >= 0 and words["y"] + words["height"] < picture["y"] <= 360, name
        assert levers["x"] >= picture["x"] + picture["width"] and levers["y"] + levers["height"] <= 720, name
        assert not is_too_wide(page) and complaints == [], name
        if name in THREE:
            fit(page, name)
    page.mouse.move(600, 400)  # the prediction stays visible while the page scrolls
    page.mouse.wheel(0, 2000)
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 1500")
    settle(page)
    box = page.locator(".st-key-answer .s-bar").first.bounding_box()
    assert box and 0 <= box["y"] and box["y"] + box["height"] <= 200
    head = "switch off head 1 of layer {}, effect"  # a click on its name opens another layer
    expect(page.get_by_role("button", name=head.format(3))).to_be_visible()
    expect(page.get_by_role("button", name=head.format(1))).to_be_hidden()
    first = page.get_by_role("button", name="layer 1", exact=True)
    expect(first).to_have_attribute("aria-expanded", "false")
    first.press("Enter")
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("button", name=head.format(1))).to_be_visible()
    expect(page.get_by_role("button", name=head.format(3))).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 1400})  # a taller window opens all layers again
    expect(page.get_by_role("button", name=head.format(3))).to_be_visible()


def test_slider_shows_the_prediction_of_its_release(page, server):
    opened(page, server, "run=starter-differential")
    for name in ("λ₁ of layer 2", "factor on every λ"):
        slider = page.get_by_role("slider", name=name)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2, steps=5)
        said = re.fullmatch(r"([\d.]+), P\(positive\) ([\d.]+)", slider.get_attribute("aria-valuetext"))
        page.mouse.up()
        page.wait_for_function("location.search.includes('edit=l')")
        bar = page.get_by_role("img", name="as trained").first
        see(bar)
        value, chance = said.groups()
        assert f":{float(value):g}" in page.evaluate("decodeURIComponent(location.search)")
        answer = re.match(r"negative [\d.]+, positive ([\d.]+)", bar.get_attribute("aria-label"))
        assert float(chance) == pytest.approx(float(answer[1]), abs=0.01)
        slider.press("Delete")
        page.wait_for_function("!location.search.includes('edit=')")
        settle(page)


def test_gate_is_opened_to_any_degree_by_keys(page, server):
    opened(page, server, "run=starter-sentiformer&layer=2")
    gate = page.get_by_role("slider", name="gate of although in layer 2")
    gate.focus()
    for _ in range(3):
        page.keyboard.press("PageDown")
    value = float(gate.input_value())
    assert 0 < value < 0.8
    page.wait_for_function("decodeURIComponent(location.search).includes('edit=g2.2:')")
    settle(page)
    assert f"g2.2:{value:g}" in page.evaluate("decodeURIComponent(location.search)")
    expect(page.get_by_role("slider", name="gate of although in layer 2")).to_be_focused()


def test_switch_sets_parts_to_their_mean_and_effects_are_of_the_edited_model(browser, server):
    page, complaints = visit(browser, server, width=1440)
    opened(page, server, "run=starter-vanilla")
    board = page.locator(".levers")
    board.get_by_role("button", name="mean", exact=True).click()
    expect(page).to_have_url(re.compile(r"[?&]silent=mean"))
    settle(page)
    head = board.get_by_role("button", name=re.compile("^replace head 2 of layer 1 by its mean"))
    other = board.get_by_role("button", name=re.compile("^replace head 1 of layer 1 by its mean"))
    before = other.get_attribute("aria-label")
    head.press("Enter")
    expect(page).to_have_url(re.compile(r"[?&]edit=h1\.2(:|%3A)mean"))
    back = board.get_by_role("button", name=re.compile("^replace head 2 of layer 1 by its mean, now at its mean"))
    expect(back).to_have_text("mean")
    see(board.get_by_text("after your changes", exact=True))
    assert other.get_attribute("aria-label") != before and ", as trained " in other.get_attribute("aria-label")
    board.get_by_role("button", name="zero", exact=True).click()
    expect(page).not_to_have_url(re.compile("silent="))
    expect(board.get_by_role("button", name=re.compile("^switch off head 1 of layer 1, effect"))).to_be_visible()
    assert complaints == []


def test_levers_clicked_on_a_busy_page_are_all_applied(page, server):
    opened(page, server, "run=starter-vanilla&layer=1")
    pressed = [page.get_by_role("button", name=f"switch off head {head} of layer 1, effect") for head in (1, 2, 3)]
    for button in pressed[:2]:
        button.evaluate("button => button.click()")  # without waiting for the effect of the previous click
    expect(pressed[0]).to_have_count(0)  # it shows "off" now; the second may still follow
    pressed[2].evaluate("button => button.click()")
    page.wait_for_function("/h1\\.1.*h1\\.2.*h1\\.3/.test(decodeURIComponent(location.search))")
    settle(page)
    page.get_by_role("button", name="Back to the model as trained").click()
    page.wait_for_function("!location.search.includes('edit=')")


MAIN = "[data-testid=stMain]"
OPEN = (
    "sentence?run=starter-ndt-small&more=all&text=A+good+film.&donor=A+dull+film.&methods=all&edit=h1.1,l1c1:0.9"
    "&pinned=A+bad+film.&pinned-run=starter-differential&beside=starter-sentiformer"
)


def test_open_bench_sections_have_no_serious_accessibility_faults(page, server):
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


def test_bench_can_be_used_with_the_keyboard_alone(page, server):
    open_page(page, f"{server}/sentence?run=starter-ndt-small&text={TEXT}")
    tab_to(page, "input[aria-label='Sentence']")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("A good film.\n")
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
    open_page(page, f"{server}/sentence?run=starter-ndt-small&text={quote_plus(BAD['markup'])}")
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    for kind, text in BAD.items():
        enter(field, text)
        settle(page)
        assert quote_plus(text.strip()[:20]) in page.url, kind
        expect(page.locator(".st-key-answer .s-bar").first).to_be_visible()
        assert page.get_by_test_id("stException").count() == 0 and page.locator("img[src=x]").count() == 0, kind
        assert not is_too_wide(page, MAIN) and complaints == [] and said == [], kind


@pytest.fixture(scope="module")
def families(library, server, tmp_path_factory, tiny) -> str:
    """The app with a run of each preset, with three ordered classes."""
    folder = tmp_path_factory.mktemp("families")
    lines = [f"{word} film number {n},{label}" for label, words in WORDS.items() for word in words for n in range(12)]
    (folder / "grades.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    plain = {name: value for name, value in tiny.items() if not name.startswith("model.")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(folder / "cache"))
        for name, preset in PRESETS.items():
            settings = {**(tiny if preset.startswith("ndt") else plain), "data.order": "bad,fair,good"}
            api.train(str(folder / "grades.csv"), preset, settings, name=name, store=library)
    return server


@pytest.mark.parametrize("name", PRESETS)
def test_pages_of_each_family_fit_and_have_no_serious_accessibility_faults(browser, families, name):
    """Test Sentence light and wide and Steps dark and narrow for one family, the reverse for the next."""
    first, second = LOOKS if list(PRESETS).index(name) % 2 else reversed(LOOKS)
    page, complaints = visit(browser, families, *first)
    open_page(page, f"{families}/sentence?run={name}&text=fine+film,+dull+and+slow")
    for link in ("Sentence", "Steps"):
        if link == "Steps":
            page.get_by_role("link", name=link, exact=True).click()
            page.wait_for_url(re.compile(rf"/steps\?.*run={name}"))
            show(page, *second)
        expect(page.get_by_role("heading", level=1, name=link, exact=True)).to_be_visible()
        see(page.locator(".s-bar").first)
        assert violations(page) == [] and not is_too_wide(page, "[data-testid=stMain]"), link
        assert page.get_by_test_id("stException").count() == 0 and complaints == [], link
