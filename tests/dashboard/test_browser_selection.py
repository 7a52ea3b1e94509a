"""The selection in a browser: shown beside the clicked figure and in the bar, restored by a link, saved as slices."""

import json
import re
import shutil

import pytest
from browsing import find_bar, is_in_window, see, settle, violations, visit
from playwright.sync_api import Page, Route, expect

from core.error_analysis.predictions_table import PredictionTable, read_table

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SENTENCES = "[aria-label^='Selected sentences']"


def click_cell(page: Page) -> None:
    """The first cell of the matrix."""
    page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)


def shown(page: Page) -> str:
    """The text of the bar, once there is any."""
    see(find_bar(page))
    return find_bar(page).inner_text()


def test_cell_is_selected_by_rule_or_rows_and_another_browser_restores_it(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/performance?run=finished&threshold=1.0")
    click_cell(page)
    shown(page)
    page.wait_for_url(re.compile("select=ids%3A[0-9a-f]{16}"))
    page.goto(f"{server}/performance?run=finished")
    click_cell(page)
    said = shown(page)
    page.wait_for_url(re.compile("select=true%3Dnegative%3Bpredicted%3Dnegative"))
    page.locator(".st-key-selected-Next button").first.click()
    page.wait_for_url(re.compile("at=[0-9a-f]{12}"))
    looked_at, link = shown(page), page.url
    assert looked_at.startswith(said) and looked_at != said
    page.reload()
    assert shown(page) == looked_at
    expect(page.locator(".st-key-fig-confusion .barlayer .point path").first).to_have_css("stroke-width", "4px")
    expect(page.locator(".st-key-fig-confusion .barlayer .point path").nth(1)).not_to_have_css("stroke-width", "4px")
    other, others = visit(browser, server, "dark", 1024)
    other.goto(link)
    assert shown(other) == looked_at
    expect(other.locator(SENTENCES)).to_be_visible()
    other.get_by_role("button", name="Clear", exact=True).click()
    expect(find_bar(other)).to_have_count(0)
    assert "select=" not in other.url and complaints == [] and others == []
    check_every_page(page)
    assert complaints == []


def test_focus_moves_to_the_bar_when_errors_are_selected(page, server):
    page.goto(f"{server}/performance?run=finished")
    button = page.get_by_role("button", name=re.compile("^Show the .* error"))
    button.focus()
    settle(page)
    button.press("Enter")
    shown(page)
    expect(page.locator(".st-key-selected button:focus")).to_have_count(1)
    page.goto(f"{page.url}&again=1")  # a link takes the focus nowhere
    shown(page)
    assert page.evaluate("document.activeElement === document.body")


def check_every_page(page: Page) -> None:
    """The selection appears on every page, and its sentence opens."""
    said = shown(page)
    page.get_by_role("link", name="Steps", exact=True).click()
    page.wait_for_url(re.compile(r"/steps\?.*select="))
    assert shown(page) == said
    page.locator(".st-key-selected-to-sentence button").first.click()
    page.wait_for_url(re.compile(r"/sentence\?.*at="))
    text = page.get_by_role("textbox", name="Sentence", exact=True)
    see(text)
    before = text.input_value()
    assert before in shown(page)
    expect(page.get_by_text("true label")).to_be_visible()
    page.locator(".st-key-selected-Next button").first.click()
    expect(text).not_to_have_value(before)
    page.get_by_role("button", name="Back to Performance").click()
    page.wait_for_url(re.compile(r"/performance\?.*select="))
    page.locator(".st-key-selected-to-embeddings button").first.click()
    page.wait_for_url(re.compile(r"/embeddings\?.*select="))
    expect(page.locator(SENTENCES)).to_be_visible()


def test_sentences_of_a_clicked_cell_are_scrolled_into_view(page, server):
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{server}/performance?run=finished&more=Confidence")  # reload: cleared figures have new keys
        see(page.locator(".st-key-fig-confusion .bars .point").first)
        page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)  # Plotly puts a surface over it
        see(page.get_by_text("of 16 sentences"))
        assert is_in_window(page, ".st-key-selection")
        if width == 1440:  # next to the clicked figure, not below it
            bar, matrix = (page.locator(f".st-key-{key}").bounding_box() for key in ("selection", "fig-confusion"))
            assert bar["x"] > matrix["x"] + matrix["width"] and bar["y"] < matrix["y"] + matrix["height"]
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(page.get_by_text("of 16 sentences")).to_be_hidden()
        settle(page)
        bars = page.locator(".st-key-fig-confidence .bars .point").filter(visible=True)  # most bars are empty
        bars.first.click(force=True)
        expect(page.locator(".st-key-selection")).to_contain_text("of 16 sentences")
        settle(page)
        chart, below = (page.locator(f".st-key-{key}").bounding_box() for key in ("fig-confidence", "selection"))
        assert chart is not None and below is not None
        assert below["y"] >= chart["y"] + chart["height"] - 1 and below["x"] < chart["x"] + chart["width"]
        assert is_in_window(page, ".st-key-selection")
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(page.get_by_text("of 16 sentences")).to_be_hidden()


def test_figure_placeholder_is_shown_while_its_script_loads(browser, server):
    page, _ = visit(browser, server)
    waiting: list[Route] = []
    page.route("**/PlotlyChart*.js", lambda route: waiting.append(route))
    page.goto(f"{server}/performance?run=finished")
    place = page.locator(".st-key-fig-confusion")
    expect(place.get_by_test_id("stSkeleton")).to_be_visible()
    skeleton = place.get_by_test_id("stSkeleton")
    page.wait_for_function("one => one.getBoundingClientRect().height > 400", arg=skeleton.element_handle())
    before = place.bounding_box()
    assert skeleton.bounding_box()["height"] == before["height"]
    for route in waiting:
        route.continue_()
    expect(place.locator(".bars .point").first).to_be_visible()
    assert place.bounding_box()["height"] == before["height"]


def test_rows_can_be_focused_ticked_unfolded_and_picked(page, server, library):
    second = shutil.copytree(library.get_path("finished"), library.folder / "second")
    record = json.loads((second / "run.json").read_text())
    record["config"]["training"]["seed"] = 7
    (second / "run.json").write_text(json.dumps(record))
    page.goto(f"{server}/?run=finished")
    table = page.get_by_role("treegrid", name="Models on reviews.csv, best first")
    see(table)
    folded, alone = table.locator("tr[data-id='model finished']"), table.locator("tr[data-id=baseline]")
    folded.focus()
    page.keyboard.press(" ")
    expect(folded.get_by_role("checkbox")).to_be_checked()
    expect(table.get_by_role("rowheader", name="seed 7")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(folded).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(table.locator("tr[data-id=second]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".s-sel b")).to_have_text("second")
    page.keyboard.press("ArrowLeft")
    expect(folded).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(table.get_by_role("rowheader", name="seed 7")).to_be_hidden()
    alone.focus()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Compare 2 selected", exact=True).click()
    page.wait_for_url("**/compare?**")
    for run in ("finished", "second", "baseline"):
        assert f"compare={run}" in page.url


@pytest.fixture(scope="module")
def predictions(library) -> PredictionTable:
    return read_table(library, "finished")


def first(page: Page) -> str | None:
    return page.locator(".reader .list li").first.get_attribute("title")


def test_list_has_the_order_of_the_link(page, server, predictions):
    page.goto(f"{server}/errors?run=finished&select=all")
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached()
    settle(page)
    rows = predictions.frame.sort_values("margin", kind="stable")
    page.get_by_label("Order of the sentences").select_option("lowest margin first")
    page.wait_for_url("**order=margin**")
    expect(page.locator(".reader .list li").first).to_have_attribute("title", rows["text"].iat[0])
    page.locator("h1").click()
    page.keyboard.press("j")
    expect(page.locator(".reader .list li[aria-selected=true]")).to_have_attribute("title", rows["text"].iat[1])
    page.reload()
    expect(page.locator(".reader .list li").first).to_have_attribute("title", rows["text"].iat[0])
    settle(page)
    assert violations(page) == []


def test_run_without_errors_offers_the_least_sure_sentences(browser, server, predictions):
    right = predictions.frame[~predictions.wrong]
    page, complaints = visit(browser, server)
    page.goto(f"{server}/errors?run=finished&select=wrong;key={right['key'].iat[0]}")
    expect(page.locator(".reader .empty")).to_contain_text("All 1 selected are right")
    settle(page)
    page.get_by_role("button", name="Lowest margin first").click()
    page.wait_for_url("**order=margin**")
    expect(page.locator(".reader .list li")).to_have_count(1)
    assert first(page) == right["text"].iat[0] and "wrong" not in page.url and complaints == []


def test_slice_is_saved_picked_on_another_page_and_compared(page, server, predictions):
    page.goto(f"{server}/errors?run=finished&select=true%3Dpositive")
    page.get_by_role("button", name="Save as slice").click()
    page.get_by_test_id("stPopoverBody").get_by_label("Name", exact=True).fill("good *ones*")  # codes have one too
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as “good *ones*”")).to_be_visible()
    page.goto(f"{server}/performance?run=finished&more=Saved%20slices")
    n = int(predictions.true[:, predictions.classes.index("positive")].sum())
    bar = page.locator(".st-key-selected")
    expect(bar).to_contain_text("Nothing is selected")
    expect(page.locator(".st-key-fig-slices tr", has_text="good *ones*").first).to_contain_text(str(n))
    settle(page)
    page.get_by_role("button", name="Slices", exact=True).click()
    page.locator("label", has_text="good *ones*").click()
    expect(bar).to_contain_text(f"{n} of {len(predictions)}")
    page.wait_for_url("**select=true**")
    settle(page)
    assert violations(page) == []
    page.goto(f"{server}/compare?compare=finished&compare=baseline&by=slice&more=all")
    expect(page.locator(".st-key-fig-compare-where")).to_contain_text("good *ones*")
