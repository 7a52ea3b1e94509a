"""Presets as tables."""

import pytest

from core.config import compose
from core.models.capabilities import BASELINES
from core.models.model_description import count_parameters, list_parts
from core.models.presets import PAPERS, PRESETS
from core.runs.record import RunRecord
from dashboard.figures import preset_tables
from dashboard.figures.model_diagram import build_parts_table
from dashboard.figures.preset_tables import ALL, USUAL


def test_baseline_describes_its_input_and_what_it_lacks():
    said = {preset_tables.describe_baseline(family, "heads and layers") for family in BASELINES}
    assert len(said) == 4, "those that read the same say the same"
    assert all(each.startswith("It ") and each.endswith(", without heads and layers.") for each in said)


def parts_of(name):
    return build_parts_table(list_parts(PRESETS[name].model, vocabulary=USUAL.vocabulary, classes=USUAL.classes))


def run(preset="vanilla", status="done", **known):
    return RunRecord("r", preset, status, compose(preset, {"data.name": "/some/reviews.csv"}), "", **known)


def test_run_gives_the_sizes_for_counting_parameters():
    sizes = preset_tables.read_sizes(run(vocabulary=1_234, classes=("a", "b", "c")))
    assert sizes[:2] == (1_234, 3)
    assert sizes.words == "1\u202f234 tokens and 3 classes, as in r on reviews.csv"
    own = {"model.layers": 3, "model.attention.heads": 4, "model.width": 32}
    record = RunRecord("r", "vanilla", "done", compose("vanilla", own), "", vocabulary=1_234, classes=("a", "b"))
    sizes = preset_tables.read_sizes(record)
    table = preset_tables.build_preset_frame(ALL, sizes, []).set_index("model")["parameters"]
    assert table["vanilla"] == count_parameters(record.config.model, vocabulary=1_234, classes=2)
    assert sizes.get_model("vanilla") == record.config.model
    assert sizes.get_model("ndt-01-n3") == PRESETS["ndt-01-n3"].model
    assert sizes.words.endswith("; vanilla also has its layers, heads and widths")
    for begun in (None, run(), run(vocabulary=9, classes=("a",))):
        assert preset_tables.read_sizes(begun) is None


@pytest.mark.parametrize("paper", PAPERS)
def test_paper_shows_its_presets_with_their_runs(paper):
    own = [name for name, preset in PRESETS.items() if preset.paper == paper]
    frame = preset_tables.build_preset_frame(PAPERS[paper], USUAL, [run(own[0]), run(own[0], "failed"), run("vanilla")])
    assert frame["model"].tolist() == own == preset_tables.list_presets(PAPERS[paper])
    assert frame["runs"].tolist()[0] == (3 if own[0] == "vanilla" else 2)
    assert set(frame["paper"]) == {PAPERS[paper]}


def test_all_presets_have_a_size_and_their_parts_add_up():
    frame = preset_tables.build_preset_frame(ALL, USUAL, []).set_index("model")
    assert len(frame) == len(PRESETS) and frame.loc["tweet-v1-p1", "parameters"] == 4_139_010
    assert frame.loc["vanilla", "parts"] == "plain encoder"
    for name in ("sentiformer", "inceptive-64", "cnn", "tfidf-svm"):
        own = parts_of(name)
        whole = own[own["term"] == ""]
        assert (whole["parameters"] * whole["copies"]).sum() == frame.loc[name, "parameters"], name
    assert parts_of("tweet-v1-p2")["term"].tolist().count("QK-norm") == 1


def test_preset_differences_name_both_models():
    frame = preset_tables.compare_presets("lexical-all", "lexical-last")
    assert frame.columns.tolist() == ["what", "lexical-all", "lexical-last", "setting"]
    assert frame.iloc[0].tolist() == ["heads that sigma reaches", "all", "last", "model.attention.lexical_heads"]


def test_newest_finished_runs_of_a_preset_are_linked():
    records = [RunRecord(f"run{i}", "vanilla", "done", compose("vanilla"), "") for i in range(preset_tables.LINKED + 2)]
    linked = preset_tables.list_preset_runs("vanilla", [run("vanilla", "failed"), run("cnn"), *records])
    assert linked == [f"run{i}" for i in range(preset_tables.LINKED)]
