"""SentiFormer's propositions as small experiments (its section III): what a model of bounded memory cannot represent.

`markov`: a text is positive iff its first word is *not* and its last word is *good*. `memorise`: random labels of all
short sequences are learned by heart. Results are kept in `results/theory.json`: `python -m
core.papers.theory` trains all and writes them.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.data.config import DataConfig
from core.data.dataset import TRAIN
from core.data.load import load_dataset
from core.models.attention_config import AttentionConfig
from core.models.baselines import ReadsVectors
from core.models.builder import build_model
from core.models.config import ModelConfig
from core.models.dropout import Dropout
from core.models.encoder import EncoderClassifier, FeedForward, Layer
from core.models.head import Head
from core.models.trace import Batch, Record
from core.papers.theory_names import LENGTHS, MODELS, PAIRS

WORDS = ("", "not", "good", *(f"w{number}" for number in range(1, 14)))
"""The words of the language, after the padding; all but *not* and *good* mean nothing."""
NOT, GOOD, OTHERS = 1, 2, len(WORDS)
WIDTH = 32
SEEDS = (0, 1)
STEPS, FEW_STEPS, BATCH, TESTED = 1500, 400, 64, 2000
"""Most steps of a training, and those of a model that cannot learn the rule of long texts; texts of a batch, a test."""
RATES, RATE, WARM = {"transformer": 0.001, "tfidf": 0.05}, 0.003, 50
"""Learning rates of single models and of the others, and the steps until a rate is reached."""
CHECK, ENOUGH = 50, 3
"""Steps between two checks of a training; so many perfect checks in a row end it."""
VOCABULARY, LONGEST, MEMORY = 4, 4, 512
"""Symbols and length of the sequences with random labels; width of the feed-forward part that learns them."""
STRENGTH = 20_000.0
"""Factor of the hand-set scores: neighbours of the last of 64 words get a weight below 1e-9."""
Tell = Callable[[str, float | None], None]


def draw_texts(n: int, rows: int, generator: torch.Generator) -> tuple[Batch, Tensor]:
    """Draw texts of n words with their labels (rows,); a quarter is positive.

    The four corners (first word *not* or another, last word *good* or another) have equally many texts, in turn. Words
    between are drawn from all, so that *not* and *good* also stand where they mean nothing.
    """
    ids = torch.randint(1, OTHERS, (rows, n), generator=generator)
    first, last = torch.arange(rows) % 2 == 0, torch.arange(rows) % 4 < 2
    other = torch.randint(1, OTHERS - 1, (2, rows), generator=generator)
    ids[:, 0] = torch.where(first, NOT, other[0] + (other[0] >= NOT))
    ids[:, -1] = torch.where(last, GOOD, other[1] + (other[1] >= GOOD))
    return Batch(ids, torch.ones_like(ids, dtype=torch.bool)), (first & last).long()


class WindowClassifier(ReadsVectors):
    """A k-th order Markov model: a hidden layer over the embeddings of the last k words, then the head."""

    def __init__(self, *, words: int) -> None:
        super().__init__(vocabulary=OTHERS, width=WIDTH)
        self.words, self.dropout = words, Dropout(0.0)
        self.hidden = nn.Linear(words * WIDTH, WIDTH)
        self.head = Head(width=WIDTH, classes=2, pooling="cls")

    def pool_tokens(self, x: Tensor, keep: Tensor, record: Record) -> tuple[Tensor, dict[int, Tensor]]:
        """Return the hidden layer over the last k words, (B, d); a shorter text has zeros before it."""
        seen = F.pad(x[:, -self.words :], (0, 0, max(0, self.words - x.shape[1]), 0))
        return F.relu(self.hidden(seen.flatten(1))), {}


class LastStateLSTM(ReadsVectors):
    """An LSTM that reads a text once from left to right; the head reads its last state."""

    def __init__(self) -> None:
        super().__init__(vocabulary=OTHERS, width=WIDTH)
        self.dropout, self.lstm = Dropout(0.0), nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.head = Head(width=WIDTH, classes=2, pooling="cls")
        with torch.no_grad():  # open forget gates: a state lasts from the first word on
            self.lstm.get_parameter("bias_ih_l0")[WIDTH : 2 * WIDTH] = 3.0

    def pool_tokens(self, x: Tensor, keep: Tensor, record: Record) -> tuple[Tensor, dict[int, Tensor]]:
        """Return the state after the last word, (B, d)."""
        return self.lstm(x)[1][0][-1], {}


class WordCounts(ReadsVectors):
    """A linear classifier of the TF-IDF weights of words; all words are equally frequent, so that idf is 1."""

    def __init__(self) -> None:
        super().__init__(vocabulary=OTHERS, width=OTHERS)
        self.dropout, self.head = Dropout(0.0), Head(width=OTHERS, classes=2, pooling="cls")
        self.embedding = nn.Embedding.from_pretrained(torch.eye(OTHERS))

    def pool_tokens(self, x: Tensor, keep: Tensor, record: Record) -> tuple[Tensor, dict[int, Tensor]]:
        """Return the weights (1 + ln count) of the words, of unit length, (B, V)."""
        counts = x.sum(1)
        return F.normalize(torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0.0)), {}


def build_transformer(vocabulary: int = OTHERS, hidden: int = 2 * WIDTH) -> EncoderClassifier:
    """Build a transformer of one layer and two heads without norms, with the positions of SentiFormer, eq. 3."""
    config = ModelConfig(
        width=WIDTH,
        layers=1,
        attention=AttentionConfig(heads=2),
        position="polarity-aware",
        pos_tags=False,
        norm="none",
        ff_width=hidden,
        pooling="cls",
        dropout=0.0,
    )
    model = build_model(config, vocabulary=vocabulary, classes=2)
    assert isinstance(model, EncoderClassifier)
    return model


def build_markov_model(name: str) -> nn.Module:
    """Build one of `MODELS` with fresh weights."""
    if name == "lstm":
        return LastStateLSTM()
    if name == "tfidf":
        return WordCounts()
    return build_transformer() if name == "transformer" else WindowClassifier(words=int(name.rpartition("-")[2]))


@torch.no_grad()
def set_weights(model: EncoderClassifier) -> None:
    """Set the weights of `build_transformer` by hand so that it decides every text of `draw_texts` right.

    Entries of a token vector: 0 and 1 are the sine and cosine of its recency; 2, 4 and 6 say that it is *not*, *good*
    and the class token, on top of that sine; 7 takes the answer. Head 1 of the class token looks for the largest cosine
    of a word, head 2 for the smallest, which is that of the last word for every n.
    """
    for parameter in model.parameters():
        parameter.zero_()
    assert model.positions is not None and model.class_token is not None
    model.positions.get_factors()["beta"].fill_(1.0)
    for word, entry in ((NOT, 2), (GOOD, 4)):
        model.embedding.weight[word, entry] = 1 / model.scale
    model.class_token[6] = 1.0
    layer = model.layers[0]
    assert isinstance(layer, Layer) and isinstance(layer.feedforward, FeedForward)
    attention, forward, half = layer.attention, layer.feedforward, model.width // 2
    for head, (sign, entry) in enumerate(((1, 2), (-1, 4))):
        first = head * half
        attention.query.bias[first] = STRENGTH * math.sqrt(half)
        attention.key.weight[first, 1] = sign
        attention.key.weight[first, 6], attention.key.weight[first, 0] = -4.0, 4.0  # never the class token
        attention.value.weight[first, entry], attention.value.weight[first, 0] = 1.0, -1.0
        attention.out.weight[entry, first] = 1.0
        forward.up.weight[0, entry] = 1.0
    forward.up.weight[0, 0], forward.up.bias[0] = -2.0, -1.0  # 1 if both are there, else 0
    forward.down.weight[7, 0] = 1.0
    model.head.weight[1, 7], model.head.weight[1, 1] = 20.0, -20.0
    model.head.bias[1] = -10.0


def train_markov_model(name: str, n: int, seed: int) -> tuple[nn.Module, int]:
    """Train a model on fresh texts of n words until it is right or its steps are over; return it and its steps."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(1000 * n + seed)
    model = build_markov_model(name)
    learned = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=RATES.get(name, RATE))
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / WARM))
    perfect, correct, most = 0, True, STEPS if name in ("lstm", "transformer") else FEW_STEPS
    for step in range(1, most + 1):
        batch, labels = draw_texts(n, BATCH, generator)
        logits = model(batch).logits
        correct &= bool((logits.argmax(1) == labels).all())
        optimizer.zero_grad()
        F.cross_entropy(logits, labels).backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        warm.step()
        if step % CHECK == 0:
            perfect, correct = perfect + 1 if correct else 0, True
            if perfect == ENOUGH:
                return model, step
    return model, most


@torch.no_grad()
def count_right(model: nn.Module, n: int, seed: int = 0) -> dict[str, float]:
    """Return the accuracy on new texts of n words: of all, and of those that end with *good*, which need the first."""
    batch, labels = draw_texts(n, TESTED, torch.Generator().manual_seed(10_000_000 + 1000 * n + seed))
    right = model.eval()(batch).logits.argmax(1) == labels
    return {"accuracy": right.double().mean().item(), "hard": right[batch.ids[:, -1] == GOOD].double().mean().item()}


def compute_markov(tell: Tell, seeds: Sequence[int] = SEEDS, lengths: Sequence[int] = LENGTHS) -> dict[str, Any]:
    """Train every model at every length and seed, and test the hand-set transformer.

    Returns:
        `seeds`, `seconds` of the processor; `rows`: of each model, n and seed `model`, `n`, `seed`, `steps`,
        `accuracy` and `hard`, that on texts that end with *good*; `hand`: the same two of the hand-set weights for
        every n up to the longest.
    """
    start, rows = time.process_time(), []
    cells = list(product(MODELS, lengths, seeds))
    for number, (name, n, seed) in enumerate(cells):
        tell(f"{MODELS[name]}, texts of {n} words", number / len(cells))
        model, steps = train_markov_model(name, n, seed)
        rows.append({"model": name, "n": n, "seed": seed, "steps": steps, **count_right(model, n, seed)})
    hand = build_transformer()
    set_weights(hand)
    own = [{"n": n, **count_right(hand, n)} for n in range(2, max(lengths) + 1)]
    return {"seeds": list(seeds), "seconds": time.process_time() - start, "rows": rows, "hand": own}


@torch.no_grad()
def trace_hand_set(n: int) -> dict[str, Any]:
    """Return a text of n words, its answer, and the attention of the hand-set class token in both heads, (2, n)."""
    model = build_transformer()
    set_weights(model)
    batch, _ = draw_texts(n, 4, torch.Generator().manual_seed(n))
    batch = batch.select_texts(slice(0, 1))
    output = model.eval()(batch, trace=True)
    assert output.trace is not None
    rows = output.trace.layers[0].combined[0, :, 0, 1:]  # (H, n)
    words = [WORDS[number] for number in batch.ids[0].tolist()]
    return {"words": words, "heads": rows.tolist(), "positive": output.logits.softmax(1)[0, 1].item()}


def list_sequences() -> Tensor:
    """Return all sequences of 1 to `LONGEST` symbols, (340, LONGEST), padded with 0 on the right."""
    rows = [each for size in range(1, LONGEST + 1) for each in product(range(1, VOCABULARY + 1), repeat=size)]
    return torch.tensor([[*row, *[0] * (LONGEST - len(row))] for row in rows])


def compute_memorise(tell: Tell, seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """Train a transformer of one layer on random labels of all short sequences, until all are right.

    Returns:
        `sequences` (their number), `seeds`, `seconds`; `rows`: of each seed `seed`, `steps`, `accuracy`, `counts` (the
        best accuracy of any model that sees only which words a sequence has, and how often) and `course`, accuracies.
    """
    start, ids, rows = time.process_time(), list_sequences(), []
    batch = Batch(ids, ids > 0)
    for number, seed in enumerate(seeds):
        tell(f"random labels, seed {seed}", number / len(seeds))
        torch.manual_seed(seed)
        labels = torch.randint(2, (len(ids),))
        model = build_transformer(VOCABULARY + 1, MEMORY)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
        course: list[dict[str, float]] = []
        for step in range(STEPS + 1):
            logits = model(batch).logits
            right = (logits.argmax(1) == labels).double().mean().item()
            if step % 20 == 0 or right == 1:
                course.append({"step": step, "accuracy": right})
            if right == 1:
                break
            optimizer.zero_grad()
            F.cross_entropy(logits, labels).backward()
            optimizer.step()
        counted = count_best_by_words(ids, labels)
        rows.append({"seed": seed, **course[-1], "counts": counted, "course": course})
    return {"sequences": len(ids), "seeds": list(seeds), "seconds": time.process_time() - start, "rows": rows}


def count_best_by_words(ids: Tensor, labels: Tensor) -> float:
    """Return the best accuracy of any function of the word counts: the most frequent label of equal counts."""
    groups: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for row, label in zip(ids.tolist(), labels.tolist(), strict=True):
        groups[tuple(sorted(row))][label] += 1
    return sum(max(each.values()) for each in groups.values()) / len(ids)


def compute_same_words(tell: Tell) -> dict[str, Any]:
    """Fit TF-IDF of single words on the built-in corpus; return `positive`, its answers to `PAIRS`."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    tell("TF-IDF of the built-in corpus", None)
    texts = load_dataset(DataConfig()).splits[TRAIN]
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    fitted = LogisticRegression(C=10, max_iter=500).fit(words.fit_transform(texts["text"]), texts["label"])
    return {"positive": [fitted.predict_proba(words.transform(pair))[:, 1].tolist() for pair in PAIRS]}


COMPUTED: dict[str, Callable[[Tell], dict[str, Any]]] = {
    "memorise": compute_memorise,
    "markov": compute_markov,
    "same_words": compute_same_words,
}
"""Experiments whose results are kept; `same_words` is for the lesson *tfidf*."""


def main() -> None:
    """Train everything on one core and write the kept results."""
    torch.set_num_threads(1)
    found = {name: compute(lambda what, share: None) for name, compute in COMPUTED.items()}
    Path(__file__).with_name("results").joinpath("theory.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
