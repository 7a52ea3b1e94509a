"""`reproduce`, `claims` and `theory`: what they print and return; missing cells are listed and trained."""

import csv
import io
import json
import re
import shutil

import pytest
from refused import check_raises
from typer.testing import CliRunner

from core.api import public as sentiscope
from core.api.papers import QUESTIONS, count_verdicts, escape_latex, format_grid
from core.cli import app
from core.exceptions import InputError, NotAvailable
from core.papers import training_cells
from core.papers.claims import FINDERS, NOT, list_claims
from core.papers.training_cells import TrainingCell, read_labels, read_lines, train_cell, train_cells, unpack_rows

PAPERS = ("ndt", "sentiformer", "7ess-xin", "lexical", "inceptive")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def no_training(monkeypatch, request):
    if "trains" not in request.node.name:
        monkeypatch.setattr(training_cells, "train_cell", lambda *given: pytest.fail("trained"))


@pytest.mark.parametrize("paper", PAPERS)
def test_all_tables_are_printed_in_every_format_without_training(paper, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    found = json.loads(run(paper, "--json"))
    assert list(found) == ["paper", "tables"] and found["paper"] == paper
    rows = [row for table in found["tables"] for row in table["rows"]]
    keys = {"row", "metric", "reported", "ours", "sd", "n", "difference", "interval", "baseline", "verdict", "reason"}
    assert all(keys <= set(row) for row in rows) and found == sentiscope.reproduce(paper)
    listed = list(csv.DictReader(io.StringIO(run(paper, "--format", "csv"))))
    assert [row["verdict"] for row in listed] == [row["verdict"] for row in rows]
    text, markdown, latex = (run(paper, "--format", form) for form in ("text", "markdown", "latex"))
    for table in found["tables"]:
        assert f"{paper}, {table['table']}: {table['title']}" in text and f"**{paper}, {table['table']}: " in markdown
    assert markdown.count("\n|---|") == latex.count(r"\begin{tabular}") == latex.count(r"\end{table}")
    assert latex.isascii() or set(latex) - set(map(chr, range(128))) <= set("−")


def test_old_keys_of_papers_are_understood_and_wrong_choices_refused():
    for old, key in (("tweet_encoder_7essxin", "7ess-xin"), ("lexical_attention", "lexical"), ("7ess-Xin", "7ess-xin")):
        assert sentiscope.reproduce(old, "1" if key == "lexical" else "I")["paper"] == key
    with pytest.raises(InputError, match="--format 'pdf': one of text, csv, markdown, latex"):
        sentiscope.reproduce("ndt", format="pdf")
    check_raises(InputError, "--scale 'large': one of small, paper", sentiscope.reproduce, "ndt", scale="large")
    check_raises(InputError, "ndt has no table 'XII'", sentiscope.reproduce, "ndt", "XII")
    check_raises(InputError, "no paper is called 'nope'", sentiscope.reproduce, "nope")
    check_raises(InputError, "--seeds 0: at least 1", sentiscope.reproduce, "ndt", seeds=0)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"ndt-twitter-financial.jsonl": '{"group": "ndt-tw'}, "ndt-twitter-financial.jsonl: line 1 is damaged"),
        ({"ndt-twitter-financial.jsonl": '{"model": "cnn"}'}, "line 1 is damaged; delete it, and --resume trains"),
        ({"ndt-twitter-financial.jsonl": "[1]"}, "line 1 is damaged"),
        ({"labels.json": "{"}, "labels.json is damaged"),
        ({"labels.json": b"\xff"}, "labels.json cannot be read: it is not UTF-8"),
        ({"labels.json/x": ""}, "labels.json cannot be read: Is a directory"),
    ],
)
def test_damaged_results_are_refused_in_a_sentence(files, said, tmp_path):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    check_raises(InputError, re.escape(said), sentiscope.reproduce, "ndt", "VII", results=tmp_path)


def test_dry_run_lists_cells_with_hours_and_needs(tmp_path, monkeypatch):
    monkeypatch.delenv("SENTISCOPE_DATA", raising=False)
    found = sentiscope.reproduce("ndt", "VII", dry_run=True, results=tmp_path)
    assert len(found["cells"]) == 2 + 14 * 3 and found["hours"] == pytest.approx((2 * 60 + 42 * 50) / 3600)
    assert {cell["needs"] for cell in found["cells"]} == {"twitter_financial"}
    assert sentiscope.reproduce("ndt", "VII", dry_run=True)["cells"] == []
    assert len(sentiscope.reproduce("ndt", "VII", dry_run=True, seeds=5, models=["vanilla"])["cells"]) == 2
    full = sentiscope.reproduce("sentiformer", "I", dry_run=True, scale="paper", models=["distilbert"])
    assert any("distilbert/distilbert-base-uncased" in reason for reason in full["lacks"])
    assert any(reason.startswith("us_airline: ") for reason in full["lacks"])
    assert "trainings are missing" in run("ndt", "VII", "--dry-run", "--results", str(tmp_path))


def test_missing_models_a_run_without_resume_and_results_without_labels_are_refused(tmp_path):
    with pytest.raises(NotAvailable, match="FacebookAI/roberta-base"):
        sentiscope.reproduce("inceptive", "3", run=True, scale="paper", models=["roberta"], results=tmp_path)
    (tmp_path / "ndt-twitter-financial.jsonl").touch()
    with pytest.raises(InputError, match="--resume continues, --results NEW starts anew"):
        sentiscope.reproduce("ndt", "VII", run=True, results=tmp_path)
    shutil.copy(training_cells.RESULTS / "ndt-twitter-financial.jsonl", tmp_path)
    with pytest.raises(InputError, match="has results of ndt-twitter-financial, but not its labels"):
        sentiscope.reproduce("ndt", "VII", results=tmp_path)


def test_a_cell_trains_and_a_failed_one_is_kept(tmp_path):
    settings = {"data.limit": 300}
    cells = [
        TrainingCell("g", "built-in", "tfidf-logreg", settings, 0, "tfidf-logreg", 1.0),
        TrainingCell("g", "built-in", "vanilla", {**settings, "model.heads_of_none": 1}, 0, "vanilla", 1.0),
    ]
    told = []
    assert train_cells(cells, tmp_path, lambda what, share: told.append(share)) == 1 and told == [0.5, 1.0]
    good, bad = read_lines([tmp_path], "g").values()
    assert good["model"] == "tfidf-logreg" and "heads_of_none" in bad["failed"]
    assert read_labels([tmp_path])[good["test"]]["n"] == 3202 and 0.5 < good["metrics"]["test"]["accuracy"] < 1
    assert set(good) >= {"settings", "seed", "revision", "seconds", "device", "predicted"} and "name" not in good


def test_a_seed_trains_the_same_model_twice(tmp_path):
    settings = {"data.limit": 200, "training.epochs": 1, "edit": "h1.1"}  # a head off
    cell = TrainingCell("g", "built-in", "vanilla", settings, 0, "vanilla", 1.0)
    first, second = (train_cell(cell, "cpu", "") for _ in range(2))
    assert first[0] | {"seconds": 0} == second[0] | {"seconds": 0} and first[1] == second[1]
    answers = [unpack_rows(first[0][name], 3202) for name in ("predicted", "edited")]
    assert first[0]["changed"] == (answers[0] != answers[1]).sum() > 0
    assert "edit" in first[0]["settings"] and "failed" not in first[0]


def test_latex_and_csv_are_escaped():
    assert escape_latex("50 % of a_b & λ ± 1 ∞") == r"50 \% of a\_b \& $\lambda$ $\pm$ 1 $\infty$"
    rows = [{"row": "=1+1", "value": "a|b"}]
    assert format_grid("csv", "", rows).splitlines()[1] == "'=1+1,a|b"
    assert "a/b" in format_grid("markdown", "t", rows)


@pytest.mark.slow
def test_the_command_prints_and_returns_claims_of_one_paper_or_all(cli):
    own = cli.json("claims", "7ess-xin")
    assert own["paper"] == "7ess-xin" and own == sentiscope.claims("7ESS-Xin")
    assert own["claims"] == [{"paper": "7ess-xin", **row} for row in list_claims("7ess-xin")]
    assert len(cli.json("claims")["claims"]) == sum(len(list_claims(paper)) for paper in FINDERS) == 48
    assert cli.lines("claims", "sentiformer")[0] == "SentiFormer: 2 of 8 claims hold, 2 in part, 4 do not follow."
    named = [line.split(":")[0] for line in cli.lines("claims") if "claims hold" in line]
    assert named[2:4] == ["7ess-Xin", "Sentiment Lexical Attention"]
    assert count_verdicts([{"verdict": NOT}]) == "0 of 1 claim holds, 0 in part, 1 does not follow."
    cli.refused("no paper is called 'bert'", "claims", "bert")
    check_raises(InputError, "'baseline' is not a paper; there are ndt", sentiscope.claims, "baseline")


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_command_prints_question_table_and_finding(cli, starters, name):
    found, lines = sentiscope.theory(name), cli.lines("theory", name)
    assert lines[0] == found["question"] == QUESTIONS[name] and " ".join(lines).endswith(found["finding"])
    assert cli.json("theory", name)["finding"] == found["finding"]
