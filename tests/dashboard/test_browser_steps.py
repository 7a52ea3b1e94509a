"""Steps, Tagging and runs on text pairs in a browser: keys, links, formulas, filters, two text fields."""

import re
from urllib.parse import quote

import pytest
from browsing import enter, looks, see, settle, violations, visit
from named_words import write_conll
from pairs import pair_folder
from playwright.sync_api import Page, expect

from core import api
from core.text.text_pairs import join_pair

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "a good film that is never dull and not bad"
MOVED = "location.search.includes('stage={}')"
TINY = {"model.width": 16, "model.ff_width": 16, "training.epochs": 4, "training.batch_size": 8, "training.lr": 0.01}
FIRST, SECOND = "the film was good", "the meal was <b>bad</b>"
SMALL = {"model.width": 8, "model.ff_width": 8, "training.epochs": 1, "training.threads": 1, "text.min_freq": 1}


def at(browser, server: str, width: int = 1440, height: int = 900, theme: str = "light", more: str = "") -> tuple:
    page, complaints = visit(browser, server, theme, width)
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{server}/steps?run=finished&text={TEXT.replace(' ', '+')}{more}")
    see(page.locator(".steps table").first)
    return page, complaints


def current(page: Page) -> str:
    return page.locator(".steps .rail [aria-current=step]").inner_text()


def test_cells_are_reached_by_arrow_keys_and_the_stage_stays_open(browser, server):
    page, complaints = at(browser, server, more="&stage=combine")
    fill_the_formula(page)
    page.locator(".steps h2").click()
    page.keyboard.press("ArrowLeft")
    assert current(page) == "Softmax"
    page.keyboard.press("ArrowLeft")
    assert current(page) == "Mask"
    page.wait_for_function(MOVED.format("mask"))
    settle(page)
    assert current(page) == "Mask" and "This model has none" in page.locator(".steps .reading").inner_text()
    page.reload()
    see(page.locator(".steps .rail"))
    assert current(page) == "Mask"
    field = page.get_by_role("textbox", name="Sentence", exact=True)  # a text field uses the arrow keys itself
    field.click()
    page.keyboard.press("ArrowRight")
    assert current(page) == "Mask"
    page.locator(".st-key-steps-place button").click()
    page.get_by_role("radio", name="1", exact=True).first.focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert current(page) == "Mask"
    page.keyboard.press("Escape")
    page.locator(".steps h2").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert current(page) == "Combine"
    page.wait_for_function(MOVED.format("combine"))
    page.locator(".st-key-steps-place button").click()
    page.get_by_role("radiogroup", name="Head").get_by_text("2", exact=True).click()
    page.wait_for_function("location.search.includes('head=2')")
    settle(page)
    assert current(page) == "Combine"
    field.fill("")
    page.get_by_text("There are no steps to show").wait_for()
    field.fill("so good")
    see(page.locator(".steps table").first)
    assert current(page) == "Combine" and complaints == []


def fill_the_formula(page: Page) -> None:
    """Point at a cell of the step that adds maps, move by an arrow key; the formula shows the cell's numbers."""
    cell = page.locator(".steps table").last.locator("tbody tr").nth(1).locator("td").nth(2)
    cell.hover()
    filled = page.locator(".steps .filled p")
    expect(filled).to_have_text(re.compile(r"P = 1\.00·\S+ \+ \S+ \+ \S+ = "))
    said = filled.inner_text()
    total = float(said.rsplit("= ", 1)[1].replace("\u2212", "-"))
    sums = sum(float(a) * float(b) for a, b in re.findall(r"(\d[\d.]*)·(\d[\d.]*)", said))
    assert sums == pytest.approx(total, abs=0.02)
    cell.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".steps .filled small")).to_have_text("good, that")
    assert current(page) == "Combine"  # in a matrix the arrow keys move between cells
    table = page.locator(".steps table").last
    assert table.get_by_role("columnheader").all_inner_texts()[:3] == ["a", "good", "film"]
    assert table.get_by_role("rowheader").first.inner_text() == "a" and table.locator("caption math").count() == 1
    assert table.locator("tbody td").first.inner_text() != ""


def test_sentence_is_kept_between_pages(page, server):
    page.goto(f"{server}/sentence?run=finished&text=so+good")
    see(page.get_by_role("textbox", name="Sentence", exact=True))
    page.get_by_role("link", name="Steps", exact=True).click()
    page.locator(".steps table").first.wait_for()
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value("so good")
    settle(page)
    assert "text=so+good" in page.url
    page.get_by_role("textbox", name="Sentence", exact=True).fill("so bad")
    page.wait_for_function("location.search.includes('so+bad')")
    page.get_by_role("link", name="Sentence", exact=True).click()
    page.get_by_role("heading", level=1, name="Sentence").wait_for()
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value("so bad")


def test_formula_and_matrices_are_visible_together_at_each_size(browser, server):
    sizes = [(1280, 720, "&projector=true", ("Scores", "Softmax", "Combine", "Mix", "Feed-forward", "Logits"))]
    sizes += [(1024, 768, "", ("Scores", "Combine"))]
    for width, height, more, stages in sizes:
        page, complaints = at(browser, server, width, height, "dark" if more else "light", f"{more}&stage=embedding")
        for stage in stages:
            page.locator(".steps .rail").get_by_role("button", name=stage, exact=True).click()
            page.wait_for_function(MOVED.format(stage.lower().replace("-", "")))
            settle(page)
            tables = page.locator(".steps table").count()
            parts = [".steps .formulas", *(f".steps table >> nth={n}" for n in range(tables))]
            parts += [".steps .filled"] * bool(more)
            for part in parts:
                box = page.locator(part).bounding_box()
                assert box["y"] >= 0 and box["y"] + box["height"] <= height, (stage, part)
                assert box["x"] >= 0 and box["x"] + box["width"] <= width, (stage, part)
        assert complaints == []


@pytest.fixture(scope="module")
def address(library, server, tmp_path_factory) -> str:
    """The app with one run, `names`, which is half trained."""
    file = write_conll(tmp_path_factory.mktemp("tokens") / "names.conll", 160)
    api.train(str(file), "vanilla", TINY | {"training.threads": 1}, name="names", store=library)
    return server


def note(page: Page, words: str) -> None:
    """The text next to the heading of the sentences."""
    expect(page.locator(".s-fig", has=page.locator("#at-tag-sentences")).locator("span")).to_have_text(words)


def test_error_kind_filters_and_typed_sentence_has_the_tags_of_the_command_line(browser, address, library):
    outcomes = api.evaluate("names", store=library)["outcomes"]
    kinds = [kind for kind, spans in outcomes.items() if spans and kind != "right"]
    assert kinds, "the run makes mistakes to look at"
    page, complaints = visit(browser, address)
    page.goto(f"{address}/tokens?run=names&more=Your%20sentence")
    expect(page.locator(".tagged li").first).to_be_visible()
    expect(page.locator(".tagged li .wrong").first).to_be_visible()
    for kind in kinds:
        settle(page)
        page.get_by_role("radio", name=kind, exact=True).click()
        note(page, re.compile(rf"^\d+ of 16, {kind}$"))
        expect(page.locator(".tagged li em", has_text=kind).first).to_be_visible()
        texts = page.locator(".tagged").first.locator("li").evaluate_all("all => all.map((each) => each.textContent)")
        assert texts and all(kind in text for text in texts)
    settle(page)
    page.get_by_role("radio", name="all sentences", exact=True).click()
    note(page, "16 of 16, all sentences")
    expect(page).to_have_url(re.compile(r"tag-outcome=all"))
    page.reload()
    note(page, "16 of 16, all sentences")
    text = "in Old Pell it rained , said Almo Tarn ."
    (said,) = api.predict("names", [text], store=library)["predictions"]
    assert said["spans"]
    settle(page)
    enter(page.get_by_role("textbox", name="Sentence", exact=True), text)
    expect(page.locator(".tagged").last.locator("b")).to_have_text([span["text"] for span in said["spans"]])
    expect(page.locator(".tagged").last.locator("small")).to_have_text([span["type"] for span in said["spans"]])
    settle(page)
    assert [each for rules in looks(page) for each in violations(page, rules)] == [] and complaints == []


@pytest.fixture(scope="module")
def paired_address(library, server, tmp_path_factory) -> str:
    """The app, with a run that reads two texts."""
    data = pair_folder(tmp_path_factory.mktemp("pairs") / "alike", 80, 30)
    api.train(str(data), "vanilla", SMALL, name="both", store=library)
    return server


def fields(page: Page, first: str, second: str) -> None:
    """The contents of both fields, once they are filled."""
    expect(page.get_by_role("textbox", name="First text", exact=True)).to_have_value(first)
    expect(page.get_by_role("textbox", name="Second text", exact=True)).to_have_value(second)


def test_both_texts_can_be_typed_linked_and_kept(browser, paired_address):
    page, complaints = visit(browser, paired_address)
    page.goto(f"{paired_address}/sentence?run=both&text={quote(join_pair(FIRST, SECOND))}")
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
