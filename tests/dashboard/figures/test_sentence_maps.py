"""The attention maps of one text: rows, text about differences, tables."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from core.interpret.model_edits import Edits
from core.interpret.sentence_inspection import CLASS_TOKEN as CORE_CLASS_TOKEN
from core.interpret.sentence_inspection import LayerView, SentenceView, name_padding
from dashboard.figures import sentence_maps
from dashboard.figures.attention import scale_row
from dashboard.figures.attention_heads import HEAD_VIEW, Lines, build_layer_maps
from dashboard.figures.sentence_maps import CLASS_TOKEN
from dashboard.figures.theme import Look

MAPS = np.array([[[[0.75, 0.25], [0.5, 0.5]]] * 2, [[[0.0, 1.0], [1.0, 0.0]]] * 2])  # (N 2, H 2, L 2, L 2)


def view(tokens=("not", "bad"), unknown=(False, False), positive=0.7, truncated=0, coefficients=(1.0, 0.5)):
    c = np.broadcast_to(np.array(coefficients)[:, None, None], (2, 2, 2))
    layer = LayerView(MAPS, c, (c[..., None] * MAPS).sum(0), np.zeros((2, 2, 4)), None, {}, None, None)
    text = " ".join(tokens)
    return SentenceView(
        **{"text": text, "read_as": text, "tokens": tuple(tokens), "truncated": truncated, "cut": ""},
        unknown=tuple(unknown),
        unknown_words=sum(unknown) / len(unknown) if unknown else 0.0,
        label="positive" if positive > 0.5 else "negative",
        probabilities={"negative": 1 - positive, "positive": positive},
        layers=(layer, layer),
        **{"pooled": np.zeros(4), "positions": {}, "branches": {}, **dict.fromkeys(("tags", "polarity", "head_maps"))},
    )


def test_ablated_heads_and_components_contribute_nothing_and_are_named():
    base, second, joined = sentence_maps.build_map_rows(view(), 0, False, Edits(heads_off=((0, 1), (1, 0))))
    for row in (base, second, joined):
        assert row.off == {1} and (row.weights[1] == 0).all()
    assert (base.weights[0] == MAPS[0, 0]).all()
    rows = sentence_maps.build_map_rows(view(coefficients=(1.0, 0.0)), 1, False, Edits(components_off=((1, 1),)))
    assert [row.off for row in rows] == [frozenset(), {0, 1}, frozenset()]
    assert (rows[2].weights == MAPS[0]).all(), "the sum goes on"


def test_combined_maps_are_numbered_by_layer_and_received_attention_is_the_column_mean():
    rows = sentence_maps.build_combined_rows(view(), False)
    assert [row.name for row in rows] == ["layer 1", "layer 2"]
    assert rows[0].weights == pytest.approx(MAPS[0] + 0.5 * MAPS[1])
    assert sentence_maps.sum_received(sentence_maps.build_map_rows(view(), 0, False)[0]) == [0.625, 0.375]


def test_difference_follows_the_second_class_and_reports_a_changed_label():
    before = view(positive=0.741)
    told = "against the trained model"
    assert sentence_maps.describe_difference(before, view(positive=0.828)) == f"P(positive) 0.828, +0.087 {told}"
    said = sentence_maps.describe_difference(before, view(positive=0.3))
    assert said == f"P(positive) 0.300, −0.441 {told}; the answer is negative instead of positive"
    assert (
        sentence_maps.choose_watched_class(SimpleNamespace(probabilities={"a": 0.2, "b": 0.2, "c": 0.6}, label="c"))
        == "c"
    ), "of several: it"


def test_special_tokens_are_described():
    assert sentence_maps.describe_special(view(), 0).startswith("A single sentence needs no padding")
    said = sentence_maps.describe_special(view(tokens=(CLASS_TOKEN, "bad")), 0)
    assert said.startswith("[CLS] is a learned token") and "weight of exactly 0" in said
    assert CLASS_TOKEN == CORE_CLASS_TOKEN


def test_padding_read_as_text_is_reported_with_its_weight():
    folded = dataclasses.replace(view(tokens=("bad", name_padding(3)), coefficients=(1.0, 0.0)), filled=3)
    said = sentence_maps.describe_special(folded, 0)
    # A query with 1 position and 0.25 on padding, and one with 3 positions and 0.5.
    assert said.startswith("[PAD] × 3: 3 padding tokens, weight 0.44 (mean over tokens and heads)")
    assert "exactly 0" not in said and "[CLS]" not in said
    full = dataclasses.replace(view(), filled=0)
    assert "exactly 0" not in sentence_maps.describe_special(full, 0)


def test_merged_padding_counts_as_often_as_its_tokens():
    folded = dataclasses.replace(view(tokens=("bad", name_padding(3))), filled=3)
    rows = sentence_maps.build_map_rows(folded, 0, False)
    assert sentence_maps.sum_received(rows[0]) == pytest.approx([0.75 / 4 + 0.5 * 3 / 4, 0.25 / 4 + 0.5 * 3 / 4])
    assert sentence_maps.build_combined_rows(folded, False)[0].places.tolist() == [1, 3]
    # Uniform attention over 4 positions gives a word 1/4 and the folded rest 3/4.
    even = dataclasses.replace(rows[0], weights=np.array([[[0.25, 0.75], [0.25, 0.75]]]))
    assert scale_row(even, "against uniform").weights == pytest.approx(0, abs=1e-6)


FOLDED = dataclasses.replace(view(tokens=("not", "bad", name_padding(7)), unknown=(False,) * 3), filled=7)
PLAIN = dataclasses.replace(view(), layers=())


@pytest.mark.parametrize(
    ("first", "second", "title", "said"),
    [
        (view(), view(positive=0.1), "", "Both models read the same 2 tokens."),
        (PLAIN, PLAIN, "", "Both models read the same 2 tokens."),
        (view(), PLAIN, "Only one of the two models has attention", "The other reads the words without it."),
        (PLAIN, view(), "Only one of the two models has attention", "The other reads the words without it."),
        (
            view(),
            FOLDED,
            "The two models read padding differently",
            "Both read the same 2 tokens, the first without padding, the second with 7 padding tokens after them.",
        ),
        (
            view(),
            view(unknown=(False, True)),
            "The two vocabularies differ",
            "Unknown to the first: nothing. Unknown to the second: bad.",
        ),
        (
            view(),
            view(tokens=("n", "ot"), truncated=3),
            "The two models cut the text differently",
            "The first reads 2 tokens, the second reads 2 tokens and cuts 3 off: their positions do not match.",
        ),
    ],
)
def test_different_tokens_of_two_models_are_described(first, second, title, said):
    assert sentence_maps.compare_views(first, second) == (title, said)


def test_predictions_of_all_models_are_in_one_table():
    table = sentence_maps.build_prediction_table({"probability": {"n": 0.25, "p": 0.75}, "other": {"p": 1.0}})
    assert list(table.columns) == ["class", "probability", "other"]
    assert table.set_index("class")["probability"].to_dict() == {"n": 0.25, "p": 0.75}
    assert table.set_index("class")["other"].isna().to_dict() == {"n": True, "p": False}


def test_attention_table_has_a_row_per_weight_and_names_the_edits():
    edits = Edits(heads_off=((0, 1),))
    table = sentence_maps.build_attention_table(view(), False, edits, view())
    assert len(table) == 2 * 2 * 2 * 2
    off = table[(table["layer"] == 1) & (table["head"] == 2)]
    assert (off["A₀ + λ₁A₁"] == 0).all()
    assert off["as_trained"].tolist() == pytest.approx([0.75, 0.75, 1.0, 0.5])
    assert set(table["changed"]) == {"head 2 of layer 1 off"}
    row = off.iloc[1]
    assert (row["place"], row["reads"], row["read_place"], row["is_read"]) == (1, "not", 2, "bad")
    assert not {"as_trained", "changed"} & set(
        sentence_maps.build_attention_table(view(), False, Edits(), view()).columns
    )


def test_attention_table_has_the_cancellation_of_heads_with_several_components():
    shown = view(coefficients=(1.0, -0.5))
    table = sentence_maps.build_attention_table(shown, True)
    own = table[table["layer"] == 2].groupby("head")["cancelled"].unique()
    assert np.concatenate(own.to_list()).tolist() == pytest.approx(shown.measure_cancellation(1).tolist())
    layer = shown.layers[0]
    one = dataclasses.replace(layer, components=layer.components[:1], coefficients=layer.coefficients[:1])
    assert "cancelled" not in sentence_maps.build_attention_table(dataclasses.replace(shown, layers=(one, one)), False)


def test_head_view_reports_cancellation_if_there_is_any():
    shown = view(coefficients=(1.0, -0.5))
    lines = Lines(build_layer_maps(shown, 0, minus=True), 0)
    taken = [f"{100 * share:.0f} %" for share in shown.measure_cancellation(0)]
    about = HEAD_VIEW.draw(lines, Look()).data["about"]
    assert about == [f"its components cancel {share} of their weight" for share in taken]
    mean = f"{100 * shown.measure_cancellation(0).mean():.0f} %"
    assert f"In the sum {mean} of the components’ weight cancels out (" in HEAD_VIEW.reading(lines)
    added = Lines(build_layer_maps(view(), 0, minus=False), 0)
    assert HEAD_VIEW.draw(added, Look()).data["about"] == [] and "cancel" not in HEAD_VIEW.reading(added)
