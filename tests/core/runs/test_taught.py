"""What a training learns of a teacher, and which teachers are refused."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from waiting import cancel_at

from core.cache import cache_folder
from core.config import compose
from core.data.load import load
from core.data.table import TRAIN, VALIDATION, Dataset
from core.exceptions import Cancelled, ConfigError
from core.runs import archive, jobs, taught
from core.runs.budget import estimate
from core.runs.load import load_run
from core.runs.record import WEIGHTS
from core.runs.start import check_classes, teacher_of
from core.runs.sweep import Plan, save
from core.runs.worker import execute
from core.text.config import TextConfig
from core.training import stage

LOWER, CLEAN = TextConfig(), TextConfig(normaliser="tweet-clean")


def word(number):
    """Of letters only, which no normaliser removes."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def texts(count=200):
    """Every fourth says what another says, in capitals or with other marks."""
    random = np.random.default_rng(0)
    found = [" ".join(map(word, [*random.integers(0, 40, 6), 1000 + row])) for row in range(count)]
    for row in range(0, count - 8, 4):
        found[row] = found[row + 7].upper() if row % 8 else found[row + 7] + " ."
    return found


def dataset(said, labels, task="single"):
    rows = pd.DataFrame({"text": said, "label": labels})
    return Dataset(
        "mine", {TRAIN: rows, VALIDATION: rows.iloc[:20].reset_index(drop=True)}, ("no", "yes"), "f", task=task
    )


def test_repeats_are_in_one_fold_and_folds_hold_the_classes_alike():
    said, labels = texts(), np.arange(200) % 3
    found = taught.folds(said, labels, (LOWER, CLEAN), 0)
    for row in range(0, 192, 4):
        assert found[row] == found[row + 7]
    assert set(found) == set(range(5))
    for label in range(3):
        sizes = np.bincount(found[labels == label], minlength=5)
        assert sizes.max() - sizes.min() <= 10
    assert np.array_equal(found, taught.folds(said, labels, (LOWER, CLEAN), 0))
    assert not np.array_equal(found, taught.folds(said, labels, (LOWER, CLEAN), 1))


def test_without_repeats_each_fold_has_a_fifth_of_every_class_and_of_every_set_of_labels():
    said = [f"w{row}" for row in range(100)]
    single = np.repeat([0, 1], [80, 20])
    several = np.eye(2)[single]
    for labels in (single, several):
        found = taught.folds(said, labels, (LOWER,), 0)
        assert np.bincount(found[:80]).tolist() == [16] * 5 and np.bincount(found[80:]).tolist() == [4] * 5


@pytest.mark.slow
def test_no_row_is_taught_by_a_fit_that_has_seen_it_or_a_repeat(monkeypatch):
    said = texts()
    seen, told = [], []
    fitted, asked = taught.fit_linear, taught.predict_texts
    monkeypatch.setattr(
        taught, "fit_linear", lambda rows, *more, **how: seen.append(set(rows)) or fitted(rows, *more, **how)
    )
    monkeypatch.setattr(
        taught,
        "predict_texts",
        lambda model, tokenizer, rows, **how: told.append(rows) or asked(model, tokenizer, rows, **how),
    )
    found = taught.cross_fitted(dataset(said, np.arange(200) % 2), LOWER, 0, lambda: None)
    assert found.shape == (200, 2) and found.sum(1) == pytest.approx(1)
    assert sorted(text for rows in told for text in rows) == sorted(said)
    for known, rows in zip(seen, told, strict=True):
        read = {text.lower() for text in known}
        assert not [text for text in rows if text.lower() in read]


@pytest.mark.slow
def test_labels_that_are_noise_are_not_given_away():
    """A fit that had seen its rows would know them by their own word; this one knows nothing."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 300)
    said = [f"{' '.join(f'v{n}' for n in random.integers(0, 9, 4))} own{row} own{row}" for row in range(300)]
    found = taught.cross_fitted(dataset(said, labels), LOWER, 0, lambda: None)
    assert abs((found.argmax(1) == labels).mean() - 0.5) < 0.1


@pytest.mark.slow
def test_of_several_labels_each_is_taught_by_itself():
    labels = [((0,), (1,), (0, 1), ())[row % 4] for row in range(80)]
    said = [
        f"{'blue' if 0 in each else 'grey'} {'sky' if 1 in each else 'sea'} w{row}" for row, each in enumerate(labels)
    ]
    found = taught.cross_fitted(dataset(said, labels, "multi"), LOWER, 0, lambda: None)
    assert ((found > 0.5) == [[0 in each, 1 in each] for each in labels]).all()


@pytest.mark.slow
def test_a_run_that_teaches_reads_in_portions_and_can_be_stopped_between_them(store, tiny, monkeypatch):
    execute(store, store.create(tiny("tfidf-logreg"), "tfidf-logreg", "mistress").run)
    config = tiny("vanilla", **{"training.teacher": "mistress"})
    data = load(config.data)
    whole, portions = [store.folder / name for name in ("whole", "portions")]
    whole.mkdir(), portions.mkdir()
    monkeypatch.setattr(taught, "PORTION", 10**6)
    expected = taught.taught(store, whole, config, data, lambda: None)
    monkeypatch.setattr(taught, "PORTION", 16)
    for kept in cache_folder().glob("taught-*"):
        kept.unlink()
    asked = []

    def stop_at_the_third():
        asked.append(1)
        if len(asked) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        taught.taught(store, portions, config, data, stop_at_the_third)
    assert not (portions / taught.FILE).exists()
    assert taught.taught(store, portions, config, data, lambda: None) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_a_run_that_teaches_many_is_asked_once_for_the_same_texts(store, tiny, monkeypatch):
    config = tiny("vanilla", **{"training.teacher": "mistress"})
    execute(store, store.create(tiny("tfidf-logreg"), "tfidf-logreg", "mistress").run)
    data, asked = load(config.data), []
    monkeypatch.setattr(taught, "load_run", lambda *given: asked.append(given) or load_run(*given))

    def said(name, dataset):
        (store.folder / name).mkdir()
        return taught.taught(store, store.folder / name, config, dataset, lambda: None)

    first = said("first", data)
    assert np.array_equal(said("second", data), first) and len(asked) == 1
    fewer = load(dataclasses.replace(config.data, limit=30))
    assert len(said("of others", fewer)) == len(fewer.splits[TRAIN]) and len(asked) == 2
    [whole, _] = sorted(cache_folder().glob("taught-*"), key=lambda path: path.stat().st_size, reverse=True)
    whole.write_bytes(whole.read_bytes()[:100])  # a damaged one is made again
    assert np.array_equal(said("third", data), first) and len(asked) == 3


@pytest.mark.slow
def test_a_finished_run_teaches_by_its_probabilities_in_the_order_of_our_classes(store, tiny):
    config = tiny("tfidf-logreg")
    run = store.create(config, "tfidf-logreg", "mistress").run
    execute(store, run)
    data = load(config.data)
    turned = dataclasses.replace(data, classes=data.classes[::-1])
    config = tiny("vanilla", **{"training.teacher": "mistress"})
    expected = load_run(store, run).predict(data.splits[TRAIN]["text"].tolist()).probabilities
    for name, each, columns in (("a", data, [0, 1]), ("b", turned, [1, 0])):
        folder = store.folder / name
        folder.mkdir()
        found = taught.taught(store, folder, config, each, lambda: None)
        assert np.array_equal(found, expected[:, columns])
    (store.path(run) / WEIGHTS).unlink()  # it may go while the other trains: what it said is kept
    assert np.array_equal(taught.taught(store, store.folder / "a", config, data, lambda: None), expected)


def test_a_teacher_that_knows_less_than_the_most_frequent_class_is_told():
    labels = np.array([0, 0, 0, 1, 1])
    right = np.eye(2)[labels]
    assert taught.describe_doubt(right, labels) == taught.describe_doubt(np.eye(2)[[0] * 5], labels) == ()
    assert taught.describe_doubt(1 - right, np.eye(2)[labels]) == ()
    (note,) = taught.describe_doubt(np.eye(2)[[1, 1, 0, 1, 0]], labels)
    assert note.startswith(
        "teacher: agrees with 40 % of the training labels, and the most frequent class alone with 60 %"
    )


def test_teachers_that_make_no_sense_are_refused_by_name(store, tiny):
    waiting = store.create(tiny("vanilla"), "vanilla", "waiting")
    for name, why in (("waiting", "this run is queued"), ("nobody", "the name of a finished run; no run 'nobody'")):
        config = tiny("vanilla", **{"training.teacher": name})
        with pytest.raises(ConfigError, match=rf"training\.teacher={name}: .*{why}"):
            teacher_of(config, store)
        with pytest.raises(ConfigError, match=name):
            jobs.submit(store, config, "vanilla")
        with pytest.raises(ConfigError, match=name):
            save(store, Plan("study", ("vanilla",), settings={"training.teacher": name}))
    assert [record.run for record in store.list()] == ["waiting"]
    done = dataclasses.replace(waiting, status="done", classes=("bad", "good"))
    check_classes(done, ("good", "bad"), "single")
    with pytest.raises(ConfigError, match="its classes are bad, good, those of these data no, yes; name them alike"):
        check_classes(done, ("no", "yes"), "single")
    with pytest.raises(ConfigError, match="knows one label per text, and these data have several labels"):
        check_classes(done, ("bad", "good"), "multi")
    with pytest.raises(ConfigError, match=r"training\.teacher_weight=0\.5: there is no teacher"):
        compose("vanilla", {"training.teacher_weight": 0.5})
    with pytest.raises(ConfigError, match=r"teacher='\.\./x': tfidf, or the name of a run"):
        compose("vanilla", {"training.teacher": "../x"})
    with pytest.raises(ConfigError, match="solved in one go"):
        compose("tfidf-logreg", {"training.teacher": "tfidf"})


@pytest.mark.slow
def test_a_taught_training_resumes_to_the_bit_and_leaves_no_lessons_behind(store, tiny, monkeypatch):
    monkeypatch.setattr(stage, "CHECKPOINT_SECONDS", 0.0)
    config = tiny("vanilla", **{"training.teacher": "tfidf", "training.vectors": "ppmi", "training.word_dropout": 0.1})
    whole, cut = (store.create(config, "vanilla", name).run for name in ("whole", "cut"))
    told = []
    execute(store, whole, on_event=lambda event: told.append(event["kind"]))
    assert told.index("tokenizer") < told.index("teacher") < told.index("vectors") < told.index("training")
    assert execute(store, cut, on_event=cancel_at(store, cut, 16)).status == "cancelled"
    assert (store.path(cut) / taught.FILE).is_file()
    monkeypatch.setattr(taught, "cross_fitted", None)  # asked once only
    assert execute(store, cut).status == "done"
    first, second = ((store.path(run) / WEIGHTS).read_bytes() for run in (whole, cut))
    assert first == second
    assert not (store.path(cut) / taught.FILE).exists()


def test_between_two_fits_a_person_may_stop_it():
    def stop():
        raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        taught.cross_fitted(dataset(texts(), np.arange(200) % 2), LOWER, 0, stop)


def test_lessons_take_their_time():
    plain, tfidf, run = (
        estimate(compose("vanilla", {"training.teacher": each}), []).seconds
        for each in ("", "tfidf", "starter-vanilla")
    )
    assert plain < run < tfidf


def test_an_exported_run_does_not_take_a_run_of_that_name_for_its_teacher(store, tiny, tmp_path):
    record = store.create(tiny("vanilla", **{"training.teacher": "mistress"}), "vanilla", "mine")
    store.update(record.run, status="cancelled")
    file = tmp_path / "mine.zip"
    archive.export_file(store, "mine", file)
    came = store.read(archive.import_run(store, file))
    assert came.config.training.teacher == "elsewhere:mistress"
    assert "'mistress'" in came.unbound and "--set training.teacher=RUN" in came.unbound
