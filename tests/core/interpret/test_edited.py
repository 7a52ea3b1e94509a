"""Pushes of words and parts under an edit: those of the model that is changed so, also where it reads what is left."""

import dataclasses

import numpy as np
import pytest
from small_readers import CLASSES, TEXT, reader

from core.evaluation.inference import predict_texts
from core.exceptions import InputError
from core.interpret.ablation import silence_parts
from core.interpret.attribution import METHODS, explain_text
from core.interpret.attribution_math import compute_log_odds
from core.interpret.sentence_inspection import inspect_text
from core.interpret.trace_summary import average_attention
from core.models.baselines import BagOfNgrams
from core.models.trace import Batch, Intervention
from core.text.token_table import to_batch


def compute_odds(own, text, change):
    view = inspect_text(own.model, own.tokenizer, CLASSES, text, intervene=change)
    return float(compute_log_odds(np.array(list(view.probabilities.values())), 1, "single"))


EDITS = {
    "lambda": ("ndt-pm1-n3", Intervention(lambdas=((0, 1, 0.9), (1, 2, -0.5)))),
    "head": ("ndt-01-n3", Intervention(heads_off=frozenset({(0, 1), (1, 0)}))),
    "map": ("differential", Intervention(maps_off=frozenset({(1, 0, 1)}))),
    "lexicon": ("lexical-last", Intervention(lexical_scale=0.5)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EDITS)
def test_attributions_explain_the_edited_model(kind):
    preset, change = EDITS[kind]
    own = reader(preset, change)
    found, words = explain_text(own, TEXT, target="good"), TEXT.split()
    assert found.log_odds == pytest.approx(compute_odds(own, TEXT, change), abs=1e-5)
    left = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
    expected = [found.log_odds - compute_odds(own, text, change) for text in left]
    np.testing.assert_allclose(found.pushes, expected, atol=1e-5)
    assert np.abs(found.pushes - explain_text(reader(preset), TEXT, target="good").pushes).max() > 1e-4
    found = explain_text(own, TEXT, "integrated", "good")
    assert found.log_odds == pytest.approx(compute_odds(own, TEXT, change), abs=1e-5)
    batch = Batch.from_arrays(to_batch(own.tokenizer.encode(TEXT)))
    embedded = own.model.embed_tokens(batch).detach().requires_grad_()
    logits = own.model(batch, intervene=change, embedded=embedded).logits[0]
    (logits[1] - logits[0]).backward()
    by_hand = (embedded.grad * embedded).sum(-1)[0].detach().numpy()
    np.testing.assert_allclose(explain_text(own, TEXT, "gradient", "good").pushes, by_hand, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_closed_gate_follows_its_token(pooling):
    first = int(pooling == "cls")
    change = Intervention(gates=((0, first + 1, 0.0), (1, first + 4, 0.25)))  # the second `very`, and `but`
    own = reader("sentiformer", change, pooling=pooling)
    found, words = explain_text(own, TEXT, target="good"), TEXT.split()
    for place in range(len(words)):
        moved = tuple(
            (layer, token - (place < token - first), value)
            for layer, token, value in change.gates
            if token - first != place
        )
        left = " ".join(words[:place] + words[place + 1 :])
        expected = found.log_odds - compute_odds(own, left, Intervention(gates=moved))
        assert found.words[place].push == pytest.approx(expected, abs=1e-5)


def test_deletions_in_truncated_texts_admit_no_new_tokens():
    change = Intervention(gates=((0, 2, 0.0),))
    own = reader("sentiformer", change, max_length=4, pooling="mean")
    found = explain_text(own, TEXT, target="good")
    moved = compute_odds(own, "very good ,", Intervention(gates=((0, 1, 0.0),)))
    assert found.words[0].push == pytest.approx(found.log_odds - moved, abs=1e-5)
    without_good = compute_odds(own, "very very ,", Intervention())
    assert found.words[2].push == pytest.approx(found.log_odds - without_good, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_silenced_piece_follows_its_word(pooling):
    first = int(pooling == "cls")
    change = Intervention(pieces_off=frozenset({(first + 2, 0), (first + 2, 1)}))  # of `good`
    own = reader("vanilla", change, buckets=64, pooling=pooling)
    found, plain = explain_text(own, TEXT, target="good"), reader("vanilla", buckets=64, pooling=pooling)
    moved = Intervention(pieces_off=frozenset({(first + 1, 0), (first + 1, 1)}))
    left = TEXT.removeprefix("very ")
    assert found.words[0].push == pytest.approx(found.log_odds - compute_odds(own, left, moved), abs=1e-5)
    gone = compute_odds(own, TEXT.replace("good ", ""), Intervention())
    assert found.words[2].push == pytest.approx(found.log_odds - gone, abs=1e-5)
    edited, trained = (explain_text(each, TEXT, "integrated", "good").pushes for each in (own, plain))
    assert abs(edited[2] - trained[2]) > 1e-4


@pytest.mark.parametrize("silent", ["heads_off", "heads_mean"])
def test_silenced_heads_have_no_attention_attribution(silent):
    change = Intervention(lambdas=((1, 1, 0.75),), **{silent: frozenset({(1, 0)})})
    own = reader("ndt-pm1-n3", change)
    view = own.inspect(TEXT)
    heads = len(view.layers[1].combined)
    assert view.layers[1].coefficients[1].mean() == pytest.approx(0.75)
    expected = sum(average_attention(view.layers[1].combined[head : head + 1]) for head in range(1, heads)) / heads
    np.testing.assert_allclose(explain_text(own, TEXT, "attention").pushes, expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["ndt-pm1-n3", "sentiformer", "lexical-last"])
def test_ablation_adds_to_edits_and_parts_that_are_off_have_no_effect(preset):
    gated, lexical = preset == "sentiformer", preset == "lexical-last"
    change = Intervention(
        heads_off=frozenset({(0, 1)}),
        gates=((0, 1, 0.5), (1, 2, 0.0)) if gated else (),
        lexical_off=frozenset({0}) if lexical else frozenset(),
    )
    own = reader(preset, change)
    every = silence_parts(own, TEXT, "good").parts
    found = {(part.kind, part.layer, part.head, part.component, part.token): part for part in every}
    whole = compute_odds(own, TEXT, change)
    for name in (("head", 0, 1, None, None), ("lexical", 0, None, None, None)):
        if name in found:
            assert (found[name].zero, found[name].mean) == pytest.approx((0, 0), abs=1e-6)
    both = dataclasses.replace(change, heads_off=change.heads_off | {(1, 0)})
    level = dataclasses.replace(change, heads_mean=frozenset({(1, 0)}))
    head = found["head", 1, 0, None, None]
    assert head.zero == pytest.approx(whole - compute_odds(own, TEXT, both), abs=1e-5)
    assert head.mean == pytest.approx(whole - compute_odds(own, TEXT, level), abs=1e-5)
    if gated:
        closed = dataclasses.replace(change, gates=((1, 2, 0.0), (0, 1, 0.0)))
        assert found["gate", 0, None, None, 1].zero == pytest.approx(whole - compute_odds(own, TEXT, closed), abs=1e-5)
        assert found["gate", 1, None, None, 2].zero == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_an_empty_edit_changes_nothing(method):
    assert explain_text(reader("ndt-01-n3", Intervention()), TEXT, method) == explain_text(
        reader("ndt-01-n3"), TEXT, method
    )


def test_edits_of_missing_parts_are_refused():
    with pytest.raises(InputError, match="head 9"):
        explain_text(reader("vanilla", Intervention(heads_off=frozenset({(0, 9)}))), TEXT)
    closed, model = reader("vanilla", Intervention(gates=((0, 1, 0.0),))), BagOfNgrams(vocabulary=50, classes=2).eval()

    def predict(texts, intervene):
        return predict_texts(model, closed.tokenizer, texts, intervene=intervene)

    with pytest.raises(InputError, match="no attention: there is no head"):
        explain_text(dataclasses.replace(closed, model=model, predict=predict), TEXT)
