"""The page Embeddings in every state."""

import re

import numpy as np
import pages
import pandas as pd
import pytest
from pages import press, words

from core.evaluation.projection import Projection, ProjectionConfig, Quality
from core.runs import background_jobs
from core.runs.projections import MapFiles
from core.runs.store import RunStore, get_own_process
from dashboard.figures import embedding_map
from dashboard.figures.embedding_map import list_colorings

pytestmark = pytest.mark.slow


def opened(app, **parameters: str):
    return pages.opened(app, "embeddings", run="finished", **parameters)


def saved_map(runs, **settings) -> MapFiles:
    """A map of the test split on disk, as from a job, with placeholder values."""
    files = MapFiles.from_run(RunStore(runs), "finished", "test", ProjectionConfig(**settings))
    places = np.arange(16 * settings.get("dimensions", 2), dtype=np.float32).reshape(16, -1)
    samples = np.linspace(-1, 1, 16, dtype=np.float32)
    files.folder.mkdir(exist_ok=True)
    files.write(Projection(np.arange(16), places, Quality(np.arange(16), samples, samples, 0.5)), 1.0)
    return files


def test_pca_is_shown_at_once_with_both_silhouettes_and_their_n(app, runs):
    shown = words(opened(app, more="all"))
    for said in ("PCA, 2-D", "n = 16", "Silhouette, 16-D original", "Only 16 sentences"):
        assert said in shown
    assert "of 16 sentences there are no groups to look for" in shown
    assert [button.label for button in app.get("download_button")] == ["Points · CSV", "Silhouettes · CSV"]


def test_colorings_of_the_map_are_listed_once(app, runs, monkeypatch):
    asked = []

    def note_and_list(points):
        asked.append(len(points))
        return list_colorings(points)

    monkeypatch.setattr(embedding_map, "list_colorings", note_and_list)
    assert "colour: correctness" in words(opened(app, colour="correctness"))
    app.run()
    assert asked == [16]


def test_unreadable_or_missing_embeddings_are_reported(app, runs):
    (runs / "finished" / "evaluation" / "test" / "embeddings.npy").write_bytes(b"short")
    shown = words(opened(app))
    assert "This page cannot continue" in shown and "embeddings.npy" in shown
    for path in (runs / "finished").rglob("embeddings.npy"):
        path.unlink()
    assert "This run has no embeddings" in words(app.run())


@pytest.mark.parametrize(("dimensions", "name"), [(2, "t-SNE, 2-D"), (3, "t-SNE, 3-D")])
def test_link_restores_a_computed_map_with_all_its_settings(app, runs, dimensions, name):
    saved_map(runs, method="tsne", dimensions=dimensions)
    link = {"method": "t-SNE", "dimensions": f"{dimensions}-D", "colour": "correctness", "split": "test"}
    shown = words(opened(app, **link))
    assert name in shown and "colour: correctness" in shown
    assert ("draw around some" in shown) == (dimensions == 2)


def test_missing_map_is_computed_only_by_a_background_job(app, runs, monkeypatch):
    started = []
    monkeypatch.setattr(MapFiles, "start", lambda files: started.append((files.run, files.config)))
    assert "There is no UMAP map of this split yet" in words(opened(app, method="UMAP", rows="1000")) and started == []
    press(app, "compute-map")
    assert started == [("finished", ProjectionConfig("umap", 2, 1000))]


def test_background_job_shows_its_progress_and_can_be_stopped(app, runs, monkeypatch):
    files = MapFiles.from_run(RunStore(runs), "finished", "test", ProjectionConfig("tsne"))
    files.folder.mkdir()
    background_jobs.write_progress(files, get_own_process(), 0.0, "placing the sentences", 0.5)
    stopped = []
    monkeypatch.setattr(background_jobs, "cancel", stopped.append)
    shown = words(opened(app, method="t-SNE"))
    assert "placing the sentences" in shown and 'aria-valuenow="50"' in shown
    press(app, "stop-compute-map")
    assert [each.stem for each in stopped] == [files.stem]


def test_damaged_map_is_reported_and_can_be_computed_again(app, runs):
    files = saved_map(runs, method="tsne")
    files.get_path("npy").write_bytes(files.get_path("npy").read_bytes()[:-5])
    assert "This t-SNE map is damaged" in words(opened(app, method="t-SNE"))
    assert "Compute the map again" in [button.label for button in app.button]


def test_selection_is_marked_on_the_map_and_listed_below(app, runs):
    saved = pd.read_parquet(runs / "finished" / "evaluation" / "test" / "predictions.parquet")
    shown = opened(app, select="text~number 1")
    chosen = saved.index[saved["text"].str.contains("number 1")].tolist()
    assert f"{len(chosen)} of 16 sentences" in words(shown)
    assert sorted(app.dataframe[0].value["text"]) == sorted(saved["text"].loc[chosen])
    drawn = pages.charts(app)[0]["data"]
    marked = [trace["customdata"][place] for trace in drawn for place in trace.get("selectedpoints", ())]
    assert sorted(marked) == chosen


@pytest.mark.parametrize(("method", "how"), [("PCA", "exactly where PCA puts"), ("t-SNE", "10 nearest neighbours")])
def test_typed_sentence_is_placed_and_the_page_explains_how(app, runs, method, how):
    saved_map(runs, method="tsne")
    shown = words(opened(app, method=method, place="a <b>good</b> film"))
    assert how in shown and "<b>good" not in shown


def nearest_marked(app) -> list[int]:
    return [len(each["customdata"]) for each in pages.charts(app)[0]["data"] if each["name"].startswith("nearest")]


def test_neighbors_of_a_typed_or_current_sentence_are_listed_and_marked(app, runs):
    shown = words(opened(app, place="good film number 3", at="none", select="text~number 1"))
    assert "“good film number 3”, among 16, in the space of what the head reads" in shown
    near = app.dataframe[-1].value
    assert len(near) == 10 and near["distance"].is_monotonic_increasing and nearest_marked(app) == [10]
    press(app, "select-near")
    assert app.query_params["select"].startswith("ids:") and "nearest to “good film number 3”" in words(app)


def test_common_neighbors_of_a_selection_are_listed_marked_and_selectable(app, runs):
    shown = words(opened(app, select="true=positive"))
    table = next(each.value for each in app.dataframe if {"near", "distance"} <= {*each.value.columns})
    assert "8 selected, among 8 others, in the space of what the head reads" in shown
    assert set(table["true"]) == {"negative"} and table["near"].is_monotonic_decreasing
    assert nearest_marked(app) == [len(table)]
    assert "nearest to 8: label positive" in words(press(app, "select-near"))


def test_training_neighbors_of_a_selection_are_listed_and_selectable(app, runs):
    opened(app, select="true=positive")
    pages.rerun_while(app, lambda: "Reading the training sentences" in words(app))
    assert re.search(r"8 selected, among \d+ training sentences", words(app))
    table = next(each.value for each in app.dataframe if "likeness" in each.value)
    assert table["near"].is_monotonic_decreasing and table["likeness"].between(-1, 1).all()
    assert "nearest in training to 8: label positive" in words(press(app, "select-training"))


def test_run_without_weights_shows_its_map_but_places_no_sentence(app, runs):
    (runs / "finished" / "weights.safetensors").unlink()
    shown = words(opened(app, place="good"))
    assert "PCA, 2-D" in shown and "Your sentence cannot be placed" in shown
