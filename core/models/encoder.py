"""The transformer encoder, from token ids to class logits: embedding, positions, layers, pooling and head."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.exceptions import InputError, NotAvailable
from core.models.attention import Additive, Attention, AttentionCore
from core.models.attention_config import Lexical
from core.models.dropout import Dropout
from core.models.head import Head
from core.models.passages import PORTION, PassagePooling, Passages
from core.models.positions import (
    CLASS_TAG,
    MARK,
    CharacterNGrams,
    PolarityAware,
    Segments,
    Sinusoidal,
    number_segments,
    place_tokens,
)
from core.models.score_terms import NEUTRAL, AttentionInputs
from core.models.trace import SILENT, Batch, Changes, Intervene, Intervention, LayerTrace, Output, Record, Trace

KINDS = {"relu": "ReLU", "gelu": "GELU"}


class FeedForward(nn.Module):
    """The feed-forward part of a transformer layer: W2 drop(act(W1 x)) with ReLU or GELU."""

    def __init__(self, *, width: int, hidden: int, activation: Literal["relu", "gelu"], dropout: float) -> None:
        super().__init__()
        self.activation = F.relu if activation == "relu" else F.gelu
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Map token vectors (B, L, d) through two linear maps with an activation to (B, L, d)."""
        middle = self.activation(self.up(x))
        rewritten = self.down(self.dropout(middle))
        if record:
            name = "relu" if self.activation is F.relu else "gelu"
            record("m", middle, rf"m_i = \operatorname{{{KINDS[name]}}}(u_i W_1 + b_1)", after=name)
            record("f", rewritten, "f_i = m_i W_2 + b_2")
        return rewritten


class SwiGLU(nn.Module):
    """The gated feed-forward part of a transformer layer: W2 drop(SiLU(x W1) * x W3) (NDT, eq. 9)."""

    def __init__(self, *, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Map token vectors (B, L, d) through the gated feed-forward part to (B, L, d)."""
        gate, up = F.silu(self.gate(x)), self.up(x)
        middle = gate * up
        rewritten = self.down(self.dropout(middle))
        if record:
            record("m", middle, r"m_i = \operatorname{SiLU}(u_i W_1) \odot u_i W_3", ((gate, up),))
            record("f", rewritten, "f_i = m_i W_2 + b_2")
        return rewritten


class Layer(nn.Module):
    """A transformer layer: attention and feed-forward with dropout, x + f(norm(x)) (pre) or norm(x + f(x)) (post)."""

    def __init__(
        self,
        *,
        attention: Attention,
        feedforward: nn.Module,
        norms: tuple[nn.Module, nn.Module],
        place: Literal["pre", "post"],
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.attention_norm, self.feedforward_norm = norms
        self.pre = place == "pre"
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Tensor, reading: AttentionInputs, *, trace: bool, intervene: Sequence[Intervention]
    ) -> tuple[Tensor, LayerTrace | None]:
        """Map token vectors x (B, L, d) through a transformer layer to (B, L, d), with a trace on request."""
        before, record = x, reading.record
        inner = self.attention_norm(x) if self.pre else x
        attended, seen = self.attention(inner, reading, trace=trace, intervene=intervene)
        added = x + self.dropout(attended)
        middle = added if self.pre else self.attention_norm(added)
        inner = self.feedforward_norm(middle) if self.pre else middle
        rewritten = self.feedforward(inner, record)
        summed = middle + self.dropout(rewritten)
        x = summed if self.pre else self.feedforward_norm(summed)
        if record:
            record("h", before)
            record("u", added, "u_i = h_i + y_i", ((before,), (attended,)))
            record(r"\hat{u}", inner if self.pre else middle)
            record("sum", summed, parts=((middle,), (rewritten,)))
            record("z", x)
        if intervene:
            x = Changes(intervene, self.attention.index).patch_hidden(x, reading.donor)
        return x, None if seen is None else dataclasses.replace(seen, hidden=x)


class EncoderClassifier(nn.Module):
    """A small transformer encoder that classifies texts, with one logit per class.

    `scale` multiplies the embedding: sqrt(d) for a table drawn from N(0, 1/d), so that words and positions have equal
    weight. `positions`, `ngrams` and `segments` give vectors that are added to a token; None: none. `final_norm`
    follows the last layer of pre-norm models. If the head reads the first token, every text begins with a learned class
    token. With `fill`, texts are padded to that length without a mask, as in the released code of 7ess-Xin; 0: padding
    is masked. `provides` are its capabilities (`core.models.capabilities`). With `passages`, longer texts are read in
    passages, each as a text of its own, and their weighted logits are added up.
    """

    width: int  # Model width d, the size of a token vector
    first: int  # Position of a text's first token: 1 after a class token, else 0
    last: int  # Special tokens after a text: 0 without a pretrained encoder
    mark: int | None  # Id of the separator between the texts of a pair; None if the model reads single texts

    def __init__(  # noqa: PLR0913 - one argument per configurable part
        self,
        *,
        vocabulary: int,
        width: int,
        scale: float,
        positions: Sinusoidal | PolarityAware | None,
        layers: list[Layer],
        final_norm: nn.Module,
        head: Head,
        fill: int,
        dropout: float,
        ngrams: CharacterNGrams | None,
        provides: frozenset[str],
        segments: Segments | None = None,
        passages: PassagePooling | None = None,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.ngrams, self.segments = ngrams, segments
        self.width, self.first, self.last, self.mark = width, int(head.first), 0, None if segments is None else MARK
        self.class_token = nn.Parameter(torch.zeros(width)) if head.first else None
        self.positions = positions
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm
        self.head = head
        self.dropout = Dropout(dropout)
        self.scale, self.fill = scale, fill
        self.provides = provides
        self.passages = passages

    def forward(
        self,
        batch: Batch,
        *,
        trace: bool = False,
        intervene: Intervene = None,
        similarity: bool = False,
        embedded: Tensor | None = None,
        donor: Trace | None = None,
        record: Record = SILENT,
    ) -> Output:
        """Classify a batch of texts; with `trace`, also return the inner states (evaluation mode only).

        `intervene` are changes inside the model for this call: one for all texts, or one for each, or several for one
        text, which is then read with each; those that copy from another text need a `donor`, its trace, with as many
        tokens. `similarity` fills `Output.similarity`, also in training; every map then stays in memory. `embedded`
        (B, L, d) replaces `embed_tokens(batch)`, for gradients with respect to the words. Raises RuntimeError for a
        trace in training mode, where dropout would change it, and InputError for an intervention on something that the
        model or text lacks, or a missing or unfit donor.
        """
        if trace and self.training:
            raise RuntimeError("a trace needs eval(): dropout would change what it shows")
        changes = (intervene,) if isinstance(intervene, Intervention) else tuple(intervene or ())
        early = self.passages is not None or any(each.find_first_layer(0) < 0 for each in changes)
        if (early or trace or similarity) and len(batch.ids) == 1 < len(changes):
            batch = batch.repeat_text(len(changes))  # the rows differ from the start, or all are wanted
        batch, keep = self.complete_batch(batch)
        if len(batch.ids) > 1 and len(changes) not in (0, 1, len(batch.ids)):
            raise ValueError(f"{len(changes)} interventions for {len(batch.ids)} texts: one for all or one for each")
        for each in changes:
            self._check_intervention(each, batch)
            _check_donor(each, batch, donor)
        if self.passages is not None and batch.ids.shape[1] > self.passages.most:
            if record or donor is not None:
                raise NotAvailable(
                    f"this model reads it in passages: choose a text of {self.passages.most} tokens at most"
                )
            return self._read_passages(batch, embedded, changes, trace=trace, similarity=similarity)
        own = record.get_part("embedding")
        segments_off = [each.segments_off for each in changes]
        places = place_tokens(batch.keep, self.first, [each.positions for each in changes])
        entering = self._build_input(self.embed_tokens(batch, own), batch, embedded, segments_off, own, places)
        given = () if donor is None else donor.layers
        inside = trace or similarity
        x, seen = self._run_layers(
            entering, batch, trace=inside, intervene=changes, donor=given, record=record, places=places
        )
        # Not always `expand`, with which ONNX would fix the number of texts.
        read_keep = batch.keep if len(batch.keep) == len(x) else batch.keep.expand(len(x), -1)
        read = self.head(x, read_keep, trace=trace, record=record.get_part("head"))
        logits = read.logits
        if self.head.each_token:  # without special tokens
            logits = logits[:, self.first : logits.shape[1] - self.last]
        shown = None
        if trace:
            shown = Trace(
                layers=tuple(seen),
                embedded=entering,
                keep=keep,
                positions={} if self.positions is None else self.positions.get_factors(),
                tags=batch.tags,
                polarity=batch.polarity,
                head=read.trace,
                segments=None if self.segments is None else number_segments(batch.ids),
            )
        alike = compute_map_similarity(seen, batch.keep) if similarity else None
        return Output(logits=logits, pooled=read.pooled, trace=shown, similarity=alike)

    def _read_passages(
        self, batch: Batch, embedded: Tensor | None, changes: Sequence[Intervention], *, trace: bool, similarity: bool
    ) -> Output:
        """Classify long texts by their passages: these are read as texts, sorted by length, and their logits added."""
        assert self.passages is not None
        split = Passages.split_texts(batch.keep, self.passages.most)
        changes = split.split_interventions(changes) if changes else ()
        order = (split.ends - split.starts).argsort(stable=True)
        order = order.sort().values if trace else order  # a trace has them text by text
        at_once = trace or similarity or torch.is_grad_enabled()
        found: list[Output] = []
        for rows in order.split(len(order) if at_once else max(1, PORTION // split.keep.shape[1])):
            part, words = split.select_batch(rows, batch, embedded)
            own = [changes[row] for row in rows.tolist()] if changes else ()
            found.append(self.forward(part, trace=trace, intervene=own, similarity=similarity, embedded=words))
        place, shown = order.argsort(), found[0].trace
        logits = torch.cat([each.logits for each in found])[place]
        pooled = torch.cat([each.pooled for each in found])[place]
        weights = self.passages(pooled, split.texts, len(batch.ids))
        return Output(
            logits=weights @ logits,
            pooled=weights @ pooled,
            trace=None if shown is None else split.join_trace(shown),
            similarity=found[0].similarity,
            passages=dataclasses.replace(split, logits=logits, weights=weights.sum(0)),
        )

    def embed_tokens(self, batch: Batch, record: Record = SILENT) -> Tensor:
        """Return the embedding (B, L, d) of each token, with its character n-grams."""
        x: Tensor = self.embedding(batch.ids)
        record("E", x)
        if self.ngrams is not None:
            grams = self.ngrams(batch.grams)
            x = x + grams
            record(r"\overline{G}", grams, r"\overline{G}_i = \tfrac{1}{K_i}\sum_k G_{h(g_{ik})}")
        return x * self.scale

    def encode_tokens(self, batch: Batch) -> Tensor:
        """Encode a batch to token vectors (B, L, d) as the head reads them, without the class token."""
        completed, _ = self.complete_batch(batch)
        if self.passages is not None and batch.ids.shape[1] > self.passages.most:
            split = Passages.split_texts(batch.keep, self.passages.most)
            every = torch.arange(len(split.texts), device=batch.ids.device)
            return split.join_tokens(self.encode_tokens(split.select_batch(every, batch, None)[0]))
        x, _ = self._run_layers(
            self._build_input(self.embed_tokens(completed), completed), completed, trace=False, intervene=()
        )
        return x[:, self.first :]

    def get_lambdas(self) -> list[Tensor | None]:
        """Return the map weights λ of each layer, (N-1, S); None if they depend on the input, empty for one map."""
        return [attention.mixing.get_lambdas() for attention in self._attentions] if "lambda" in self.provides else []

    def find_trapped_lambdas(self) -> list[tuple[int, int]]:
        """Return the (layer, map) of each λ that is at its start and has no gradient there, counted from 0."""
        found = [(each.index, each.mixing) for each in self._attentions if isinstance(each.mixing, Additive)]
        return [(at, i) for at, own in found for i, stuck in enumerate(own.find_trapped().tolist(), 1) if stuck]

    def name_lambda_parameters(self) -> set[str]:
        """Return the names of the parameters of the map weights λ, which have no weight decay (NDT paper, training)."""
        return {name for name, _ in self.named_parameters() if ".mixing." in name}

    def get_scalars(self) -> dict[str, list[float]]:
        """Return the learned scalars by name: one per layer (such as temperature tau), or just one (such as alpha)."""
        found: dict[str, list[float]] = {}
        for attention in self._attentions:
            for name, value in attention.get_scalars().items():
                found.setdefault(name, []).append(value)
        factors = {} if self.positions is None else self.positions.get_factors()
        return found | {name: [factor.item()] for name, factor in factors.items()}

    @property
    def components(self) -> int:
        """Return N, the number of attention maps per head, the same in every layer."""
        return self._attentions[0].components

    @property
    def placed(self) -> bool:
        """Return whether the model adds positions to words, or turns queries and keys by them."""
        return self.positions is not None or self._attentions[0].terms.rotary

    @property
    def subtracts(self) -> bool:
        """Return whether the further attention maps are subtracted from the first one."""
        return self._attentions[0].mixing.sign < 0

    @property
    def heads(self) -> int:
        """Return H, the number of attention heads, the same in every layer."""
        return self._attentions[0].heads

    @property
    def lexical(self) -> Lexical:
        """Return how a lexicon changes the attention scores: `none`, `add`, or `hadamard` (multiply)."""
        lexical = self._attentions[0].terms.lexical
        return "none" if lexical is None else lexical.kind

    def find_depth(self, name: str) -> int:
        """Return the layer depth of a parameter: 0 for embeddings, then the layers from 1, then the head."""
        if name.startswith(("embedding.", "ngrams.", "positions.", "segments.")) or name == "class_token":
            return 0
        return int(name.split(".")[1]) + 1 if name.startswith("layers.") else len(self.layers) + 1

    @property
    def _attentions(self) -> list[AttentionCore]:
        return [layer.attention for layer in cast(Iterable[Layer], self.layers)]

    def complete_batch(self, batch: Batch) -> tuple[Batch, Tensor]:
        """Add class token and fixed-length padding to a batch, if used; return it and a mask of real tokens (B, L)."""
        if self.fill and batch.ids.shape[1] < self.fill:
            more = self.fill - batch.ids.shape[1]
            grams = None if batch.grams is None else F.pad(batch.grams, (0, 0, 0, more))
            batch = batch._replace(ids=F.pad(batch.ids, (0, more)), keep=F.pad(batch.keep, (0, more)), grams=grams)
        if self.class_token is not None:
            tags, polarity, grams = batch.tags, batch.polarity, batch.grams
            batch = Batch(
                F.pad(batch.ids, (1, 0)),
                F.pad(batch.keep, (1, 0), value=True),
                None if tags is None else F.pad(tags, (1, 0), value=CLASS_TAG),
                None if polarity is None else F.pad(polarity, (0, 0, 1, 0), value=NEUTRAL),
                None if grams is None else F.pad(grams, (0, 0, 1, 0)),
            )
        real = batch.keep
        return (batch._replace(keep=torch.ones_like(real)) if self.fill else batch), real

    def _run_layers(
        self,
        x: Tensor,
        batch: Batch,
        *,
        trace: bool,
        intervene: Sequence[Intervention],
        donor: Sequence[LayerTrace] = (),
        record: Record = SILENT,
        places: Tensor | None = None,
    ) -> tuple[Tensor, list[Any]]:
        """Return the token vectors (B, L, d) after all layers and the final norm, and each layer's trace or None."""
        turned = None if places is None else places.clamp(min=0)
        reading = AttentionInputs(batch.keep, batch.polarity, self.class_token is not None, tuple(donor), places=turned)
        starts = [each.find_first_layer(len(self.layers)) for each in intervene] if len(intervene) > len(x) else []
        order, own_changes, seen = sorted(range(len(starts)), key=starts.__getitem__), intervene, []
        for index, layer in enumerate(self.layers):
            own = dataclasses.replace(reading, record=record.get_layer(index)) if record else reading
            if starts:  # one text with several changes: a row for each begun so far, and the unchanged text
                own_changes = [*(intervene[row] for row in order if starts[row] <= index), Intervention()]
                x = torch.cat([x[:-1], x[-1:].expand(len(own_changes) - len(x) + 1, -1, -1)])
                many = batch.repeat_text(len(x))
                own = dataclasses.replace(own, keep=many.keep, polarity=many.polarity)
            x, shown = layer(x, own, trace=trace, intervene=own_changes)
            seen.append(shown)
        if starts:
            x = x[torch.tensor(order, device=x.device).argsort().clamp(max=len(x) - 1)]
        last = self.final_norm(x)
        record("z", x)
        record("h", last)
        return last, seen

    def _build_input(
        self,
        x: Tensor,
        batch: Batch,
        embedded: Tensor | None = None,
        off: Sequence[bool] = (),
        record: Record = SILENT,
        places: Tensor | None = None,
    ) -> Tensor:
        """Build the input (B, L, d) of the first layer: embeddings or `embedded`, class token, positions, segments."""
        first = self.first
        if embedded is not None:
            x = torch.cat([x[:, :first], embedded, x[:, first + embedded.shape[1] :]], 1)
        if self.class_token is not None:
            x = torch.cat([self.class_token.expand(x.shape[0], 1, -1), x[:, 1:]], 1)
        if self.positions is not None:
            p = self.positions(x, batch.keep, batch.tags, record)
            if places is not None:  # a part of speech is no position
                plain = self.positions(x, batch.keep, None).expand_as(x)
                moved = plain.gather(1, places.clamp(min=0)[..., None].expand_as(x))
                p = p - plain + moved * (places >= 0)[..., None]
            x = x + p
        if self.segments is not None:
            rows = self.segments(batch.ids, off)
            x = x + rows
            record("S", rows, "S_{s(i)}", ((1.0,),))
        record("x", x)
        return self.dropout(x)

    def _check_intervention(self, intervene: Intervention, batch: Batch) -> None:
        attention, length = self._attentions[0], batch.ids.shape[1]
        maps = intervene.maps_off | intervene.maps_mean
        limits = (
            ("component", attention.components, [(layer, i) for layer, i, _ in intervene.lambdas]),
            ("component", attention.components, intervene.components_off | intervene.components_mean),
            ("head", attention.heads, intervene.heads_off | intervene.heads_mean | intervene.heads_from),
            ("head", attention.heads, [(layer, head) for layer, head, _ in maps]),
            ("component", attention.components, [(layer, i) for layer, _, i in maps]),
            ("lexical term", 1, [(layer, 0) for layer in intervene.lexical_off | intervene.lexical_mean]),
            ("token", length, [(layer, i) for layer, i, _ in intervene.gates]),
            ("token", length, intervene.hidden_from),
        )
        for part, count, named in limits:
            for layer, i in named:
                if not (0 <= layer < len(self.layers) and 0 <= i < count):
                    raise InputError(
                        f"intervention on layer {layer}, {part} {i}: this model has layers 0 to {len(self.layers) - 1} "
                        f"and {part}s 0 to {count - 1}"
                    )
        self._check_values(intervene)

    def _check_values(self, each: Intervention) -> None:
        base, lexical = any(i == 0 for _, i, _ in each.lambdas), bool(each.lexical_off or each.lexical_mean)
        for wrong, why in (
            (base, "component 0: the base component has no lambda; switch it off instead"),
            (each.segments_off and "segments" not in self.provides, "the segments: this model adds nothing for them"),
            (each.positions and not self.placed, "the positions: this model reads none of its own"),
            (not 0 < each.temperature < math.inf, "the temperature: a number above 0"),
            (each.lambda_scale != 1 and "lambda" not in self.provides, "lambda: this model has none"),
            (each.gates and "gates" not in self.provides, "a gate: this model has no gates"),
            (not all(0 <= value <= 1 for _, _, value in each.gates), "a gate: a value between 0 and 1"),
            (
                each.lexical_scale != 1 and self.lexical != "add",
                "the strength of the lexical term: this model adds none to its scores",
            ),
            (lexical and self.lexical == "none", "the lexical term: this model has none"),
        ):
            if wrong:
                raise InputError(f"intervention on {why}")


def _check_donor(intervene: Intervention, batch: Batch, donor: Trace | None) -> None:
    if not (intervene.hidden_from or intervene.heads_from):
        return
    if donor is None:
        raise InputError("intervention from a donor: there is none")
    theirs, ours = donor.embedded.shape[1], batch.ids.shape[1]
    if theirs != ours:
        raise InputError(f"intervention from a donor: it has {theirs} tokens, and the text {ours}")


def compute_map_similarity(layers: Sequence[LayerTrace], keep: Tensor) -> Tensor:
    """Return the mean cosine similarity, (), of the rows of a layer's attention maps; InputError without two maps."""
    weight = keep / keep.sum().clamp(min=1)  # (B, L)
    total = keep.new_zeros((), dtype=torch.get_default_dtype())
    for layer in layers:
        if layer.maps is None or layer.maps.shape[1] < 2:
            raise InputError("how alike component maps are needs two components and maps: shorten text.max_length")
        rows = F.normalize(layer.maps, dim=-1)
        count = rows.shape[1]
        first, second = torch.triu_indices(count, count, 1, device=keep.device)
        alike = (rows[:, first] * rows[:, second]).sum(-1).mean((1, 2))  # (B, L)
        total = total + (alike * weight).sum() / len(layers)
    return total
