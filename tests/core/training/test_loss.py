"""The loss compared with formulas and torch's own losses."""

import math
import typing

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.exceptions import ConfigError
from core.metrics import METRICS, select_metrics
from core.training.config import TrainingConfig, resolve_metric
from core.training.loop import UNTAGGED, Loss, build_loss, mix_targets

CPU = torch.device("cpu")
LOGITS = torch.tensor([[2.0, -1.0, 0.3], [0.1, 0.2, -3.0]], dtype=torch.float64)
SEVERAL = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def make_loss(labels, task, **settings):
    return build_loss(TrainingConfig(**settings), labels, classes=3, task=task, device=CPU)


@pytest.mark.parametrize("settings", [{}, {"class_weights": "balanced", "label_smoothing": 0.1}])
def test_class_numbers_and_one_hot_targets_have_equal_loss(settings):
    labels = torch.tensor([2, 0])
    loss = make_loss(torch.tensor([0, 0, 1, 2]), "single", **settings)
    assert settings or loss(LOGITS, labels).item() == pytest.approx(F.cross_entropy(LOGITS, labels).item())
    assert loss(LOGITS, F.one_hot(labels, 3)).item() == pytest.approx(loss(LOGITS, labels).item())


def test_soft_targets_give_their_cross_entropy():
    targets = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.9, 0.0]])
    expected = -(targets * LOGITS.log_softmax(1)).sum(1).mean()
    assert Loss("single")(LOGITS, targets).item() == pytest.approx(expected.item())
    balanced = make_loss(torch.tensor([0, 0, 0, 1]), "single", class_weights="balanced")
    assert balanced.weights.tolist() == pytest.approx([4 / 9, 4 / 3, 0])
    # With weights, the optimum for targets t is proportional to w t.
    weighted, logits = Loss("single", torch.tensor([1.0, 2.0, 4.0])), torch.zeros(2, 3, requires_grad=True)
    best = (targets * weighted.weights).log().clamp(min=-50)
    weighted(logits + best, targets).backward()
    assert logits.grad.abs().max() < 1e-7


def test_multi_label_loss_is_the_mean_over_labels():
    decisions = zip(LOGITS.flatten().tolist(), SEVERAL.flatten().tolist(), strict=True)
    expected = [math.log(1 + math.exp(-x if y else x)) for x, y in decisions]
    assert Loss("multi")(LOGITS, SEVERAL).item() == pytest.approx(sum(expected) / 6)


def test_multi_label_smoothing_is_split_between_both_values():
    smoothed = torch.tensor([[0.95, 0.05, 0.95], [0.05, 0.05, 0.05]], dtype=torch.float64)
    found = make_loss(SEVERAL, "multi", label_smoothing=0.1)(LOGITS, SEVERAL)
    assert found.item() == pytest.approx(F.binary_cross_entropy_with_logits(LOGITS, smoothed).item())


def test_balanced_labels_weight_both_values_equally():
    labels = torch.tensor([[1.0, 0, 0], [1, 0, 1], [1, 0, 0], [0, 0, 0]])
    loss = make_loss(labels, "multi", class_weights="balanced")
    assert loss.weights.tolist() == pytest.approx([1 / 3, 1, 3])
    # At logits of 0 each label value costs ln 2 times its weight; both values of a label with rows weigh 2 n_no.
    found = loss(torch.zeros(4, 3), labels).item()
    assert found == pytest.approx(math.log(2) * ((3 * 1 / 3 + 1) + 4 + (1 * 3 + 3)) / 12)


def test_every_metric_selects_epochs_or_names_the_nearest():
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


def test_ordinal_metrics_need_ordered_classes():
    assert (resolve_metric("auto", "single"), resolve_metric("auto", "multi")) == ("accuracy", "f1_macro")
    message = "training.metric=accuracy: not defined for several labels per text; the nearest is subset_accuracy"
    with pytest.raises(ConfigError, match=message):
        resolve_metric("accuracy", "multi")
    assert resolve_metric("quadratic_kappa", "single", ordered=True) == "quadratic_kappa"
    with pytest.raises(ConfigError, match=r"mae: needs three classes or more in an order \(data.order=.*\); .* loss"):
        resolve_metric("mae", "single")
    with pytest.raises(ConfigError, match="mae: not defined for several labels"):
        resolve_metric("mae", "multi", ordered=True)


@pytest.mark.parametrize("task", ["single", "multi"])
def test_distillation_loss_mixes_labels_and_teacher(task):
    labels = torch.tensor([2, 0]) if task == "single" else SEVERAL
    taught = torch.tensor([[0.2, 0.1, 0.7], [0.3, 0.6, 0.1]])
    logits, loss = LOGITS.clone().requires_grad_(), Loss(task)
    targets = torch.from_numpy(mix_targets(labels.numpy(), taught.numpy(), 0.6))
    found = loss(logits, targets)
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
