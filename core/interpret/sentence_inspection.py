"""The trace of one typed sentence: its tokens, the prediction, and the model's internal values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.data.dataset import Task
from core.evaluation import inference
from core.models.builder import Model
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, Intervention, LayerTrace, Trace
from core.text.special_ids import UNKNOWN
from core.text.text_pairs import SIGN
from core.text.token_table import to_batch
from core.text.tokenizer import Encoding, Tokenizer
from core.text.words import list_char_ngrams
from core.training.temperature import UNSCALED, Scaling

CLASS_TOKEN = "[CLS]"
LAST_TOKEN = "[SEP]"
PADDING = "[PAD]"


def name_padding(places: int) -> str:
    """Return the display name of the last token in attention maps, which represents all padding of a text."""
    return f"{PADDING} × {places}"


def compute_cancellation(components: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Compute each head's share (0 to 1) of attention weight that cancels when the head's maps are summed.

    For query q it is 1 − Σₖ |Σᵢ cᵢ aᵢ(q, k)| ⁄ Σₖ Σᵢ |cᵢ| aᵢ(q, k), with signed coefficients c (N, H, L) and maps a (N,
    H, L, L) of all components i over the real tokens k; for the head, the mean over the queries q with any weight. At 0
    nothing cancels, at 1 everything.
    """
    weights = (coefficients[..., None] * components).astype(np.float64)
    whole, left = np.abs(weights).sum((0, -1)), np.abs(weights.sum(0)).sum(-1)  # (H, L)
    share = np.where(whole > 0, 1 - left / np.where(whole > 0, whole, 1), 0)
    return share.sum(-1).clip(0) / np.maximum((whole > 0).sum(-1), 1)


@dataclass(frozen=True)
class LayerView:
    """The internal values of one encoder layer for one text: float32 arrays, queries in rows.

    Padding that the model reads is folded into the last position: as a key it has the sum of the weights, so that rows
    of a map sum to 1; as a query, and for other values of tokens, it has their mean.
    """

    components: np.ndarray  # (N, H, L, L): softmax maps; (N, H, 0, 0) if the text is too long for maps
    coefficients: np.ndarray  # (N, H, L): c of each query token
    combined: np.ndarray  # (H, L, L): sum of coefficient times map; (H, 0, 0) if the text is too long
    head_outputs: np.ndarray  # (H, L, d/H)
    gates: np.ndarray | None  # (L,): attention gate of each token, if the model has gates
    terms: dict[str, np.ndarray]  # (H, L, L): `lexical` is added to the scores, `lexical_factor` multiplied
    temperature: float | None  # Factor of the cosines, if the model has one
    support: np.ndarray | None  # (L, L) bool: which query may see which key; None: all see all


@dataclass(frozen=True)
class MixView:
    """The class probabilities of network, TF-IDF and their mixture for one text, before temperature scaling."""

    weight: float  # Of the network, 0 to 1, TF-IDF has the rest; 1 if TF-IDF is left out
    network: dict[str, float]
    tfidf: dict[str, float]
    mixture: dict[str, float]  # w · network + (1 − w) · tfidf

    @property
    def parts(self) -> dict[str, dict[str, float]]:
        """Return the class probabilities of network, TF-IDF and mixture, each under a display name."""
        return {
            f"Network alone, counts {self.weight:.2f}": self.network,
            f"TF-IDF alone, counts {1 - self.weight:.2f}": self.tfidf,
            "Mixture, before the temperature": self.mixture,
        }


@dataclass(frozen=True)
class SentenceView:
    """The prediction and the model's internal values for one text, for pages and the command line."""

    text: str  # As typed
    read_as: str  # After normalisation
    tokens: tuple[str, ...]
    """One for each row and column of the maps; if the model has them, a class token comes first, and the end token of a
    pretrained encoder or padding that is read (`name_padding`) last."""
    unknown: tuple[bool, ...]  # Whether the token is not in the vocabulary, so that the model reads `<unk>`
    unknown_words: float | None  # Share of unknown words; None for byte pairs
    truncated: int  # Tokens cut off at the end
    cut: str  # The end of `read_as` that was cut off with them
    label: str
    probabilities: dict[str, float]  # By class name, in label order
    pooled: np.ndarray  # (d,)
    layers: tuple[LayerView, ...]  # Empty for a model without attention (`maps` not in its `provides`)
    positions: dict[str, float] = field(default_factory=dict)  # Learned factors alpha, beta, gamma, if any
    tags: tuple[int, ...] | None = None  # Part of speech of each token
    polarity: np.ndarray | None = None  # (L, 3K): positive, neutral, negative by each lexicon
    branches: dict[int, np.ndarray] = field(default_factory=dict)  # Kernel width → (L, c) convolutions of the head
    head_maps: np.ndarray | None = None  # (h, L, L): attention of the classification head, if any
    filled: int | None = None  # Padding positions read as text, folded into the last token; None: padding is masked
    before: int = 0  # Tokens before those of the text
    behind: int = 0  # Tokens after those of the text
    pieces: tuple[tuple[str, ...], ...] | None = None  # Character n-grams of each token; None if the model reads none
    segments: tuple[int, ...] | None = None  # 0 in the first text of a pair, 1 in the second; None: no segments
    mix: MixView | None = None  # Parts of the prediction, if TF-IDF is mixed in

    @property
    def places(self) -> np.ndarray:
        """Return the number of positions that each token represents, (L,): 1, except for folded padding."""
        places = np.ones(len(self.tokens), np.float32)
        if self.filled:
            places[-1] = self.filled
        return places

    def average_padding_weight(self, layer: int) -> np.ndarray:
        """Return each head's attention weight on padding in a layer, averaged over queries; 0 if no padding is read."""
        combined = self.layers[layer].combined
        if not self.filled or not combined.size:
            return np.zeros(len(combined), np.float32)
        return np.average(combined[..., -1], axis=-1, weights=self.places).astype(np.float32)

    def measure_cancellation(self, layer: int) -> np.ndarray | None:
        """Return each head's share of attention weight that cancels in a sum of maps; None if heads have one map."""
        found, tokens = self.layers[layer], len(self.tokens) - bool(self.filled)
        if len(found.components) < 2 or self.too_long:
            return None
        return compute_cancellation(found.components[..., :tokens, :tokens], found.coefficients[..., :tokens])

    def measure_entropy(self, layer: int) -> np.ndarray | None:
        """Return each map's entropy (N,) as a share of uniform, mean over queries; None if it is not defined."""
        found, length = self.layers[layer], len(self.tokens)
        if self.too_long or self.filled or length < 2:
            return None
        valid = np.full(length, length) if found.support is None else found.support.sum(-1)
        maps = found.components[..., valid > 1, :]
        entropy = -(maps * np.log(maps, where=maps > 0, out=np.zeros_like(maps))).sum(-1)
        share: np.ndarray = (entropy / np.log(valid[valid > 1])).mean((1, 2))
        return share

    @property
    def too_long(self) -> bool:
        """Return whether the text is too long for attention maps."""
        return bool(self.layers) and len(self.tokens) > 0 and self.layers[0].combined.shape[-1] == 0


def inspect_text(
    model: Model,
    tokenizer: Tokenizer,
    classes: tuple[str, ...],
    text: str,
    *,
    task: Task = "single",
    intervene: Intervention | None = None,
    scaling: Scaling = UNSCALED,
    mix: inference.Ensemble | None = None,
    unmixed: bool = False,
) -> SentenceView:
    """Classify one text and return the prediction (`unmixed`: without TF-IDF) with the model's internal values."""
    encoding = tokenizer.encode(text)
    batch = Batch.from_arrays(to_batch(encoding))
    with inference.switch_to_eval(model):
        output = model(batch.to(inference.get_device(model)), trace=True, intervene=intervene)
    logits, beside = inference.check_finite(output.logits.double()).cpu(), None
    if mix is not None:
        logits, beside = _mix_logits(mix, 1.0 if unmixed else mix.weight, logits, text, classes, task)
    chances = inference.compute_probabilities(logits[0], task, scaling).tolist()
    encoder = model if isinstance(model, EncoderClassifier) else None
    before, behind = (encoder.first, encoder.last) if encoder else (0, 0)
    tokens = [CLASS_TOKEN] * before + list(encoding.tokens) + [LAST_TOKEN] * behind
    unknown = [False] * before + [token == UNKNOWN for token in encoding.ids] + [False] * behind
    filled = encoder.fill - len(tokens) if encoder and encoder.fill else None
    fold = Fold(len(tokens), filled or 0)
    if filled:
        tokens, unknown, behind = [*tokens, name_padding(filled)], [*unknown, False], 1
    pieces = None
    if tokenizer.buckets:
        pieces = ((),) * before + tuple(tuple(list_char_ngrams(each)) for each in encoding.tokens) + ((),) * behind
    return SentenceView(
        text=text,
        read_as=encoding.text,
        tokens=tuple(tokens),
        unknown=tuple(unknown),
        unknown_words=tokenizer.compute_unknown_share(text),
        truncated=encoding.truncated,
        cut=_get_truncated_text(encoding, pairs=tokenizer.pairs),
        label=classes[int(np.argmax(chances))],
        probabilities=dict(zip(classes, chances, strict=True)),
        pooled=_to_array(output.pooled[0]),
        layers=() if output.trace is None else tuple(_build_layer_view(layer, fold) for layer in output.trace.layers),
        **_collect_trace_fields(output.trace, fold),
        filled=filled,
        before=before,
        behind=behind,
        pieces=pieces,
        mix=beside,
    )


def _get_truncated_text(encoding: Encoding, *, pairs: bool) -> str:
    """Return the part of a text that truncation cuts off at the end; for a pair, at the ends of both texts."""
    if not encoding.truncated:
        return ""
    ends = [encoding.text[encoding.offsets[-1][1] :].strip()]
    if pairs and SIGN in encoding.tokens[1:]:
        place = encoding.tokens.index(SIGN)
        ends.insert(0, encoding.text[encoding.offsets[place - 1][1] : encoding.offsets[place][0]].strip())
    return " … ".join(filter(None, ends))


def _mix_logits(
    mix: inference.Ensemble, weight: float, network: Tensor, text: str, classes: tuple[str, ...], task: Task
) -> tuple[Tensor, MixView]:
    """Return the logits (1, C) of the network mixed with TF-IDF for a text, and the probabilities of both."""
    parts = mix.predict_parts(network.numpy(), [text], task)
    together = inference.blend_logits(parts, weight, task)

    def name_probabilities(logits: np.ndarray) -> dict[str, float]:
        chances = inference.compute_probabilities(torch.from_numpy(logits[0]).double(), task).tolist()
        return dict(zip(classes, chances, strict=True))

    return torch.from_numpy(together), MixView(weight, *map(name_probabilities, (*parts, together)))


class Fold(NamedTuple):
    """A rule that shortens recorded values: masked padding is cut, padding that the model reads becomes one token."""

    tokens: int
    filled: int

    def fold_values(self, values: Tensor, axis: int) -> Tensor:
        """Return values per token, followed by their mean over the padding positions if the model reads padding."""
        return self._join_padding(values, axis, Tensor.mean)

    def fold_maps(self, weights: Tensor) -> Tensor:
        """Fold the padding of attention maps (…, L, L) into one position: summed for keys, averaged for queries."""
        return self.fold_values(self._join_padding(weights, -1, Tensor.sum), -2)

    def fold_mask(self, allowed: Tensor) -> Tensor:
        """Fold the padding of an attention mask (L, L) bool into one position, visible if any padding position is."""
        return self._join_padding(self._join_padding(allowed, -1, Tensor.any), -2, Tensor.any)

    def _join_padding(self, values: Tensor, axis: int, fold: Callable[..., Tensor]) -> Tensor:
        kept = values.narrow(axis, 0, self.tokens)
        if not self.filled:
            return kept
        return torch.cat([kept, fold(values.narrow(axis, self.tokens, self.filled), dim=axis, keepdim=True)], axis)


def _build_layer_view(layer: LayerTrace, fold: Fold) -> LayerView:
    _, n, h, _, _ = layer.coefficients.shape
    maps = layer.coefficients.new_zeros(n, h, 0, 0) if layer.maps is None else fold.fold_maps(layer.maps[0])
    return LayerView(
        components=_to_array(maps),
        coefficients=_to_array(fold.fold_values(layer.coefficients[0, ..., 0], -1)),
        combined=_to_array(maps[0] if layer.maps is None else fold.fold_maps(layer.combined[0])),
        head_outputs=_to_array(fold.fold_values(layer.head_outputs[0], 1)),
        gates=None if layer.gates is None else _to_array(fold.fold_values(layer.gates[0], 0)),
        terms={name: _to_array(fold.fold_maps(term[0])) for name, term in layer.terms.items()},
        temperature=None if layer.temperature is None else layer.temperature.item(),
        support=None if layer.support is None else fold.fold_mask(layer.support[0]).cpu().numpy(),
    )


def _collect_trace_fields(trace: Trace | None, fold: Fold) -> dict[str, Any]:
    """Return a model's recorded values, except those of its layers, as fields of `SentenceView`."""
    if trace is None:
        return {}
    head, branches = trace.head, {} if trace.head is None else trace.head.branches
    return {
        "positions": {name: factor.item() for name, factor in trace.positions.items()},
        "segments": None if trace.segments is None else tuple(trace.segments[0, : fold.tokens].tolist()),
        "tags": None if trace.tags is None else tuple(trace.tags[0, : fold.tokens].tolist()),
        "polarity": None if trace.polarity is None else _to_array(trace.polarity[0, : fold.tokens]),
        "branches": {k: _to_array(fold.fold_values(part[0], 0)) for k, part in branches.items()},
        "head_maps": None if head is None or head.maps is None else _to_array(fold.fold_maps(head.maps[0])),
    }


def to_json_data(view: SentenceView) -> dict[str, Any]:
    """Return a model's internal values for a text as JSON-like data, null or empty for parts that the model lacks.

    `padding` is null if padding is masked. If the model reads it, its `places` are folded into the last row and column
    of every map; `weight` (layers, heads) is its weight in the combined map, mean over all queries. `cancelled` is the
    share of each head's weight that cancels between its components, `entropy` that of each component as a share of
    uniform attention, mean over heads and queries.
    """

    def to_lists(values: np.ndarray | None) -> Any:
        return None if values is None else values.tolist()

    weights = [view.average_padding_weight(layer).tolist() for layer in range(len(view.layers))]
    return {
        "padding": None if view.filled is None else {"places": view.filled, "weight": weights},
        "tags": None if view.tags is None else list(view.tags),
        "polarity": to_lists(view.polarity),
        "pieces": None if view.pieces is None else [list(each) for each in view.pieces],
        **({} if view.segments is None else {"segments": list(view.segments)}),
        "positions": view.positions,
        "branches": {str(width): to_lists(values) for width, values in view.branches.items()},
        "head_maps": to_lists(view.head_maps),
        "layers": [
            {
                "components": to_lists(layer.components),
                "coefficients": to_lists(layer.coefficients),
                "combined": to_lists(layer.combined),
                "cancelled": to_lists(view.measure_cancellation(number)),
                "entropy": to_lists(view.measure_entropy(number)),
                "gates": to_lists(layer.gates),
                "temperature": layer.temperature,
                "terms": {name: to_lists(term) for name, term in layer.terms.items()},
                "support": to_lists(layer.support),
            }
            for number, layer in enumerate(view.layers)
        ],
    }


def _to_array(tensor: Tensor) -> np.ndarray:
    with torch.inference_mode():
        return tensor.detach().float().cpu().numpy().copy()
