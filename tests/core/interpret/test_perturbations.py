"""Rules that leave the meaning alone, and the words that are the same afterwards."""

from itertools import permutations

import numpy as np
import pytest

from core.interpret.faithfulness import (
    STEPS,
    StepProgress,
    add_frame,
    change_contractions,
    compute_area,
    compute_beaten_share,
    count_steps,
    insert_words,
    interpolate_curve,
    iterate_paraphrases,
    order_words,
    toggle_full_stop,
)
from core.text.word_spans import find_word_spans


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I do not like it", "I don't like it"),
        ("It is late and we are cold", "It's late and we're cold"),
        ("DO NOT GO", "DON'T GO"),
        ("Don't go", "Do not go"),
        ("It's mine", "It's mine"),
        ("a notable isnot", "a notable isnot"),
    ],
)
def test_unambiguous_contractions_are_changed_both_ways(text, said):
    assert change_contractions(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The film is good.", "I think that the film is good."),
        ("I liked it", "I think that I liked it"),
        ("NASA won", "I think that NASA won"),
        ("Is it good?", "Is it good?"),
        ("", ""),
    ],
)
def test_a_frame_keeps_names_and_skips_questions(text, said):
    assert add_frame(text) == said


def test_full_stops_are_toggled_and_other_marks_kept():
    for text, said in (("So.", "So"), ("So", "So."), ("So…", "So…"), ("So...", "So..."), ("So!", "So!"), ("", "")):
        assert toggle_full_stop(text) == said


def test_shared_words_are_aligned_in_both_texts():
    found = {each.edit: each for each in iterate_paraphrases("It is not a GOOD film.")}
    assert set(found) == {"contraction", "frame", "full stop", "lower case"}
    for each in found.values():
        before, after = "It is not a GOOD film.", each.text
        old, new = find_word_spans(before), find_word_spans(after)
        pairs = [(before[slice(*old[a])].lower(), after[slice(*new[b])].lower()) for a, b in each.shared]
        assert all(one == two for one, two in pairs)
    assert len(found["frame"].shared) == len(found["lower case"].shared) == 7
    assert found["contraction"].text == "It's not a GOOD film."
    assert [a for a, _ in found["full stop"].shared] == [0, 1, 2, 3, 4, 5]


def test_short_texts_have_a_step_per_word_and_long_ones_ten():
    assert count_steps(3).tolist() == [0, 1, 2, 3]
    assert count_steps(25).tolist() == [0, 2, 5, 8, 10, 12, 15, 18, 20, 22, 25] and STEPS == 10
    text = "Not a bad film."
    words = find_word_spans(text)
    parts = ["", "film", "Not film", "Not film.", "Not bad film.", text]
    assert insert_words(text, words, np.array([3, 0, 4, 2, 1])) == parts


def test_the_area_is_the_mean_height_and_ties_count_half():
    assert compute_area(np.array([0.0, 0.5, 1.0]), 2) == pytest.approx((0.25 + 0.75) / 2)
    ten = np.linspace(0, 1, 11)
    assert compute_area(np.stack([ten, ten**0]), 10) == pytest.approx([0.5, 1.0])
    assert compute_area(count_steps(25) / 25, 25) == pytest.approx(0.5), (
        "steps of two and three words count as wide as they are"
    )
    assert interpolate_curve(np.array([0.0, 1.0, 1.0]), 2) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 1])
    assert compute_beaten_share(0.5, np.array([0.4, 0.5, 0.5 + 1e-9, 0.6])) == pytest.approx((1 + 0.5 + 0.5) / 4)


def test_the_largest_attribution_comes_first_and_ties_are_random():
    assert order_words(np.array([0.1, -2.0, 3.0]), np.random.default_rng(0)).tolist() == [2, 0, 1]
    drawn = {tuple(order_words(np.zeros(3), np.random.default_rng(seed)).tolist()) for seed in range(40)}
    assert drawn == set(permutations(range(3)))


@pytest.mark.parametrize("seed", range(5))
def test_exact_attributions_give_the_best_area(seed):
    weights = np.random.default_rng(seed).normal(size=5) * 2

    def along(order):
        return compute_area(1 / (1 + np.exp(-np.concatenate([[0], weights[list(order)].cumsum()]))), 5)

    every = [along(order) for order in permutations(range(5))]
    exact = order_words(weights, np.random.default_rng(0))
    assert along(exact) == pytest.approx(max(every)) and along(exact[::-1]) == pytest.approx(min(every))


def test_progress_is_a_share_of_equal_steps():
    told = []
    steps = StepProgress(lambda what, share: told.append((what, share)), 2)
    assert list(steps.iterate_parts("first", 4)) == [0, 1, 2, 3] and list(steps.iterate_parts("second", 2)) == [0, 1]
    assert told == [*(("first", part / 8) for part in range(4)), ("second", 0.5), ("second", 0.75)]
