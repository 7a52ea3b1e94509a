"""What a split's points are, how they are coloured, what the map is worth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.evaluation.projection import Projection, ProjectionConfig, Quality
from core.exceptions import RunDamaged
from dashboard.figures import embeddings
from dashboard.figures.silhouettes import silhouette_table, spectra
from dashboard.figures.theme import LIGHT

CLASSES = ("negative", "positive")
SAVED = pd.DataFrame(
    {
        "text": ["a", "b", "c", "d"],
        "label": ["negative", "negative", "positive", "positive"],
        "predicted": ["negative", "positive", "positive", "positive"],
        "probability:negative": [0.9, 0.4, 0.2, 0.1],
        "probability:positive": [0.1, 0.6, 0.8, 0.9],
    }
)
QUALITY = Quality(np.array([0, 2, 3]), np.array([0.1, 0.5, 0.3]), np.array([0.2, 0.4, 0.6]), 0.25)
MADE = Projection(np.array([0, 1, 2, 3]), np.arange(8.0).reshape(4, 2), QUALITY, (0.6, 0.3))
PCA = ProjectionConfig("pca")


@pytest.fixture
def points():
    return embeddings.points_frame(SAVED, CLASSES)


def test_points_say_how_sure_the_model_was(points):
    assert points["probability"].tolist() == [0.9, 0.6, 0.8, 0.9]


def test_predictions_of_other_classes_are_told():
    with pytest.raises(RunDamaged, match="do not fit"):
        embeddings.points_frame(SAVED, ("yes", "no"))


def test_phenomena_are_offered_only_where_they_are_known(points):
    assert "phenomenon" not in embeddings.ways(points)
    known = embeddings.points_frame(SAVED.assign(phenomenon="plain"), CLASSES)
    assert embeddings.ways(known)[-1] == "phenomenon"


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("label", {"negative": [0, 1], "positive": [2, 3]}),
        ("prediction", {"negative": [0], "positive": [1, 2, 3]}),
        ("correctness", {"correct": [0, 2, 3], "wrong": [1]}),
    ],
)
def test_groups_together_are_all_points(points, way, expected):
    groups = embeddings.colouring(points, way, CLASSES, LIGHT)
    assert {group.name: group.points.tolist() for group in groups} == expected


def test_an_error_differs_in_shape_not_only_in_colour(points):
    correct, wrong = embeddings.colouring(points, "correctness", CLASSES, LIGHT)
    assert correct.symbol != wrong.symbol
    assert (correct.colour, wrong.colour) == (LIGHT.right, LIGHT.wrong)


def test_confidence_starts_at_guessing(points):
    shades = embeddings.colouring(points, "confidence", CLASSES, LIGHT)
    assert (shades.low, shades.high) == (0.5, 1.0)


def test_rare_phenomena_share_one_grey():
    kinds = [kind for number, kind in enumerate("abcdefgh") for _ in range(8 - number)]
    points = pd.DataFrame({"phenomenon": kinds})
    others, *groups = embeddings.colouring(points, "phenomenon", CLASSES, LIGHT)
    assert [group.name for group in groups] == list("abcdef")
    assert (others.name, len(others.points), others.colour) == ("others", 3, LIGHT.right)


def test_hover_words_are_short_and_left_out_where_they_are_too_many(points):
    assert embeddings.hover_words(points)[1] == "b · is negative, said positive (0.600)"
    long = points.assign(text="x" * 100)
    assert embeddings.hover_words(long)[0].startswith("x" * 70 + "… ·")
    assert embeddings.hover_words(pd.concat([points] * 1300)) == []


def test_every_number_says_on_how_many_it_rests():
    stats = {stat.name: (stat.value, stat.n) for stat in embeddings.map_stats(MADE, PCA, 128)}
    assert stats["Silhouette, 128-D original"] == (pytest.approx(0.3), 3)
    assert stats["Silhouette, PCA, 2-D"] == (pytest.approx(0.4), 3)
    assert stats["10 nearest neighbours kept"] == (0.25, 3)
    assert stats["Variance shown"] == (pytest.approx(0.9), 4)


def test_axes_of_pca_have_a_meaning_others_have_none():
    assert embeddings.axis_titles(MADE, PCA)[0] == "component 1, 60 % of the variance"
    assert embeddings.axis_titles(Projection(MADE.rows, MADE.places, QUALITY), ProjectionConfig("umap", 3)) == [
        "",
        "",
        "",
    ]


def test_silhouettes_are_sorted_within_their_class_in_both_spaces(points):
    (space, plane), there = spectra(MADE, points, CLASSES, PCA, 128)
    assert there == [0, 1]
    assert space.title == "original space, 128 dimensions"
    assert [(name, samples.tolist()) for name, samples in space.classes] == [
        ("negative", [0.1]),
        ("positive", [0.3, 0.5]),
    ]
    assert plane.overall == pytest.approx(0.4)
    table = silhouette_table([space, plane])
    assert table.loc[(table["class"] == "positive"), "silhouette"].tolist() == pytest.approx([0.4, 0.5])
    assert table.loc[(table["class"] == "all"), "n"].tolist() == [3, 3]


def test_the_table_of_points_has_silhouettes_where_they_were_measured(points):
    table = embeddings.point_table(MADE, points)
    assert table["row"].tolist() == [0, 1, 2, 3]
    assert table["y"].tolist() == [1, 3, 5, 7]
    assert table["silhouette_map"].isna().tolist() == [False, True, False, False]
    assert table["text"].tolist() == list("abcd")
