"""The values that the figures of the Data page draw."""

from types import SimpleNamespace

import pandas as pd
import pytest

from dashboard.figures import dataset_summary
from dashboard.figures.theme import DARK, LIGHT, Look

TRAIN = {"negative": (30, 0.75), "positive": (10, 0.25)}
SHARES = {"train": TRAIN, "test": {"negative": (2, 0.5), "positive": (2, 0.5)}}


def classes(shares, dark=False):
    return dataset_summary.draw_classes(dataset_summary.Balance(shares), Look(dark=dark))


def lengths(edges, rows, longest, cut):
    tokens = {"histogram": {"edges": edges, "rows": rows}, "cut_texts_share": cut}
    return dataset_summary.draw_lengths(dataset_summary.LengthHistogram("train", {"tokens": tokens}, longest), Look())


@pytest.mark.parametrize("dark", [False, True])
def test_each_split_has_a_panel_with_share_and_color_of_each_class(dark):
    figure, tokens = classes(SHARES, dark), DARK if dark else LIGHT
    assert [tuple(bar.x) for bar in figure.data] == [(0.75, 0.25), (0.5, 0.5)]
    assert [note.text for note in figure.layout.annotations] == ["train", "test"]
    assert tuple(figure.data[0].marker.color) == (tokens.minus, tokens.plus)
    assert figure.data[0].hovertext[0] == "train, negative<br>30 rows, 75.0 %"


def test_bars_keep_the_distribution_and_many_classes_share_one_color():
    figure = classes({"train": {name: (1, 1 / 7) for name in ("<b>x", *"123456")}})
    assert set(figure.data[0].marker.color) == {LIGHT.accent}
    assert figure.layout.yaxis.type == "category"  # a linear axis would place names that are numbers by value
    assert "<b>" not in figure.data[0].y[0] + figure.data[0].hovertext[0]
    (bars,) = lengths([0, 2, 3, 5], [4, 2, 4], 4, 0.25).data
    assert tuple(bars.y) == (2, 2, 2)
    assert tuple(bars.hovertext) == ("0 to 1 tokens<br>4 texts", "2 tokens<br>2 texts", "3 or more tokens<br>4 texts")
    layout = lengths([0, 2, 4], [1, 1], 64, 0.0).layout
    assert layout.shapes[0].x0 == layout.shapes[0].x1 == 64 <= layout.xaxis.range[1]
    assert "cut at 64: 0 % of the texts" in layout.annotations[-1].text
    assert not lengths([0, 2, 4], [1, 1], 0, 0.0).layout.shapes


@pytest.mark.parametrize(("longest", "side"), [(90, "right"), (20, "left")])
def test_truncation_label_is_on_the_side_with_more_room(longest, side):
    assert lengths([0, 50, 100], [1, 1], longest, 0.4).layout.annotations[-1].xanchor == side


@pytest.mark.parametrize(("share", "words"), [(0, "0 %"), (0.0001, "< 0.1 %"), (0.123, "12.3 %"), (1, "100.0 %")])
def test_positive_share_is_never_shown_as_zero(share, words):
    assert dataset_summary.format_percent(share) == words


@pytest.mark.parametrize(
    ("labels", "task", "said"),
    [
        (["a"] * 50 + ["b"] * 50, "single", "x has 100 texts in 2 balanced classes."),
        ([0] * 30 + [1] * 10, "single", "x has 40 texts in 2 classes; a has 75.0 % of the training texts."),
        (["a"] * 30 + ["b"] * 10, "multi", "x has 40 texts with 2 labels, several per text."),
    ],
)
def test_data_set_is_described_by_size_and_balance(labels, task, said):
    splits = {"train": pd.DataFrame({"label": labels})}
    dataset = SimpleNamespace(name="x", splits=splits, classes=["a", "b"], task=task)
    assert dataset_summary.describe_texts(dataset) == said
