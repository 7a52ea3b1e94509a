"""The map, Models, Compare, counter-examples and behaviour tests in a browser, by hand and by keyboard."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
from answering import answering, right_where, texts
from browsing import enter, find_bar, is_too_wide, looks, open_export, see, settle, violations, visit
from playwright.sync_api import Page, expect

from core.error_analysis.counter_examples import keep_example, read_examples
from dashboard.figures.theory import FIGURES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RUN = "run=starter-ndt-small"
TEXT = "not <script>document.title='taken'</script> dull"


def opened(browser, base: str, link: str, theme: str = "light", width: int = 1440) -> tuple[Page, list[str]]:
    """The page of a link once it is settled, and its errors."""
    page, complaints = visit(browser, base, theme, width)
    page.goto(f"{base}/embeddings?{RUN}&more=all&{link}")
    see(page.get_by_role("heading", name="Silhouette by class"))
    return page, complaints


def test_search_result_is_selected_by_rule_and_the_link_restores_both(browser, server):
    page, complaints = opened(browser, server, "")
    page.get_by_role("button", name="Options", exact=True).click()
    enter(page.get_by_role("textbox", name="Find", exact=True), "never")
    page.keyboard.press("Escape")
    button = page.locator(".st-key-select-found button")
    expect(button).to_be_visible()
    n = re.sub(r"\D", "", button.inner_text())
    button.click()
    page.wait_for_url(re.compile(r"select=text(~|%7E)never"))
    expect(find_bar(page)).to_contain_text("with “never”")
    other, others = opened(browser, server, page.url.partition("?")[2], "dark", 1024)
    expect(find_bar(other)).to_contain_text("with “never”")
    other.get_by_role("button", name="Options", exact=True).click()
    expect(other.get_by_role("textbox", name="Find", exact=True)).to_have_value("never")
    assert re.sub(r"\D", "", find_bar(other).inner_text().partition(" of ")[0]) == n
    assert complaints == [] and others == []


def test_picked_cluster_becomes_the_selection(browser, server):
    page, complaints = opened(browser, server, "colour=found%20group")
    table = page.locator("table[aria-label^='Clusters of sentences']")
    expect(table).to_be_visible()
    row = table.locator("tbody tr").first
    name, n = (row.locator("td, th").nth(place).inner_text() for place in (0, 1))
    row.click()
    page.wait_for_url(re.compile(r"select=ids(:|%3A)[0-9a-f]{16}"))
    expect(find_bar(page)).to_contain_text(f"cluster “{name}”")
    assert re.sub(r"\D", "", find_bar(page).inner_text().partition(" of ")[0]) == re.sub(r"\D", "", n)
    assert complaints == []


def test_neighbors_follow_the_current_sentence(browser, server):
    page, complaints = opened(browser, server, "select=text~boring&split=test")
    nearest = page.get_by_role("heading", name="Nearest neighbours", exact=True)
    said = page.locator(".st-key-head-map-neighbours .s-fig span")
    expect(nearest).to_be_visible()
    expect(said).to_contain_text("selected")
    settle(page)
    page.locator(".st-key-selected-Next button").first.click()
    expect(said).to_contain_text("boring")
    settle(page)
    before = said.inner_text()
    page.locator(".st-key-selected-Next button").first.click()
    expect(said).not_to_have_text(before)
    assert complaints == []


def test_layers_are_read_in_the_background_and_the_page_is_accessible(browser, server):
    page, complaints = opened(browser, server, "find=not&density=on&place=a%20fine%20film")
    read, chart = page.locator(".st-key-read-layers button"), page.locator(".st-key-fig-map-layers")
    expect(read.or_(chart).first).to_be_visible()
    if read.count():
        read.click()
    expect(chart).to_be_visible(timeout=240_000)  # all layers are computed again
    settle(page)
    assert [each for rules in looks(page) for each in violations(page, rules)] == [] and complaints == []


def test_theory_opens_from_papers_and_is_accessible(page, server):
    page.goto(f"{server}/papers?paper=sentiformer&run=finished")
    page.get_by_role("link", name="Experiments on its theory").click()
    labels = {"memorise": "Memorisation", "kernel": "Kernel smoother", "markov": "First and last word"}
    for experiment, label in labels.items():
        page.get_by_role("radio", name=label).or_(page.get_by_role("button", name=label)).first.click()
        page.wait_for_url(re.compile(f"experiment={experiment}"))
        see(page.get_by_role("heading", name=FIGURES[experiment][0].title))
        settle(page)
        for rules in looks(page):
            assert violations(page, rules) == [] and not is_too_wide(page)


def test_model_is_drawn_at_each_width(page, server):
    page.goto(f"{server}/models?model=sentiformer&run=finished")
    drawing = page.get_by_role("img", name=re.compile("^From text to answer: Embedding"))
    expect(drawing).to_be_visible()
    for _ in looks(page):
        expect(drawing).to_be_visible()
        box = drawing.bounding_box()
        assert box["width"] > 380 and box["x"] + box["width"] <= page.viewport_size["width"]
        assert not is_too_wide(page)
    expect(page.locator(".katex").first).to_be_visible()


def test_chosen_preset_is_shown_below_and_can_be_trained(page, server):
    page.goto(f"{server}/models?paper=SentiFormer&run=finished&more=All+models")
    see(page.get_by_role("heading", name=re.compile("^sentiformer has")))
    page.locator("[data-testid=stDataFrame]").first.click(position={"x": 17, "y": 38 + 38 * 2 + 19})  # third row
    see(page.get_by_role("heading", name=re.compile("^sentiformer-no-gate has")))
    assert "model=sentiformer-no-gate" in page.url
    open_export(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Figures · SVG").click()
    drawn = saved.value.path().read_text()
    assert saved.value.suggested_filename == "sentiscope-model-sentiformer-no-gate.svg"
    assert "Feed-forward" in drawn and "var(--" not in drawn
    page.get_by_role("button", name="Train this").press("Enter")
    see(page.get_by_role("heading", name="Train", exact=True))
    assert "model=sentiformer-no-gate" in page.url


def test_changed_model_is_drawn_while_it_is_built(page, server):
    page.goto(f"{server}/train?model=ndt-01-n3&run=finished")
    page.get_by_role("button", name="Compose your own").click()
    drawing = page.get_by_role("img", name=re.compile("^From text to answer"))
    expect(drawing).to_have_attribute("aria-label", re.compile("3 maps"))
    enter(page.get_by_role("textbox", name="maps per head"), "5")
    expect(drawing).to_have_attribute("aria-label", re.compile("5 maps"))
    enter(page.get_by_role("textbox", name="window of neighbours"), "7")
    expect(page.get_by_text("the nearest is 8").first).to_be_visible()
    expect(drawing).to_have_count(0)
    page.get_by_role("button", name="Back to the preset").click()
    expect(drawing).to_have_attribute("aria-label", re.compile("3 maps"))


LABELS = np.arange(90) % 2
RANDOM = np.random.default_rng(0)
RIGHT = {"a": RANDOM.random(90) < 0.95, "b": RANDOM.random(90) < 0.8, "c": RANDOM.random(90) < 0.6}

ALONE = "Only {} is right on {} sentences"


def count_alone(one: str, other: str) -> int:
    """How many sentences only the first of two runs predicts correctly."""
    return int((RIGHT[one] & ~RIGHT[other]).sum())


@pytest.fixture(scope="module")
def address(library, server):
    """The app, with three runs on the same rows."""
    for (name, right), preset in zip(RIGHT.items(), ("vanilla", "differential", "ndt-01-n2"), strict=True):
        answering(library, name, right_where(right, LABELS), texts(LABELS), preset=preset)
    return server


def test_picked_pair_and_clicked_cell_show_their_sentences(address, browser):
    page, _ = visit(browser, address)
    page.set_viewport_size({"width": 1440, "height": 1800})
    page.goto(f"{address}/compare?compare=a&compare=b&compare=c")
    see(page.get_by_text(ALONE.format("a", count_alone("a", "b"))))
    page.locator("tr[data-id='B-C'] th").click()
    expect(page.get_by_text(ALONE.format("b", count_alone("b", "c")))).to_be_visible()
    assert "pair=B-C" in page.url
    page.locator(".st-key-fig-compare-matrix g.point path").nth(2).click(force=True)  # the second row, the first column
    count = int((~RIGHT["b"] & RIGHT["c"]).sum())
    expect(page.get_by_text(f"{count} sentences", exact=True)).to_be_visible()
    expect(page.locator(".s-sel", has_text="B wrong, C right")).to_be_visible()
    expect(page.locator(".s-now", has_text="B wrong, C right")).to_be_visible()


def test_saved_counter_example_is_listed_and_can_be_removed(page, server, library):
    page.goto(f"{server}/sentence?run=finished&text={quote(TEXT)}")
    keep = page.locator(".st-key-keep button").first
    see(keep)
    keep.focus()
    page.keyboard.press("Enter")
    note = page.get_by_label("Note", exact=True)
    expect(note).to_be_visible()
    note.fill("=a note <b>")
    page.get_by_label("Your name").fill("ann")
    page.get_by_role("button", name="Save it").press("Enter")
    see(page.get_by_text("Saved as"))
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
    expect(page.get_by_role("link", name="Show how it was found")).to_be_visible()
    assert [each for rules in looks(page) for each in violations(page, rules)] == [] and page.title() != "taken"
    page.get_by_role("button", name="Remove", exact=True).press("Enter")
    page.get_by_role("button", name="Remove it").press("Enter")
    expect(page.get_by_text("No sentence is saved yet.")).to_be_visible()
    assert read_examples(library.folder) == []


def test_link_returns_to_the_sentence_and_other_users_examples_appear(browser, server, library):
    keep_example(library.folder, "not bad", "positive", "", "ben", f"/sentence?run=finished&text={quote(TEXT)}")
    page, complaints = visit(browser, server)
    page.goto(f"{server}/behave?run=finished")
    see(page.get_by_role("link", name="1 counter-example from the class"))
    keep_example(library.folder, "hardly slow", "positive", "", "cleo")
    see(page.get_by_role("link", name="2 counter-examples from the class"))
    assert complaints == []


def test_picked_capability_lists_sentences_that_can_be_opened(page, server):
    page.goto(f"{server}/behave?run=finished&against=baseline")
    table = page.get_by_role("treegrid", name="Failure rates by capability and run")
    expect(table).to_be_visible(timeout=120_000)
    settle(page)
    table.locator("tr[data-id='capability emoji']").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Failed tests: emoji")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["capability"] == ["capability emoji"]
    assert [each for rules in looks(page) for each in violations(page, rules)] == []
    page.get_by_test_id("stDataFrame").last.click(position={"x": 20, "y": 56})  # the checkbox of the first row
    page.get_by_role("button", name="Look inside this sentence").click()
    see(page.get_by_role("heading", level=1, name="Sentence"))
    asked = parse_qs(urlsplit(page.url).query)
    assert asked["run"] == ["finished"] and asked["text"][0]
