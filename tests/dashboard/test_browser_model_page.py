"""Exported pages of runs from disk, without a network: answers, effects and maps are those of Sentiscope."""

import dataclasses

import numpy as np
import pytest
from browsing import is_too_wide, violations
from exported import SENTENCES, draw_run, keep_weights, small
from starters import STARTERS

from core.api import export
from core.exceptions import InputError
from core.interpret.attribution import ExplainedText
from core.models.presets import PRESETS
from core.runs.load import load_run
from core.runs.store import RunStore
from core.text.portable_tokenizer import PortableTokenizer
from dashboard.figures.attention import build_map_rows, find_top_weight
from dashboard.model_html import find_obstacle, write_page

CLOSE = 1e-4
READ = "texts => texts.map((text) => sentiscope.read(text))"
MAPS = "text => sentiscope.read(text).layers.map(sentiscope.combineMaps)"
EFFECTS = """text => {
  const { read, chooseTarget, computeOdds, measureEffect, tokenizer } = sentiscope;
  const found = read(text), target = chooseTarget(found), odds = computeOdds(found.probabilities, target);
  const heard = tokenizer.findRead(text);
  return tokenizer.findWords(text).map((word) => [text.slice(...word), measureEffect(heard, word, target, odds)]);
}"""
FEW = [*SENTENCES[2:16:3], SENTENCES[-3]]


def opened(browser, file, **look):
    page, complaints = browser.new_context(offline=True, **look).new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("#effects:not([aria-busy]) small")
    return page, complaints


def compare(page, run, texts) -> None:
    """Compare ids, tokens, probabilities and logits of texts, and all maps of a few, with those of a run."""
    found, expected = page.evaluate(READ, texts), run.predict(texts)
    assert [each["ids"] for each in found] == run.tokenizer.encode_batch(texts)
    for name in ("logits", "probabilities"):
        own = getattr(expected, name)
        assert (np.abs(np.array([each[name] for each in found]) - own) / np.maximum(1, np.abs(own))).max() < CLOSE
    for text in FEW[:4]:
        view = run.inspect(text)
        assert page.evaluate("text => sentiscope.read(text).tokens", text) == list(view.tokens)
        for layer, maps in enumerate(page.evaluate(MAPS, text)):
            rows = build_map_rows(view, layer, run.record.config.model.attention.subtracts)
            assert len(rows) == len(maps)
            assert max(np.abs(row.weights - each).max() for row, each in zip(rows, maps, strict=True)) < CLOSE


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", ["vanilla", "differential", "ndt-01-n3", "ndt-small", "tweet-v1-p2"])
def test_page_of_a_starter_answers_and_explains_like_the_run(browser, tmp_path, name):
    run, store = load_run(RunStore(STARTERS), f"starter-{name}"), RunStore(STARTERS)
    size = export(f"starter-{name}", tmp_path / "page", format="html", store=store)["files"][f"starter-{name}.html"]
    page, complaints = opened(browser, tmp_path / "page" / f"starter-{name}.html")
    assert size < 8e6
    compare(page, run, SENTENCES)
    for text in [*FEW, *SENTENCES[-1:] * (name == "ndt-small")]:  # a long one where words are cut off after 24
        reading = ExplainedText(run.make_reader(), text, run.record.classes[1])
        found = page.evaluate(EFFECTS, text)
        assert [word for word, _ in found] == [text[start:end] for start, end in reading.words]
        effects = np.array([effect for _, effect in found])
        assert np.abs(effects - reading.attribute_by("deletion").pushes).max(initial=0) < CLOSE
    shown = page.locator("#answer b").all_inner_texts()
    typed = page.locator("#text").input_value()
    assert shown == [f"{chance:.3f}" for chance in run.predict([typed]).probabilities[0]]
    rows = build_map_rows(run.inspect(typed), 0, run.record.config.model.attention.subtracts)
    top = page.evaluate("rows => sentiscope.findTop(rows)", [row.weights.tolist() for row in rows])
    assert top == pytest.approx(find_top_weight(rows), rel=1e-5) and complaints == []


OTHER = {
    "vanilla": {"feedforward": "gelu"},
    "vanilla-swiglu": {"norm": "none", "layers": 1},
    "differential-v2": {},
    "ndt-free-n4": {},
    "tweet-v1-p1": {},
    "tweet-v3-p2": {},
    "lexical-none": {"norm_place": "post"},
}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("preset", OTHER)
def test_page_computes_other_structures_with_drawn_weights(browser, tmp_path, preset):
    model = small(preset, **OTHER[preset])
    part = dataclasses.replace(model.attention, row_norm=model.attention.components > 1)
    head = dataclasses.replace(model.head, one_logit=preset == "tweet-v1-p1")
    drawn = draw_run(STARTERS, dataclasses.replace(model, attention=part, head=head), lookalikes=1, normaliser="tweet")
    run = keep_weights(drawn, tmp_path)
    (tmp_path / "page.html").write_text(write_page(run, PortableTokenizer(run.tokenizer)), encoding="utf-8")
    page, complaints = opened(browser, tmp_path / "page.html")
    compare(page, run, SENTENCES)
    assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 480)])
def test_page_is_used_with_the_keyboard_in_both_themes(browser, tmp_path, theme, width):
    export("starter-ndt-small", tmp_path / "page", format="html", store=RunStore(STARTERS))
    look = {"color_scheme": theme, "viewport": {"width": width, "height": 800}}
    page, complaints = opened(browser, tmp_path / "page" / "starter-ndt-small.html", **look)
    assert violations(page) == [] and not is_too_wide(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("awful <b>x</b>")
    page.wait_for_function("document.querySelector('#effects b')?.textContent === 'awful'")
    assert page.locator("#effects b").all_inner_texts() == ["awful", "<", "b", ">", "x", "<", "/", "b", ">"]
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    assert page.locator(".head_view svg").get_attribute("aria-label").startswith("Attention, layer 1")
    for _ in range(2):  # past the map to the words
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert page.locator(".head_view p").inner_text().startswith("< attends to") and complaints == []


def test_what_a_page_cannot_compute_is_refused_with_the_reason(tmp_path):
    starter = load_run(RunStore(STARTERS), "starter-lexical-last")
    assert find_obstacle(starter.record, starter.folder) == "a lexicon in the attention"
    with pytest.raises(InputError, match="a page cannot compute a lexicon in the attention; --format onnx may"):
        write_page(starter, PortableTokenizer(starter.tokenizer))
    drawn = {name: draw_run(STARTERS, PRESETS[name].model).record for name in ("cnn", "vanilla")}
    assert find_obstacle(drawn["cnn"], tmp_path) == "a model of the family cnn"
    assert find_obstacle(drawn["vanilla"], tmp_path) == ""
