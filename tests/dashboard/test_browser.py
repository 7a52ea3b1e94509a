"""The app in a real browser: a first training from click to sentence, and every page in both themes and two widths."""

from __future__ import annotations

import pytest
from browsing import settle, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024])
def test_every_page_opens_without_an_error_or_an_outside_request(browser, server, theme, width):
    page, complaints = visit(browser, server, theme, width)
    for path, heading in (
        ("", "Models"),
        ("train", "Lambdas"),
        ("performance", "Confusion matrix"),
        ("sentence", "Attention"),
    ):
        page.goto(f"{server}/{path}?run=finished")
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
            f"{path}: wider than the window"
        )
    assert complaints == []


def test_from_nothing_to_a_look_inside(browser, empty_server, table):
    page, complaints = visit(browser, empty_server)
    page.goto(empty_server)
    page.get_by_role("button", name="Train a first model").click()
    page.get_by_role("combobox", name="Data").click()
    page.keyboard.type(str(table))
    page.keyboard.press("Enter")
    page.get_by_text("Compose your own").click()
    page.get_by_text("Advanced settings").click()
    page.get_by_role("textbox", name="Name of the run").fill("first")
    small = {"width": "16", "feed-forward width": "16", "split": "0.6/0.2/0.2", "batch size": "4", "min freq": "1"}
    for name, value in small.items():
        page.get_by_role("textbox", name=name, exact=True).fill(value)
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_role("heading", name="Learning")).to_be_visible()
    expect(page.get_by_text("finished after")).to_be_visible(timeout=120_000)
    assert "run=first" in page.url

    page.get_by_role("link", name="Performance").click()
    expect(page.get_by_role("heading", name="Confusion matrix")).to_be_visible()
    page.get_by_role("link", name="Sentence").click()
    text = page.get_by_role("textbox", name="Sentence", exact=True)
    text.fill("<b>good</b> but dull")
    text.press("Enter")
    expect(page.get_by_role("list", name="words with their push")).to_contain_text("dull")
    expect(page.get_by_role("button", name="what is read by dull")).to_be_visible()
    settle(page)
    link = page.url
    assert "text=" in link
    assert complaints == []

    other, complaints = visit(browser, empty_server, "dark")
    other.goto(link)
    expect(other.get_by_role("list", name="words with their push")).to_contain_text("dull")
    assert complaints == []


def test_words_and_heads_answer_to_the_keyboard(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/sentence?run=finished&text=good+film+dull")
    word = page.get_by_role("button", name="what is read by good")
    word.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="what is read by film")).to_be_focused()
    expect(page.get_by_text("film reads ")).to_be_visible()
    head = page.get_by_role("button", name="head 1", exact=True)
    expect(head).to_have_attribute("aria-pressed", "true")
    head.press("Enter")
    expect(head).to_have_attribute("aria-pressed", "false")
    assert complaints == []


def test_figures_are_saved_as_svg_and_png(browser, server):
    page, _ = visit(browser, server)
    page.goto(f"{server}/sentence?run=finished&text=good+film")
    expect(page.get_by_role("heading", name="Heads side by side")).to_be_visible()
    settle(page)
    saved: list[str] = []
    page.on("download", lambda download: saved.append(download.suggested_filename))
    for kind in ("SVG", "PNG"):
        page.get_by_role("button", name=f"Figures · {kind}").click()
        names = {f"sentiscope-{name}.{kind.lower()}" for name in ("grid", "coefficients", "heads")}
        page.wait_for_timeout(2_500)
        assert names <= set(saved)


def test_a_click_on_a_cell_opens_its_sentences(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/performance?run=finished")
    bar = page.locator(".st-key-fig-confusion .bars .point").first
    bar.click(force=True)  # Plotly lays its own surface over the bars
    expect(page.get_by_text("of 16 sentences")).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.get_by_text("of 16 sentences")).to_be_hidden()
    assert complaints == []


def test_a_lever_moves_the_answer_and_its_link_restores_it(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/sentence?run=finished&text=good+film+dull")
    slider = page.get_by_role("slider", name="λ₁").first
    slider.focus()
    for _ in range(8):
        page.keyboard.press("PageUp")
    bar = page.get_by_role("img", name="as trained").first
    expect(bar).to_be_visible()
    settle(page)
    page.wait_for_function("location.search.includes('edit=l1c1')")
    expect(slider).to_be_focused()  # the levers were drawn anew meanwhile
    head = page.get_by_role("button", name="silence head 1 of layer 1")
    head.press("Enter")
    expect(head).to_have_attribute("aria-pressed", "true")
    expect(head).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="silence head 2 of layer 1")).to_be_focused()
    page.wait_for_function("location.search.includes('h1.1')")
    settle(page)
    said, link = bar.get_attribute("aria-label"), page.url
    assert complaints == []

    other, complaints = visit(browser, server, "dark")
    other.goto(link)
    expect(other.get_by_role("img", name=said).first).to_be_visible()
    other.get_by_role("button", name="Back to the model as trained").first.click()
    expect(other.get_by_role("img", name="as trained")).to_have_count(0)
    other.wait_for_function("!location.search.includes('edit')")
    assert complaints == []
