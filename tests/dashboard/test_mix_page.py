"""The page Sentence of a run that mixes TF-IDF into its answers."""

from __future__ import annotations

import re

import pages
import pytest
from mixtures import mix_in
from pages import words

from core.models.trace import Intervention
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow

TEXT = "good film, dull and slow"


@pytest.fixture
def loaded(runs):
    store = RunStore(runs)
    mix_in(store, "finished", "baseline", 0.6)
    return load_run(store, "finished")


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", run="finished", text=TEXT, **parameters)


def bars(app) -> list[str]:
    return re.findall(r'class="s-bar[^"]*" role="img" aria-label="([^"]*)"', words(app))


def said(probabilities: dict[str, float]) -> str:
    return ", ".join(f"{name} {p:.3f}" for name, p in probabilities.items())


def test_the_parts_stand_below_the_answer_and_the_header_names_the_mixture(app, loaded):
    opened(app)
    view = loaded.inspect(TEXT)
    assert bars(app)[:4] == [
        said(each) for each in (view.probabilities, view.mix.network, view.mix.tfidf, view.mix.mixture)
    ]
    for part in ("Network alone, counts 0.60", "TF-IDF alone, counts 0.40", "mixed with TF-IDF, w = 0.60"):
        assert part in words(app)


def test_the_switch_takes_tfidf_out_and_the_link_keeps_it(app, loaded):
    opened(app)
    app.toggle(key="edit-mix").set_value(False).run()
    assert not app.exception
    assert "".join(app.query_params[state.EDIT]) == "mix.0"
    alone = loaded.inspect(TEXT, unmixed=True).probabilities
    assert bars(app)[0] == f"{said(alone)}; as trained {said(loaded.inspect(TEXT).probabilities)}"
    assert pages.drawn(app, "levers")[0]["changed"] == "TF-IDF taken out"
    assert "TF-IDF alone, counts 0.00" in words(app)
    app.toggle(key="edit-mix").set_value(True).run()
    assert not app.query_params.get(state.EDIT) and bars(app)[0] == said(loaded.inspect(TEXT).probabilities)


def test_a_head_that_is_off_changes_the_part_of_the_network_only(app, loaded):
    opened(app, edit="h1.2")
    before, after = loaded.inspect(TEXT), loaded.inspect(TEXT, Intervention(heads_off=frozenset({(0, 1)})))
    for bar, now, was in zip(
        bars(app)[1:4],
        (after.mix.network, before.mix.tfidf, after.mix.mixture),
        (before.mix.network, before.mix.tfidf, before.mix.mixture),
        strict=True,
    ):
        assert bar == f"{said(now)}; as trained {said(was)}"


def test_a_run_that_mixes_nothing_has_no_such_part_and_leaves_the_link_alone(app, runs):
    opened(app, edit="mix.0")
    assert "What the answer is made of" not in words(app)
    assert "One change of the link cannot be made here" in words(app)
