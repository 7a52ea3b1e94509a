"""Learned numbers besides λ, as tables and curves."""

from token_readings import read

from core.config import compose
from core.runs.record import RunRecord
from core.training.history import History
from dashboard.figures import learned, tokens
from dashboard.figures.curves import number_lines


def test_temperatures_of_the_tweet_encoder_and_nothing_else():
    seen, model = read("tweet-v1-p2")
    assert learned.number_table(learned.view_scalars(seen))["learned"].tolist() == [
        ", ".join(f"{value:.3f}" for value in model.scalars()["tau"])
    ]
    assert tokens.gate_rows(seen) == [] and tokens.polarity_rows(seen) == [] and tokens.seen(seen, 0) is None
    assert list(tokens.token_table(seen).columns) == ["place", "token"]


def test_the_course_of_numbers_has_a_line_for_each_layer():
    rows = [
        {"kind": "step", "step": 0, "epoch": 0, "scalars": {"tau": [1.0, 1.0], "alpha": [1.0]}},
        {"kind": "step", "step": 5, "epoch": 0, "scalars": {"tau": [1.2, 0.9], "alpha": [1.1]}},
        {"kind": "epoch", "step": 10, "epoch": 0, "gates": [[0.8, 0.1], [0.7, 0.2]]},
    ]
    lines = number_lines(History(rows, 0), steps_per_epoch=10)
    assert list(lines) == ["τ", "α", "mean gate"]
    assert [line.y for line in lines["τ"]] == [(1.0, 1.2), (1.0, 0.9)]
    assert lines["α"][0].x == (0.0, 0.5)
    assert [line.y for line in lines["mean gate"]] == [(0.8,), (0.7,)]
    assert len(learned.numbers_table(lines)) == 8
    assert number_lines(History([], 0), 10) == {}


def test_a_record_tells_its_numbers_and_what_its_lexicon_does_not_know():
    shares = {"validation": 0.5, "test": 0.884, "extra": None}
    results = {"scalars": {"tau": [1.5, 0.25]}, "gates": [[0.9, 0.05]], "neutral_share": shares}
    record = RunRecord("a", "lexical-last", "done", compose("lexical-last"), "", results=results)
    rows = learned.record_numbers(record).set_index("number")["learned"].to_dict()
    neutral = "validation 50.0 %, test 88.4 %"
    assert rows == {"τ": "1.500, 0.250", "gate": "0.90 ± 0.05", "neutral tokens": neutral}
