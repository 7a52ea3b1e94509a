"""How far a negation reaches, on the Sentence page: ours and one's own templates, several runs, what cannot be read."""

from __future__ import annotations

import json

import pages
import pandas as pd
import pytest
from pages import words as markup

from core import api
from core.exceptions import InputError
from core.interpret.templates import FILLER, TEMPLATES
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow

OWN = "good film, [not] {} dull"


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", **{"run": "finished", "text": "good film", **parameters})


def curves(app) -> list[dict]:
    """The lines of the figure, in order."""
    specs = [json.loads(each.proto.spec) for each in app.get("plotly_chart")]
    (found,) = [
        spec for spec in specs if spec["layout"].get("xaxis", {}).get("title", {}).get("text") == "words between"
    ]
    return found["data"]


def said(*runs: str, text: str, store: RunStore, **given):
    first, *others = runs
    return api.distance(first, text, against=others, store=store, **given)


def agrees(app, found) -> bool:
    lines = [
        (curve["run"], values)
        for curve in found["curves"]
        for values in (curve["probabilities"], curve["without"])
        if values
    ]
    drawn = curves(app)
    assert [line["x"] for line in drawn] == [[step["words"] for step in found["steps"]]] * len(lines)
    return [line["y"] for line in drawn] == [pytest.approx(values, abs=1e-6) for _, values in lines]


def test_the_curves_are_those_of_the_command_line(app, runs):
    opened(app)
    assert agrees(app, said("finished", text="not good", store=RunStore(runs)))
    app.multiselect(key=state.CURVES).set_value(["baseline"]).run()
    app.selectbox(key=state.TEMPLATE).set_value("nobody liked").run()
    found = said("finished", "baseline", text="nobody liked", store=RunStore(runs))
    assert found["curves"][0]["without"] is None and agrees(app, found)
    assert [line["line"]["dash"] for line in curves(app)] == ["solid", "solid"]
    assert len({line["marker"]["symbol"] for line in curves(app)}) == 2, "never colour alone"


def test_a_link_has_the_template_the_words_and_the_runs(app, runs):
    opened(app, template=OWN, insert="so very", curves="baseline")
    assert app.selectbox(key=state.TEMPLATE).value == OWN
    assert agrees(app, said("finished", "baseline", text=OWN, insert="so very", store=RunStore(runs)))


def test_a_typed_sentence_with_a_place_is_the_first_template(app, runs):
    opened(app, text=OWN)
    assert app.selectbox(key=state.TEMPLATE).options[0] == OWN
    assert agrees(app, said("finished", text=OWN, store=RunStore(runs)))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"template": "no place"}, "no place is marked with {}"),
        ({"template": "{} and {}"}, "there are 2"),
        ({"template": "[not {} good"}, "brackets mark one"),
        ({"insert": "|"}, "nothing to put in"),
        ({"insert": "a " * 100}, "at most 60"),
    ],
)
def test_what_cannot_be_filled_is_said_and_the_rest_of_the_page_is_there(app, runs, given, why):
    shown = markup(opened(app, **given))
    assert "This template cannot be read" in shown and why in shown
    assert "Two runs side by side" in shown


def test_markup_in_a_template_is_words(app, runs):
    opened(app, template="<b>not</b> {} good")
    assert "<b>not" not in json.dumps(curves(app)) and "&lt;b&gt;not" in json.dumps(curves(app))


def test_a_baseline_and_an_empty_sentence_have_curves_too(app, runs):
    opened(app, run="baseline", text=" ")
    assert agrees(app, said("baseline", text="not good", store=RunStore(runs)))


def test_the_figure_is_exported_with_its_numbers(trained, tmp_path):
    store = RunStore(trained)
    given = {"only": ["distance"], "against": ["baseline"], "csv": True, "store": store}
    page, table = api.figures("finished", tmp_path, text=OWN, **given)["files"]
    assert page["title"] == "How far a negation reaches"
    found = said("finished", "baseline", text=OWN, store=store)
    rows = pd.read_csv(table["file"])
    assert rows["probability"].tolist() == pytest.approx([p for each in found["curves"] for p in each["probabilities"]])
    assert rows["probability without"].tolist() == pytest.approx(
        [p for each in found["curves"] for p in each["without"]]
    )
    assert rows["text"].tolist() == [step["text"] for step in found["steps"]] * 2
    with pytest.raises(InputError, match="no place is marked"):
        api.figures("finished", tmp_path, text="good film", **given)


def test_ours_can_be_named_in_a_link(app, runs):
    name = list(TEMPLATES)[2]
    opened(app, template=name, insert=FILLER)
    assert agrees(app, said("finished", text=name, store=RunStore(runs)))
