"""Figure declarations: names, text and options, each with a page and an export."""

import dataclasses
from types import SimpleNamespace

import pages
import plotly.graph_objects as go
import pytest
from refused import check_raises

from core import api
from core.exceptions import InputError, NotAvailable
from core.models.presets import PRESETS
from core.runs.store import RunStore
from dashboard.figures import attention_heads, registry
from dashboard.figures.drawing import ASSETS
from dashboard.figures.figure import Figure, Option, Source, ValueRange
from dashboard.figures.metrics import CONFIDENCE

SIDE = Option("side", "Side", lambda source: ("left", "right"), endings={"left": "", "right": "-right"})
DEEP = Option("deep", "Depth", lambda source: ("2-D", "3-D"), endings={"2-D": "-flat", "3-D": "-deep"})
LIMIT = Option("limit", "Limit", lambda source: ValueRange(0, 1, 0.1), usual=lambda source: 0.5)
RARE = Option("rare", "Rare", lambda source: ())


def source(preset: str = "vanilla", **choices) -> Source:
    config = SimpleNamespace(model=PRESETS[preset].model)
    record = SimpleNamespace(run="one", task="single", preset=preset, config=config)
    return Source(record, SimpleNamespace(list_splits=lambda run: ["train", "test"]), text="not bad", choices=choices)


def declared(page="train", **parts) -> Figure[int]:
    return Figure("name", page, "Title", lambda source: 7, lambda shape, look: go.Figure(), **parts)


def test_figure_has_a_file_name_for_each_spread_value_and_is_not_read_without_its_needs():
    figure = declared(options=(SIDE, DEEP, LIMIT), spread=(SIDE, DEEP))
    flat, deep, right = {"deep": "2-D"}, {"deep": "3-D"}, {"side": "right"}
    names = {"name-flat": flat, "name-deep": deep, "name-right-flat": right | flat, "name-right-deep": right | deep}
    assert dict(figure.iterate_variants()) == names and dict(declared().iterate_variants()) == {"name": {}}
    figure = declared(needs="gates")
    assert figure.read_data(source("sentiformer")) == 7
    check_raises(NotAvailable, "vanilla has no gates", figure.read_data, source())


@pytest.mark.parametrize(
    ("parts", "choices", "words"),
    [
        ({"note": "n = 3"}, {}, "n = 3"),
        ({"note": lambda shape: f"n = {shape}", "page": "performance"}, {}, "test, n = 7"),
        ({"page": "sentence"}, {}, "in “not bad”"),
        ({"options": (SIDE, LIMIT, RARE)}, {}, ""),
        ({"options": (SIDE, LIMIT, RARE)}, {"side": "right", "limit": 0.7}, "right, limit 0.70"),
    ],
)
def test_caption_outside_pages_has_split_note_and_options(parts, choices, words):
    assert declared(**parts).write_caption(source(**choices), 7) == words


@pytest.mark.parametrize(
    ("option", "said", "words"),
    [
        (SIDE, "up", "side=up: one of left, right"),
        (LIMIT, "2", "limit=2: a number from 0 to 1"),
        (LIMIT, "half", "limit=half: a number from 0 to 1"),
        (LIMIT, "nan", "limit=nan: a number from 0 to 1"),
        (RARE, "x", "rare=x: nothing to choose for this run"),
    ],
)
def test_option_value_is_parsed_and_unknown_values_are_refused(option, said, words):
    check_raises(InputError, words, source(**{option.name: said}).get_choice, option)
    assert source().get_choice(LIMIT) == 0.5 and source(limit="0.25").get_choice(LIMIT) == 0.25
    assert source().get_choice(SIDE) == "left" and source().get_choice(RARE) == ""


def test_shared_data_are_read_once_for_each_choice():
    times: list[Source] = []

    def shared(source: Source) -> int:
        times.append(source)
        return len(times)

    here = source()
    assert here.read_once(shared) == here.read_once(shared) == 1
    other = here.copy_with_choices(side="right")
    assert other.read_once(shared) == 2 and other.get_choice(SIDE) == "right" and here.get_choice(SIDE) == "left"
    assert here.used is other.used == {"side"}, "whoever asks what was used asks either"


def test_each_figure_has_a_unique_name_a_page_and_a_reading():
    assert len({figure.name for figure in registry.ALL}) == len(registry.ALL) > 20
    for figure in registry.ALL:
        assert (ASSETS.parent / "screens" / f"{figure.page}.py").is_file(), figure.name
        assert figure.reading and figure.title, figure.name


@pytest.mark.slow
def test_declared_figure_appears_on_its_page_and_is_exported(monkeypatch, app, runs, tmp_path):
    figure = dataclasses.replace(CONFIDENCE, name="new", title="A new figure")
    monkeypatch.setattr(registry, "ALL", (*registry.ALL, figure))
    monkeypatch.setitem(registry.FIGURES, "new", (figure, {}))
    shown = pages.words(pages.opened(app, "performance", run="finished"))
    assert "A new figure" in shown and shown.index("Calibration") < shown.index("A new figure")
    result = api.figures("finished", tmp_path, only=["new"], store=RunStore(runs))
    assert [each["title"] for each in result["files"]] == ["A new figure"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["metrics", "head-view", "steps"])
def test_tables_and_components_are_figures_like_charts(name, trained, tmp_path):
    store = RunStore(trained)
    (written, *numbers) = api.figures("finished", tmp_path, only=[name], text="good", csv=True, store=store)["files"]
    page = (tmp_path / f"{name}.html").read_text()
    assert f"<title>{written['title']}" in page and "plotly" not in page
    assert len(numbers) == (name != "head-view")
    assert written["title"] in api.figure("finished", name, text="good", store=store)._repr_html_()


@pytest.mark.slow
def test_head_view_starts_at_the_chosen_token(trained, monkeypatch):
    monkeypatch.setattr(attention_heads, "WINDOW", 4)
    text, store = " ".join(["good"] * 6), RunStore(trained)
    shown = api.figure("finished", "head-view", text=text, options={"from": 3}, store=store)
    assert len(shown.data["tokens"]) == 4 and "Tokens 3 to 6 of 6" in shown.data["label"]
    with pytest.raises(InputError, match="from=4: a number from 1 to 3"):
        api.figure("finished", "head-view", text=text, options={"from": 4}, store=store)
