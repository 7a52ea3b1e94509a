"""Models whose result is a known sum over words: the log-odds of `good` are the sum of the word weights."""

import types

import numpy as np
import torch
from torch import Tensor, nn

from core.evaluation.inference import predict_texts
from core.interpret.explain_context import ExplainContext
from core.interpret.faithfulness import LabeledSentence
from core.models.trace import Batch, Output
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer
from core.training.temperature import UNSCALED

WORDS = tuple(f"{a}{b}{c}" for a in "bdfklmnprst" for b in "aeiou" for c in "bdgk")
EVERY = 6  # every n-th word has a weight


class Sum(nn.Module):
    """Reads vectors with one number per word, and adds them."""

    provides = frozenset({"embedding"})

    def __init__(self, weights: np.ndarray, scale: float = 1.0) -> None:
        super().__init__()
        self.vectors = nn.Embedding(len(weights), 1)
        with torch.no_grad():
            self.vectors.weight.copy_(torch.tensor(weights)[:, None] * scale)

    def embed_tokens(self, batch: Batch) -> Tensor:
        return self.vectors(batch.ids) * batch.keep[..., None]

    def forward(
        self, batch: Batch, *, trace: bool = False, intervene: None = None, embedded: Tensor | None = None
    ) -> Output:
        total = (self.embed_tokens(batch) if embedded is None else embedded).sum((1, 2))
        logits = torch.stack([torch.zeros_like(total), total], 1)
        return Output(logits, logits)


def opinions(seed: int) -> np.ndarray:
    """(V,): a weight for every sixth word, zero for the others; no bias."""
    random = np.random.default_rng(seed)
    weights = np.zeros(len(WORDS))
    weights[::EVERY] = random.normal(size=len(weights[::EVERY])) * 1.5
    return weights


def sentences(count: int, seed: int, length: int = 10) -> list[str]:
    """A text of distinct random words."""
    random = np.random.default_rng(seed)
    return [" ".join(random.permutation(WORDS)[:length]).capitalize() + "." for _ in range(count)]


def toy(weights: np.ndarray) -> ExplainContext:
    """A model that sums these weights."""
    tokenizer = fit_tokenizer([" ".join(WORDS)] * 2, TextConfig(min_freq=1, max_length=64))
    by_word = dict(zip(WORDS, weights, strict=True))
    model = Sum(np.array([by_word.get(tokenizer.name(token), 0.0) for token in range(tokenizer.size)])).eval()
    return ExplainContext(
        predict=lambda texts: predict_texts(model, tokenizer, texts),
        inspect=lambda text: types.SimpleNamespace(),
        model=model.requires_grad_(False),
        tokenizer=tokenizer,
        classes=("bad", "good"),
        task="single",
        scaling=UNSCALED,
    )


def labeled(reader: ExplainContext, texts: list[str]) -> list[LabeledSentence]:
    """With the predictions as labels: the model is always right."""
    said = reader.predict(texts).probabilities.argmax(1)
    return [LabeledSentence(text, (int(label),)) for text, label in zip(texts, said, strict=True)]
