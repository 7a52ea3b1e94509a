"""Who may see whom: the globals of each row, and the mask of window and globals."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.exceptions import ConfigError
from core.models.support import ABSENT, global_positions, support_mask

settings_of_a_row = {
    "length": st.integers(0, 300),
    "layer": st.integers(0, 11),
    "random": st.integers(0, 5),
    "seed": st.integers(0, 2**31),
}


def of_one(length: int, *, layer: int = 0, random: int = 2, seed: int = 0) -> list[int]:
    return global_positions(torch.tensor([length]), layer=layer, random=random, seed=seed)[0].tolist()


@pytest.mark.slow
@given(**settings_of_a_row)
def test_first_last_and_as_many_others_as_there_are_all_distinct_and_inside(length, layer, random, seed):
    row = of_one(length, layer=layer, random=random, seed=seed)
    present = [place for place in row if place != ABSENT]
    assert len(row) == 2 + random
    assert len(set(present)) == len(present) == min(length, 2 + random)
    assert set(present) >= ({0, length - 1} if length else set())
    assert all(0 <= place < length for place in present)
    assert row[len(present) :] == [ABSENT] * (2 + random - len(present))  # the absent ones are last


@pytest.mark.slow
@given(lengths=st.lists(st.integers(0, 60), min_size=1, max_size=6), layer=st.integers(0, 3))
def test_a_row_has_the_same_globals_in_every_batch(lengths, layer):
    together = global_positions(torch.tensor(lengths), layer=layer, random=2, seed=3)
    assert together.tolist() == [of_one(length, layer=layer, seed=3) for length in lengths]


def test_the_draw_is_pinned_since_trained_models_depend_on_it():
    # Values of this code, written down once: another Python or torch must draw the same.
    assert of_one(100) == [0, 99, 80, 82]
    assert of_one(9) == [0, 8, 3, 7]
    assert of_one(3) == [0, 2, 1, ABSENT]


def test_seed_layer_and_length_each_change_the_draw():
    assert len({tuple(of_one(200, layer=layer)) for layer in range(20)}) > 15
    assert len({tuple(of_one(200, seed=seed)) for seed in range(20)}) > 15
    assert len({of_one(length)[2] for length in range(200, 220)}) > 10


@pytest.mark.slow
def test_every_inner_place_is_drawn_about_equally_often():
    count = torch.zeros(12)
    for seed in range(4000):
        count[of_one(12, seed=seed)[2:]] += 1
    expected = 4000 * 2 / 10
    assert (count[[0, 11]] == 0).all()
    # Two of ten places each time: the deviation of a count is sqrt(4000 * 0.2 * 0.8) = 25.
    assert (count[1:11] - expected).abs().max() < 5 * 25


def test_the_mask_written_out_one_pair_at_a_time():
    keep = torch.tensor([[True, True, False, True, True, True, True, False], [True, True, True] + 5 * [False]])
    positions = torch.tensor([[0, 6, 4], [0, 2, ABSENT]])
    mask = support_mask(keep, positions, window=2)
    for b in range(2):
        everywhere = set(positions[b].tolist())
        for i in range(8):
            for j in range(8):
                near = abs(i - j) <= 1
                assert mask[b, i, j] == (bool(keep[b, j]) and (near or i in everywhere or j in everywhere))


@pytest.mark.parametrize("window", [2, 6, 64])
def test_among_kept_tokens_seeing_is_mutual_and_each_sees_itself_and_half_the_window_on_either_side(window):
    keep = torch.arange(100) < torch.tensor([100, 70, 1, 0])[:, None]
    positions = global_positions(keep.sum(1), layer=1, random=2, seed=5)
    mask = support_mask(keep, positions, window)
    both = keep[:, :, None] & keep[:, None]
    assert torch.equal(mask & both, (mask & both).mT)
    assert torch.equal(mask.diagonal(dim1=1, dim2=2), keep)
    locals_ = [i for i in range(window // 2, 70 - window // 2) if i not in positions[1].tolist()]
    for i in locals_:
        inside = range(i - window // 2, i + window // 2 + 1)
        assert mask[1, i].nonzero().flatten().tolist() == sorted({*inside, *positions[1].tolist()})


def test_a_window_over_everything_lets_all_see_all_kept_keys():
    keep = torch.arange(9) < torch.tensor([9, 4, 0])[:, None]
    mask = support_mask(keep, global_positions(keep.sum(1), layer=0, random=0, seed=0), window=16)
    assert torch.equal(mask, keep[:, None].expand(3, 9, 9))


@pytest.mark.parametrize(("window", "better"), [(63, 64), (1, 2), (0, 2), (-4, 2)])
def test_a_window_without_two_equal_halves_is_refused_with_one_that_works(window, better):
    keep = torch.ones(1, 4, dtype=torch.bool)
    with pytest.raises(ConfigError, match=f"window={window}: .*use {better}$"):
        support_mask(keep, torch.tensor([[0, 3]]), window)
