"""Readings: declared once, cached by a reader, and computed again when a file changes."""

import uuid

import pytest

from core.interpret.model_edits import UNCHANGED, Edits
from core.runs.store import RunStore
from core.training.history import HistoryWriter
from dashboard.data import StreamlitMemo, data
from dashboard.figures.training_log import Curves
from dashboard.reader import Reader
from dashboard.reader.runs import Memo, cache_result


class Counted:
    """A reader without files that counts its computations."""

    def __init__(self, memo: Memo) -> None:
        self.memo, self.home, self.read = memo, uuid.uuid4().hex, []

    @cache_result(2, lambda self, *asked: (self.home, *asked))
    def shared(self, name, size=3, *, tell=None):
        self.read.append((name, size))
        return [name, size]

    @cache_result(2, lambda self, *asked: (self.home, *asked), copied=True)
    def copied(self, name):
        self.read.append(name)
        return [name]


class Keys(Memo):
    """Stores the key of the last reading."""

    def get_or_read(self, how, key, read):
        self.how, self.key = how, key()
        return read()


def test_keys_have_default_arguments_and_results_are_shared_copied_or_dropped():
    counted = Counted(Keys())
    for args, named in (("a",), {}), (("a", 3), {"tell": print}), ((), {"name": "a"}):
        assert counted.shared(*args, **named) == ["a", 3] and counted.memo.key == (counted.home, "a", 3)
    assert (counted.memo.how.name, counted.memo.how.entries, counted.memo.how.copied) == ("shared", 2, False)
    counted = Counted(Memo())
    assert counted.shared("a") == counted.shared("a") and counted.read == [("a", 3), ("a", 3)]
    counted = Counted(StreamlitMemo())
    assert counted.shared("a") is counted.shared("a", 3, tell=print) and counted.read == [("a", 3)]
    assert counted.copied("a") == counted.copied("a") and counted.copied("a") is not counted.copied("a")
    assert counted.read == [("a", 3), "a"]
    for name in ("b", "c", "a"):
        counted.shared(name)
    assert counted.read[2:] == [("b", 3), ("c", 3), ("a", 3)]


def test_key_of_a_typed_text_is_a_digest(runs):
    seen = []
    memo = StreamlitMemo()
    memo.caches["inspect_text"] = lambda key, _read: seen.append(key) or _read()
    reader = Reader(RunStore(runs), memo)
    changes = (UNCHANGED, Edits(heads_off=((0, 0),)))
    read = [reader.inspect_text("finished", "so good", edits).label for edits in changes]
    assert len(read) == 2 and len({*seen}) == 2 and all(len(key) == 64 and int(key, 16) for key in seen)


@pytest.mark.slow
def test_both_readers_return_the_same(runs):
    record, lone = data.store().read("finished"), Reader(RunStore(runs))
    for read in (lambda one: one.make_report(record, "test").examples, lambda one: one.read_points(record, "test")):
        assert read(lone).equals(read(data)) and read(lone) is not read(lone) and read(data) is read(data)
    given = ("finished", "not good", "positive", UNCHANGED, ("deletion",))
    methods = [one.compare_methods(*given) for one in (lone, data)]
    assert methods[0].by["deletion"].pushes.tolist() == methods[1].by["deletion"].pushes.tolist()
    wrong = [one.select_tagged_rows(record, "test", "wrong") for one in (lone, data)]
    assert wrong[0].places.tolist() == wrong[1].places.tolist() and wrong[0].known.whole
    assert lone.measure_slices(record, "test") == data.measure_slices(record, "test") == []
    assert lone.measure_split(record, "test") == data.measure_split(record, "test")


def test_curves_follow_the_file(runs):
    record = data.store().read("finished")
    before = data.read_curves(record)[0]
    with HistoryWriter(runs / "finished" / "history.jsonl") as history:
        history.write({"kind": "step", "step": 99, "epoch": 1, "seconds": 9.0, "loss": 0.125})
    after = data.read_curves(record)[0]
    assert isinstance(before, Curves) and after.loss == (*before.loss, 0.125)


def test_changed_model_has_another_fingerprint(runs):
    before = data.hash_weights("finished")
    path = runs / "finished" / "weights.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    assert len(before.split()[0]) == 64 and data.hash_weights("finished") not in (before, "")
    path.unlink()
    assert data.hash_weights("finished") == ""


def test_splits_are_in_the_order_train_validation_test(runs):
    (runs / "finished" / "evaluation" / "zoo").mkdir()
    (runs / "finished" / "evaluation" / "zoo" / "predictions.parquet").touch()
    assert data.list_splits("finished") == ["validation", "test", "zoo"]


@pytest.mark.slow
def test_two_kinds_of_results_for_the_same_key_are_kept_apart(runs):
    asked = ("finished", "good", "positive")
    found = [type(ask(*asked)).__name__ for ask in (data.parts, data.lambdas, data.pushed) for _ in range(2)]
    assert found == [*["AblationEffects"] * 2, *["LambdaCurves"] * 2, *["AttributedWords"] * 2]
    assert data.parts(*asked) is data.parts(*asked) is not data.parts("finished", "good", "negative")
