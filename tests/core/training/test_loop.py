import dataclasses
import math

import numpy as np
import pytest
import torch
from stopping import StopAfter
from torch.nn import functional as F

from core.exceptions import Cancelled, ConfigError, RunDamaged, SentiscopeError
from core.models.config import AttentionConfig
from core.models.trace import Batch
from core.text.token_table import TokenTable
from core.training import device, stage
from core.training.batches import Examples, plan
from core.training.checkpoint import load_checkpoint
from core.training.history import read_history
from core.training.stage import Events, rate


class Killed(BaseException):
    """Stands for a SIGKILL: nothing may be saved on its way."""


class KillAt(Events):
    def __init__(self, step):
        self.step = step

    def row(self, row):
        if row["step"] == self.step:
            raise Killed


def weights(job):
    return {name: tensor.clone() for name, tensor in job.model.state_dict().items()}


def same(left, right):
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def rows_without_time(job):
    return [{**row, "seconds": 0} for row in read_history(job.history).rows]


@pytest.mark.slow
def test_a_small_task_is_learned(make):
    job = make(epochs=12)
    outcome = job.run()
    assert outcome.best >= 0.9
    assert outcome.steps == 12 * 7
    assert not job.model.training
    losses = [row["train_loss"] for row in read_history(job.history).kind("epoch")]
    assert losses[-1] < losses[0] / 2


@pytest.mark.slow
def test_what_is_learned_can_differ_from_the_labels_and_have_rows_of_its_own(make):
    """Every text once more with the opposite as its target and half of the weight: the labels win, by as much."""
    job = make(epochs=12)
    tokens, labels = job.training.tokens, job.training.labels
    twice = TokenTable(np.tile(tokens.flat, 2), np.append(tokens.offsets, tokens.offsets[1:] + tokens.offsets[-1]))
    hard = np.eye(job.classes, dtype=np.float32)[labels]
    soft = np.full_like(hard, 1 / job.classes)
    job = dataclasses.replace(job, training=Examples(twice, labels, np.concatenate([hard, soft])))
    outcome = job.run()
    assert outcome.steps == 12 * math.ceil(2 * len(labels) / job.config.batch_size)
    logits = job.model(Batch.of(job.training.tokens.padded(np.arange(len(labels))))).logits
    # Of two equal texts, one certain and one even, the best answer is three in four.
    sure = logits.softmax(1)[np.arange(len(labels)), labels].median().item()
    assert sure == pytest.approx(0.75, abs=0.05)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(make):
    first, again, other = make("a"), make("b"), make("c", seed=1)
    for job in (first, again, other):
        job.run()
        torch.rand(5)  # whatever else draws numbers in between does not matter
    assert same(weights(first), weights(again))
    assert rows_without_time(first) == rows_without_time(again)
    assert not same(weights(first), weights(other))


@pytest.mark.slow
@pytest.mark.parametrize("updates", [0, 1, 4, 7, 8, 20])
def test_a_cancelled_training_resumes_to_the_bit(make, updates):
    whole = make("whole")
    whole.run()
    with pytest.raises(Cancelled):
        make("cut", events=StopAfter(updates)).run()
    torch.rand(5)
    resumed = make("cut")
    outcome = resumed.run()
    assert same(weights(whole), weights(resumed))
    assert rows_without_time(whole) == rows_without_time(resumed)
    assert outcome.steps == 21


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 5, 7, 11, 21])
def test_a_training_killed_between_checkpoints_resumes_to_the_bit(make, step):
    whole = make("whole")
    whole.run()
    with pytest.raises(Killed):
        make("cut", events=KillAt(step)).run()
    resumed = make("cut")
    resumed.run()
    assert same(weights(whole), weights(resumed))
    assert rows_without_time(whole) == rows_without_time(resumed)


@pytest.mark.slow
def test_checkpoints_come_by_the_clock_within_an_epoch(make, monkeypatch):
    monkeypatch.setattr(stage, "CHECKPOINT_SECONDS", 0.0)
    saved = []

    class Seen(Events):
        def saved(self, progress, steps):
            saved.append((progress.step, steps))

    make(events=Seen(), epochs=1).run()
    assert saved == [(step, 7) for step in range(8)]


@pytest.mark.slow
def test_a_finished_training_only_hands_back_its_best_weights(make):
    first = make()
    first.run()
    again = make()
    again._update = None  # calling it would fail
    outcome = again.run()
    assert same(weights(first), weights(again))
    assert outcome.steps == 21


@pytest.mark.slow
def test_time_adds_up_over_resumed_parts(make):
    with pytest.raises(Cancelled):
        make(events=StopAfter(3)).run()
    before = load_checkpoint(make().checkpoint).progress.seconds
    assert make().run().seconds > before > 0


def scripted(values, name="accuracy"):
    left = iter(values)
    return lambda labels, logits: {name: next(left)}


@pytest.mark.slow
def test_the_best_epoch_is_kept_and_patience_ends_the_training(make):
    kept = []

    class Keep(Events):
        def best(self, model):
            kept.append({name: tensor.clone() for name, tensor in model.state_dict().items()})

    job = make(epochs=9, patience=2, score=scripted([0.5, 0.7, 0.7, 0.6, 0.9]), events=Keep())
    outcome = job.run()
    assert (outcome.best_epoch, outcome.best, outcome.steps) == (1, 0.7, 4 * 7)
    assert [row["best"] for row in read_history(job.history).kind("epoch")] == [True, True, False, False]
    assert len(kept) == 2 and same(weights(job), kept[1])


@pytest.mark.slow
def test_patience_0_never_stops_early(make):
    assert make(epochs=4, patience=0, score=scripted([0.5, 0.4, 0.3, 0.2])).run().steps == 28


@pytest.mark.slow
def test_a_stopped_training_stays_stopped_when_resumed(make):
    values = [0.5, 0.4, 0.3]
    make(epochs=9, patience=2, score=scripted(values)).run()
    assert make(epochs=9, patience=2, score=scripted([])).run().steps == 21


@pytest.mark.slow
def test_of_losses_the_smallest_is_best(make):
    job = make(epochs=3, metric="loss", lr=1e-3)
    outcome = job.run()
    losses = [row["validation"]["loss"] for row in read_history(job.history).kind("epoch")]
    assert outcome.best == min(losses)


@pytest.mark.slow
def test_the_validation_loss_is_the_plain_cross_entropy(make):
    job = make(epochs=1, label_smoothing=0.3, class_weights="balanced")
    job.run()
    batch = Batch.of(job.validation.tokens.padded(np.arange(20)))
    with torch.no_grad():
        expected = F.cross_entropy(job.model(batch).logits, torch.from_numpy(job.validation.labels)).item()
    assert read_history(job.history).kind("epoch")[0]["validation"]["loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_a_metric_that_is_not_defined_is_refused_with_another_one_to_choose(make):
    with pytest.raises(ConfigError, match=r"training\.metric=roc_auc: not defined.*choose accuracy or loss"):
        make(metric="roc_auc").run()


def test_smoothing_and_balanced_weights_enter_the_loss(make):
    model = dataclasses.replace(make.model, dropout=0.0)
    job = make(rows=30, batch_size=30, epochs=1, label_smoothing=0.2, class_weights="balanced", model=model)
    labels = torch.from_numpy(job.training.labels)
    counts = torch.bincount(labels).float()
    with torch.no_grad():
        logits = job.model(Batch.of(job.training.tokens.padded(np.arange(30)))).logits
    expected = F.cross_entropy(logits, labels, weight=30 / (2 * counts), label_smoothing=0.2)
    job.run()
    assert read_history(job.history).kind("step")[1]["loss"] == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("clip", "clipped"), [(1e-3, True), (0.0, False)])
def test_gradients_are_clipped_to_a_norm_and_logged_before_it(make, clip, clipped):
    job = make(epochs=1, clip=clip)
    job.run()
    norm = torch.stack([parameter.grad.norm() for parameter in job.parameters]).norm().item()
    logged = read_history(job.history).kind("step")[-1]["grad_norm"]
    assert logged > 1e-2
    assert norm == pytest.approx(1e-3 if clipped else logged, rel=1e-3)


def test_only_lambda_is_in_the_group_without_decay(make):
    job = make(weight_decay=0.3)
    decays = {id(p): group["weight_decay"] for group in job.optimizer.groups for p in group["params"]}
    for name, parameter in job.model.named_parameters():
        assert decays[id(parameter)] == (0.0 if ".mixing." in name else 0.3)


@pytest.mark.slow
def test_lambda_learns_at_its_own_rate_and_goes_on_to_the_bit(make):
    """A first step of AdamW moves every entry by its rate: ten times as far with a factor of 10, the rest as before."""
    usual, faster = make("usual", epochs=1, rows=8), make("faster", epochs=1, rows=8, lambda_lr=10.0)
    before = weights(usual)
    for job in (usual, faster):
        job.run()
    one, ten = weights(usual), weights(faster)
    for name, start in before.items():
        factor = 10 if name.endswith(("lambda_q", "lambda_k")) else 1
        torch.testing.assert_close(ten[name] - start, factor * (one[name] - start), rtol=1e-3, atol=1e-6)
    whole = make("whole", lambda_lr=10.0)
    whole.run()
    with pytest.raises(Cancelled):
        make("cut", events=StopAfter(4), lambda_lr=10.0).run()
    resumed = make("cut", lambda_lr=10.0)
    resumed.run()
    assert same(weights(whole), weights(resumed)) and not same(weights(whole), weights(make("other")))


@pytest.mark.slow
def test_the_history_begins_before_the_first_update_and_follows_the_schedule(make):
    job = make(warmup=0.2)
    before = [layer[:, 0].tolist() for layer in job.model.lambdas()]
    job.run()
    rows = read_history(job.history).kind("step")
    assert [row["step"] for row in rows] == list(range(22))
    assert rows[0]["loss"] is None and rows[0]["lambda"] == before
    for row in rows[1:]:
        expected = job.config.lr * rate(row["step"] - 1, steps=21, warmup=0.2, schedule="cosine")
        assert row["lr"] == pytest.approx(expected)
        assert row["epoch"] == (row["step"] - 1) // 7
        assert math.isfinite(row["loss"]) and row["grad_norm"] > 0
        assert [len(layer) for layer in row["lambda"]] == [2, 2]
    assert rows[-1]["lambda"] != before


@pytest.mark.slow
def test_long_trainings_log_about_two_hundred_steps_and_more_of_the_first_ones(make, monkeypatch):
    monkeypatch.setattr(stage, "LOGGED_STEPS", 3)
    job = make()
    job.run()
    assert [row["step"] for row in read_history(job.history).kind("step")] == [0, 1, 2, 4, 7, 14, 21]


def test_an_epoch_row_has_the_mean_loss_over_its_rows(make):
    job = make(rows=20, epochs=1)
    job.run()
    losses = [row["loss"] for row in read_history(job.history).kind("step")[1:]]
    sizes = [len(rows) for rows in plan(job.training.tokens.lengths, batch_size=8, seed=0, epoch=0)]
    assert sorted(sizes) == [4, 8, 8]
    mean = np.dot(losses, sizes) / 20
    assert read_history(job.history).kind("epoch")[0]["train_loss"] == pytest.approx(mean)


def test_a_loss_that_is_not_finite_stops_with_advice_and_no_update(make):
    job = make()
    job.model.head.bias.data.fill_(math.inf)
    before = weights(job)
    with pytest.raises(SentiscopeError, match=r"no longer finite at step 1 \(epoch 1\): try a smaller training\.lr"):
        job.run()
    assert same(weights(job), before)


@pytest.mark.parametrize("batching", ["length", "fixed"])
def test_empty_texts_and_batches_of_one_row_train(make, batching):
    job = make(epochs=1, batch_size=1, batching=batching)
    job.training = Examples(TokenTable.of([[], [2], []]), np.array([0, 1, 0]))
    job = dataclasses.replace(job, validation=Examples(TokenTable.of([[]]), np.array([0])))
    assert job.run().steps == 3


@pytest.mark.slow
@pytest.mark.parametrize(("batching", "widths"), [("fixed", {12}), ("length", set(range(1, 11)))])
def test_fixed_batches_are_as_wide_as_the_longest_text_may_be(make, batching, widths):
    job, seen = make(batching=batching, epochs=1), set()
    job.model.register_forward_pre_hook(lambda model, args: seen.add((model.training, args[0].ids.shape[1])))
    job.run()
    assert {width for training, width in seen if training} <= widths


@pytest.mark.slow
def test_bfloat16_trains_under_autocast_and_validates_without(make, monkeypatch):
    monkeypatch.setattr(device, "cpu_has_bfloat16", lambda: True)
    job = make(precision="bfloat16", epochs=1)
    seen = set()
    job.model.register_forward_pre_hook(
        lambda model, args: seen.add((model.training, torch.is_autocast_enabled("cpu")))
    )
    job.run()
    assert seen == {(True, True), (False, False)}


def test_bfloat16_is_refused_before_anything_is_trained(make, monkeypatch):
    monkeypatch.setattr(device, "cpu_has_bfloat16", lambda: False)
    with pytest.raises(ConfigError, match=r"training\.precision=bfloat16"):
        make(precision="bfloat16")


def test_a_checkpoint_of_another_model_is_told(make):
    with pytest.raises(Cancelled):
        make(events=StopAfter(2)).run()
    with pytest.raises(RunDamaged, match="does not fit this run"):
        make(model=dataclasses.replace(make.model, layers=1)).run()


@pytest.mark.slow
@pytest.mark.parametrize("portions", [2, 3, 100])
def test_a_batch_read_in_portions_makes_the_same_step(make, portions):
    """Without dropout the gradients of the portions, each by its share of the rows, add up to that of the batch."""
    model = dataclasses.replace(make.model, dropout=0.0)
    jobs = [make(name, model=model, epochs=1, portions=many) for name, many in (("whole", 1), ("parted", portions))]
    for job in jobs:
        job.run()
    whole, parted = (next(row for row in rows_without_time(job) if row.get("loss")) for job in jobs)
    assert parted["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert parted["grad_norm"] == pytest.approx(whole["grad_norm"], rel=1e-4)
    assert load_checkpoint(jobs[1].checkpoint).progress.step == 7


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({}, {}),
        ({"class_weights": "balanced"}, {}),
        ({"class_weights": "balanced", "label_smoothing": 0.1}, {}),
        ({"class_weights": "balanced", "taught": True}, {}),
        ({"diversity": 0.5}, {"attention": AttentionConfig(heads=2, components=2, mixing="additive")}),
    ],
    ids=["plain", "balanced", "smoothed", "taught", "diversity"],
)
def test_portions_have_the_gradient_of_the_whole_batch(make, settings, changes):
    """Of uneven classes and lengths, where a mean of means would be another one."""
    settings = dict(settings)
    taught = settings.pop("taught", False)
    model = dataclasses.replace(make.model, dropout=0.0, **changes)
    found = []
    for portions in (1, 3):
        job = make(f"in {portions}", model=model, rows=60, portions=portions, **settings)
        labels = (np.arange(60) % 10 == 0).astype(np.int64)
        texts = [list(range(2, 3 + row % 9)) for row in range(60)]
        targets = np.random.default_rng(1).dirichlet([1, 1], 60).astype(np.float32) if taught else None
        job = dataclasses.replace(job, training=Examples(TokenTable.of(texts), labels, targets))
        rows = np.array([0, 10, 20, 3, 4, 5, 6, 7])
        losses = [loss for loss in job._losses(rows) if loss.backward() is None]
        assert len(losses) == portions
        found.append((sum(losses).item(), {name: each.grad for name, each in job.model.named_parameters()}))
    (whole, gradient), (sum_of_parts, added) = found
    assert sum_of_parts == pytest.approx(whole, abs=1e-6)
    for name, each in gradient.items():
        assert (each is None and added[name] is None) or torch.allclose(each, added[name], atol=1e-6), name
