"""Baseline models without attention: BiLSTM, CNN, lexicon, and TF-IDF with a linear layer."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from core.exceptions import InputError
from core.models.capabilities import BASELINES
from core.models.dropout import Dropout
from core.models.head import Convolution, Head
from core.models.positions import MARK, Segments, number_segments
from core.models.score_terms import compute_valence
from core.models.trace import SILENT, Batch, HeadTrace, Intervene, Intervention, Output, Record, Trace


class Plain(nn.Module):
    """A classifier without attention, with the interface of the encoder but no attention heads, maps or map weights."""

    provides: frozenset[str]
    scale = 1.0  # Factor on the embedding
    first = 0  # The position of a text's first token
    mark: int | None = None  # The id of the pair mark; None: it reads single texts

    def get_lambdas(self) -> list[Tensor | None]:
        """Return an empty list, as a model without attention has no attention maps to weight by λ."""
        return []

    def name_lambda_parameters(self) -> set[str]:
        """Return an empty set, as a model without attention has no parameters of map weights λ."""
        return set()

    def get_scalars(self) -> dict[str, list[float]]:
        """Return an empty dictionary, as a model without attention has no learned scalars to show."""
        return {}

    def check_call(self, *, trace: bool, intervene: Intervene) -> None:
        """Raise an error if a model without attention is asked for interventions, or for a trace in training mode."""
        if trace and self.training:
            raise RuntimeError("a trace needs eval(): dropout would change what it shows")
        changes = (intervene,) if isinstance(intervene, Intervention) else intervene or ()
        if any(each != Intervention() for each in changes):
            raise InputError("this model has no attention: there is no head, component or lambda to change")


class ReadsVectors(Plain):
    """A baseline with word embeddings (plus `segments` of pairs), pooled to a text vector, then dropout and a head."""

    dropout: Dropout
    head: Head

    def __init__(self, *, vocabulary: int, width: int, segments: Segments | None = None) -> None:
        super().__init__()
        self.embedding, self.segments = nn.Embedding(vocabulary, width), segments
        self.mark = None if segments is None else MARK

    def embed_tokens(self, batch: Batch) -> Tensor:
        """Return the word embedding (B, L, d) of each token, without the vector that marks first and second texts."""
        return self.embedding(batch.ids)

    def pool_tokens(self, x: Tensor, keep: Tensor, record: Record) -> tuple[Tensor, dict[int, Tensor]]:
        """Pool token vectors x (B, L, d) to a text vector (B, d'); also return convolutions by kernel width."""
        raise NotImplementedError

    def forward(
        self,
        batch: Batch,
        *,
        trace: bool = False,
        intervene: Intervene = None,
        embedded: Tensor | None = None,
        record: Record = SILENT,
    ) -> Output:
        """Classify a batch; `embedded` replaces embeddings, `trace` adds inner values. Errors as for `check_call`."""
        self.check_call(trace=trace, intervene=intervene)
        x = self.embed_tokens(batch) if embedded is None else embedded
        x = x if self.segments is None else x + self.segments(batch.ids)
        vector, branches = self.pool_tokens(x, batch.keep, record)
        pooled = self.dropout(vector)
        own = record.get_part("head")
        read = self.head(pooled[:, None], batch.keep.new_ones(len(pooled), 1), trace=False, record=own)
        head = HeadTrace(branches, None) if branches else None
        return Output(read.logits, read.pooled, Trace((), x, batch.keep, head=head) if trace else None)


class BiLSTM(ReadsVectors):
    """A bidirectional LSTM classifier: embedding → [last forward state; first backward state] → head.

    A text without tokens has a state of zeros. Dropout is after the embedding, between layers and before the head.
    """

    provides = BASELINES["bilstm"]

    def __init__(self, *, states: int, layers: int, dropout: float, head: Head, **embedding: Any) -> None:
        super().__init__(**embedding)
        width, between = self.embedding.embedding_dim, dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(width, states, layers, batch_first=True, bidirectional=True, dropout=between)
        self.dropout, self.head = Dropout(dropout), head

    def pool_tokens(self, x: Tensor, keep: Tensor, record: Record) -> tuple[Tensor, dict[int, Tensor]]:
        """Return the last LSTM states of the top layer as text vector, (B, 2 * states), forward first."""
        lengths = keep.sum(1)
        packed = pack_padded_sequence(
            self.dropout(x), lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        states, (state, _) = self.lstm(packed)
        if record:
            forward, backward = pad_packed_sequence(states, batch_first=True)[0].chunk(2, -1)  # (B, L, states) each
            record("f", forward, r"f_i = \operatorname{LSTM}(x_i, f_{i-1})")
            record("b", backward, r"b_i = \operatorname{LSTM}(x_i, b_{i+1})")
        return torch.cat([state[-2], state[-1]], 1) * (lengths > 0)[:, None], {}


class ConvolutionClassifier(ReadsVectors):
    """A CNN text classifier (Kim, 2014): embedding → convolutions → ReLU → maximum over tokens → dropout → head.

    A window reads zeros beyond the text, so texts may be shorter; without tokens they pool to zeros.
    """

    provides = BASELINES["cnn"]

    def __init__(
        self, *, kernels: tuple[int, ...], channels: int, dropout: float, head: Head, **embedding: Any
    ) -> None:
        super().__init__(**embedding)
        width = self.embedding.embedding_dim
        self.branches = nn.ModuleDict({str(k): Convolution(width=width, channels=channels, kernel=k) for k in kernels})
        self.dropout, self.head = Dropout(dropout), head

    def pool_tokens(self, x: Tensor, keep: Tensor, record: Record) -> tuple[Tensor, dict[int, Tensor]]:
        """Return each filter's maximum over the tokens, (B, kernels * channels), and the convolutions by width."""
        away = ~keep[..., None]
        branches = {int(k): F.relu(branch(x, keep)).masked_fill(away, 0) for k, branch in self.branches.items()}
        if record:
            for kernel, branch in branches.items():
                record(f"C_{{{kernel}}}", branch, r"C_{k,i} = \operatorname{ReLU}\big(\sum_j W_j\,x_{i+j} + b\big)")
        # No value is below 0 after the ReLU, so the zeros at padding never exceed a real token's value.
        return torch.cat([branch.amax(1) for branch in branches.values()], 1), branches


class LexiconClassifier(Plain):
    """A linear classifier of the sum and mean of word valences, summed over lexicons; 0: an unlisted token."""

    provides = BASELINES["lexicon"]

    def __init__(self, *, classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, batch: Batch, *, trace: bool = False, intervene: Intervene = None) -> Output:
        """Classify a batch by valences, with text vectors (B, 2); RuntimeError without polarity, or as `check_call`."""
        self.check_call(trace=trace, intervene=intervene)
        features = self.compute_features(batch)
        valences = self._compute_valences(batch)[..., None]
        seen = Trace((), valences, batch.keep, polarity=batch.polarity) if trace else None
        return Output(features @ self.weight + self.bias, features, seen)

    def compute_features(self, batch: Batch) -> Tensor:
        """Return the sum and mean of each text's word valences, (B, 2); RuntimeError without polarities."""
        total = self._compute_valences(batch).sum(1)
        return torch.stack([total, total / batch.keep.sum(1).clamp(min=1)], 1)

    def _compute_valences(self, batch: Batch) -> Tensor:
        """Return the valence of each token, (B, L): positive minus negative polarity, 0 at padding."""
        if batch.polarity is None:
            raise RuntimeError("a lexicon baseline needs the polarity of the tokens")
        return compute_valence(batch.polarity).to(self.weight) * batch.keep


class BagOfNgrams(Plain):
    """A linear classifier of TF-IDF features, weighted as in scikit-learn: (1 + ln count) · idf, unit length.

    The ids of a text are its known n-grams with repetitions, in any order. No array of size B × vocabulary is created.
    """

    provides = BASELINES["tfidf-logreg"]

    def __init__(self, *, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("idf", torch.ones(vocabulary))
        self.weight = nn.Parameter(torch.zeros(vocabulary, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, batch: Batch, *, trace: bool = False, intervene: Intervene = None) -> Output:
        """Classify a batch of texts by TF-IDF, without trace or interventions; the logits serve as text vectors."""
        self.check_call(trace=trace, intervene=intervene)
        rows, grams, values = self._compute_features(batch)
        starts = torch.searchsorted(rows, torch.arange(len(batch.ids), device=rows.device))
        logits = self.bias + F.embedding_bag(grams, self.weight, starts, mode="sum", per_sample_weights=values)
        return Output(logits=logits, pooled=logits)

    def _compute_features(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return a batch's nonzero TF-IDF features as text number, row of the weight matrix, and value, each (M,)."""
        vocabulary = len(self.get_buffer("idf"))
        row = torch.arange(len(batch.ids), device=batch.ids.device)[:, None]
        keys, counts = torch.unique((row * vocabulary + batch.ids)[batch.keep], return_counts=True)
        rows, grams = keys // vocabulary, keys % vocabulary
        values = (1 + counts.to(self.weight.dtype).log()) * self.get_buffer("idf")[grams]
        squares = values.new_zeros(len(batch.ids)).index_add(0, rows, values * values)
        return rows, grams, values / squares.sqrt().clamp(min=1e-12)[rows]


class BagOfPairs(BagOfNgrams):
    """A linear classifier of text pairs, with features [a, b, |a − b|, a · b] of their TF-IDF rows a, b.

    A linear layer over all n-grams could not compare the texts. The first n-gram is the pair mark.
    """

    BLOCKS = 4  # V rows of the weights each
    mark = MARK

    def __init__(self, *, vocabulary: int, classes: int) -> None:
        super().__init__(vocabulary=vocabulary, classes=classes)
        self.weight = nn.Parameter(torch.zeros(self.BLOCKS * vocabulary, classes))

    def _compute_features(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        vocabulary, second = len(self.get_buffer("idf")), number_segments(batch.ids).bool()
        of_text, compute = batch.keep & (batch.ids != MARK), super()._compute_features
        texts = [compute(batch._replace(keep=of_text & part)) for part in (~second, second)]
        keys = [rows * vocabulary + grams for rows, grams, _ in texts]
        every, place = torch.unique(torch.cat(keys), return_inverse=True)
        places = place.split([len(each) for each in keys])
        a, b = (
            every.new_zeros(len(every), dtype=values.dtype).index_copy(0, at, values)
            for at, (_, _, values) in zip(places, texts, strict=True)
        )
        rows, grams = every // vocabulary, every % vocabulary
        found = torch.cat([a, b, (a - b).abs(), a * b])
        columns = torch.cat([grams + block * vocabulary for block in range(self.BLOCKS)])
        order = torch.argsort(rows.repeat(self.BLOCKS), stable=True)
        return rows.repeat(self.BLOCKS)[order], columns[order], found[order]
