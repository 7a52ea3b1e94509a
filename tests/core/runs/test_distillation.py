import dataclasses

import numpy as np
import pandas as pd
import pytest
from refused import check_raises
from waiting import cancel_at

from core.cache import get_cache_folder
from core.config import compose
from core.data.dataset import TRAIN, VALIDATION, Dataset
from core.data.load import load_dataset
from core.exceptions import Cancelled, ConfigError
from core.runs import archive, distillation, training_jobs
from core.runs.configuration import check_classes, find_teacher
from core.runs.cost_estimate import estimate_time
from core.runs.load import load_run
from core.runs.record import WEIGHTS
from core.runs.sweep import Plan, save
from core.runs.training_jobs import execute
from core.text.config import TextConfig

LOWER, CLEAN = TextConfig(), TextConfig(normaliser="tweet-clean")


def make_texts(count=200):
    """Return texts of which every fourth repeats another in capitals or with other punctuation."""
    random = np.random.default_rng(0)
    numbers = (" ".join(map(str, [*random.integers(0, 40, 6), 1000 + row])) for row in range(count))
    found = [each.translate(str.maketrans("0123456789", "abcdefghij")) for each in numbers]
    for row in range(0, count - 8, 4):
        found[row] = found[row + 7].upper() if row % 8 else found[row + 7] + " ."
    return found


def dataset(said, labels, task="single"):
    rows = pd.DataFrame({"text": said, "label": labels})
    splits = {TRAIN: rows, VALIDATION: rows.iloc[:20].reset_index(drop=True)}
    return Dataset("mine", splits, ("no", "yes"), "f", task=task)


def test_folds_are_stratified_and_repeats_share_one():
    said, labels = make_texts(), np.arange(200) % 3
    found = distillation.assign_folds(said, labels, (LOWER, CLEAN), 0)
    for row in range(0, 192, 4):
        assert found[row] == found[row + 7]
    assert set(found) == set(range(5))
    for label in range(3):
        sizes = np.bincount(found[labels == label], minlength=5)
        assert sizes.max() - sizes.min() <= 10
    assert np.array_equal(found, distillation.assign_folds(said, labels, (LOWER, CLEAN), 0))
    assert not np.array_equal(found, distillation.assign_folds(said, labels, (LOWER, CLEAN), 1))
    said = [f"w{row}" for row in range(100)]
    single = np.repeat([0, 1], [80, 20])
    for labels in (single, np.eye(2)[single]):
        found = distillation.assign_folds(said, labels, (LOWER,), 0)
        assert np.bincount(found[:80]).tolist() == [16] * 5 and np.bincount(found[80:]).tolist() == [4] * 5


@pytest.mark.slow
def test_soft_labels_come_from_fits_without_the_row_or_its_repeats(monkeypatch):
    said = make_texts()
    seen, told = [], []

    def watch(name, place, rows):
        real = getattr(distillation, name)
        monkeypatch.setattr(distillation, name, lambda *given, **how: rows.append(given[place]) or real(*given, **how))

    watch("fit_linear", 0, seen)
    watch("predict_texts", 2, told)

    def stop():
        raise Cancelled("cancelled")

    with pytest.raises(Cancelled):  # between two fits a person may stop it
        distillation.cross_fit_tfidf(dataset(said, np.arange(200) % 2), LOWER, 0, stop)
    found = distillation.cross_fit_tfidf(dataset(said, np.arange(200) % 2), LOWER, 0, lambda: None)
    assert found.shape == (200, 2) and found.sum(1) == pytest.approx(1)
    assert sorted(text for rows in told for text in rows) == sorted(said)
    for known, rows in zip(seen, told, strict=True):
        read = {text.lower() for text in known}
        assert not [text for text in rows if text.lower() in read]


@pytest.mark.slow
def test_multi_label_teachers_give_each_label():
    labels = [((0,), (1,), (0, 1), ())[row % 4] for row in range(80)]
    pairs = [("blue" if 0 in each else "grey", "sky" if 1 in each else "sea") for each in labels]
    said = [f"{first} {second} w{row}" for row, (first, second) in enumerate(pairs)]
    found = distillation.cross_fit_tfidf(dataset(said, labels, "multi"), LOWER, 0, lambda: None)
    assert ((found > 0.5) == [[0 in each, 1 in each] for each in labels]).all()


@pytest.mark.slow
def test_teacher_runs_predict_the_same_texts_once(store, tiny, monkeypatch):
    run = store.create(tiny("tfidf-logreg"), "tfidf-logreg", "mistress").run
    execute(store, run)
    config = tiny("vanilla", **{"training.teacher": "mistress"})
    data, asked, pauses = load_dataset(config.data), [], []
    expected = load_run(store, run).predict(data.splits[TRAIN]["text"].tolist()).probabilities
    monkeypatch.setattr(distillation, "load_run", lambda *given: asked.append(given) or load_run(*given))
    monkeypatch.setattr(distillation, "PORTION", 16)

    def stop_at_the_third():
        pauses.append(1)
        if len(pauses) == 3:
            raise Cancelled

    def said(name, dataset, pause=lambda: None):
        (store.folder / name).mkdir(exist_ok=True)
        return distillation.get_soft_labels(store, store.folder / name, config, dataset, pause)

    with pytest.raises(Cancelled):  # it reads in portions and can be stopped between them
        said("first", data, stop_at_the_third)
    assert not (store.folder / "first" / distillation.FILE).exists()
    first = said("first", data)
    assert first == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(said("second", data), first) and len(asked) == 2
    turned = dataclasses.replace(data, classes=data.classes[::-1])
    assert np.array_equal(said("turned", turned), first[:, [1, 0]]), "in the order of our classes"
    fewer = load_dataset(dataclasses.replace(config.data, limit=30))
    assert len(said("of others", fewer)) == len(fewer.splits[TRAIN]) and len(asked) == 4
    for kept in get_cache_folder().glob("taught-*"):
        kept.write_bytes(kept.read_bytes()[:100])  # a damaged one is made again
    assert np.array_equal(said("third", data), first) and len(asked) == 5
    (store.get_path(run) / WEIGHTS).unlink()  # the teacher is not needed any more: its predictions are stored
    assert np.array_equal(said("first", data), first)


def test_weak_teachers_have_a_warning():
    labels = np.array([0, 0, 0, 1, 1])
    right = np.eye(2)[labels]
    assert distillation.describe_doubt(right, labels) == distillation.describe_doubt(np.eye(2)[[0] * 5], labels) == ()
    assert distillation.describe_doubt(1 - right, np.eye(2)[labels]) == ()
    (note,) = distillation.describe_doubt(np.eye(2)[[1, 1, 0, 1, 0]], labels)
    assert note.startswith(
        "teacher: agrees with 40 % of the training labels, and the most frequent class alone with 60 %"
    )


def test_invalid_teachers_are_refused(store, tiny, tmp_path):
    waiting = store.create(tiny("vanilla"), "vanilla", "waiting")
    for name, why in (("waiting", "this run is queued"), ("nobody", "the name of a finished run; no run 'nobody'")):
        config = tiny("vanilla", **{"training.teacher": name})
        check_raises(ConfigError, rf"training\.teacher={name}: .*{why}", find_teacher, config, store)
        check_raises(ConfigError, name, training_jobs.submit, store, config, "vanilla")
        check_raises(ConfigError, name, save, store, Plan("study", ("vanilla",), settings={"training.teacher": name}))
    assert [record.run for record in store.list()] == ["waiting"]
    done = dataclasses.replace(waiting, status="done", classes=("bad", "good"))
    check_classes(done, ("good", "bad"), "single")
    with pytest.raises(
        ConfigError, match="its classes are bad, good, those of these data no, yes; give them the same names"
    ):
        check_classes(done, ("no", "yes"), "single")
    with pytest.raises(ConfigError, match="knows one label per text, and these data have several labels"):
        check_classes(done, ("bad", "good"), "multi")
    teachers = "", "tfidf", "starter-vanilla"
    none, tfidf, run = (estimate_time(compose("vanilla", {"training.teacher": each}), []).seconds for each in teachers)
    assert none < run < tfidf, "lessons take their time"
    record = store.create(tiny("vanilla", **{"training.teacher": "mistress"}), "vanilla", "mine")
    store.update(record.run, status="cancelled")
    archive.export_file(store, "mine", tmp_path / "mine.zip")
    came = store.read(archive.import_run(store, tmp_path / "mine.zip"))
    assert came.config.training.teacher == "elsewhere:mistress", "no run of that name here"
    assert "'mistress'" in came.foreign_reason and "--set training.teacher=RUN" in came.foreign_reason


@pytest.mark.slow
def test_distilled_trainings_resume_identically(store, tiny, monkeypatch):
    config = tiny("vanilla", **{"training.teacher": "tfidf", "training.vectors": "ppmi", "training.word_dropout": 0.1})
    whole, cut = (store.create(config, "vanilla", name).run for name in ("whole", "cut"))
    told = []
    execute(store, whole, on_event=lambda event: told.append(event["kind"]))
    assert told.index("tokenizer") < told.index("teacher") < told.index("vectors") < told.index("training")
    assert execute(store, cut, on_event=cancel_at(store, cut, 16)).status == "cancelled"
    assert (store.get_path(cut) / distillation.FILE).is_file()
    monkeypatch.setattr(distillation, "cross_fit_tfidf", None)  # asked once only
    assert execute(store, cut).status == "done"
    first, second = ((store.get_path(run) / WEIGHTS).read_bytes() for run in (whole, cut))
    assert first == second and not (store.get_path(cut) / distillation.FILE).exists()


def test_teachers_say_the_same_of_sentences_that_differ_only_in_the_group():
    rows = pd.DataFrame(
        {
            "text": ["A gay man came.", "An Asian man came.", "A gay man left.", "A gay man came."],
            "corpus": ["people", "people", "people", "life"],
        }
    )
    said = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], np.float32)
    found = distillation._average_groups(said, rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0.7, 0.3], [0.7, 0.3], [0.2, 0.8], [0.9, 0.1]], rtol=1e-6)
    assert distillation._average_groups(said, rows[["text"]]) is said
