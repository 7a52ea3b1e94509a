"""SentiFormer's propositions as small experiments (its section III): what a model of bounded memory cannot represent.

`markov`: a text is positive iff its first word is *not* and its last word is *good*. `memorise`: random labels of all
short sequences are learned by heart. `kernel`: attention is a kernel smoother. Results of the trained ones are kept in
`results/theory.json`: `python -m core.papers.theory` trains all and writes them.
"""

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.data.config import DataConfig
from core.data.dataset import TRAIN
from core.data.load import load_dataset
from core.evaluation.inference import get_device
from core.exceptions import InputError, NotAvailable
from core.interpret.encoder_stages import copy_to_float64
from core.interpret.sentence_inspection import CLASS_TOKEN, LAST_TOKEN
from core.models.attention_config import AttentionConfig
from core.models.builder import build_model
from core.models.config import ModelConfig
from core.models.encoder import EncoderClassifier, FeedForward, Layer
from core.models.pretrained import PretrainedClassifier
from core.models.trace import Batch, Output, Record
from core.runs.load import LoadedRun
from core.text.token_table import to_batch

LENGTHS, WINDOWS = (4, 8, 16, 32, 64), (2, 4, 8)
"""Words of a text, n; words that a window model sees, k."""
WORDS = ("", "not", "good", *(f"w{number}" for number in range(1, 14)))
"""The words of the language, after the padding; all but *not* and *good* mean nothing."""
NOT, GOOD, OTHERS = 1, 2, len(WORDS)
PAIRS = (
    ("The soup was good, not bad.", "The soup was bad, not good."),
    ("The film was not boring, it was good.", "The film was not good, it was boring."),
)
"""Pairs of texts with the same words, the first positive and the second negative."""
WIDTH, SEEDS = 32, (0, 1)
STEPS, FEW_STEPS, BATCH, TESTED, DRAWN = 1500, 400, 64, 2000, 16
"""Most steps of a training, and those of a model that cannot learn the rule of long texts; texts of a batch, and of a
test; words of the text whose hand-set maps are shown."""
RATES, RATE, WARM = {"transformer": 0.001, "TF-IDF": 0.05}, 0.003, 50
"""Learning rates of single models and of the others, and the steps until a rate is reached."""
CHECK, ENOUGH = 50, 3  # steps between two checks of a training; so many perfect checks in a row end it
VOCABULARY, LONGEST, MEMORY = 4, 4, 512  # of the random labels: symbols, words, and width of the feed-forward part
STRENGTH = 20_000.0  # factor of the hand-set scores: neighbours of the last of 64 words get a weight below 1e-9
Tell = Callable[[str, float | None], None]


def draw_texts(n: int, rows: int, seed: int | torch.Generator) -> tuple[Batch, Tensor]:
    """Draw texts of n words with their labels (rows,); a quarter is positive.

    The four corners (first word *not* or another, last word *good* or another) have equally many texts, in turn. Words
    between are drawn from all, so that *not* and *good* also stand where they mean nothing.
    """
    generator = torch.Generator().manual_seed(seed) if isinstance(seed, int) else seed
    ids = torch.randint(1, OTHERS, (rows, n), generator=generator)
    first, last = torch.arange(rows) % 2 == 0, torch.arange(rows) % 4 < 2
    other = torch.randint(1, OTHERS - 1, (2, rows), generator=generator)
    ids[:, 0] = torch.where(first, NOT, other[0] + (other[0] >= NOT))
    ids[:, -1] = torch.where(last, GOOD, other[1] + (other[1] >= GOOD))
    return Batch(ids, torch.ones_like(ids, dtype=torch.bool)), (first & last).long()


class WindowClassifier(nn.Module):
    """A k-th order Markov model: a hidden layer over the embeddings of the last k words, zeros before a short text."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words, self.embedding = words, nn.Embedding(OTHERS, WIDTH, padding_idx=0)
        self.hidden, self.head = nn.Linear(words * WIDTH, WIDTH), nn.Linear(WIDTH, 2)

    def forward(self, batch: Batch) -> Output:
        """Classify a batch of texts without padding."""
        seen = F.pad(batch.ids, (self.words, 0))[:, -self.words :]
        pooled = F.relu(self.hidden(self.embedding(seen).flatten(1)))
        return Output(self.head(pooled), pooled)


class LastStateLSTM(nn.Module):
    """An LSTM that reads a text once from left to right; the head reads its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(OTHERS, WIDTH), nn.Linear(WIDTH, 2)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        with torch.no_grad():  # open forget gates: a state lasts from the first word on
            self.lstm.get_parameter("bias_ih_l0")[WIDTH : 2 * WIDTH] = 3.0

    def forward(self, batch: Batch) -> Output:
        """Classify a batch of texts without padding."""
        pooled = self.lstm(self.embedding(batch.ids))[1][0][-1]
        return Output(self.head(pooled), pooled)


class WordCounts(nn.Module):
    """A linear classifier of the TF-IDF weights of words; all words are equally frequent, so that idf is 1."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(OTHERS, 2)

    def forward(self, batch: Batch) -> Output:
        """Classify a batch by weights 1 + ln count, of unit length."""
        counts = F.one_hot(batch.ids, OTHERS).sum(1).float()  # (B, V)
        pooled = F.normalize(torch.where(counts > 0, 1 + counts.clamp(min=1).log(), 0.0))
        return Output(self.head(pooled), pooled)


def build_transformer(vocabulary: int = OTHERS, hidden: int = 2 * WIDTH) -> EncoderClassifier:
    """Build a transformer of one layer and two heads without norms, with the positions of SentiFormer, eq. 3."""
    plain: dict[str, Any] = {"norm": "none", "pooling": "cls", "dropout": 0.0, "pos_tags": False}
    config = ModelConfig(
        width=WIDTH, layers=1, attention=AttentionConfig(heads=2), position="polarity-aware", ff_width=hidden, **plain
    )
    model = build_model(config, vocabulary=vocabulary, classes=2)
    assert isinstance(model, EncoderClassifier)
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    **{f"window of {k}": partial(WindowClassifier, k) for k in WINDOWS},
    **{"TF-IDF": WordCounts, "LSTM": LastStateLSTM, "transformer": build_transformer},
}
"""Name → function that builds a model with fresh weights."""


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
    model = MODELS[name]()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATES.get(name, RATE))
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / WARM))
    perfect, correct, most = 0, True, STEPS if name in ("LSTM", "transformer") else FEW_STEPS
    for step in range(1, most + 1):
        batch, labels = draw_texts(n, BATCH, generator)
        logits = model(batch).logits
        correct &= bool((logits.argmax(1) == labels).all())
        optimizer.zero_grad()
        F.cross_entropy(logits, labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
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
    batch, labels = draw_texts(n, TESTED, 10_000_000 + 1000 * n + seed)
    right = model.eval()(batch).logits.argmax(1) == labels
    return {"accuracy": right.double().mean().item(), "hard": right[batch.ids[:, -1] == GOOD].double().mean().item()}


def compute_markov(tell: Tell) -> dict[str, Any]:
    """Train every model at every length and seed, and test the hand-set transformer.

    Returns:
        `seeds`, `seconds` of the processor, `lengths`; `rows`: of each model, n and seed `model`, `n`, `seed`, `steps`,
        `accuracy` and `hard`, that on texts that end with *good*; `means`: model → its mean `hard` at each length;
        `hand`: accuracy of the hand-set weights for each n up to the longest; `maps`: as `trace_hand_set`.
    """
    start, rows = time.process_time(), []
    cells = list(product(MODELS, LENGTHS, SEEDS))
    for number, (name, n, seed) in enumerate(cells):
        tell(f"{name}, texts of {n} words", number / len(cells))
        model, steps = train_markov_model(name, n, seed)
        rows.append({"model": name, "n": n, "seed": seed, "steps": steps, **count_right(model, n, seed)})
    hard = np.array([row["hard"] for row in rows]).reshape(len(MODELS), len(LENGTHS), len(SEEDS))
    means = dict(zip(MODELS, hard.mean(-1).tolist(), strict=True))
    hand = build_transformer()
    set_weights(hand)
    own = {n: count_right(hand, n)["accuracy"] for n in range(2, max(LENGTHS) + 1)}
    about = {"seeds": SEEDS, "seconds": time.process_time() - start, "lengths": LENGTHS}
    return {**about, "rows": rows, "means": means, "hand": own, "maps": trace_hand_set(DRAWN)}


@torch.no_grad()
def trace_hand_set(n: int) -> dict[str, Any]:
    """Return P(`positive`) of a text of n words, and `rows`: each word with the attention of the hand-set heads."""
    model = build_transformer()
    set_weights(model)
    batch = draw_texts(n, 4, n)[0].select_texts(slice(0, 1))
    output = model.eval()(batch, trace=True)
    assert output.trace is not None
    columns = ([WORDS[number] for number in batch.ids[0]], *output.trace.layers[0].combined[0, :, 0, 1:].tolist())
    rows = [dict(zip(("word", "head_1", "head_2"), row, strict=True)) for row in zip(*columns, strict=True)]
    return {"positive": output.logits.softmax(1)[0, 1].item(), "rows": rows}


def list_sequences() -> Tensor:
    """Return all sequences of 1 to `LONGEST` symbols, (340, LONGEST), padded with 0 on the right."""
    rows = [each for size in range(1, LONGEST + 1) for each in product(range(1, VOCABULARY + 1), repeat=size)]
    return torch.tensor([[*row, *[0] * (LONGEST - len(row))] for row in rows])


def compute_memorise(tell: Tell) -> dict[str, Any]:
    """Train a transformer of one layer on random labels of all short sequences, until all are right.

    Returns:
        `sequences` (their number), `seconds` of the processor; `rows`: of each seed `seed`, `step`, `accuracy`,
        `counts` (the best accuracy of any model that sees only which words a sequence has, and how often) and `course`,
        accuracies.
    """
    start, ids, rows = time.process_time(), list_sequences(), []
    batch = Batch(ids, ids > 0)
    for number, seed in enumerate(SEEDS):
        tell(f"random labels, seed {seed}", number / len(SEEDS))
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
        rows.append({"seed": seed, **course[-1], "counts": count_best_by_words(ids, labels), "course": course})
    return {"sequences": len(ids), "seconds": time.process_time() - start, "rows": rows}


def count_best_by_words(ids: Tensor, labels: Tensor) -> float:
    """Return the best accuracy of any function of the word counts: the most frequent label of equal counts."""
    groups: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for row, label in zip(ids.tolist(), labels.tolist(), strict=True):
        groups[tuple(sorted(row))][label] += 1
    return sum(max(each.values()) for each in groups.values()) / len(ids)


def compute_kernel(q: np.ndarray, k: np.ndarray, gates: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return exp(q_i · k_j / √e) g_j, (H, L, L), divided by the largest of its row; 0 for keys that are not seen."""
    scores = np.where(seen, q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]), -np.inf)  # q, k: (H, L, e); seen: (L, L)
    kernel = np.exp(scores - scores.max(-1, keepdims=True)) * gates
    found: np.ndarray = kernel / kernel.max(-1, keepdims=True)
    return found


def compare_with_kernel(run: LoadedRun, text: str, layer: int = 0) -> dict[str, Any]:
    """Compare one layer's attention on a text with a kernel smoother in numpy (section III.B); layer 0: the last.

    The result is described at `core.api.papers.theory`. The mean of the values with the kernel's weights
    is a point of their convex hull, so the distance of an output to it is at least that to the hull.

    Raises:
        InputError: There is no such layer.
        NotAvailable: The scores have more terms than queries, keys and gate, or the model knows no word.
    """
    model, encoding, name = run.model, run.tokenizer.encode(text), run.record.preset
    if not isinstance(model, EncoderClassifier) or isinstance(model, PretrainedClassifier) or model.components > 1:
        raise NotAvailable(f"{name} has no single attention map per head; choose a SentiFormer run")
    part = run.record.config.model.attention
    if part.rotary or part.qk_norm or part.lexical != "none":
        raise NotAvailable(f"the scores of {name} have more terms than queries, keys and gate")
    if not 0 <= layer <= len(model.layers):
        raise InputError(f"layer {layer}: this model has layers 1 to {len(model.layers)}")
    if not encoding.tokens:
        raise NotAvailable("the model knows no word of this text; type another one")
    batch, at = Batch.from_arrays(to_batch(encoding)).to(get_device(model)), (layer or len(model.layers)) - 1
    record, exact = Record(at), batch.to(torch.device("cpu"))
    exact = exact if exact.polarity is None else exact._replace(polarity=exact.polarity.double())
    with torch.inference_mode():
        trace = model.eval()(batch, trace=True).trace
        copy_to_float64(model)(exact, record=record)
    found = {name: each.value[0].numpy() for name, each in record.get_part("layer").values.items()}
    if trace is None or "S" not in found:
        raise NotAvailable("the text is too long to keep its maps; type a shorter one")
    gates = np.where(np.arange(len(found["S"])) < model.first, 1.0, found.get("g", 1.0))
    kernel, maps = compute_kernel(found["q"][0], found["k"][0], gates, found["S"]), trace.layers[at].combined[0]
    weights = kernel / kernel.sum(-1, keepdims=True)
    return {
        "layer": at + 1,
        "tokens": [*[CLASS_TOKEN] * model.first, *encoding.tokens, *[LAST_TOKEN] * model.last],
        "gates": gates.tolist(),
        "maps": maps.tolist(),
        "kernel": kernel.tolist(),
        "weights": weights.tolist(),
        "difference": float(np.abs(maps.cpu().numpy() - weights).max()),
        "distance": float(np.abs(weights @ found["v"] - found["o"]).max()),
    }


def compute_same_words(tell: Tell) -> dict[str, Any]:
    """Fit TF-IDF of single words on the built-in corpus; return `pairs` of texts and its answers, `positive`."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    tell("TF-IDF of the built-in corpus", None)
    texts = load_dataset(DataConfig()).splits[TRAIN]
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    fitted = LogisticRegression(C=10, max_iter=500).fit(words.fit_transform(texts["text"]), texts["label"])
    return {"pairs": PAIRS, "positive": [fitted.predict_proba(words.transform(pair))[:, 1].tolist() for pair in PAIRS]}


COMPUTED = {"memorise": compute_memorise, "markov": compute_markov, "same_words": compute_same_words}
"""Experiments whose results are kept; `same_words` is for the lesson *tfidf*."""


def main() -> None:
    """Train everything on one core and write the kept results."""
    torch.set_num_threads(1)
    found = {name: compute(lambda what, share: None) for name, compute in COMPUTED.items()}
    Path(__file__).with_name("results").joinpath("theory.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
