"""The fit of a lexicon before training: counts by hand, and the command."""

import pandas as pd
import pytest

from core.data.dataset import Dataset
from core.error_analysis.lexicon_fit import fit_lexicon
from core.evaluation.intervals import compute_wilson

TEXTS = ["a good film", "a bad film", "good and bad", "the day", "a bad day", "so good"]


@pytest.fixture
def lexicon(tmp_path) -> str:
    (tmp_path / "words.csv").write_text("word,polarity\ngood,1\nbad,-1\n")
    return str(tmp_path / "words.csv")


def make_dataset(labels, classes=("negative", "positive"), **more) -> Dataset:
    rows = pd.DataFrame({"text": TEXTS, "label": labels})
    return Dataset(name="d", classes=classes, splits={"train": rows}, fingerprint="", **more)


def test_coverage_agreement_and_neutral_tokens_are_counted(lexicon):
    found = fit_lexicon(lexicon, make_dataset([1, 0, 1, 0, 1, 1]))
    assert found["coverage"] == pytest.approx(6 / 16) and found["texts_covered"] == pytest.approx(5 / 6)
    assert (found["decided"], found["agreement"], found["larger"]) == (4, 0.75, 0.75)  # “good and bad” sums to 0
    assert found["interval"] == list(compute_wilson(3, 4)) and found["reason"] == ""
    found = fit_lexicon(lexicon, make_dataset([1, 0, 1, 0, 1, 1], ("sport", "music")))
    assert found["agreement"] is None and "classes without a polarity" in found["reason"]
    assert found["coverage"] == pytest.approx(6 / 16)
    rows = fit_lexicon(lexicon, make_dataset([1, 0, 1, 0, 1, 1]))["neutral"]
    assert [(row["data"], row["tokenizer"]) for row in rows] == [("d", "word"), ("d", "bpe")]
    assert (rows[0]["tokens"], rows[0]["value"]) == (16, pytest.approx(10 / 16))
    assert rows[0]["interval"][0] < 10 / 16 < rows[0]["interval"][1]
