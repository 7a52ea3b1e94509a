"""The page Papers: findings, a table beside our results, claims, what is missing, and the files that it exports."""

import json

import numpy as np
import pytest
from pages import drawn, opened, press, text_of

from core.api import public as sentiscope
from core.api.papers import MissingResults
from core.models.presets import PAPERS
from core.papers.reproduction import measure_lexicon_effect
from core.papers.training_cells import RESULTS, read_labels, unpack_rows
from core.runs.background_jobs import write_progress
from core.runs.queue import TRAINING
from core.runs.store import RunStore, get_own_process
from dashboard import state
from dashboard.figures import papers as figures

pytestmark = pytest.mark.slow


def read_table(app) -> list[list[str]]:
    """Return the words of each row of the table beside our results."""

    def read_node(node) -> str:
        return node if isinstance(node, str) else "".join(read_node(each) for each in node[2:])

    (table,) = [each["table"] for each in drawn(app, "marks") if "beside our results" in each["table"][1]["aria-label"]]
    body = next(part for part in table[2:] if part[0] == "tbody")
    return [[read_node(cell) for cell in row[2:]] for row in body[2:]]


def test_each_paper_opens_with_three_findings_and_its_best_known_table(app):
    for paper, title in list(PAPERS.items())[:5]:
        shown = text_of(opened(app, "papers", paper=paper))
        found = sentiscope.reproduce(paper)["tables"]
        rows = [row for table in found for row in table["rows"]]
        for line in (figures.summarize_results(rows), figures.summarize_baselines(rows)):
            assert f"<p>{line}</p>" in shown
        assert f"<b>{title}</b>" in shown and "claims hold," in shown
        assert app.selectbox(key=state.TABLE).value == figures.choose_table(found)["table"]


def test_a_link_opens_a_table_and_its_rows_are_those_of_the_command(app):
    opened(app, "papers", paper="tweet_encoder_7essxin", table="II", metric="f1")  # today's longer key
    told = [row for row in sentiscope.reproduce("7ess-xin", "II")["tables"][0]["rows"] if row["metric"] == "f1"]
    shown = read_table(app)
    assert [row[0] for row in shown][:20] == [row["row"] for row in told if row["reported"] is not None]
    assert [row[1] for row in shown][:3] == ["0.827", "0.831", "0.831"] and shown[0][-1] == "differs: lower"
    assert [row[-1] for row in shown].count("not run") == sum(row["verdict"] == "not run" for row in told)
    app.selectbox(key=state.METRIC).set_value("recall").run()
    assert read_table(app)[0][1] == "0.846"
    app.selectbox(key=state.TABLE).set_value("Fig. 5").run()
    assert app.selectbox(key=state.METRIC).value == "confusion_tpr" and read_table(app)[0][1] == "85.30"


def test_a_link_with_wrong_names_opens_the_first_paper(app):
    shown = text_of(opened(app, "papers", paper="bert", table="XCIX", metric="glue"))
    assert "<b>NDT</b>" in shown and app.selectbox(key=state.TABLE).value == "VII"


def test_what_is_missing_is_run_as_a_job_or_what_it_needs_is_told(app, runs, monkeypatch):
    opened(app, "papers", paper="ndt", table="VII")
    assert "Train missing runs" not in " ".join(each.label for each in app.button)  # all its cells have results
    asked = {"cells": [{"needs": "imdb and some/encoder"}] * 3, "hours": 4.56, "lacks": ["imdb: not here"]}
    real = sentiscope.reproduce
    name = "core.api.papers.reproduce"
    monkeypatch.setattr(name, lambda *args, **how: asked if "dry_run" in how else real(*args, **how))
    shown = text_of(opened(app, "papers", paper="ndt", table="I"))
    assert "Not run: 3 trainings, about 4.6 hours on two cores. They need imdb, some/encoder;" in shown
    assert "sentiscope reproduce ndt I --dry-run --scale small" in shown
    asked["lacks"] = []
    assert app.run().button(key="run-missing").label == "Train missing runs (about 5 h)"
    job = MissingResults.from_table(RunStore(runs), "ndt", "I", "small")
    started = []
    start = "core.runs.background_jobs.start_job"
    monkeypatch.setattr(start, lambda store, files, command, kind, lane: started.append([lane, *command]))
    press(app, "run-missing")
    assert started[0][0] == TRAINING
    assert started[0][-7:] == ["reproduce", "ndt", "I", "--run", "--resume", "--scale", "small"]
    job.folder.mkdir(parents=True)
    write_progress(job, get_own_process(), 0.0, "ndt-imdb vanilla", 0.25)
    assert "ndt-imdb vanilla" in text_of(app.run()) and "Train missing runs" not in [each.label for each in app.button]
    write_progress(job, None, 0.0, "no space left", None)
    assert "no space left" in text_of(app.run())


def test_bars_and_boxes_are_unfolded(app):
    opened(app, "papers", paper="inceptive", table="5", more="all")
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert [trace["type"] for trace in chart["data"]] == ["bar", "bar", "box", "scatter", "box", "scatter"]
    row = sentiscope.reproduce("inceptive", "5")["tables"][0]["rows"][0]
    assert chart["data"][2]["x"] == row["values"] and chart["data"][3]["x"] == [80.8]


def test_the_effect_of_the_lexicon_is_drawn_from_the_committed_answers(app):
    opened(app, "papers", paper="lexical", more="all")
    large, small = json.loads(app.get("plotly_chart")[-1].proto.spec)["data"]
    lines = [json.loads(line) for line in (RESULTS / "effect-sst2.jsonl").read_text(encoding="utf-8").splitlines()]
    by_seed = {(line["model"], line["seed"]): line for line in lines}
    truth = read_labels([RESULTS])[lines[0]["test"]]
    right = unpack_rows(truth["labels"], truth["n"])
    shares = [
        [100 * np.mean(unpack_rows(by_seed[name, seed][column], truth["n"]) == right) for seed in range(3)]
        for name, column in [("lexical-last", "predicted"), ("lexical-last", "edited"), ("lexical-none", "predicted")]
    ]
    assert sorted(small["x"]) == pytest.approx(sorted(value for each in shares for value in each))
    assert large["x"] == pytest.approx([np.mean(each) for each in shares]) and large["y"] == [0, 1, 2]
    assert min(large["error_x"]["array"]) > 100 * 1.96 * (0.25 / truth["n"]) ** 0.5 * 0.8  # of the test rows alone
    changed = sum(line.get("changed", 0) for line in lines)
    told = figures.summarize_effect(measure_lexicon_effect())
    assert f"changes {changed} of 2\u202f616 answers. Learning without it makes no clear difference: −0.42" in told


def test_rows_of_several_data_sets_have_own_names_and_false_positive_rates_count_as_lower():
    (table,) = sentiscope.reproduce("ndt", "X")["tables"]
    names = [row["row"] for row in figures.list_results(figures.PaperTable("ndt", table, "params"))]
    assert len(set(names)) == len(names) == 20 and names[0] == "Vanilla, IMDB"
    rows = [{"metric": x, "baseline": 30.0, "ours": 20.0, "reported": 20.0} for x in ("accuracy", "confusion_fpr")]
    assert figures.summarize_baselines(rows) == "TF-IDF beats 1 of our 1 mean scores and 1 of 1 reported ones."


def test_figure_5_is_a_matrix_of_reported_shares_and_ours(app):
    opened(app, "papers", paper="7ess-xin", table="Fig. 5", more="all")
    matrix = json.loads(app.get("plotly_chart")[-1].proto.spec)["data"][0]["text"]
    assert [text.split(">")[1].split("<")[0] for text in matrix] == ["73.8", "26.2", "14.7", "85.3"]
    assert "Differences in protocol" in text_of(app) or "8,000 of the paper" in text_of(app)


def test_exports_are_the_table_in_four_formats(app):
    opened(app, "papers", paper="ndt", table="X")
    files = {each.proto.label for each in app.get("download_button")}
    assert files == {"Table · CSV", "Claims · CSV", "Table · Markdown", "Table · LaTeX", "All · JSON"}


def test_metrics_have_words_in_the_menu(app):
    tables = sentiscope.reproduce("inceptive")["tables"]
    table = next(each for each in tables if "cv10_mean" in figures.list_metrics(each))
    opened(app, "papers", paper="inceptive", table=table["table"])
    told = app.selectbox(key=state.METRIC).options
    assert "mean of 10 folds" in told and not [name for name in told if "_" in name]
    assert figures.name_metric("relative_gain") == "relative gain"
