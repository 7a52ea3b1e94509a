"""Every declared figure stands somewhere: on its page, in exports, under a name of its own."""

from __future__ import annotations

import dataclasses

import pages
import pytest

from core import verbs
from core.runs.store import RunStore
from dashboard.figures import registry
from dashboard.figures.confusion import CONFIDENCE
from dashboard.figures.figure import Figure


@pytest.fixture
def declared(monkeypatch) -> Figure:
    """A figure that somebody has just declared, and nothing else."""
    figure = dataclasses.replace(CONFIDENCE, name="new", title="A new figure")
    monkeypatch.setattr(registry, "ALL", (*registry.ALL, figure))
    monkeypatch.setitem(registry.FIGURES, "new", (figure, {}))
    return figure


def test_every_name_is_one_figure():
    assert len({figure.name for figure in registry.ALL}) == len(registry.ALL) > 20


def test_a_declared_figure_stands_at_the_end_of_its_page(declared, app, runs):
    shown = pages.words(pages.opened(app, "performance", run="finished"))
    assert "A new figure" in shown and shown.index("Calibration") < shown.index("A new figure")


def test_a_declared_figure_is_exported(declared, trained, tmp_path):
    result = verbs.figures("finished", tmp_path, only=["new"], store=RunStore(trained))
    assert [each["title"] for each in result["files"]] == ["A new figure"]


@pytest.mark.parametrize("figure", registry.ALL, ids=lambda figure: figure.name)
def test_a_figure_says_how_it_is_read(figure):
    assert figure.reading and figure.title
