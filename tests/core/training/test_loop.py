import dataclasses
import math
import typing

import numpy as np
import pytest
import torch
from refused import check_raises
from stopping import StopAfter, copy_weights, have_same_bits, rows_without_time
from torch.nn import functional as F

from core.exceptions import Cancelled, ConfigError, RunDamaged, SentiscopeError
from core.metrics import METRICS, select_metrics
from core.models.config import AttentionConfig
from core.models.trace import Batch
from core.text.special_ids import UNKNOWN
from core.text.token_table import TokenTable
from core.training import device, loop, training_stage
from core.training.config import TrainingConfig, resolve_metric
from core.training.history import read_history
from core.training.loop import UNTAGGED, Loss, build_loss, mix_targets
from core.training.mlm import forget_words
from core.training.training_stage import Events, Examples, compute_lr_factor, load_checkpoint, plan_batches

LOGITS = torch.tensor([[2.0, -1.0, 0.3], [0.1, 0.2, -3.0]], dtype=torch.float64)
SEVERAL = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


class Killed(BaseException):
    """Simulates a SIGKILL, which saves nothing."""


class KillAt(Events):
    def __init__(self, step):
        self.step = step

    def on_row(self, row):
        if row["step"] == self.step:
            raise Killed


@pytest.mark.slow
def test_small_tasks_are_learned_with_labels_or_soft_targets(make):
    """Each text occurs again with an even target."""
    job = make(epochs=12)
    assert job.run().best >= 0.9
    losses = [row["train_loss"] for row in read_history(job.history).select_kind("epoch")]
    assert losses[-1] < losses[0] / 2 and not job.model.training
    job = make("more", epochs=12)
    tokens, labels = job.training.tokens, job.training.labels
    twice = TokenTable(np.tile(tokens.flat, 2), np.append(tokens.offsets, tokens.offsets[1:] + tokens.offsets[-1]))
    hard = np.eye(job.classes, dtype=np.float32)[labels]
    soft = np.full_like(hard, 1 / job.classes)
    job = dataclasses.replace(job, training=Examples(twice, labels, np.concatenate([hard, soft])))
    assert job.run().steps == 12 * math.ceil(2 * len(labels) / job.config.batch_size)
    logits = job.model(Batch.from_arrays(job.training.tokens.pad_rows(np.arange(len(labels))))).logits
    # For equal texts with a certain and an even target the optimum is 3/4.
    assert logits.softmax(1)[np.arange(len(labels)), labels].median().item() == pytest.approx(0.75, abs=0.05)


@pytest.mark.slow
def test_seeds_determine_the_result(make, whole):
    again, other = make("b"), make("c", seed=1)
    for job in (again, other):
        job.run()
        torch.rand(5)  # other draws in between have no effect
    assert have_same_bits(whole.model, again.model) and not have_same_bits(whole.model, other.model)
    assert rows_without_time(whole.history) == rows_without_time(again.history)
    ended = make("b")
    ended._update_weights = None  # calling it would fail: a finished training only restores its best weights
    assert ended.run().steps == 21 and have_same_bits(whole.model, ended.model)


STOPS = [*((Cancelled, StopAfter(updates)) for updates in (0, 7, 8)), *((Killed, KillAt(step)) for step in (1, 7, 11))]


def stop_and_resume(make, error, stop, **settings):
    """Stop a training, draw other random numbers and resume it."""
    check_raises(error, None, make("cut", events=stop, **settings).run)
    before = load_checkpoint(make("cut", **settings).checkpoint)
    torch.rand(5)
    resumed = make("cut", **settings)
    outcome = resumed.run()
    assert outcome.steps == 21 and outcome.seconds > (before.progress.seconds if before else 0)
    return resumed


@pytest.mark.slow
@pytest.mark.parametrize(("error", "stop"), STOPS)
def test_interrupted_training_resumes_bit_identically(make, whole, error, stop):
    resumed = stop_and_resume(make, error, stop)
    assert have_same_bits(whole.model, resumed.model)
    assert rows_without_time(whole.history) == rows_without_time(resumed.history)


class Keeping(StopAfter):
    """Collects the weights of the kept steps, and stops after some updates."""

    def __init__(self, updates, found):
        super().__init__(updates)
        self.found = found

    def on_keep(self, model, step):
        self.found[step] = copy_weights(model)


def test_a_resumed_training_keeps_the_steps_of_an_uninterrupted_one(make):
    whole, cut = {}, {}
    make("whole", keep=4, events=Keeping(99, whole)).run()
    check_raises(Cancelled, None, make("cut", keep=4, events=Keeping(9, cut)).run)
    make("cut", keep=4, events=Keeping(99, cut)).run()
    assert list(whole) == list(cut) == [0, 7, 14, 21]
    assert all(torch.equal(each, cut[step][name]) for step in whole for name, each in whole[step].items())


def scripted(values, name="accuracy"):
    left = iter(values)
    return lambda labels, logits: {name: next(left)}


@pytest.mark.slow
def test_the_best_epoch_is_restored_and_patience_stops_training(make, monkeypatch):
    monkeypatch.setattr(training_stage, "CHECKPOINT_SECONDS", 0.0)
    kept, saved = [], []

    class Keep(Events):
        def on_best(self, model):
            kept.append(copy_weights(model))

        def on_checkpoint(self, progress, steps):
            saved.append((progress.step, steps))

    job = make(epochs=9, patience=2, score=scripted([0.5, 0.7, 0.7, 0.6, 0.9]), events=Keep())
    outcome = job.run()
    assert (outcome.best_epoch, outcome.best, outcome.steps) == (1, 0.7, 4 * 7)
    assert [row["best"] for row in read_history(job.history).select_kind("epoch")] == [True, True, False, False]
    assert len(kept) == 2 and all(tensor.equal(kept[1][name]) for name, tensor in job.model.state_dict().items())
    assert saved[:9] == [*((step, 63) for step in range(8)), (7, 63)], "checkpoints by the clock within an epoch"
    assert make(epochs=9, patience=2, score=scripted([])).run().steps == 28, "it stays stopped"
    assert make("endless", epochs=4, patience=0, score=scripted([0.5, 0.4, 0.3, 0.2])).run().steps == 28


@pytest.mark.slow
def test_the_lowest_validation_cross_entropy_is_best_and_undefined_metrics_are_refused(make):
    job = make(epochs=3, metric="loss", lr=1e-3, label_smoothing=0.3, class_weights="balanced", batching="fixed")
    widths = set()
    job.model.register_forward_pre_hook(lambda model, args: widths.add((model.training, args[0].ids.shape[1])))
    outcome = job.run()
    losses = [row["validation"]["loss"] for row in read_history(job.history).select_kind("epoch")]
    assert outcome.best == min(losses)
    batch = Batch.from_arrays(job.validation.tokens.pad_rows(np.arange(20)))
    with torch.no_grad():
        expected = F.cross_entropy(job.model(batch).logits, torch.from_numpy(job.validation.labels)).item()
    assert min(losses) == pytest.approx(expected, rel=1e-5)
    assert {width for learning, width in widths if learning} == {12}, "as wide as the longest text may be"
    with pytest.raises(ConfigError, match=r"training\.metric=roc_auc: not defined.*choose accuracy or loss"):
        make("other", metric="roc_auc").run()


def test_label_smoothing_and_class_weights_change_the_loss(make):
    model = dataclasses.replace(make.model, dropout=0.0)
    job = make(rows=30, batch_size=30, epochs=1, label_smoothing=0.2, class_weights="balanced", model=model)
    labels = torch.from_numpy(job.training.labels)
    counts = torch.bincount(labels).float()
    with torch.no_grad():
        logits = job.model(Batch.from_arrays(job.training.tokens.pad_rows(np.arange(30)))).logits
    expected = F.cross_entropy(logits, labels, weight=30 / (2 * counts), label_smoothing=0.2)
    job.run()
    assert read_history(job.history).select_kind("step")[1]["loss"] == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("clip", "clipped"), [(1e-3, True), (0.0, False)])
def test_gradient_norms_are_logged_before_clipping(make, clip, clipped):
    job = make(epochs=1, clip=clip)
    job.run()
    norm = torch.stack([parameter.grad.norm() for parameter in job.parameters]).norm().item()
    logged = read_history(job.history).select_kind("step")[-1]["grad_norm"]
    assert logged > 1e-2 and norm == pytest.approx(1e-3 if clipped else logged, rel=1e-3)


@pytest.mark.slow
def test_lambda_has_its_own_learning_rate(make):
    """AdamW's first step changes every entry by its rate, which a factor of 10 multiplies."""
    usual, faster = make("usual", epochs=1, rows=8), make("faster", epochs=1, rows=8, lambda_lr=10.0)
    before = copy_weights(usual.model)
    for job in (usual, faster):
        job.run()
    one, ten = usual.model.state_dict(), faster.model.state_dict()
    for name, start in before.items():
        factor = 10 if name.endswith(("lambda_q", "lambda_k")) else 1
        torch.testing.assert_close(ten[name] - start, factor * (one[name] - start), rtol=1e-3, atol=1e-6)


@pytest.mark.slow
def test_the_history_starts_before_the_first_update_and_has_about_200_steps(make, monkeypatch):
    job = make(warmup=0.2)
    before = [layer[:, 0].tolist() for layer in job.model.get_lambdas()]
    job.run()
    rows = read_history(job.history).select_kind("step")
    assert [row["step"] for row in rows] == list(range(22)) and rows[0]["loss"] is None and rows[0]["lambda"] == before
    for row in rows[1:]:
        expected = job.config.lr * compute_lr_factor(row["step"] - 1, steps=21, warmup=0.2, schedule="cosine")
        assert row["lr"] == pytest.approx(expected) and row["epoch"] == (row["step"] - 1) // 7
        assert math.isfinite(row["loss"]) and row["grad_norm"] > 0
        assert [len(layer) for layer in row["lambda"]] == [2, 2]
    assert rows[-1]["lambda"] != before
    monkeypatch.setattr(training_stage, "LOGGED_STEPS", 3)
    job = make("long")
    job.run()
    assert [row["step"] for row in read_history(job.history).select_kind("step")] == [0, 1, 2, 4, 7, 14, 21]


def test_epoch_rows_have_the_mean_loss_over_rows(make):
    job = make(rows=20, epochs=1)
    job.run()
    losses = [row["loss"] for row in read_history(job.history).select_kind("step")[1:]]
    sizes = [len(rows) for rows in plan_batches(job.training.tokens.lengths, batch_size=8, seed=0, epoch=0)]
    assert sorted(sizes) == [4, 8, 8]
    assert read_history(job.history).select_kind("epoch")[0]["train_loss"] == pytest.approx(np.dot(losses, sizes) / 20)


def test_nonfinite_losses_and_checkpoints_of_another_model_stop_training(make):
    job = make()
    job.model.head.bias.data.fill_(math.inf)
    before = copy_weights(job.model)
    check_raises(SentiscopeError, r"no longer finite at step 1 \(epoch 1\): try a smaller training\.lr", job.run)
    assert all(tensor.equal(before[name]) for name, tensor in job.model.state_dict().items())
    check_raises(Cancelled, None, make("other", events=StopAfter(2)).run)
    job = make("other", model=dataclasses.replace(make.model, layers=1))
    check_raises(RunDamaged, "does not fit this run", job.run)


@pytest.mark.parametrize("batching", ["length", "fixed"])
def test_empty_texts_and_single_row_batches_can_be_trained(make, batching):
    job = make(epochs=1, batch_size=1, batching=batching)
    job.training = Examples(TokenTable.from_ids([[], [2], []]), np.array([0, 1, 0]))
    job = dataclasses.replace(job, validation=Examples(TokenTable.from_ids([[]]), np.array([0])))
    assert job.run().steps == 3


@pytest.mark.slow
def test_bfloat16_trains_with_autocast_and_validates_without(make, monkeypatch):
    monkeypatch.setattr(device, "has_native_bfloat16", lambda: False)
    check_raises(ConfigError, r"training\.precision=bfloat16", make, precision="bfloat16")
    monkeypatch.setattr(device, "has_native_bfloat16", lambda: True)
    job = make(precision="bfloat16", epochs=1)
    seen = set()
    job.model.register_forward_pre_hook(lambda model, _: seen.add((model.training, torch.is_autocast_enabled("cpu"))))
    job.run()
    assert seen == {(True, True), (False, False)}


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
def test_portions_sum_to_the_gradient_of_the_batch(make, settings, changes):
    """Uneven classes and lengths, so that a mean of means is different."""
    settings = dict(settings)
    taught = settings.pop("taught", False)
    model = dataclasses.replace(make.model, dropout=0.0, **changes)
    found = []
    for portions in (1, 3, 100):
        job = make(f"in {portions}", model=model, rows=60, portions=portions, **settings)
        labels = (np.arange(60) % 10 == 0).astype(np.int64)
        texts = [list(range(2, 3 + row % 9)) for row in range(60)]
        targets = np.random.default_rng(1).dirichlet([1, 1], 60).astype(np.float32) if taught else None
        job = dataclasses.replace(job, training=Examples(TokenTable.from_ids(texts), labels, targets))
        rows = np.array([0, 10, 20, 3, 4, 5, 6, 7])
        losses = [loss for loss in job._yield_losses(rows) if loss.backward() is None]
        assert len(losses) == min(portions, len(rows))
        found.append((sum(losses).item(), {name: each.grad for name, each in job.model.named_parameters()}))
    (whole, gradient), *parted = found
    for sum_of_parts, added in parted:
        assert sum_of_parts == pytest.approx(whole, abs=1e-6)
        for name, each in gradient.items():
            assert (each is None and added[name] is None) or torch.allclose(each, added[name], atol=1e-6), name


def factors(schedule, steps=100, warmup=0.1):
    return [compute_lr_factor(step, steps=steps, warmup=warmup, schedule=schedule) for step in range(steps + 1)]


def test_schedules_follow_their_formulas():
    assert factors("constant")[:10] == [pytest.approx((step + 1) / 11) for step in range(10)]
    assert factors("constant")[10:] == [1.0] * 91
    cosine, linear = factors("cosine"), factors("linear")
    for step in range(10, 101):
        t = (step - 10) / 90
        assert cosine[step] == pytest.approx((1 + math.cos(math.pi * t)) / 2)
        assert linear[step] == pytest.approx(1 - t)
    assert cosine[10] == linear[10] == 1 and cosine[100] == linear[100] == 0


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
@pytest.mark.parametrize(("steps", "warmup"), [(1, 0.0), (1, 0.05), (1, 0.99), (3, 0.99), (7, 0.0)])
def test_short_trainings_never_have_a_learning_rate_of_zero(schedule, steps, warmup):
    used = [compute_lr_factor(step, steps=steps, warmup=warmup, schedule=schedule) for step in range(steps)]
    assert all(0 < factor <= 1 for factor in used)


@pytest.fixture
def several(make):
    """several(name, **settings): the tiny task with a second label on every other row."""

    def build_one(name="run", score=None, **settings):
        job = make(name, **settings)
        told = {
            part: Examples(each.tokens, np.stack([each.labels, np.arange(len(each.labels)) % 2], 1).astype(np.float32))
            for part, each in {part: getattr(job, part) for part in ("training", "validation")}.items()
        }
        return dataclasses.replace(job, **told, task="multi", score=score or (lambda labels, logits: {"f1_macro": 0.5}))

    return build_one


@pytest.mark.slow
def test_multi_label_scores_get_logits_and_losses_average_over_labels(several):
    seen = []

    def score(labels, logits):
        seen.append((labels, logits))
        return {"f1_macro": 0.5}

    job = several(score=score, epochs=1)
    job.run()
    ((labels, logits),) = seen
    assert labels.shape == logits.shape == (20, 2)
    row = read_history(job.history).select_kind("epoch")[0]
    assert row["validation"]["loss"] == pytest.approx(Loss("multi")(logits, torch.from_numpy(labels)).item())


@pytest.mark.slow
@pytest.mark.parametrize(("value", "epochs"), [(0.0, 5), (0.25, 2)])
def test_patience_starts_with_the_first_correct_label(several, value, epochs):
    job = several(score=lambda labels, logits: {"f1_macro": value}, epochs=5, patience=1)
    job.run()
    assert len(read_history(job.history).select_kind("epoch")) == epochs


def batch(rows=200, length=50):
    keep = torch.arange(length) < torch.arange(rows).remainder(length + 1)[:, None]
    ids = torch.randint(2, 30, keep.shape, generator=torch.Generator().manual_seed(0)) * keep
    return Batch(ids, keep, tags=keep.long() * 3, polarity=torch.tensor([0.9, 0.1, 0.0]).expand(*keep.shape, 3))


def test_word_dropout_replaces_only_that_share_of_words():
    torch.manual_seed(0)
    before = batch()
    after = forget_words(before, 0.1)
    forgotten = after.ids != before.ids
    assert (after.ids[forgotten] == UNKNOWN).all()
    assert forgotten[before.keep].float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert not forgotten[~before.keep].any() and after.keep is before.keep and after.tags is before.tags
    assert torch.equal(after.polarity[~forgotten], before.polarity[~forgotten])
    assert after.polarity[forgotten].unique().tolist() == pytest.approx([1 / 3])
    state = torch.get_rng_state()
    assert forget_words(before, 0.0) is before and torch.equal(torch.get_rng_state(), state), "nothing is drawn"


@pytest.mark.slow
def test_word_dropout_training_resumes_bit_identically(make, whole):
    forgetting = make("whole", word_dropout=0.2)
    forgetting.run()
    resumed = stop_and_resume(make, Cancelled, StopAfter(9), word_dropout=0.2)
    assert have_same_bits(forgetting.model, resumed.model) and not have_same_bits(forgetting.model, whole.model)


@pytest.mark.slow
def test_validation_has_no_word_dropout(make, monkeypatch):
    job = make(word_dropout=0.9, epochs=1)
    read = []
    monkeypatch.setattr(loop, "forget_words", lambda batch, share, mark: read.append(len(batch.ids)) or batch)
    job.run()
    assert sum(read) == len(job.training.labels)  # without validation texts
    epoch = read_history(job.history).select_kind("epoch")[0]
    logits, labels = job._predict_validation(), torch.from_numpy(job.validation.labels)
    assert epoch["validation"]["loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, labels).item())


def make_loss(labels, task, **settings):
    return build_loss(TrainingConfig(**settings), labels, classes=3, task=task, device=torch.device("cpu"))


@pytest.mark.parametrize("settings", [{}, {"class_weights": "balanced", "label_smoothing": 0.1}])
def test_class_numbers_and_one_hot_targets_have_equal_loss(settings):
    labels = torch.tensor([2, 0])
    loss = make_loss(torch.tensor([0, 0, 1, 2]), "single", **settings)
    assert settings or loss(LOGITS, labels).item() == pytest.approx(F.cross_entropy(LOGITS, labels).item())
    assert loss(LOGITS, F.one_hot(labels, 3)).item() == pytest.approx(loss(LOGITS, labels).item())


def test_soft_targets_give_their_cross_entropy_and_multi_label_losses_are_means():
    targets = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.9, 0.0]])
    expected = -(targets * LOGITS.log_softmax(1)).sum(1).mean()
    assert Loss("single")(LOGITS, targets).item() == pytest.approx(expected.item())
    balanced = make_loss(torch.tensor([0, 0, 0, 1]), "single", class_weights="balanced")
    assert balanced.weights.tolist() == pytest.approx([4 / 9, 4 / 3, 0])
    # With weights, the optimum for targets t is proportional to w t.
    weighted, logits = Loss("single", torch.tensor([1.0, 2.0, 4.0])), torch.zeros(2, 3, requires_grad=True)
    weighted(logits + (targets * weighted.weights).log().clamp(min=-50), targets).backward()
    assert logits.grad.abs().max() < 1e-7
    decisions = zip(LOGITS.flatten().tolist(), SEVERAL.flatten().tolist(), strict=True)
    expected = [math.log(1 + math.exp(-x if y else x)) for x, y in decisions]
    assert Loss("multi")(LOGITS, SEVERAL).item() == pytest.approx(sum(expected) / 6)


def test_multi_label_smoothing_and_balancing_treat_both_values_equally():
    smoothed = torch.tensor([[0.95, 0.05, 0.95], [0.05, 0.05, 0.05]], dtype=torch.float64)
    found = make_loss(SEVERAL, "multi", label_smoothing=0.1)(LOGITS, SEVERAL)
    assert found.item() == pytest.approx(F.binary_cross_entropy_with_logits(LOGITS, smoothed).item())
    labels = torch.tensor([[1.0, 0, 0], [1, 0, 1], [1, 0, 0], [0, 0, 0]])
    loss = make_loss(labels, "multi", class_weights="balanced")
    assert loss.weights.tolist() == pytest.approx([1 / 3, 1, 3])
    # At logits of 0 each label value costs ln 2 times its weight; both values of a label with rows weigh 2 n_no.
    found = loss(torch.zeros(4, 3), labels).item()
    assert found == pytest.approx(math.log(2) * ((3 * 1 / 3 + 1) + 4 + (1 * 3 + 3)) / 12)


def test_every_metric_selects_epochs_or_names_the_nearest_and_ordinal_ones_need_an_order():
    names = typing.get_args(typing.get_type_hints(TrainingConfig)["metric"])
    assert names == ("auto", *METRICS)
    for name in names:
        for task in ("single", "multi"):
            if name in {"auto", *select_metrics(task)}:
                assert resolve_metric(name, task) in select_metrics(task)
            else:
                with pytest.raises(ConfigError) as refused:
                    resolve_metric(name, task)
                assert str(refused.value).split()[-1] in select_metrics(task)
    assert (resolve_metric("auto", "single"), resolve_metric("auto", "multi")) == ("accuracy", "f1_macro")
    message = "training.metric=accuracy: not defined for several labels per text; the nearest is subset_accuracy"
    check_raises(ConfigError, message, resolve_metric, "accuracy", "multi")
    assert resolve_metric("quadratic_kappa", "single", ordered=True) == "quadratic_kappa"
    with pytest.raises(ConfigError, match=r"mae: needs three classes or more in an order \(data.order=.*\); .* loss"):
        resolve_metric("mae", "single")
    check_raises(ConfigError, "mae: not defined for several labels", resolve_metric, "mae", "multi", ordered=True)


@pytest.mark.parametrize("task", ["single", "multi"])
def test_distillation_loss_mixes_labels_and_teacher(task):
    labels = torch.tensor([2, 0]) if task == "single" else SEVERAL
    taught = torch.tensor([[0.2, 0.1, 0.7], [0.3, 0.6, 0.1]])
    logits, loss = LOGITS.clone().requires_grad_(), Loss(task)
    found = loss(logits, torch.from_numpy(mix_targets(labels.numpy(), taught.numpy(), 0.6)))
    assert found.item() == pytest.approx(0.4 * loss(LOGITS, labels).item() + 0.6 * loss(LOGITS, taught).item())
    # The gradient is p - (0.4 y + 0.6 q), averaged over the rows.
    found.backward()
    known = F.one_hot(labels, 3) if task == "single" else labels
    said = LOGITS.softmax(1) if task == "single" else LOGITS.sigmoid()
    expected = (said - 0.4 * known - 0.6 * taught) / (2 if task == "single" else 6)
    assert logits.grad.numpy() == pytest.approx(expected.numpy())


@pytest.mark.parametrize("weights", [None, torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64)])
def test_portions_of_tagged_texts_sum_to_the_batch_loss(weights):
    """Texts with one, three and no tags, so that a mean of means is different."""
    random, loss = np.random.default_rng(0), Loss("tokens", weights)
    logits = torch.tensor(random.normal(size=(3, 4, 3)))
    tags = torch.tensor([[1, 0, 2, UNTAGGED], [UNTAGGED, 1, UNTAGGED, UNTAGGED], [UNTAGGED] * 4])
    parts = [
        loss(logits[row : row + 1], tags[row : row + 1]) * loss.compute_divisor(tags[row : row + 1]) for row in range(3)
    ]
    assert (sum(parts) / loss.compute_divisor(tags)).item() == pytest.approx(loss(logits, tags).item())
    known = tags != UNTAGGED
    assert loss(logits, tags).item() == pytest.approx(F.cross_entropy(logits[known], tags[known], weights).item())
    known = tags[:, :2] != UNTAGGED
    cut = F.cross_entropy(logits[:, :2][known], tags[:, :2][known], weights).item()
    assert loss(logits[:, :2], tags).item() == pytest.approx(cut), "tags of words that are not read do not count"
