"""Levers in a browser: the board of three layers fits a projector, a slider tells the answer before it is there."""

import re

import pytest
from browsing import is_too_wide, settle, visit
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TEXT = "Although+the+paperback+had+splendid+essays,+it+repelled+me."
HEIGHTS = """board => [board.getBoundingClientRect().bottom,
  Math.min(...[...board.querySelectorAll("td button")].filter(e => e.offsetHeight).map(e => e.offsetHeight))]"""


def opened(page: Page, address: str, link: str) -> None:
    page.goto(f"{address}/sentence?text={TEXT}&{link}")
    page.locator(".levers table").first.wait_for()
    settle(page)


FAMILIES = ("vanilla", "sentiformer", "lexical-last", "inceptive-16", "tweet-v1-p2", "differential", "ndt-01-n3")
THREE = ("lexical-last", "differential", "ndt-01-n3")
"""The levers of three layers."""
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
        assert typed["y"] >= 0 and words["y"] + words["height"] < picture["y"] < 360, name
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


def test_slider_shows_the_prediction_of_its_release(browser, server):
    page, complaints = visit(browser, server)
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
        expect(bar).to_be_visible()
        settle(page)
        value, chance = said.groups()
        assert f":{float(value):g}" in page.evaluate("decodeURIComponent(location.search)")
        answer = re.match(r"negative [\d.]+, positive ([\d.]+)", bar.get_attribute("aria-label"))
        assert float(chance) == pytest.approx(float(answer[1]), abs=0.01)
        slider.press("Delete")
        page.wait_for_function("!location.search.includes('edit=')")
        settle(page)
    assert complaints == []


def test_gate_is_opened_to_any_degree_by_keys(browser, server):
    page, complaints = visit(browser, server)
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
    assert complaints == []


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
    expect(board.get_by_text("after your changes", exact=True)).to_be_visible()
    settle(page)
    assert other.get_attribute("aria-label") != before and ", as trained " in other.get_attribute("aria-label")
    board.get_by_role("button", name="zero", exact=True).click()
    expect(page).not_to_have_url(re.compile("silent="))
    expect(board.get_by_role("button", name=re.compile("^switch off head 1 of layer 1, effect"))).to_be_visible()
    assert complaints == []


def test_levers_clicked_on_a_busy_page_are_all_applied(browser, server):
    page, complaints = visit(browser, server)
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
    assert complaints == []
