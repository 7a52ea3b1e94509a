import numpy as np
import pytest

from core.training.training_stage import POOL, plan_batches


@pytest.mark.parametrize("batching", ["length", "fixed"])
@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 1000])
def test_epochs_contain_every_row_once_in_batches_of_the_right_size(batching, count):
    lengths = np.random.default_rng(0).integers(0, 90, count)
    batches = plan_batches(lengths, batch_size=16, seed=1, epoch=0, batching=batching)
    assert sorted(np.concatenate(batches)) == list(range(count))
    sizes = sorted(len(rows) for rows in batches)
    assert sizes == sorted([16] * (count // 16) + ([count % 16] if count % 16 else []))


def test_batches_depend_only_on_seed_and_epoch():
    lengths = np.arange(500)

    def flat(seed, epoch):
        np.random.seed(seed * 7 + epoch)  # the global generator has no effect
        return np.concatenate(plan_batches(lengths, batch_size=8, seed=seed, epoch=epoch)).tolist()

    assert flat(3, 1) == flat(3, 1)
    assert flat(3, 1) != flat(3, 2)
    assert flat(3, 1) != flat(4, 1)
    order = np.concatenate(plan_batches(lengths, batch_size=10, seed=0, epoch=0, batching="fixed"))
    assert order.tolist() != list(range(500))


def test_length_batches_are_sorted_inside_pools_and_shuffled():
    lengths = np.random.default_rng(0).integers(1, 200, POOL * 4 * 2)
    batches = plan_batches(lengths, batch_size=4, seed=0, epoch=0)
    spans = sorted((int(lengths[rows].min()), int(lengths[rows].max())) for rows in batches)
    assert max(high - low for low, high in spans) < 40  # random batches of 4 would span far more
    firsts = [int(lengths[rows].min()) for rows in batches]
    assert firsts != sorted(firsts)


def padded(lengths, batches, width=0):
    """Return positions per token, with padding."""
    return sum(len(rows) * max(width, int(lengths[rows].max())) for rows in batches) / lengths.sum()


def test_length_batches_need_little_padding():
    random = np.random.default_rng(0)
    reviews = np.clip(random.lognormal(np.log(172), 0.6, 20_000), 10, 512).astype(int)
    tweets = np.clip(random.lognormal(np.log(19), 0.5, 20_000), 1, 64).astype(int)
    for lengths, size, most, fixed_width in ((reviews, 32, 1.05, 512), (tweets, 64, 1.2, 128)):
        batches = plan_batches(lengths, batch_size=size, seed=0, epoch=0)
        assert padded(lengths, batches) <= most
        fixed = plan_batches(lengths, batch_size=size, seed=0, epoch=0, batching="fixed")
        assert padded(lengths, fixed, fixed_width) > 2.3
