"""Attention in a browser: cells of the grid, and points of the curves, open sentences."""

import re
import shutil

import pytest
from browsing import looks, see, settle, violations
from finished import copied
from playwright.sync_api import expect

from core import api
from core.runs.record import STEPS, WEIGHTS

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def stepped(library):
    """A copy of `finished` with measured maps and words, and the weights of its first step."""
    copied(library.folder, "stepped", run="stepped")
    folder = library.get_path("stepped")
    (folder / STEPS).mkdir()
    shutil.copy(folder / WEIGHTS, folder / STEPS / "0.safetensors")
    return [
        api.attend("stepped", split="test", limit=limit, only=only, store=library)
        for limit, only in ((500, "maps"), (300, "words"))
    ]


def test_a_cell_lists_its_sentences_and_opens_one_with_the_head_switched_off(page, server, stepped):
    page.goto(f"{server}/attention?run=stepped&split=test")
    cells = page.locator(".st-key-fig-attention-heads .bars .point")
    see(cells.first)
    cells.nth(1).click(force=True)  # layer 1, head 2 of the first component
    heading = page.get_by_text(re.compile(r"largest output of head \d of layer \d"))
    expect(heading).to_be_visible()
    page.wait_for_url(re.compile(r"head=\d\.\d\.\d"))
    layer, head, component = re.search(r"head=(\d)\.(\d)\.(\d)", page.url).groups()
    assert f"head {head} of layer {layer}" in heading.inner_text()
    own = next(each for each in stepped[0]["examples"] if (each["layer"], each["head"]) == (int(layer), int(head)))
    links = page.locator(".st-key-head-sentences a")
    assert [links.nth(at).inner_text() for at in range(links.count())] == [each["text"] for each in own["texts"]]
    links.first.click()
    page.wait_for_url(re.compile(rf"/sentence\?.*edit=m{layer}\.{head}\.{component}"))
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(own["texts"][0]["text"])
    expect(page.locator(f"button[aria-pressed=true][data-id='m{layer}.{head}.{component}']")).to_be_visible()


def test_a_point_of_the_course_opens_the_sentence_as_it_was_read_then(page, server, stepped):
    page.goto(f"{server}/lambdas?run=stepped")
    expect(page.get_by_role("heading", level=1)).to_have_text("Attention")
    chart = page.locator(".st-key-fig-course .js-plotly-plot")
    see(chart)
    settle(page)
    chart.locator(".scatterlayer .trace .points path").last.click(force=True)
    page.wait_for_url(re.compile(r"/sentence\?.*edit=step(:|%3A)0"))
    see(page.get_by_text(re.compile("^The model at step 0 of")))
    page.get_by_role("button", name="Back to the trained model").click()
    expect(page.get_by_text(re.compile("^The model at step"))).to_have_count(0)
    page.goto(f"{server}/lambdas?run=finished")
    see(chart)
    settle(page)
    chart.locator(".scatterlayer .trace .points path").last.click(force=True)
    see(page.get_by_text("This run kept no checkpoints."))


def test_a_word_selects_its_sentences_without_violations(page, server, stepped):
    word = stepped[1]["words"]["rows"][0]["word"]
    page.goto(f"{server}/attention?run=stepped&split=test&more=Words")
    row = page.locator("table[aria-label='Mean effect of words'] tbody tr").first
    see(row)
    row.click()
    page.wait_for_url(re.compile(rf"select=all.*word(=|%3D){word}"))
    expect(page.locator(".st-key-selected .s-now")).to_contain_text(f"with the word “{word}”")
    assert [each for rules in looks(page) for each in violations(page, rules)] == []
