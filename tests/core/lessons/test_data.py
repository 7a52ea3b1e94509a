import pytest
import record_training

from core.config import SETTINGS as KNOWN
from core.data.config import DataConfig
from core.data.load import load_dataset
from core.evaluation.intervals import compute_wilson
from core.exceptions import Cancelled
from core.lessons.data import ASKED, CLASSES, MEANT, MEASURED, OPTIONS, PROBES, SETTINGS, SURE, read_records

pytestmark = pytest.mark.slow


def test_records_are_whole_in_order_and_of_the_corpus_without_its_probes():
    records = read_records()
    for name in SETTINGS:
        steps = records[name]["steps"]
        assert [each["step"] for each in steps] == sorted({each["step"] for each in steps}) and steps[0]["step"] == 0
        assert [place for place, each in enumerate(steps) if each["loss"] is None] == [0]
        for each in steps:
            assert len(each["answers"]) == len(PROBES) == len(MEANT)
            assert all(0 <= p <= 1 for p in (*each["answers"], each["known"], each["fresh"]))
    assert len(records["few"]["seeds"]) == len(record_training.SEEDS)
    dataset, records = load_dataset(DataConfig()), read_records()
    texts = {text for rows in dataset.splits.values() for text in rows["text"]}
    assert not texts & {*PROBES} and dataset.classes == CLASSES
    assert records["many"]["rows"] == len(dataset.splits["train"]) and records["few"]["rows"] == 500


def test_a_training_begins_as_it_was_recorded(monkeypatch):
    kept = []

    class Short(record_training.Recorder):
        def is_stop_requested(self) -> bool:
            kept[:] = self.steps
            return len(self.steps) > 6

    monkeypatch.setattr(record_training, "Recorder", Short)
    with pytest.raises(Cancelled):
        record_training.record("few")
    for now, then in zip(kept, read_records()["few"]["steps"], strict=False):
        assert now["step"] == then["step"] and now["answers"] == pytest.approx(then["answers"], abs=0.01)
        assert now["known"] == pytest.approx(then["known"], abs=0.02)
    assert len(kept) == 7


def test_a_recorded_training_ends_at_its_last_step(monkeypatch):
    monkeypatch.setitem(SETTINGS, "few", {"data.limit": 64, "training.epochs": 3, "training.patience": 0})
    found = record_training.record("few", seed=2)
    assert [each["step"] for each in found["steps"]] == [0, 1, 2, 3] and found["rows"] == 64
    assert found["unknown"][0] and all(isinstance(each["loss"], float) for each in found["steps"][1:])


def test_the_right_options_follow_from_the_last_answers(content):
    records = read_records()
    for name, probe, question in zip(("few", "many"), ASKED, content.questions, strict=True):
        p = records[name]["steps"][-1]["answers"][probe]
        assert question.choices[question.right].label == OPTIONS[question.right]
        assert OPTIONS[question.right].lower().startswith(CLASSES[p >= 0.5])
        assert OPTIONS[question.right].endswith("and sure") == (max(p, 1 - p) >= SURE)
    assert "delicious" in records["few"]["unknown"][0] and "“delicious”" in content.stages[1].headline


def test_numbers_in_words_and_links_to_train_are_those_of_the_records(content):
    few, many = (read_records()[name] for name in ("few", "many"))
    end = few["steps"][-1]
    low, high = compute_wilson(round(end["fresh"] * MEASURED), MEASURED)
    assert f"{end['fresh']:.2f} are right (95 % interval {low:.2f} to {high:.2f})" in content.fact
    assert (
        f"own 500 sentences {end['known']:.2f} are right, of new ones {end['fresh']:.2f}." in content.stages[1].reason
    )
    for probe in ASKED:
        wrong = [each["step"] for each in many["steps"] if CLASSES[each["answers"][probe] >= 0.5] != MEANT[probe]]
        after = min(each["step"] for each in many["steps"] if each["step"] > max(wrong))
        assert f"from step {after}" in content.stages[3].reason
    assert all(seed[0] < 0.5 for seed in few["seeds"])
    assert content.fact.endswith(" Of 4 trainings with other seeds 4 also say negative.")
    for way, name in zip(content.ways, ("few", "many"), strict=True):
        named = dict(each.split("=", 1) for each in way.values.get("set", ()))
        assert way.page == "train" and {*named} <= {*KNOWN}
        assert named == {key: str(value) for key, value in SETTINGS[name].items()} | {"training.seed": "0"}
