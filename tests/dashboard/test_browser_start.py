"""Start in a browser: all stages with keys, on a projector and a laptop; nothing moves, scrolls or waits."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browsing import see, settle, violations, visit
from first_screen import COUNT
from playwright.sync_api import Page, expect
from trained_runs import TINY, write_films

from core import api
from core.error_analysis.counter_examples import keep_example, read_examples
from core.error_analysis.quiz import make_quiz
from core.runs.store import RunStore

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RUN = "starter-ndt-01-n3"
QUESTIONS = make_quiz(RunStore(Path(__file__).resolve().parents[2] / "trained"), RUN).questions
KEY = {"negative": "ArrowLeft", "positive": "ArrowRight"}
SIZES = ((1440, 900, "light", ""), (1280, 720, "dark", "&projector=true"))
PLACES = (".sentence", ".choose, .bar", ".go")
SPEAKS = "The lecture was anything but lovely, nobody liked it."


def start(page: Page, address: str, link: str = "") -> None:
    page.goto(f"{address}/start?run={RUN}{link}")
    see(page.locator(".start .sentence"))


def measure(page: Page) -> dict[str, tuple[float, ...]]:
    """Return x, y and height of the sentence, of the buttons or the bar, and of the main button, where they are."""
    found = {place: page.locator(".start").locator(place) for place in PLACES}
    boxes = {place: node.first.bounding_box() for place, node in found.items() if node.count()}
    return {place: (box["x"], box["y"], box["height"]) for place, box in boxes.items() if box}


def check_places(shown: list[dict[str, tuple[float, ...]]]) -> None:
    """Everything is where it was, to the pixel that a line of another font may take."""
    for place in PLACES:
        boxes = [each[place] for each in shown if place in each]
        assert boxes, place
        for side in zip(*boxes, strict=True):
            assert max(side) - min(side) <= 1.5, (place, boxes)


def check_screen(page: Page, height: int) -> None:
    """Nothing scrolls; at most 60 words and 12 controls, without the sentence and the marks in it."""
    found = page.evaluate(COUNT)
    assert found["words"] <= 65 and found["controls"] <= 12, found
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") <= height
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "height", "theme", "link"), SIZES)
def test_a_class_plays_to_the_result_with_keys_alone(browser, server, width, height, theme, link):
    page, complaints = visit(browser, server, theme, width)
    page.set_viewport_size({"width": width, "height": height})
    start(page, server, link)
    shown = []
    for number, question in enumerate(QUESTIONS):
        expect(page.get_by_text(f"Sentence {number + 1} of 5")).to_be_visible()
        assert page.locator(".start .words").get_attribute("aria-label") == question.text
        expect(page.locator(".start .bar")).to_have_count(0)  # no answer before a guess
        check_screen(page, height)
        shown.append(measure(page))
        page.keyboard.press(KEY[question.label])
        expect(page.locator(".start .bar")).to_have_attribute("aria-label", re.compile("negative 0.*positive 0"))
        verdict = page.locator(".start h1").inner_text()
        assert verdict.startswith("It says" if question.right else "Fooled."), question.text
        lead = question.text[slice(*question.words[question.effects.index(max(question.effects))])]
        without = "Without it," if len(question.flip) == 1 else "Without “"
        reason = page.locator(".start .why").inner_text()
        assert reason.startswith(f"“{lead}” pushes most towards {question.predicted}. {without}"), reason
        check_screen(page, height)
        shown.append(measure(page))
        page.keyboard.press("w")
        for word in question.flip:
            name = f"{question.text[slice(*question.words[word])]}, "
            page.get_by_role("button", name=name).first.press("Enter")
        other = next(name for name in KEY if name != question.predicted)
        expect(page.locator(".start h1")).to_have_text(f"Now it says {other}.")
        expect(page.locator(".start .bar u")).to_have_count(1)
        check_screen(page, height)
        shown.append(measure(page))
        if not number:
            settle(page)
            assert violations(page) == []
        page.keyboard.press("ArrowRight")
    check_places(shown)
    expect(page.locator(".start h1")).to_have_text("You got 5 of 5 right. The model got 2.")
    assert page.locator(".start .ways a").count() == 4
    assert all(f"run={RUN}" in each.get_attribute("href") for each in page.locator(".start .ways a").all())
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") <= height
    settle(page)
    assert violations(page) == [] and complaints == []


def test_the_first_minute_takes_two_clicks_and_words_answer_without_the_server(browser, server):
    page, complaints = visit(browser, server)
    start(page, server)
    clicks = 0
    for name in (QUESTIONS[0].label, "Why?"):
        page.get_by_role("button", name=name).first.click()
        clicks += 1
    expect(page.locator(".start .why")).to_contain_text("Click a word")
    assert clicks <= 3
    page.context.set_offline(True)
    for word in [QUESTIONS[0].text[slice(*QUESTIONS[0].words[word])] for word in QUESTIONS[0].flip]:
        page.get_by_role("button", name=f"{word}, ").click()
        expect(page.get_by_role("button", name=f"{word}, ")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".start .why")).to_contain_text("The answer flips.")
    expect(page.locator(".start .live")).to_contain_text("The answer flips.")
    page.get_by_role("button", name="Put all back").click()
    expect(page.locator(".start h1")).to_have_text(f"The model says {QUESTIONS[0].predicted}.")
    page.context.set_offline(False)
    assert not [each for each in complaints if "ERR_INTERNET_DISCONNECTED" not in each]


def test_hands_are_counted_and_a_link_opens_a_sentence(page, server):
    start(page, server, "&sentence=3")
    expect(page.get_by_text("Sentence 3 of 5")).to_be_visible()
    page.get_by_role("button", name="Show of hands").click()
    page.keyboard.type("18\n6\n")
    expect(page.get_by_role("button", name="negative 18 hands")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".start .marks")).to_contain_text("class 18")
    expect(page.locator(".start .marks")).to_contain_text("class 6")
    expect(page.locator(".start .go")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Sentence 4 of 5")).to_be_visible()
    page.wait_for_url(re.compile("sentence=4"))


def test_somebody_says_what_they_mean_and_saves_what_fools_the_model(page, server, library):
    start(page, server)
    page.keyboard.press(KEY[QUESTIONS[0].label])
    before = measure(page)
    page.get_by_role("button", name="Try your own").click()
    field = page.get_by_label("Your sentence")
    expect(field).to_be_focused()
    page.keyboard.type("a slip of the pen")
    page.keyboard.press("Escape")
    expect(field).to_have_value("")
    page.keyboard.type(SPEAKS)
    expect(page.locator(".start .bar")).to_have_count(0)  # first what is meant
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".start h1")).to_have_text("Fooled. It says negative. You mean positive.")
    check_places([before, measure(page)])
    page.get_by_role("button", name="Save this sentence").click()
    expect(page.get_by_role("button", name="Saved")).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".start .count")).to_contain_text("1 saved. From 5 on you can train with them.")
    [kept] = read_examples(library.folder)
    assert (kept.text, kept.label) == (SPEAKS, "positive") and "text=The+lecture" in kept.link
    settle(page)
    page.wait_for_timeout(2000)  # words fade in one after the other
    assert violations(page) == []
    page.get_by_role("button", name="Try another").click()
    page.keyboard.insert_text("good bad " * 2500)  # nothing is cut off unseen
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".start .why")).to_have_text("This sentence has 5\u202f000 words; 60 are the maximum here.")
    assert "text=" not in page.get_by_role("link", name="Open it in Sentence").get_attribute("href")
    page.get_by_role("button", name="Try another").click()
    page.keyboard.type(f"{SPEAKS}\n")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".start h1")).to_have_text("Not fooled. It says negative, as you do.")
    page.get_by_role("button", name="Back to the sentences").click()
    expect(page.get_by_text("Sentence 1 of 5")).to_be_visible()
    for number in range(4):
        keep_example(library.folder, f"not a dull moment in number {number}", "positive")
    page.get_by_role("button", name="Try your own").click()
    page.keyboard.type("anything\n")
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Train with them").click()
    page.wait_for_url(lambda url: urlsplit(url).path == "/train")
    page.get_by_text("Advanced settings", exact=True).click()
    expect(page.get_by_text("Add 5 counter-examples")).to_be_visible()


def test_words_appear_at_once_where_motion_is_reduced(browser, server):
    page, _ = visit(browser, server)
    page.emulate_media(reduced_motion="reduce")
    start(page, server)
    page.keyboard.press(KEY[QUESTIONS[0].label])
    words = page.locator(".start .word > :first-child")
    names = words.evaluate_all("all => all.map(e => getComputedStyle(e).animationName)")
    assert names and set(names) == {"none"}


WORDS = {"negative": ("bad", "dull", "cold"), "neutral": ("plain", "usual", "medium")}
WORDS |= {"positive": ("good", "warm", "fine")}


def test_three_classes_have_digits_and_words_that_are_unknown_have_a_frame(browser, server, library, tmp_path):
    table = write_films(tmp_path / "three.csv", WORDS)
    api.train(str(table), "vanilla", {**TINY, "training.epochs": 1}, name="three", store=library)
    page, complaints = visit(browser, server)
    page.goto(f"{server}/start?run=three")
    expect(page.get_by_role("heading", name="Which label fits?")).to_be_visible()
    page.keyboard.press("ArrowLeft")  # there are three
    assert page.locator(".start .choose button").all_inner_texts() == ["negative\n1", "neutral\n2", "positive\n3"]
    page.keyboard.press("2")
    expect(page.locator(".start .marks")).to_contain_text(re.compile(r"you.*\(neutral\)"))
    assert page.locator(".start .bar > span").count() == 3
    colors = page.locator(".start .bar > span").evaluate_all("all => all.map(each => each.className)")
    assert colors == ["minus", "middle", "plus"]
    page.get_by_role("button", name="Try your own").click()
    page.keyboard.type("zyzzyva film <b>qwertz</b>\n")
    page.keyboard.press("3")
    expect(page.locator(".start .why")).to_contain_text("unknown to the model.")
    assert {"zyzzyva", "qwertz"} <= set(page.locator(".start .unknown").all_inner_texts())
    assert page.locator(".start .words b").count() == 0
    settle(page)
    assert violations(page) == [] and complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_without_a_model_people_vote_and_read_what_to_do(browser, empty_server, theme):
    page, complaints = visit(browser, empty_server, theme)
    page.goto(f"{empty_server}/start")
    page.locator(".start .sentence").wait_for()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="No model here yet")).to_be_visible()
    expect(page.get_by_role("link", name="Train the first model")).to_have_attribute("href", "train")
    expect(page.locator(".start .marks")).to_contain_text("true label")
    settle(page)
    assert violations(page) == [] and complaints == []
