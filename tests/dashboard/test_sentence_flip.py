"""Changes that flip the prediction and the scope of a negation, on Sentence; also for three ordered classes."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from pages import TEXT, charts, press, rerun_while, type_text
from pages import sentence as opened
from pages import words as markup
from trained_runs import train_runs, write_films

from core import api
from core.exceptions import InputError
from core.runs.store import RunStore
from dashboard import state
from dashboard.screens import sentence_counterfactual

pytestmark = pytest.mark.slow

OWN = "good film, [not] {} dull"
GRADED = "fine film, dull and slow"
WORDS = {"bad": ("bad", "dull", "slow"), "fair": ("fine", "usual", "plain"), "good": ("good", "warm", "wise")}
LONG = " ".join(["good film number", "warm and funny", "wise but slow"] * 5)


def ended(app):
    return rerun_while(app, lambda: "flip-stop" in button_keys(app))


def button_keys(app):
    return [each.key for each in app.button]


@pytest.mark.parametrize(("name", "edit"), [("finished", "h1.1,h2.2:mean"), ("baseline", "")])
def test_counterfactuals_equal_the_command_line_and_are_opened_by_a_click(app, runs, name, edit):
    found = api.flip(name, TEXT, edit=edit, store=RunStore(runs))
    if edit:
        assert found["flip"]["probabilities"] != api.flip(name, TEXT, store=RunStore(runs))["flip"]["probabilities"]
    shown = markup(ended(press(opened(app, run=name, edit=edit), "flip-start")))
    flips = [found["flip"], *found["also"]]
    assert found["verdict"] == "proven" and "One change is enough" in shown
    assert shown.count('class="s-flip"') == len(flips) and ("after your changes" in shown) == bool(edit)
    for flip in flips:
        [move] = flip["moves"]
        new = "" if move["with"] is None else f" <ins>{move['with']}</ins>"
        assert f"{TEXT[: move['start']]}<del>{move['word']}</del>{new}{TEXT[move['end'] :]}" in shown
        assert ", ".join(f"{label} {p:.3f}" for label, p in flip["probabilities"].items()) in shown
    allowed = found["moves_allowed"]
    assert f"Changes: of 6 words up to 3 deleted, or up to 2 deleted or replaced; {len(allowed['with'])} " in shown
    press(app, "flip-read-0")
    assert app.text_input(key=state.TEXT).value == flips[0]["text"]
    assert "flip-start" in button_keys(app) and "change is enough" not in markup(app)
    answer = ", ".join(f"{label} {p:.3f}" for label, p in flips[0]["probabilities"].items())
    assert f'aria-label="{answer}' in markup(app)


def test_search_shows_progress_can_be_stopped_and_keeps_its_results(app, runs, monkeypatch):
    monkeypatch.setattr(sentence_counterfactual, "SLICE", 0.0)
    assert "flip-stop" in button_keys(press(opened(app, text=LONG), "flip-start"))
    assert "1 of at most 4\u202f000 variants checked · no other answer yet" in markup(app)
    assert "flip-stop" not in button_keys(press(app, "flip-stop")) and "No other answer was found" in markup(app)
    assert "Not all combinations were checked. The search was stopped. Variants checked: 1." in markup(app)
    assert "flip-start" in button_keys(type_text(app, "good"))


def test_user_text_is_escaped(app, runs):
    shown = markup(ended(press(opened(app, text="good <b>film</b> dull"), "flip-start")))
    assert "<b>film" not in shown and "&lt;b&gt;film" in shown


def curves(app) -> list[dict]:
    """The lines of the figure, in order."""
    titled = [(spec["layout"].get("xaxis", {}).get("title", {}).get("text"), spec["data"]) for spec in charts(app)]
    (found,) = [data for title, data in titled if title == "words between"]
    return found


def compute_distance(*runs: str, text: str, store: RunStore, **given):
    first, *others = runs
    return api.distance(first, text, against=others, store=store, **given)


def agrees(app, found) -> bool:
    lines = [curve[name] for curve in found["curves"] for name in ("probabilities", "without") if curve[name]]
    drawn = curves(app)
    assert [line["x"] for line in drawn] == [[step["words"] for step in found["steps"]]] * len(lines)
    return [line["y"] for line in drawn] == [pytest.approx(values, abs=1e-6) for values in lines]


def test_negation_curves_equal_the_command_line(app, runs):
    opened(app)
    assert agrees(app, compute_distance("finished", text="not good", store=RunStore(runs)))
    app.multiselect(key=state.CURVES).set_value(["baseline"]).run()
    app.selectbox(key=state.TEMPLATE).set_value("nobody liked").run()
    found = compute_distance("finished", "baseline", text="nobody liked", store=RunStore(runs))
    assert found["curves"][0]["without"] is None and agrees(app, found)
    assert [line["line"]["dash"] for line in curves(app)] == ["solid", "solid"]
    assert len({line["marker"]["symbol"] for line in curves(app)}) == 2, "never colour alone"


def test_link_has_template_words_and_runs_and_markup_is_escaped(app, runs):
    template = "<b>film</b>, [not] {} dull"
    opened(app, template=template, insert="so very", curves="baseline")
    assert app.selectbox(key=state.TEMPLATE).value == template
    assert agrees(app, compute_distance("finished", "baseline", text=template, insert="so very", store=RunStore(runs)))
    assert "<b>film" not in json.dumps(curves(app)) and "&lt;b&gt;film" in json.dumps(curves(app))


def test_typed_sentence_with_a_placeholder_is_the_first_template(app, runs):
    opened(app, text=OWN)
    assert app.selectbox(key=state.TEMPLATE).options[0] == OWN
    assert agrees(app, compute_distance("finished", text=OWN, store=RunStore(runs)))


@pytest.mark.parametrize(
    ("given", "why"), [({"template": "{} and {}"}, "there are 2"), ({"insert": "|"}, "nothing to insert")]
)
def test_invalid_template_is_reported_and_the_page_is_complete(app, runs, given, why):
    shown = markup(opened(app, **given))
    assert "This template cannot be read" in shown and why in shown and "Two models" in shown


def test_figure_is_exported_with_its_numbers(trained, tmp_path):
    store = RunStore(trained)
    given = {"only": ["distance"], "against": ["baseline"], "csv": True, "store": store}
    page, table = api.figures("finished", tmp_path, text=OWN, **given)["files"]
    assert page["title"] == "Reach of negation"
    found = compute_distance("finished", "baseline", text=OWN, store=store)
    rows = pd.read_csv(table["file"])
    for column, name in (("probability", "probabilities"), ("probability without", "without")):
        assert rows[column].tolist() == pytest.approx([p for each in found["curves"] for p in each[name]])
    assert rows["text"].tolist() == [step["text"] for step in found["steps"]] * 2
    with pytest.raises(InputError, match="no place is marked"):
        api.figures("finished", tmp_path, text="good film", **given)


@pytest.fixture(scope="module")
def kept(trained, tmp_path_factory, tiny) -> Path:
    """`finished`, and a run `graded` with ordered classes."""
    folder = tmp_path_factory.mktemp("graded")
    shutil.copytree(trained, folder / "runs")
    file = write_films(folder / "grades.csv", WORDS, 12)
    return train_runs(folder, graded=(file, "vanilla", {**tiny, "data.order": "bad,fair,good"})).folder


@pytest.fixture
def graded(kept, monkeypatch) -> RunStore:
    """The run folder; these tests only read it."""
    monkeypatch.setenv("SENTISCOPE_RUNS", str(kept))
    assert RunStore(kept).read("graded").ordered
    return RunStore(kept)


def test_flip_pin_and_template_use_the_chosen_class_and_refuse_runs_without_it(app, graded):
    opened(app, run="graded", text=GRADED, towards="good", of="fair", pinned="good film", **{"pinned-run": "graded"})
    now, before = (api.predict("graded", [text], store=graded)["predictions"][0] for text in (GRADED, "good film"))
    line = re.search(r"P\(good\) (0\.\d{3}) against (0\.\d{3}) pinned", markup(app))
    chances = [each["probabilities"]["good"] for each in (now, before)]
    assert line and [float(each) for each in line.groups()] == pytest.approx(chances, abs=6e-4)
    found = api.distance("graded", "not good", target="fair", store=graded)
    assert curves(app)[0]["y"] == pytest.approx(found["curves"][0]["probabilities"], abs=1e-6)
    ended(press(app, "flip-start"))
    found = api.flip("graded", GRADED, target="good", store=graded)
    flips = [found["flip"], *found["also"]] if found["flip"] else []
    assert markup(app).count("<del>") == sum(len(each["moves"]) for each in flips)
    for each in flips:
        assert ", ".join(f"{name} {p:.3f}" for name, p in each["probabilities"].items()) in markup(app)
    app.multiselect(key=state.CURVES).set_value(["finished"]).run()
    assert "run 'finished' has no class 'fair'" in markup(app).replace("&#x27;", "'")


def test_pinned_run_with_other_classes_has_no_difference(app, graded):
    opened(app, run="graded", text=GRADED, towards="good", pinned="good film", **{"pinned-run": "finished"})
    assert "The other run has no class good, so there is no difference." in markup(app)
    assert "The effects cannot be compared: run 'finished' has no class 'good'." in markup(app).replace("&#x27;", "'")
