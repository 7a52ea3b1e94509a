"""Every declared figure has a page, an export and a unique name."""

import dataclasses

import pages
import pytest

from core import api
from core.exceptions import InputError
from core.runs.store import RunStore
from dashboard.figures import attention_heads, registry
from dashboard.figures.confusion import CONFIDENCE
from dashboard.figures.drawing import ASSETS
from dashboard.figures.figure import Figure


@pytest.fixture
def declared(monkeypatch) -> Figure:
    """Only one new figure declaration."""
    figure = dataclasses.replace(CONFIDENCE, name="new", title="A new figure")
    monkeypatch.setattr(registry, "ALL", (*registry.ALL, figure))
    monkeypatch.setitem(registry.FIGURES, "new", (figure, {}))
    return figure


def test_each_figure_has_a_unique_name_a_page_and_a_reading():
    assert len({figure.name for figure in registry.ALL}) == len(registry.ALL) > 20
    for figure in registry.ALL:
        assert (ASSETS.parent / "screens" / f"{figure.page}.py").is_file(), figure.name
        assert figure.reading and figure.title, figure.name


@pytest.mark.slow
def test_declared_figure_appears_on_its_page_and_is_exported(declared, app, runs, tmp_path):
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
    shown = api.figure("finished", name, text="good", store=store)
    assert written["title"] in shown._repr_html_()


@pytest.mark.slow
def test_head_view_starts_at_the_chosen_token(trained, monkeypatch):
    monkeypatch.setattr(attention_heads, "WINDOW", 4)
    text, store = " ".join(["good"] * 6), RunStore(trained)
    shown = api.figure("finished", "head-view", text=text, options={"from": 3}, store=store)
    assert len(shown.data["tokens"]) == 4 and "Tokens 3 to 6 of 6" in shown.data["label"]
    with pytest.raises(InputError, match="from=4: a number from 1 to 3"):
        api.figure("finished", "head-view", text=text, options={"from": 4}, store=store)
