"""Masked language modelling: pretraining of an encoder, which predicts masked words of the training texts.

The objective of BERT (Devlin et al. 2019, section 3.1) without its second task: of 15 % of the tokens, 80 % are hidden,
10 % replaced by a random one and 10 % left unchanged; the model predicts all of them.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import svds
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.builder import Model
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch
from core.text.lexicon import NEUTRAL
from core.text.special_ids import FIRST, UNKNOWN
from core.text.token_table import TokenTable
from core.training.config import TrainingConfig
from core.training.device import check_precision, force_determinism
from core.training.history import HistoryWriter
from core.training.training_stage import Events, TrainingStage, group_parameters

SHARE = 0.15  # share of the known tokens that the model has to predict
HIDDEN, RANDOM = 0.8, 0.1  # shares of these replaced by the unknown token and by a random one; the rest stays


def mask_words(batch: Batch, vocabulary: int, mark: int | None = None) -> tuple[Batch, Tensor]:
    """Mask random words with polarity and n-grams, not the pair `mark`; return the batch and the mask (B, L)."""
    ids, first = batch.ids, FIRST if mark is None else FIRST + 1
    places = (torch.rand(ids.shape) < SHARE) & batch.keep & (ids >= first)
    fate = torch.rand(ids.shape)
    hidden, swapped = places & (fate < HIDDEN), places & (fate >= 1 - RANDOM)
    drawn = torch.randint(first, max(vocabulary, first + 1), ids.shape)
    read = torch.where(hidden, UNKNOWN, torch.where(swapped, drawn, ids))
    polarity, grams = batch.polarity, batch.grams
    if polarity is not None:
        polarity = torch.where((hidden | swapped)[..., None], NEUTRAL, polarity)
    if grams is not None:  # n-grams would reveal the word
        grams = grams.masked_fill((hidden | swapped)[..., None], 0)
    return batch._replace(ids=read, polarity=polarity, grams=grams), places


def forget_words(batch: Batch, share: float, mark: int | None = None) -> Batch:
    """Replace each token of a batch by the unknown token with probability `share` (word dropout).

    Parts of speech, character n-grams, padding and the separator `mark` of a pair stay; the class token is added later.
    The batch must be on the CPU, whose global torch generator draws the tokens; nothing is drawn at 0.
    """
    if not share:
        return batch
    forgotten = (torch.rand(batch.ids.shape) < share) & batch.keep
    if mark is not None:
        forgotten &= batch.ids != mark
    polarity = batch.polarity
    return batch._replace(
        ids=batch.ids.masked_fill(forgotten, UNKNOWN),
        polarity=None if polarity is None else polarity.masked_fill(forgotten[..., None], NEUTRAL),
    )


class Guess(nn.Module):
    """A prediction head for masked words: a hidden layer, then scores (n, V) by the word embeddings."""

    def __init__(self, width: int, vocabulary: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, vectors: Tensor, words: Tensor) -> Tensor:
        """Score each word of the vocabulary for token vectors (n, d); `words` are the embeddings (V, d)."""
        return F.linear(self.norm(F.gelu(self.hidden(vectors))), words, self.bias)


@dataclass
class Masking(TrainingStage):
    """The pretraining stage with masked words; `run()` trains `model` in place and can be resumed exactly."""

    model: EncoderClassifier
    tokens: TokenTable
    config: TrainingConfig
    """`masked_epochs`, and the settings that both stages use: batches, rate, decay, clipping, precision, seed."""
    history: Path
    checkpoint: Path
    device: torch.device
    events: Events

    def __post_init__(self) -> None:
        check_precision(self.config.precision, self.device)
        vocabulary, width = self.model.embedding.weight.shape
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            self.guess = Guess(width, vocabulary).to(self.device)
        self.module = nn.ModuleDict({"model": self.model, "guess": self.guess})
        self.model.head.requires_grad_(False)  # this stage does not use it
        config = self.config
        guess = {f"guess.{name}": parameter for name, parameter in self.guess.named_parameters()}
        own = {"names": list(guess), "params": list(guess.values()), "weight_decay": config.weight_decay, "rate": 1.0}
        self._prepare_start([*group_parameters(self.model, config), own], self.tokens.lengths, config.masked_epochs)

    def run(self) -> float:
        """Run the masked-word pretraining to its end and return the seconds it took."""
        with force_determinism(self.device):
            self._start_or_resume()
            with HistoryWriter(self.history) as self.writer:
                while self.progress.step < self.steps:
                    self._run_epoch()
        self.model.head.requires_grad_(True)
        self.model.eval()
        return self._count_seconds()

    def _collect_state(self) -> dict[str, dict[str, Tensor]]:
        return {"both": self.module.state_dict()}

    def _restore_state(self, groups: Mapping[str, dict[str, Tensor]]) -> None:
        self.module.load_state_dict(groups["both"])

    def _end_epoch(self, epoch: int) -> None:
        self._log_row({"kind": "epoch", "train_loss": self._pop_mean_loss()}, epoch)

    def _yield_losses(self, rows: np.ndarray) -> Iterator[Tensor]:
        """Yield the loss of each portion of a batch, as its part of the mean cross-entropy over all masked words."""
        whole = Batch.from_arrays(self.tokens.pad_rows(rows))
        masked, places = mask_words(whole, len(self.guess.bias), self.model.mark)
        every, begin = int(places.sum()), 0
        for part in self._split_batch(rows):
            some = slice(begin, begin := begin + len(part))
            words = whole.ids[some][places[some]].to(self.device)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
                vectors = self.model.encode_tokens(masked.select_texts(some).to(self.device))
                scores = self.guess(vectors[places[some].to(self.device)], self.model.embedding.weight)
            yield F.cross_entropy(scores.float(), words, reduction="sum") / max(1, every)


WINDOW = 4  # words on each side that count, each with weight 1 / distance
SMOOTHING = 0.75  # exponent on the frequency of a context word, which lowers the PPMI of rare ones


def sum_cooccurrences(tokens: TokenTable, size: int) -> csr_array:
    """Count word pairs up to `WINDOW` apart, weighted by 1 / distance, as a sparse symmetric matrix (size, size)."""
    flat = tokens.flat.astype(np.int64)
    text = np.repeat(np.arange(len(tokens)), tokens.lengths)
    total = csr_array((size, size), dtype=np.float64)
    for distance in range(1, WINDOW + 1):
        first, second = flat[:-distance], flat[distance:]
        near = (text[:-distance] == text[distance:]) & (first >= FIRST) & (second >= FIRST)
        weights = np.full(int(near.sum()), 1 / distance)
        total += coo_array((weights, (first[near], second[near])), shape=(size, size)).tocsr()
    return csr_array(total + total.T)


def compute_ppmi(counts: csr_array) -> csr_array:
    """Compute PPMI of cooccurrence counts: max(0, ln(P(w, c) / (P(w) P(c)))), P(c) smoothed by count ** 0.75."""
    seen = np.asarray(counts.sum(1)).ravel()
    smoothed = seen**SMOOTHING
    pairs = counts.tocoo()
    ratio = pairs.data * smoothed.sum() / (seen[pairs.row] * smoothed[pairs.col])
    found = csr_array((np.log(np.maximum(ratio, 1)), (pairs.row, pairs.col)), shape=counts.shape)
    found.eliminate_zeros()
    return found


def compute_word_vectors(tokens: TokenTable, *, size: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute PPMI word vectors (size, width) from tokenised texts, and a mask (size,) of words that have one.

    Others, and columns beyond the number of words, are zeros. `seed` draws the start of the decomposition.
    """
    found = compute_ppmi(sum_cooccurrences(tokens, size))
    known = np.diff(found.indptr) > 0
    left, singular = _compute_svd(found[known], width, seed)
    rows = left * np.sqrt(singular)
    vectors = np.zeros((size, width), np.float32)
    vectors[known, : rows.shape[1]] = rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(min=1e-30)
    return vectors, known


def _compute_svd(rows: csr_array, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if len(rows.indptr) - 1 <= width:
        left, singular, _ = np.linalg.svd(rows.toarray(), full_matrices=False)
        return left, singular
    # Exact, and as fast as a randomised SVD, which is inaccurate for singular values that decay as slowly as these.
    start = np.random.default_rng(seed).standard_normal(rows.shape[0])
    left, singular, _ = svds(rows, width, v0=start, return_singular_vectors="u")
    return left, singular


def place_vectors(model: Model, vectors: np.ndarray, known: np.ndarray) -> None:
    """Copy word vectors into a model's embedding for the known words, scaled to the length of its random rows."""
    weight = model.get_parameter("embedding.weight")
    long = math.sqrt(weight.shape[1]) / model.scale  # of a row drawn from N(0, 1/scale²)
    with torch.no_grad():
        weight[torch.from_numpy(known).to(weight.device)] = torch.from_numpy(vectors[known]).to(weight) * long
