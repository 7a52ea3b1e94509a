"""Heads that classify each token in place of the text."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from core.config import compose
from core.exceptions import ConfigError
from core.models.build import build
from core.models.trace import Batch
from core.training.loss import UNTAGGED, Loss

SMALL = {"model.width": 16, "model.ff_width": 16, "text.max_length": 8}
IDS = torch.tensor([[2, 3, 4, 5], [6, 7, 0, 0]])


def model_of(preset, settings=SMALL):
    config = compose(preset, {k: v for k, v in settings.items() if k.startswith("model")}).model
    torch.manual_seed(0)
    return build(config, vocabulary=20, classes=3, max_length=8, each_token=True).eval()


@pytest.mark.parametrize("preset", ["vanilla", "ndt-01-n3", "inceptive-64"])
def test_every_token_has_logits_and_padding_changes_none(preset):
    settings = {**SMALL, "model.attention.heads": 2} | (
        {"model.head.channels": 4, "model.head.attention_heads": 2} if preset == "inceptive-64" else {}
    )
    model = model_of(preset, settings)
    both = model(Batch(IDS, IDS > 0)).logits
    alone = model(Batch(IDS[1:, :2], IDS[1:, :2] > 0)).logits
    assert both.shape == (2, 4, 3)
    torch.testing.assert_close(both[1, :2], alone[0])


def test_a_class_token_is_no_word():
    assert model_of("vanilla", {**SMALL, "model.pooling": "cls"})(Batch(IDS, IDS > 0)).logits.shape == (2, 4, 3)


def test_the_loss_is_the_mean_over_first_pieces():
    logits, tags = torch.randn(2, 4, 3), torch.tensor([[0, UNTAGGED, 2, 1, 0], [1, UNTAGGED, UNTAGGED, UNTAGGED, 2]])
    learned = torch.stack([logits[0, 0], logits[0, 2], logits[0, 3], logits[1, 0]])
    wanted = F.cross_entropy(learned, torch.tensor([0, 2, 1, 1]))
    torch.testing.assert_close(Loss("tokens")(logits, tags), wanted)


@pytest.mark.parametrize(
    ("preset", "change"), [("bilstm", {}), ("tfidf-logreg", {}), ("vanilla", {"pad_mode": "as_released"})]
)
def test_what_says_one_thing_of_a_text_is_refused(preset, change):
    config = dataclasses.replace(compose(preset, {}).model, **change)
    with pytest.raises(ConfigError, match=r"has a tag|has no tag"):
        build(config, vocabulary=20, classes=3, max_length=8, each_token=True)
