import functools
import io
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from trained_runs import mix_in, write_splits

from core.cli import main
from core.runs.store import RunStore
from dashboard import export

pytestmark = pytest.mark.slow

SETTINGS = "model.width=16 model.ff_width=16 training.batch_size=8 training.lr=0.01 training.threads=1 text.min_freq=1"
TINY = [f"--set={setting}" for setting in SETTINGS.split()]
HOSTILE = "so \udcff \x1b[31m good \u0007 😀"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with labelled reviews and a separate run folder."""
    folder = tmp_path_factory.mktemp("cli")
    random = np.random.default_rng(0)
    rows = []
    for number in range(120):
        label = ("bad", "good")[number % 2]
        words = [f"word{each}" for each in random.integers(0, 30, random.integers(1, 10))]
        rows.append(f"{' '.join([*words, label])},{'positive' if label == 'good' else 'negative'}")
    (folder / "reviews.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(cli, place, trained):
    """The JSON of a training run `first`, next to the shared runs."""
    shutil.copytree(trained, place / "runs", ignore=shutil.ignore_patterns("damaged"), dirs_exist_ok=True)
    return cli.json("train", "--data", "reviews.csv", "--model", "ndt-01-n2", "--epochs", "4", "--name", "first", *TINY)


def test_train_reports_metrics_and_lambda_and_evaluate_finds_the_cheapest_threshold(trained, cli):
    assert (trained["run"], trained["status"], trained["model"]) == ("first", "done", "ndt-01-n2")
    for split in ("validation", "test"):
        low, high = trained["intervals"][split]["accuracy"]
        assert 0.9 <= trained["metrics"][split]["accuracy"] and low <= trained["metrics"][split]["accuracy"] <= high
    assert np.shape(trained["lambda"]) == (2, 1) and 0 < trained["yardstick"]["splits"]["test"]["accuracy"] <= 1
    found = cli.json("evaluate", "first", "--cost", "positive=5")["costs"]["positive"]
    assert found["ratio"] == 5 and found["validation"]["cost"] <= found["validation"]["cost_at_half"]
    assert found["cost"] == (5 * found["false_negatives"] + found["false_positives"]) / found["n"]
    assert "a miss costs" in cli("evaluate", "first", "--cost", "positive=5")[1].replace("\n", " ")


def test_training_on_an_unusable_file_leaves_no_run(cli, place):
    (place / "odd.csv").write_text("text,label\n" + "a fine day,good\n" * 20)
    asked = ("train", "--data", "odd.csv", "--model", "vanilla", "--name", "odd", *TINY)
    cli.refused("every row has the label 'good'", *asked)
    assert not list((place / "runs").glob("*odd*"))


def test_evaluate_reports_training_overlap_and_compares_with_another_run(cli, trained, place):
    both = ("evaluate", "first", "--data", "reviews.csv", "--by", "label", "--against", "finished")
    shown = cli.json(*both)
    assert shown["seen_in_training"]["rows"] >= 96 and shown["unseen"]["n"] == 120 - shown["seen_in_training"]["rows"]
    assert set(shown["yardsticks"]) == {"tfidf-logreg", "tfidf-logreg-chars"}
    pair = shown["against"]
    assert (pair["first"], pair["second"], pair["metric"]) == ("first", "finished", "accuracy")
    alone = pair["only_first_right"], pair["only_second_right"]
    assert pair["p"] == pytest.approx(binomtest(alone[0], max(1, sum(alone))).pvalue)
    assert pair["difference"] == pytest.approx((alone[0] - alone[1]) / 120)
    code, out, _ = cli(*both)
    assert code == 0 and "predicted negative" in out and "Without the rows seen in training, n = " in out
    assert "tfidf-logreg-chars" in out and "Against: " in out and "trained on." in out


def test_evaluate_matches_labels_by_name_or_by_a_map(cli, trained, place):
    (place / "other.csv").write_text("text,label\n" + "word1 good,1\nword2 bad,0\n" * 12)
    code, _, err = cli("evaluate", "first", "--data", "other.csv", "--json")
    assert code == 2 and "--map 0=negative" in err
    assert "'0' (12 rows), '1' (12 rows) are no classes of run 'first'" in err
    mapped = cli.json("evaluate", "first", "--data", "other.csv", "--map", "0=negative", "--map", "1=positive")
    assert mapped["n"] == 24 and mapped["metrics"]["accuracy"] == 1
    asked = ("evaluate", "first", "--data", "other.csv", "--map", "0=bad")
    cli.refused("the classes of run 'first' are negative, positive", *asked)


def test_predict_keeps_the_order_of_texts_lines_and_tables(cli, trained, place):
    shown = cli.json("predict", "first", "so good", "", "so bad")
    assert [each["row"] for each in shown["predictions"]] == [0, 1, 2]
    assert [each["text"] for each in shown["predictions"]] == ["so good", "", "so bad"]
    assert [shown["predictions"][i]["label"] for i in (0, 2)] == ["positive", "negative"]
    assert all(sum(each["probabilities"].values()) == pytest.approx(1, abs=1e-6) for each in shown["predictions"])
    (place / "lines.txt").write_text("so good\n\nso bad\n")
    assert cli.json("predict", "first", "--data", "lines.txt")["predictions"] == shown["predictions"]
    (place / "breaks.txt").write_bytes("a\x0cb\r\n\r\nc\x85d\u2028e\n".encode())
    shown = cli.json("predict", "first", "--data", "breaks.txt")
    assert [each["text"] for each in shown["predictions"]] == ["a\x0cb", "", "c\x85d\u2028e"]


def test_predict_reads_and_prints_passages(cli, trained, place):
    apart = cli.json("predict", "first", "so good", "so bad")["predictions"]
    whole = [each["probabilities"]["positive"] for each in apart]
    said = cli.json("predict", "first", "so good so bad", "good", "--passage", "2")["predictions"]
    assert [[each["text"] for each in row["passages"]] for row in said] == [["so good", "so bad"], ["good"]]
    assert [each["probabilities"]["positive"] for each in said[0]["passages"]] == pytest.approx(whole, abs=1e-6)
    odds = [np.log(chance / (1 - chance)) for chance in (*whole, said[0]["probabilities"]["positive"])]
    assert odds[2] == pytest.approx((odds[0] + odds[1]) / 2, abs=1e-4)
    _, *lines = cli("predict", "first", "so good so bad", "good", "--passage", "2")[1].splitlines()
    assert [line.split()[0] for line in lines] == ["row", "0", "0.0", "0.1", "1"], "below what it says of unknown words"
    (place / "lines.txt").write_text("so good so bad\ngood\n")
    asked = ("predict", "first", "--data", "lines.txt", "--passage", "2")
    assert cli.json(*asked)["predictions"] == said
    cli(*asked, "--to", "said.csv")
    chances = [each["probabilities"]["positive"] for each in said]
    assert pd.read_csv(place / "said.csv")["probability:positive"].tolist() == pytest.approx(chances, abs=1e-6)
    cli.refused("leave --passage out", "predict", "first", "good", "--passage", "2", "--edit", "h1.1")


def test_unknown_words_are_reported_before_the_prediction(cli, trained):
    said = cli.json("predict", "first", "good", "good zzz", "zzz qqq www")["predictions"]
    assert [each["unknown"] for each in said] == [0, 0.5, 1]
    for command in ("predict", "inspect"):
        out = cli(command, "first", "zzz qqq www")[1].replace("\n", " ")
        assert -1 < out.find("The run knows no word of this text.") < max(out.find("positive"), out.find("negative"))
        assert "unknown" not in cli(command, "first", "good")[1]
    out = cli("predict", "first", "good", "good zzz", "zzz qqq www")[1]
    assert out.startswith("Half of the words or more are unknown to the run in 2 texts of 3: rows 1, 2")
    inside = cli.json("inspect", "first", "zzz qqq www")
    assert inside["unknown_words"] == 1 and inside["note"].startswith("The run knows no word")


def test_predict_reports_read_and_truncated_tokens(cli, trained, place):
    most, long = RunStore(place / "runs").read("first").max_length, " ".join(["good"] * 300)
    expected = [(1, 0), (most, 300 - most)]
    said = cli.json("predict", "first", "good", long)["predictions"]
    assert [(each["read"], each["cut"]) for each in said] == expected
    out = " ".join(cli("predict", "first", "good", long)[1].split())
    assert out.startswith("Only the beginning of 1 text of 2 was read (row 1)") and " read cut " in out
    assert "beginning" not in cli("predict", "first", "good")[1]
    (place / "long.txt").write_text(f"good\n{long}\n")
    for asked, cut in (((), expected), (("--passage", "10"), [(1, 0), (300, 0)])):
        cli("predict", "first", "--data", "long.txt", "--to", "cut.csv", *asked)
        frame = pd.read_csv(place / "cut.csv")
        assert list(zip(frame["read"], frame["cut"], strict=True)) == cut
        said = cli.json("predict", "first", "--data", "long.txt", *asked)["predictions"]
        assert [(each["read"], each["cut"]) for each in said] == cut


def test_predict_guesses_the_text_column_and_joins_predictions_to_the_file(cli, trained, place):
    lines = (place / "reviews.csv").read_text().splitlines()[1:7]
    rows = [{"id": str(n), "review": line.rsplit(",", 1)[0], "predicted": "mine"} for n, line in enumerate(lines)]
    rows[1]["review"] += " unheard"
    pd.DataFrame(rows).to_csv(place / "mine.csv", index=False)
    listed = cli.json("predict", "first", "--data", "mine.csv")
    assert listed["text"] == "review"
    assert [each["text"] for each in listed["predictions"]] == [each["review"] for each in rows]
    code, out, _ = cli("predict", "first", "--data", "mine.csv", "--to", "said.csv")
    assert code == 0 and "6 texts of the column 'review' classified into said.csv" in out
    for name in ("out.csv", "out.jsonl", "out.parquet"):
        code, out, err = cli("predict", "first", "--data", "mine.csv", "--to", name, "--json")
        told = {"run": "first", "task": "single", "edit": "", "text": "review", "rows": 6, "to": name}
        assert json.loads(out) == told and "predicting: 100 %" in err.replace("\u202f", " ").replace("\xa0", " ")
        read = {"csv": functools.partial(pd.read_csv, dtype={"id": str}), "jsonl": jsonl, "parquet": pd.read_parquet}
        frame = read[name.split(".")[1]](place / name)
        assert frame[["id", "review", "predicted"]].to_dict("records") == rows
        assert frame["predicted (2)"].tolist() == [each["label"] for each in listed["predictions"]]
        chances = [each["probabilities"]["positive"] for each in listed["predictions"]]
        assert frame["probability:positive"].tolist() == pytest.approx(chances, abs=1e-6)
        assert frame["unknown"].tolist() == pytest.approx([each["unknown"] for each in listed["predictions"]])


def jsonl(path):
    return pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "mine.csv", "--to", "mine.csv"], "this is the file that is read"),
        (["--data", "mine.csv", "--set", "data.text=nope"], "no column 'nope' for data.text"),
        (["--data", "mine.csv", "--set", "text.min_freq=1"], "a file is read by data.text, data.pair, data.delimiter"),
        (["--data", "none.csv", "--to", "none-out.csv"], "none.csv"),
        (["so good", "--to", "none-out.csv"], "--to belongs to --data"),
        (["so good", "--set", "data.text=x"], "--set belongs to --data"),
    ],
)
def test_failed_file_prediction_leaves_no_output(cli, trained, place, words, message):
    (place / "mine.csv").write_text("id,review\n" + "1,so good\n" * 20)
    cli.refused(message, "predict", "first", *words)
    assert not (place / "none-out.csv").exists() and not list(place.glob(".*.new"))


PEAKS = """
import contextlib, resource, sys
from core.cli import main

for rows in (8_192, 40_000):
    sys.argv = ["sentiscope", "predict", "first", "--data", f"{rows}.csv", "--to", f"said-{rows}.csv"]
    with contextlib.suppress(SystemExit):
        main()
    print("peaks", *(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""


def test_memory_does_not_grow_with_the_rows_of_a_file(cli, trained, place):
    """Peak memory of the predicting and of the reading process: for two blocks of rows, then for eight more."""
    for rows in (8_192, 40_000):
        lines = (f"{n},so good word{n % 30} bad,{n % 5}\n" for n in range(rows))
        (place / f"{rows}.csv").write_text("id,review,stars\n" + "".join(lines))
    environment = {**os.environ, "SENTISCOPE_RUNS": str(place / "runs")}
    command = [sys.executable, "-c", PEAKS]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
    peaks = (line.split()[1:] for line in done.stdout.splitlines() if line.startswith("peaks"))
    before, after = (1024 * sum(map(int, each)) for each in peaks)
    assert sum(1 for _ in (place / "said-40000.csv").open()) == 40_001 and after - before < 12e6


def test_json_keeps_all_characters_and_output_cannot_control_the_terminal(cli, trained, place):
    code, out, _ = cli("predict", "first", HOSTILE, "--json")
    assert code == 0 and out.isascii() and json.loads(out)["predictions"][0]["text"] == HOSTILE
    assert cli.json("inspect", "first", HOSTILE)["text"] == HOSTILE
    for verb in ("predict", "inspect", "explain", "steps", "flip"):
        code, out, _ = cli(verb, "first", HOSTILE)
        assert code == 0 and "\x1b" not in out and "\x07" not in out and "\udcff" not in out
    assert "\\udcff \\x1b[31m good \\x07 😀" in cli("predict", "first", HOSTILE)[1]


def test_ascii_terminal_shows_character_codes(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["sentiscope", "data", "list"])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, encoding="ascii", write_through=True))
    with pytest.raises(SystemExit, match="0"):
        main()
    assert "\\U0001f525" in pipe.getvalue().decode("ascii")


@pytest.fixture(scope="module")
def stirred(cli, trained, place):
    """`first` as a mixture with TF-IDF."""
    store = RunStore(place / "runs")
    shutil.copytree(store.get_path("first"), store.get_path("first").with_name("stirred"))
    mix_in(store, "stirred", "baseline", 0.25)


def test_explain_prints_effects_of_words_parts_and_lambdas(cli, trained):
    asked = "explain", "first", "Word1 is  good"
    shown = cli.json(*asked)
    lines = cli(*asked)[1].splitlines()
    chance = shown["prediction"]["probabilities"]["positive"]
    assert lines[0].startswith(f"positive {chance:.3f}; log-odds of positive +")
    assert lines[1].split() == ["word", "push"] and lines[4].endswith("+" * 24)
    assert lines[5] == "attention and deletion: no verdict below 8 words" == shown["verdicts"]["attention"]["sentence"]
    found = cli.json(*asked, "--target", "negative", "--method", "integrated")
    said = cli(*asked, "--target", "negative", "--method", "integrated")[1]
    assert f"after {found['completeness']['steps']} steps" in said
    assert "±" in cli(*asked, "--method", "shapley")[1].splitlines()[1]
    parts, lines = cli.json(*asked, "--parts")["parts"], cli(*asked, "--parts")[1].splitlines()
    assert lines[1].split() == ["part", "zero", "mean"] and lines[2].startswith("layer 1 all heads")
    assert len(lines) == 2 + len(parts) and lines[-1].startswith("layer 2 head ")
    lines = cli(*asked, "--lambdas")[1].splitlines()
    assert lines[1] == "P(positive) where λ is 0, as at the start, as learned, and all along its range"
    assert lines[3].split()[:3] == ["layer", "1", "λ1"] and lines[-1].startswith("all λ ×") and len(lines) == 6


def test_explain_shows_all_methods_with_their_agreement(cli, trained):
    asked = "explain", "first", "word1 is good so good"
    shown = cli.json(*asked, "--methods")
    each = {name: cli.json(*asked, "--method", name) for name in ("deletion", "attention", "integrated")}
    assert list(shown["methods"]) == ["deletion", "shapley", "gradient", "integrated", "attention", "collapse"]
    for name, alone in each.items():
        found = [word["pushes"][name] for word in shown["words"]]
        assert found == pytest.approx([word["push"] for word in alone["words"]], abs=1e-5)
    rho = {(pair["first"], pair["second"]): pair["rho"] for pair in shown["agreement"]}
    assert len(rho) == 15 and rho["deletion", "attention"] == pytest.approx(each["deletion"]["agreement"]["attention"])
    assert len(shown["methods"]["shapley"]["errors"]) == 5 and shown["left_out"] == {}
    needed = max(shown["words"], key=lambda word: abs(word["pushes"]["deletion"]))
    assert shown["most_needed"] == {key: needed[key] for key in ("word", "start", "end")}
    out = cli(*asked, "--methods")[1]
    assert f"most needed “{needed['word']}”" in out and "agreement of ranks, ρ (5 words)" in out


def test_explain_uses_the_edited_model(cli, stirred):
    for more in ((), ("--method", "gradient"), ("--parts",), ("--methods",)):
        alone = cli.json("explain", "stirred", "so good", *more, "--edit", "mix.0")
        plain = cli.json("explain", "first", "so good", *more)
        assert alone["log_odds"] == pytest.approx(plain["log_odds"], abs=1e-5) and alone["note"] == plain["note"]
    whole = cli.json("explain", "stirred", "so good", "--methods")
    assert whole["log_odds"] != alone["log_odds"] and "deletion and shapley are of both" in whole["note"]


def test_believe_prints_test_results_for_a_run_and_for_one_text(cli, trained):
    asked = "believe", "first", "--method", "deletion", "--limit", 4
    code, out, err = cli(*asked)
    assert code == 0 and "of validation, seed 0" in out and "words in random orders" in err
    assert "not asked" in out and any(word in out for word in ("evidence", "illustration", "neither"))
    assert "(was there)" in cli(*asked)[1]
    code, out, _ = cli("believe", "first", "word1 is so good", "--method", "gradient")
    assert code == 0 and "4 words, pushed towards" in out and "it says nothing of other sentences" in out


def test_patch_steps_and_distance_print_their_tables(cli, trained):
    out = cli("patch", "first", "word1 is good", "word1 is bad")[1]
    assert "good ← bad" in out and "everything" in out and "head 2" in out and "layer 2" in out
    lines = cli("steps", "first", "word1 is good", "--layer", "1", "--head", "2")[1]
    assert "layer 1, head 2, A0" in lines and "14 Logits" in lines
    code, _, err = cli("steps", "first", " ")
    assert code == 1 and "knows no word" in err
    code, out, _ = cli("distance", "first", "Word1 is [not] {} good", "--insert", "so | so far")
    assert code == 0 and out.splitlines()[-4].split() == ["words", "first"]
    assert len(out.splitlines()[-1].split()) == 3


def test_flip_prints_the_replaced_words_and_the_text_literally(cli, trained):
    asked = "flip", "first", "Word1 is  good"
    shown = cli.json(*asked)
    [move] = shown["flip"]["moves"]
    code, out, err = cli(*asked)
    lines = out.splitlines()
    added = "" if move["with"] is None else f"{{+{move['with']}+}}"
    assert code == 0 and err.startswith("reading: ")
    assert lines[0].startswith("positive 0.") and lines[1] == f"Word1 is  [-good-]{added}"
    assert lines[2].startswith("negative 0.") and lines[3].startswith("proven: no smaller set of moves")
    assert lines[4].startswith("moves: of 3 words up to 3 deleted")
    assert lines[4].endswith(f"{shown['readings']} texts read")
    assert "[bold]:x:[/bold] [-good-]" in cli("flip", "first", "[bold]:x:[/bold] good")[1]
    assert "none found: not every set of moves was read" in cli("flip", "first", "good", "--readings", 1)[1]


def test_inspect_shows_pieces_of_unknown_words(cli, trained, tmp_path):
    table = tmp_path / "few.csv"
    others = ("film", "plot", "cast", "end", "song")
    rows = (f"so {word} {other},{word}" for word in ("good", "bad") for other in others)
    table.write_text("text,label\n" + "\n".join(rows) + "\n")
    small = ("model.width=8", "model.ngram_buckets=40", "training.epochs=1", "text.min_freq=1", "data.split=.6/.2/.2")
    cli("train", "--data", table, "--model", "vanilla", "--name", "spelling", *(x for s in small for x in ("--set", s)))
    asked = "inspect", "spelling", "so qqzz"
    assert cli.json(*asked)["pieces"][1] == ["<qq", "qqz", "qzz", "zz>", "<qqz", "qqzz", "qzz>", "<qqzz", "qqzz>"]
    assert "qqzz is not in the vocabulary, its pieces: <qq qqz qzz" in cli(*asked)[1]


def test_inspect_shows_the_mixture_and_can_remove_tfidf(cli, stirred, place):
    out = cli("inspect", "stirred", "so good")[1]
    assert "Network alone, counts 0.25: negative" in out and "TF-IDF alone, counts 0.75: negative" in out
    alone = cli.json("inspect", "stirred", "so good", "--edit", "mix.0")
    plain = cli.json("inspect", "first", "so good")
    assert alone["prediction"]["probabilities"] == pytest.approx(plain["prediction"]["probabilities"])
    assert alone["mix"]["weight"] == 1 and plain["mix"] is None
    code, _, told = cli("inspect", "first", "so good", "--edit", "mix.0")
    assert code == 2 and "--edit mix.0: this run has layers 1 to" in told and "TF-IDF" not in told


def test_presets_show_one_preset_in_full_at_given_sizes(cli):
    found = cli.json("presets", "tweet-v8-p2", "--vocabulary", "35000")
    assert (found["name"], found["parameters"]) == ("tweet-v8-p2", 7_835_911)
    assert found["source"] == "7ess-Xin, Table I, V8, phase 2"
    code, out, err = cli("presets", "tweet-v8-p2", "--vocabulary", "35000")
    assert code == 0, err
    assert "7\u202f835\u202f911 with 35\u202f000 tokens" in out and r"\tau" in out and found["nearest"] in out
    width = next(each for each in found["departures"] if each["what"] == "feed-forward width")
    assert width["here"] == "model.ff_width=192" and width["instead"] == "model.ff_width=288"
    assert "feed-forward width: ff_expansion=3, effective 1.5 of the width. Here model.ff_width=192" in out
    assert "(as the paper: --set model.ff_width=288)" in out


def test_figures_are_written_by_their_page_names(cli, trained, place, monkeypatch):
    result = cli.json("figures", "first", "--to", "figures", "--only", "learning, roc")
    assert [each["name"] for each in result["files"]] == ["learning", "roc"]
    assert {path.name for path in (place / "figures").iterdir()} == {"learning.html", "roc.html", "plotly.min.js"}
    monkeypatch.setattr(export, "FIGURES", {name: export.FIGURES[name] for name in ("confusion", "map-umap")})
    code, out, _ = cli("figures", "first", "--to", "figures")
    assert code == 0 and "confusion.html" in out and "without map-umap: it has not been computed" in out


WRONG = {
    "unknown paper": (["presets", "--paper", "sentifomer"], "did you mean 'sentiformer'?); there are ndt (NDT)"),
    "unknown preset to show": (["presets", "sentifomer"], "did you mean 'sentiformer'?"),
    "a preset and a paper": (["presets", "vanilla", "--paper", "ndt"], "not both"),
    "too few classes": (["presets", "vanilla", "--classes", "1"], "--classes 1: 2 to"),
    "many columns": (["data", "check", "wide.csv"], "the table has 2 001 columns; at most 2 000 columns are read"),
    "many columns to train on": (["train", "--data", "wide.csv", "--model", "tfidf-logreg"], "_LIMITS=columns="),
    "unknown encoding": (["data", "check", "reviews.csv", "--set", "data.encoding=zlib"], "'zlib'; use one of utf-8"),
    "a device": (["data", "check", "/dev/zero"], "/dev/zero"),
    "unknown preset": (["train", "--model", "ndt-01-n33"], "did you mean 'ndt-01-n3'"),
    "unknown setting": (["train", "--set", "training.lrr=1"], "did you mean 'training.lr'"),
    "no value": (["train", "--set", "training.lr"], "write name=value"),
    "unknown data": (["train", "--data", "sst22"], "sst2"),
    "missing file": (["train", "--data", "none/of.csv"], "of.csv"),
    "endless name": (["train", "--data", "x" * 5000], "at most 4096 characters"),
    "half a character": (["train", "--data", "\udcff"], "\\udcff"),
    "taken name": (["train", "--name", "first"], "a run 'first' already; choose another name"),
    "no cost": (["evaluate", "first", "--cost", "positive=much"], "--cost: write class=ratio"),
    "unknown run": (["evaluate", "nobody"], "no run 'nobody'"),
    "no run to show": (["runs", "show", "gone"], "no run 'gone'"),
    "nothing to cancel": (["runs", "cancel", "first"], "nothing to cancel"),
    "escaping run": (["predict", "../../etc", "x"], "no run"),
    "nothing to predict": (["predict", "first"], "nothing to predict"),
    "unknown split": (["evaluate", "first", "--split", "tset"], "test"),
    "figures without a place": (["figures", "first"], "Missing option '--to'"),
    "bad map": (["evaluate", "first", "--map", "0:1"], "old=new"),
    "resume a file": (["train", "--resume", "first", "--epochs", "3", "--data", "x"], "leave out --data, --epochs"),
    "no such option": (["train", "--modle", "x"], "No such option"),
    "no number": (["dashboard", "--port", "1e400", "--no-browser"], "--port"),
    "own data mixed": (["pretrain", "--data", "sst2", "--apart", "mine.csv"], "--data mine.csv: a registered data set"),
    "no such length": (["train", "--length", "a week"], "'short', 'medium', 'full'"),
    "no zip": (["runs", "import", "bad.zip"], "bad.zip: is not a zip file"),
    "no such layer": (["steps", "first", "good", "--layer", "7"], "layer 7: this model has layers 1 to 2"),
    "no such class": (["explain", "first", "good", "--target", "nice"], "has negative, positive"),
    "parts by a method": (["explain", "first", "good", "--parts", "--method", "deletion"], "leave --parts out"),
    "lambdas and parts": (["explain", "first", "good", "--lambdas", "--parts"], "one of them"),
    "believe a strange method": (["believe", "first", "--method", "lime"], "lime"),
    "believe of nothing": (["believe", "first", "--limit", "0"], "--limit 0"),
    "patch of other lengths": (["patch", "first", "word1 is good", "bad"], "3: word1 | is | good; the second 1: bad"),
    "flip to no class": (["flip", "first", "good", "--target", "nice"], "has negative, positive"),
    "flip without reading": (["flip", "first", "good", "--readings", "0"], "readings 0: from 1 to 4"),
    "too many words": (["distance", "first", "not good", "--most", "99"], "from 0 to"),
    "distance to no class": (["distance", "first", "not good", "--target", "nice"], "has negative, positive"),
    "distance against nobody": (["distance", "first", "not good", "--against", "nobody"], "nobody"),
    "no such map": (["project", "first", "--method", "mds"], "pca, tsne, umap"),
    "a map of no split": (["project", "first", "--split", "dev"], "it has test, validation"),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
def test_wrong_training_input_exits_with_code_2_and_leaves_no_run(cli, trained, place, arguments, words):
    (place / "bad.zip").write_bytes(b"no zip")
    (place / "wide.csv").write_text(("x," * 2_000 + "y\n") * 40)
    before = cli("runs", "list", "--json")[1]
    cli.refused(words, *arguments)
    assert cli("runs", "list", "--json")[1] == before


def test_run_without_weights_exits_with_code_1_and_names_the_file(cli, trained, place):
    shutil.copytree(place / "runs" / "first", place / "runs" / "bare")
    (place / "runs" / "bare" / "weights.safetensors").unlink()
    code, _, err = cli("predict", "bare", "x")
    assert code == 1 and "weights.safetensors" in err and "Traceback" not in err
    assert cli("runs", "rm", "bare")[0] == 0


def test_data_check_prints_findings_and_data_card_has_the_baseline(cli, place):
    (place / "few.csv").write_text("text,label\n" + "so good,fine\nso bad,poor\n" * 20)
    code, out, _ = cli("data", "check", "few.csv")
    assert code == 0 and "{" not in out
    assert "few.csv: csv (utf-8, columns divided by comma), 40 rows of 2 columns." in out
    assert "The texts are in 'text', the labels in 'label'." in out
    assert "Classes: fine (20 rows), poor (20 rows)." in out
    assert "few.csv can be used: 2 classes; rows: train 32, validation 4, test 4." in out
    (place / "few.csv").write_text("text,label\n" + "so good,fine\n" * 20)
    code, out, err = cli("data", "check", "few.csv")
    assert code == 2 and "every row has the label 'fine'" in err and "can be used: " not in out
    code, out, _ = cli("data", "check", "few.csv", "--json")
    assert code == 2 and not json.loads(out)["ok"]
    assert cli.json("data", "card", "reviews.csv")["yardstick"]["splits"]["test"]["accuracy"] > 0.9
    assert cli.json("data", "card", "reviews.csv", "--no-yardstick")["yardstick"] is None


def test_pretrained_encoder_can_start_another_training(cli):
    small = ("--set", "model.width=8", "--set", "model.ff_width=8", "--set", "training.masked_epochs=1")
    fast = ("--set", "training.epochs=1", "--set", "training.threads=1")
    pretraining = ("pretrain", "--data", "built-in", "--limit", 100, "--name", "general", "--no-texts")
    first, shown = cli.json(*pretraining, *small, *fast), cli.json("runs", "show", "general")
    assert (first["status"], first["recipe"]) == ("done", "pretrain") and shown["results"]["masked"]["epochs"] == 1
    assert shown["config"]["text"]["tokenizer"] == "bpe" and not shown["config"]["data"]["texts"]
    own = ("train", "--data", "reviews.csv", "--from", "general", "--model", "ndt-01-n2", "--name", "special")
    code, out, _ = cli(*own, *fast)
    assert code == 0
    assert "Started from 'general': " in out and "new, in whole or in part: query, key" in out
    started = cli.json("runs", "show", "special")
    assert started["config"]["text"]["tokenizer"] == "bpe" and started["config"]["model"]["width"] == 8


def test_differences_from_training_are_reported_only_if_there_are_any(cli, trained, place):
    for folder, more in (("same", ""), ("other", " with gears and valves that turn well")):
        write_splits(place / folder, 80, more)
    told = cli.json("data", "check", "other")["differences"]
    assert [(each["name"], bool(each["warnings"])) for each in told] == [("validation", False), ("test", True)]
    (row,) = [each for each in told[1]["measures"] if each["name"] == "length"]
    assert row["differs"] and row["test"] == "permutation test" and row["interval"][0] > 0
    out = " ".join(cli("data", "check", "other")[1].split())
    assert "Warning: Compared with training, test has longer texts: typically 10 words, not 3" in out
    assert "Compared with training" not in cli("data", "check", "same")[1]
    known = cli.json("evaluate", "first")["differences"]
    assert (known["name"], known["known"], known["warnings"]) == ("test", "training", [])
