import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.api.public_classes import Run
from core.runs.store import RunStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counter")
    rows = [(f"sentence number {n} is {('bad', 'good')[n % 2]}", ("minus", "plus")[n % 2]) for n in range(80)]
    pd.DataFrame(rows, columns=["text", "label"]).to_csv(folder / "own.csv", index=False)
    random = np.random.default_rng(0)
    words = [" ".join(random.choice(["a", "b", "good", "bad", "film", "day"], 6)) for _ in range(400)]
    table = pd.DataFrame({"text": words, "label": ["minus", "plus"] * 200})
    table.loc[300:, "text"] += " tomorrow"
    (folder / "own").mkdir()
    for name, rows in (("train", slice(250)), ("validation", slice(250, 300)), ("test", slice(300, None))):
        table[rows].to_csv(folder / "own" / f"{name}.csv", index=False)
    return folder


def test_stored_counter_examples_are_used_in_training_but_not_in_metrics(cli, place):
    train = ("train", "--data", "own.csv", "--model", "tfidf-logreg")
    assert "examples" not in cli.json(*train, "--name", "plain")
    cli.refused("no counter-examples are stored yet", *train, "--add", "counter-examples")
    for text, label in (("not bad at all", "plus"), ("=hardly good", "minus"), ("sentence number 0 is bad", "plus")):
        assert cli("counter-examples", "keep", text, "--label", label, "--author", "ann", "--run", "plain")[0] == 0
    wrong = ("counter-examples", "keep", "x", "--label", "so so", "--run", "plain")
    cli.refused("run 'plain' has no such class; it has minus, plus", *wrong)
    along = cli.json(*train, "--name", "along", "--add", "counter-examples")
    plain, run = (Run(name, RunStore(place / "runs")) for name in ("plain", "along"))
    asked = {each["text"]: each for each in cli.json("counter-examples", "list", "--run", "along")["counter_examples"]}
    chances = run.predict(["not bad at all"])["predictions"][0]["probabilities"]
    assert asked["not bad at all"]["p_label"] == pytest.approx(chances["plus"])
    assert asked["not bad at all"]["breaks"] is (max(chances, key=chances.get) != "plus")
    file = Path(run.config.data.examples)
    assert along["examples"] == {"rows": along["examples"]["rows"], "digest": file.stem} and file.is_file()
    assert f"counter-examples: {along['examples']['rows']} rows joined train" in along["data_notes"]
    assert along["examples"]["rows"] in (2, 3), "the third may be a text of another split, then it stays out"
    kept = {each["text"] for each in json.loads(file.read_text())}
    for split in ("validation", "test"):
        pd.testing.assert_series_equal(run.predictions(split)["text"], plain.predictions(split)["text"])
        assert not kept & {*run.predictions(split)["text"]} - {*plain.predictions(split)["text"]}
        assert not {"not bad at all", "=hardly good"} & {*run.predictions(split)["text"]}
    cli("counter-examples", "keep", "later", "--label", "plus")
    assert run.evaluate(split="test")["metrics"] == run.metrics["test"], "a list that has grown changes no run"


def test_counter_examples_are_listed_exported_and_removed(cli, place):
    for text in ("later", "=hardly good"):
        assert cli("counter-examples", "keep", text, "--label", "minus", "--note", "so")[0] == 0
    rows = cli.json("counter-examples", "list")["counter_examples"]
    assert {"later", "=hardly good"} <= {row["text"] for row in rows}
    code, out, _ = cli("counter-examples", "export", "list.csv")
    table = pd.read_csv(place / "list.csv")
    assert code == 0 and len(table) == len(rows) and "'=hardly good" in set(table["text"])
    assert cli("counter-examples", "rm", rows[0]["id"])[0] == 0
    code, out, _ = cli("counter-examples", "list")
    assert f"{len(rows) - 1} counter-example" in out and cli("counter-examples", "rm", rows[0]["id"])[0] == 2


def test_words_that_only_the_test_split_has_are_found_and_cached(cli):
    assert cli("train", "--data", "own", "--model", "tfidf-logreg", "--name", "one")[0] == 0
    code, out, err = cli("shift", "one", "--json")
    found = json.loads(out)
    assert code == 0 and "telling the split from training" in err
    assert found["auc"]["interval"] == [1.0, 1.0] and found["words"][0]["words"] == "tomorrow"
    assert found["words"][0]["split"] == 100 and found["words"][0]["training"] == 0
    again = cli("shift", "one", "--json")
    assert again[1] == out and again[2] == "", "it is kept"
    code, out, _ = cli("shift", "one", "--split", "validation")
    assert code == 0 and "TF-IDF cannot tell them apart" in out and "More often in validation" in " ".join(out.split())
    cli.refused("no predictions of a split 'nowhere'", "shift", "one", "--split", "nowhere")
