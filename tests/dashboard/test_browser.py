"""The app in a browser: from training to a sentence, words and levers by keyboard, saved figures, component data."""

import re

import pytest
from browsing import enter, open_export, open_page, see, settle, until, visit
from playwright.sync_api import Browser, Page, expect

from dashboard.widgets.figure import wrap_script

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ENDS = """() => {
    const field = document.querySelector(".st-key-text input");
    const counter = document.querySelector(".st-key-text [data-testid=InputInstructions]");
    const text = field.getBoundingClientRect().right - parseFloat(getComputedStyle(field).paddingRight);
    return [text, counter.getBoundingClientRect().left];
}"""
"""The end of the text in the sentence field, and the start of its counter."""


def test_new_user_trains_a_run_and_inspects_a_sentence(browser, empty_server, table):
    page, complaints = visit(browser, empty_server)
    page.goto(f"{empty_server}/runs")
    page.get_by_role("button", name="Train a first model").click()
    page.get_by_role("combobox", name="Data").click()
    page.keyboard.type(f"{table}\n")
    page.get_by_text("Compose your own").click()
    page.get_by_text("Advanced settings").click()
    page.get_by_role("textbox", name="Name of the run").fill("first")
    small = {"width": "16", "feed-forward width": "16", "split": "0.6/0.2/0.2", "batch size": "4", "min freq": "1"}
    for name, value in small.items():
        enter(page.get_by_role("textbox", name=name, exact=True), value)
    page.get_by_role("button", name="Start training").click()
    expect(page.locator(".st-key-fig-progress")).to_be_visible()
    expect(page.get_by_text("finished after")).to_be_visible(timeout=120_000)
    assert "run=first" in page.url
    page.get_by_role("link", name="Performance").click()
    expect(page.locator(".st-key-fig-confusion")).to_be_visible()
    page.get_by_role("link", name="Sentence").click()
    enter(page.get_by_role("textbox", name="Sentence", exact=True), "<b>good</b> but dull")
    expect(page.get_by_role("list", name="words with their effect")).to_contain_text("dull")
    see(page.get_by_role("button", name="attention from dull"))
    link = page.url
    assert "text=" in link and complaints == []
    other, complaints = visit(browser, empty_server, "dark")
    other.goto(link)
    expect(other.get_by_role("list", name="words with their effect")).to_contain_text("dull")
    assert complaints == []


def test_words_heads_and_levers_have_shortcuts_and_undo_works_while_typing(browser, server):
    page, complaints = visit(browser, server)
    open_page(page, f"{server}/sentence?run=finished&text=good+film+dull&more=Recent")
    page.get_by_role("button", name="attention from good").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="attention from film")).to_be_focused()
    expect(page.get_by_text("film attends to ")).to_be_visible()
    head = page.get_by_role("button", name="head 1", exact=True)
    expect(head).to_have_attribute("aria-pressed", "true")
    head.press("Enter")
    expect(head).to_have_attribute("aria-pressed", "false")
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    enter(field, "bad film")
    expect(page.locator(".st-key-tried button")).to_have_count(2)
    field.press("Control+Alt+z")
    expect(field).to_have_value("good film dull")
    settle(page)
    assert "text=good+film+dull" in page.url
    page.get_by_role("button", name="Redo").press("Enter")
    expect(field).to_have_value("bad film")
    settle(page)
    move_levers(page, browser, server)
    assert complaints == []


def test_figures_are_saved_as_svg_and_png(page, server):
    saved: list[str] = []
    page.on("download", lambda download: saved.append(download.suggested_filename))
    open_page(page, f"{server}/sentence?run=finished&text=good+film&more=all")
    see(page.get_by_role("heading", name="All heads"))
    for kind in ("SVG", "PNG"):
        open_export(page)  # it closes when a file is saved
        page.get_by_role("button", name=f"Figures · {kind}").click()
        names = {f"sentiscope-{name}.{kind.lower()}" for name in ("grid", "coefficients", "heads")}
        until(page, lambda names=names: names <= set(saved))
    saved.clear()
    open_page(page, f"{server}/embeddings?run=finished&more=all")
    see(page.get_by_role("heading", name="Silhouette by class"))
    open_export(page)
    page.get_by_role("button", name="Figures · SVG").click()
    until(page, lambda: len(saved) == 2)
    settle(page)
    assert sorted(saved) == ["sentiscope-map-finished-test-pca-2.svg", "sentiscope-silhouettes.svg"]


def move_levers(page: Page, browser: Browser, server: str) -> None:
    """Move a slider and disable a head by keyboard; the link restores both for another visitor."""
    slider = page.get_by_role("slider", name="λ₁").first
    slider.focus()
    for _ in range(8):
        page.keyboard.press("PageUp")
    bar = page.get_by_role("img", name="as trained").first
    see(bar)
    page.wait_for_function("location.search.includes('edit=l1c1')")
    expect(slider).to_be_focused()  # although the levers were drawn again
    head = page.get_by_role("button", name="switch off head 1 of layer 1")
    head.press("Enter")
    expect(head).to_have_attribute("aria-pressed", "true")
    expect(head).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="switch off head 2 of layer 1")).to_be_focused()
    page.wait_for_function("location.search.includes('h1.1')")
    settle(page)
    said, link = bar.get_attribute("aria-label"), page.url
    other, complaints = visit(browser, server, "dark")
    other.goto(link)
    expect(other.get_by_role("img", name=said).first).to_be_visible()
    other.get_by_role("button", name="Back to the model as trained").first.click()
    expect(other.get_by_role("img", name="as trained")).to_have_count(0)
    other.wait_for_function("!location.search.includes('edit')")
    assert complaints == []


def test_long_search_can_be_stopped_by_keyboard_and_long_text_keeps_its_counter(page, server):
    """A very long text makes the search slow."""
    page.goto(f"{server}/sentence?run=starter-vanilla&text={'+'.join(['good'] * 200)}&more=Smallest+change")
    look = page.get_by_role("button", name="Find the smallest change")
    look.wait_for()  # for a long text, only the words are shown first
    settle(page)
    look.press("Enter")
    stop = page.locator(".st-key-flip-stop").get_by_role("button")  # attribution methods may have another stop button
    expect(stop).to_have_count(1)
    expect(page.get_by_text(re.compile("of at most 4.000 variants checked"))).to_be_visible()
    stop.press("Enter")
    expect(page.get_by_text("The search was stopped.")).to_be_visible()
    expect(stop).to_have_count(0)
    open_export(page)
    expect(page.get_by_role("button", name="Smallest change · CSV")).to_be_visible()
    page.keyboard.press("Escape")
    settle(page)
    page.locator(".st-key-text input").fill("not good " * 2_000)  # the counter must not cover the text
    page.locator(".st-key-text [data-testid=InputInstructions]").wait_for()
    text, counter = page.evaluate(ENDS)
    assert text <= counter


SCRIPT = """export default ({ data, parentElement }) => {
  parentElement.textContent = data.word;
  return () => { parentElement.ended = `${parentElement.ended ?? ""}${data.word}`; };
}"""
DRAWN = """async ([script, given]) => {
  const { default: draw } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const place = document.createElement("div"), ends = given.map((data) => draw({ data, parentElement: place }));
  ends.forEach((end) => end?.());
  return [place.textContent, place.ended];
}"""


GIVEN = {
    "in turn": ([(1, "old"), (2, "new")], "new"),
    "the older last": ([(2, "new"), (1, "old")], "new"),
    "the same data in another theme": ([(1, "same"), (1, "again")], "again"),
}


def test_latest_data_stay_and_only_their_drawing_is_completed(page, server):
    page.goto(f"{server}/_stcore/health")
    for name, (given, shown) in GIVEN.items():
        told = [{"turn": turn, "word": word} for turn, word in given]
        assert page.evaluate(DRAWN, [wrap_script(SCRIPT), told]) == [shown, shown], name


PRESSED = """async (script) => {
  const { default: draw } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const place = document.createElement("div"), told = [];
  const drawn = (turn, confirmed) => draw({ data: { turn, confirmed }, parentElement: place,
    setTriggerValue: (name, value) => told.push([name, value]) });
  drawn(1, 0);
  place.send("a");
  place.send("b");
  drawn(2, told[0][1][0][0]); // confirms the first
  place.send("c");
  place.send("reset", true);
  drawn(3, told.at(-1)[1][0][0]);
  place.send("d");
  return told;
}"""


def test_each_message_contains_all_unconfirmed_changes(browser, server):
    page, _ = visit(browser, server)
    page.goto(f"{server}/_stcore/health")
    script = wrap_script("export default ({ parentElement, send }) => { parentElement.send = send; }")
    told = page.evaluate(PRESSED, script)
    assert {name for name, _ in told} == {"changes"}
    assert [[change for _, change in sent] for _, sent in told] == [["a"], ["a", "b"], ["b", "c"], ["reset"], ["d"]]
    numbers = [number for _, sent in told for number, _ in sent]
    assert numbers == sorted(numbers) and len(set(numbers)) == 5, "each change keeps its number"
