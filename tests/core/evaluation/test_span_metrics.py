import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval import metrics as reference

from core.evaluation.span_metrics import KINDS, SpanScores, decode_spans, match_spans
from core.metrics import METRICS

TAGS = st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"])


@st.composite
def pairs(draw):
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=6))
    return [[draw(st.lists(TAGS, min_size=n, max_size=n)) for n in lengths] for _ in range(2)]


@pytest.mark.slow
@given(pairs())
def test_span_metrics_equal_seqeval(both):
    label, said = both
    scores, once = SpanScores(label, said), np.ones((1, len(label)))
    found = {name: METRICS[name].measure(scores, once)[0] for name in METRICS if METRICS[name].tasks == ("tokens",)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found["span_f1"] == pytest.approx(reference.f1_score(label, said))
        assert found["span_precision"] == pytest.approx(reference.precision_score(label, said))
        assert found["span_recall"] == pytest.approx(reference.recall_score(label, said))
        assert found["token_accuracy"] == pytest.approx(reference.accuracy_score(label, said))
        known = reference.classification_report(label, said, output_dict=True) if scores.kinds else {}
    for kind, row in scores.evaluate_types().items():
        expected = [known[kind][name] for name in ("precision", "recall", "f1-score", "support")]
        assert [row[name] for name in ("precision", "recall", "f1", "support")] == pytest.approx(expected)


@pytest.mark.slow
@given(pairs())
def test_span_outcomes_add_up_and_follow_the_matching_order(both):
    for label, said in zip(*both, strict=True):
        ends = Counter(each.outcome for each in match_spans(label, said))
        several = ends["right"] + ends["wrong type"] + ends["wrong border"]
        assert several + ends["missed"] == len(decode_spans(label))
        assert several + ends["spurious"] == len(decode_spans(said))
        assert ends["right"] == len(set(decode_spans(label)) & set(decode_spans(said)))
        found = {(each.label, each.said) for each in match_spans(label, said) if each.label and each.said}
        assert found == match_by_definition(label, said)


def match_by_definition(label, said):
    """Return matched (labelled, predicted) spans by definition, comparing all with all."""
    true, claimed, found = decode_spans(label), decode_spans(said), set()
    for alike in (
        lambda one, other: one == other,
        lambda one, other: one[1:] == other[1:],
        lambda one, other: one.first < other.end and other.first < one.end,
    ):
        for span in list(true):
            if (other := next((each for each in claimed if alike(span, each)), None)) is not None:
                found.add((span, other))
                true.remove(span)
                claimed.remove(other)
    return found


@pytest.mark.parametrize(
    ("label", "said", "outcome"),
    [
        ("B-A I-A O", "B-A I-A O", "right"),
        ("B-A I-A O", "B-B I-B O", "wrong type"),
        ("B-A I-A O", "B-A O O", "wrong border"),
        ("B-A I-A O", "O O O", "missed"),
        ("O O O", "O B-A O", "spurious"),
    ],
)
def test_each_kind_of_span_error_is_found(label, said, outcome):
    assert [each.outcome for each in match_spans(label.split(), said.split())] == [outcome] and outcome in KINDS
