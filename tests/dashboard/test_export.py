"""Every figure from the command line: names of pages, complete files, and messages for missing figures."""

import json
import re
import subprocess
import sys

import pandas as pd
import pytest

from core import api
from core.exceptions import InputError, RunDamaged
from core.runs.store import RunStore
from dashboard.figures.figure import OF_TEXT
from dashboard.figures.registry import FIGURES

pytestmark = pytest.mark.slow

TEXT = "a good </script><b>film"


@pytest.fixture(scope="module")
def made(trained, tmp_path_factory):
    """The folder with all figures of the finished run, and the message of the command."""
    folder = tmp_path_factory.mktemp("figures") / "new" / "place"
    return folder, api.figures("finished", folder, text=TEXT, store=RunStore(trained))


def names_of(made) -> list[str]:
    return [each["name"] for each in made[1]["files"]]


def data_of(page: str) -> list[dict]:
    """The traces of the figure in an HTML file."""
    (call,) = re.findall(r"Plotly\.newPlot\(\s*\"[\w-]+\",\s*(\[.*?\]),\s+\{\"", page, re.DOTALL)
    return json.loads(call)


def test_each_figure_of_a_run_is_written_or_its_absence_explained(made):
    (folder, result), names = made, names_of(made)
    assert {*names, *result["left_out"]} == set(FIGURES)
    assert {path.name for path in folder.iterdir()} == {*(f"{name}.html" for name in names), "plotly.min.js"}
    assert set(result["left_out"]) == {
        *(f"map-{method}{deep}" for method in ("tsne", "umap") for deep in ("", "-3d")),
        *("labels", "phenomena", "silhouettes-tsne", "silhouettes-umap", "token-lambda", "gates", "polarity", "sigma"),
        *("support", "branches", "numbers", "costs", "behaviour", "distance", "difference", "patching", "belief"),
        *("belief-curves", "slices", "label-errors", "map-groups", "map-layers", "shift", "shift-words"),
        *("paper-confusion", "lexicon-effect", "placement"),
        *(
            f"attention-{part}"
            for part in (
                *("heads", "mass", "distance", "deviation", "gates", "received", "importance", "words", "effects"),
            )
        ),
        *("attention-lambda", "map-shares", "groups-of-people"),
        *(name for name, (figure, _) in FIGURES.items() if figure.page in ("compare", "tokens")),
    }
    assert "sentiscope project finished --split test --method umap" in result["left_out"]["map-umap"]


@pytest.mark.parametrize("name", ["confusion", "map-pca", "grid"])
def test_file_has_title_alternative_text_and_reading_and_requests_nothing(made, name):
    page = (made[0] / f"{name}.html").read_text()
    assert "<title>" in page and '<html lang="en">' in page
    assert re.search(r'<figure aria-label="[^"]{20,}"', page) and "<figcaption>" in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["plotly.min.js"]


def test_user_text_is_escaped_in_the_file(made):
    page = (made[0] / "grid.html").read_text()
    assert TEXT not in page and "<b>film" not in page
    assert "&lt;/script&gt;" in page and page.count("</script>") == page.count("<script")


def test_single_figure_file_is_self_contained_and_has_the_options_of_the_page(trained, tmp_path):
    result = api.figures("finished", tmp_path, only=["roc"], store=RunStore(trained))
    assert [path.name for path in tmp_path.iterdir()] == ["roc.html"]
    page = (tmp_path / "roc.html").read_text()
    assert "plotly.js v" in page and not re.findall(r"<script[^>]+src=", page)
    assert result["files"][0]["title"] == "ROC"
    options = {"threshold": "0.9", "cells": "shares"}
    api.figures("finished", tmp_path, only=["confusion"], options=options, csv=True, store=RunStore(trained))
    saved = pd.read_parquet(trained / "finished" / "evaluation" / "test" / "predictions.parquet")
    said = saved["probability:positive"] > 0.9
    table = pd.read_csv(tmp_path / "confusion.csv", index_col="true label")
    assert table.loc["positive", "predicted positive"] == (said & (saved["label"] == "positive")).sum()
    assert table.loc["negative", "predicted negative"] == (~said & (saved["label"] == "negative")).sum()
    assert "threshold 0.90, shares of the row" in (tmp_path / "confusion.html").read_text()


def test_figures_are_those_of_the_split_and_of_the_edits_of_a_link(trained, tmp_path):
    given = {"only": ["grid"], "text": "not good", "store": RunStore(trained)}
    api.figures("finished", tmp_path / "plain", **given)
    api.figures("finished", tmp_path / "edited", options={"edit": "h1.1"}, **given)
    plain, edited = (data_of((tmp_path / name / "grid.html").read_text()) for name in ("plain", "edited"))
    assert plain != edited
    for split in ("validation", "test"):
        result = api.figures("finished", tmp_path, only=["confusion", "roc"], split=split, store=RunStore(trained))
        assert result["split"] == split
        saved = pd.read_parquet(trained / "finished" / "evaluation" / split / "predictions.parquet")
        names = ["negative", "positive"]
        counts = pd.crosstab(saved["label"], saved["predicted"]).reindex(index=names, columns=names, fill_value=0)
        page = (tmp_path / "confusion.html").read_text()
        shown = [int(re.search(r">(\d+)</b>", cell)[1]) for cell in data_of(page)[0]["text"]]
        assert shown == counts.to_numpy().ravel().tolist() and f"{split}, n = {len(saved)}" in page


def test_baseline_has_its_scores_and_reasons_for_missing_figures(trained, tmp_path):
    result = api.figures("baseline", tmp_path, text="good", store=RunStore(trained))
    assert {each["name"] for each in result["files"]} == {
        *("confusion", "confusion-shares", "confidence", "roc", "pr", "calibration", "metrics", "each-class", "parts"),
        *("words", "methods", "steps", "errors", "error-tags", "error-slices", "error-words", "error-columns"),
        *("outcome-cloud", "lengths"),
    }
    assert "makes no vector" in result["left_out"]["map-pca"]
    assert "not trained step by step" in result["left_out"]["learning"]
    assert "no attention" in result["left_out"]["grid"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"split": "tset"}, "no predictions of a split 'tset'; it has test, validation"),
        ({"only": ["rco"]}, "no figure is called 'rco'"),
        ({"only": ["gate-bars"]}, "no figure is called 'gate-bars'"),
        ({"only": ["map-umap"]}, "map-umap: it has not been computed"),
        ({"only": ["grid"]}, "grid: a sentence is needed: --text"),
        ({"options": {"treshold": "1"}}, "no figure has an option 'treshold'; there are"),
        ({"options": {"threshold": "2"}}, "threshold=2: a number from 0 to 1"),
        ({"options": {"cells": "many"}}, "cells=many: one of counts, shares"),
        ({"options": {"least": "0.5"}}, "least: no figure has this option for this run"),
        ({"options": {"edit": "h1.1"}}, "edit: it changes how a sentence is read; name one with --text"),
        ({"options": {"edit": "h9.9"}, "text": "good"}, "--edit h9.9: this run has"),
        ({"options": {"edit": "h1.1"}, "text": "good", "only": ["roc"]}, "edit: no figure has this option"),
        ({"theme": "blue"}, "--theme 'blue': one of light, dark"),
    ],
)
def test_impossible_figures_are_refused_and_nothing_is_written(trained, tmp_path, settings, words):
    with pytest.raises(InputError, match=re.escape(words)):
        api.figures("finished", tmp_path / "none", store=RunStore(trained), **settings)
    assert not (tmp_path / "none").exists()


def test_folder_path_that_is_a_file_and_a_damaged_run_are_refused(trained, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        api.figures("finished", tmp_path / "taken", only=["roc"], store=RunStore(trained))
    with pytest.raises(RunDamaged, match=r"run\.json"):
        api.figures("damaged", tmp_path, store=RunStore(trained))


def test_drawing_needs_no_streamlit_and_without_a_sentence_no_torch(made, trained, tmp_path):
    """But those of Errors, for which the model reads the training texts once."""
    asking = {"map-neighbours", "map-training"}  # like the figures of Errors and of a text
    only = [name for name in names_of(made) if FIGURES[name][0].page not in ("errors", *OF_TEXT) and name not in asking]
    code = (
        "import sys; from pathlib import Path; from core import api; from core.runs.store import RunStore\n"
        f"api.figures('finished', Path({str(tmp_path)!r}), only={only}, store=RunStore(Path({str(trained)!r})))\n"
        "print(*(name for name in ('streamlit', 'torch', 'umap', 'openTSNE') if name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []
