"""`sentiscope shift`: computed once and stored; error messages."""

import json

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("shift"), np.random.default_rng(0)
    rows = [
        (" ".join(random.choice(["a", "b", "good", "bad", "film", "day"], 6)), ("minus", "plus")[n % 2])
        for n in range(400)
    ]
    split = ["train"] * 250 + ["validation"] * 50 + ["test"] * 100
    table = pd.DataFrame(rows, columns=["text", "label"]).assign(split=split)
    table.loc[table["split"] == "test", "text"] += " tomorrow"
    for name, part in table.groupby("split"):
        (folder / "own").mkdir(exist_ok=True)
        part[["text", "label"]].to_csv(folder / "own" / f"{name}.csv", index=False)
    return folder


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
