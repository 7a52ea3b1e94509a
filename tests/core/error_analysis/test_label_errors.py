import numpy as np
import pandas as pd
import pytest
from answering import answering
from several import LABELS, several_labels_file

from core.api.public_classes import run, train
from core.data.dataset import TRAIN
from core.error_analysis.label_errors import find_label_errors, group_conflicts, score_labels
from core.error_analysis.predictions_table import hash_texts, read_table
from core.evaluation import baseline as yardsticks
from core.evaluation.baseline import fit_baseline
from core.runs import distillation
from core.runs.lineage import load_trained_data
from core.runs.store import RunStore

pytestmark = pytest.mark.slow
TINY = {"model.width": 8, "model.ff_width": 8, "training.batch_size": 8, "training.threads": 1, "text.min_freq": 1}


@pytest.mark.slow  # the import alone takes two seconds
@pytest.mark.parametrize("classes", [2, 3, 20])
def test_label_errors_equal_cleanlab(classes):
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_self_confidence_for_each_label, order_label_issues

    random = np.random.default_rng(classes)
    chances, labels = random.dirichlet(np.ones(classes) / 2, 400), random.integers(0, classes, 400)
    found = score_labels(labels, chances)
    issues = find_label_issues(labels, chances, filter_by="confident_learning", n_jobs=1)
    assert found.likely.tolist() == issues.tolist() and 0 < issues.sum() < 400
    assert found.confidence == pytest.approx(get_self_confidence_for_each_label(labels, chances))
    ranked = order_label_issues(issues, labels, chances, rank_by="self_confidence")
    assert [row for row in found.order if found.likely[row]] == ranked.tolist()
    others = chances.copy()
    others[np.arange(400), labels] = -1
    assert found.margin == pytest.approx(chances[np.arange(400), labels] - others.max(1))
    confident = chances >= [chances[labels == number, number].mean() for number in range(classes)]
    assert (found.label == np.where(found.likely, np.where(confident, chances, -1).argmax(1), others.argmax(1))).all()


def test_unused_classes_are_never_suggested_and_labels_are_binary():
    chances = np.array([[0.1, 0.2, 0.7], [0.9, 0.05, 0.05], [0.2, 0.7, 0.1]])
    assert not score_labels(np.array([0, 0, 1]), chances).likely.any()
    one = score_labels(np.zeros(3, int), chances)
    assert not one.likely.any() and one.margin[0] == pytest.approx(-0.6)
    has = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    chances = np.array([[0.9, 0.1], [0.8, 0.95], [0.1, 0.9], [0.05, 0.8], [0.1, 0.2]])
    found = score_labels(has, chances)
    assert found.likely.tolist() == [False, True, False, False, False]
    assert found.label[1] == 1 and found.margin[1] == pytest.approx(2 * (1 - 0.95) - 1) and found.order[0] == 1


def test_label_conflicts_equal_pandas():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"text": random.integers(0, 40, 90).astype(str), "label": random.integers(0, 2, 90)})
    found = group_conflicts(frame["text"].tolist(), frame["label"].tolist())
    groups = {text: rows.tolist() for text, rows in frame.groupby("text", sort=False).groups.items()}
    several = frame.groupby("text")["label"].nunique() > 1
    assert found == [rows for text, rows in groups.items() if several[text]] and group_conflicts([], []) == []


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Label errors in a file of 240 rows with six wrong labels and one text with both labels."""
    place = tmp_path_factory.mktemp("doubted")
    words = {"yes": "good fine great lovely", "no": "bad poor awful dull"}
    random = np.random.default_rng(0)
    rows = []
    for number in range(240):
        label = ("yes", "no")[number % 2]
        text = f"film {number} was {' and '.join(random.choice(words[label].split(), 3))}"
        wrong = number % 40 == 7
        rows.append((text, {"yes": "no", "no": "yes"}[label] if wrong else label, wrong))
    rows += [("the same again", "yes", False), ("The same AGAIN", "no", False)]
    lines = [f"{text},{label},{wrong}" for text, label, wrong in rows]
    (place / "films.csv").write_text("text,label,planted\n" + "\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("SENTISCOPE_RUNS", str(place / "runs"))
        here.setenv("SENTISCOPE_CACHE", str(place / "cache"))
        made = train(str(place / "films.csv"), "vanilla", TINY, epochs=1, name="films")
        heard = []
        first = made.errors(label_errors=True, on_progress=lambda what, share: heard.append(what))["label_errors"]
        assert list(dict.fromkeys(heard)) == ["fitting TF-IDF", "cross-fitting TF-IDF"]
        times = len(heard)
        again = run("films").errors(label_csv=place / "doubted.csv", on_progress=lambda what, share: heard.append(what))
        assert again["label_errors"] == first and len(heard) == times  # kept
        assert pd.read_csv(place / "doubted.csv")["key"].tolist() == [row["key"] for row in first["rows"]]
        return first, load_trained_data(made.record)


def test_planted_label_errors_come_first_and_conflicts_list_their_rows(found):
    result, dataset = found
    rows = {split: dataset.splits[split].query("planted == 'True'") for split in (TRAIN, "test")}
    planted = {text: split for split, wrong in rows.items() for text in wrong["text"]}
    listed = {row["text"]: row for row in result["rows"]}
    assert len(planted) >= 4 and len(set(planted) & set(listed)) >= 4
    assert set(list(listed)[:4]) <= set(planted)
    for text, split in ((text, split) for text, split in planted.items() if text in listed):
        assert listed[text]["split"] == split and listed[text]["true"] != listed[text]["likelier"]
        assert listed[text]["p_likelier"] > listed[text]["p_true"] and listed[text]["key"] == hash_texts([text])[0]
    assert [row["p_true"] for row in result["rows"]] == sorted(row["p_true"] for row in result["rows"])
    assert result["n"] == {split: len(dataset.splits[split]) for split in (TRAIN, "test")}
    likely = sum(row["likely"] for row in result["rows"])
    assert 0 < likely <= sum(result["likely"].values()) and result["left_out"] == ""
    (conflict,) = result["conflicts"]
    assert conflict["labels"] == {"yes": 1, "no": 1} and len(conflict["rows"]) == 2
    for row in conflict["rows"]:
        assert dataset.splits[row["split"]]["text"][row["row"]].lower() == "the same again"


def test_the_cached_tfidf_is_used_and_only_folds_are_fitted(monkeypatch, found):
    _, dataset = found
    fit_baseline(dataset, distillation.PRESET)
    rows, fit, given = dataset.splits["test"], distillation.fit_linear, []
    monkeypatch.setattr(yardsticks, "fit_linear", lambda *args, **options: pytest.fail("it is kept"))
    monkeypatch.setattr(
        distillation, "fit_linear", lambda *args, **options: given.append(options["chosen"]) or fit(*args, **options)
    )
    store = RunStore()
    answering(store, "one", np.full((len(rows), 2), 0.5), rows, classes=dataset.classes)
    find_label_errors(read_table(store, "one"), dataset, lambda what, share: None)
    assert given == [fit_baseline(dataset, distillation.PRESET)["C"]] * distillation.FOLDS


def test_multi_label_suggestions_differ_in_one_label(tmp_path):
    made = train(str(several_labels_file(tmp_path / "many.csv", 240)), "vanilla", TINY, epochs=1, name="many")
    result = made.errors(label_errors=True)["label_errors"]
    assert result["left_out"] == "" and set(result["n"]) == {TRAIN, "test"}
    for row in result["rows"]:
        before, after = (set(row[name].split(", ")) - {"none of them"} for name in ("true", "likelier"))
        assert before == set(LABELS) & set(row["text"].split()), "its words are its labels"
        assert len(before ^ after) == 1 and row["p_true"] + row["p_likelier"] == pytest.approx(1)
