"""A classifier on a pretrained encoder, with Sentiscope's head, attention terms, trace and interventions.

Its blocks are modules of another library, passed in by the code that read them from files. Each block calls an
attention function and passes its own arguments on: `compute_attention` is that function, and a `Call` travels through
the block to it, so that nothing is attached to a model that others use at the same time.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models.attention import AttentionCore, SingleMap, append_columns
from core.models.dropout import Dropout, replace_layers
from core.models.encoder import EncoderClassifier
from core.models.head import Head
from core.models.positions import number_segments
from core.models.score_terms import NEUTRAL, AttentionInputs, Terms
from core.models.trace import SILENT, Batch, Changes, Intervention, LayerTrace, Record

KNOWN = 2  # Ids 0 and 1 are padding and the unknown word in all tokenizers; the ids of a backbone are shifted by 2


class Specials(NamedTuple):
    """The rows of special tokens (padding, unknown, first, last) in a pretrained encoder's word table."""

    padding: int
    unknown: int
    first: int  # Before every text: [CLS] or <s>
    last: int  # After every text: [SEP] or </s>


class Body(NamedTuple):
    """The modules of a pretrained encoder: embeddings, projection and transformer blocks."""

    entering: nn.Module  # (inputs_embeds=(B, L, e)) → (B, L, e): positions, types, norm; has `word_embeddings`
    project: nn.Module  # (B, L, e) → (B, L, d)
    blocks: Sequence[nn.Module]  # (B, L, d), mask → (B, L, d); attention is computed by `compute_attention`
    specials: Specials


class BackboneAttention(AttentionCore):
    """The attention inside a pretrained encoder's block, with an optional lexical term and interventions."""

    def __init__(self, *, heads: int, terms: Terms, index: int) -> None:
        super().__init__()
        self.heads, self.components, self.index, self.row_norm = heads, 1, index, False
        self.mixing, self.terms = SingleMap(), terms
        self.head_norm, self.temperature = None, None
        for name, module in terms.list_modules().items():
            self.add_module(name, module)

    def forward(
        self, scores: tuple[Tensor, Tensor, Tensor], scale: float, call: "Call"
    ) -> tuple[Tensor, LayerTrace | None]:
        """Map a block's queries, keys and values (B, H, L, d/H) to head outputs, with a trace on request."""
        q, k, v = scores
        reading, lexical = call.reading, self.terms.lexical
        # Without lexical term, interventions and trace the result is bit-identical to that of the backbone's library.
        if not call.trace and not call.intervene and (lexical is None or lexical.silent):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=reading.keep[:, None, None], scale=scale), None
        changes = Changes(call.intervene, self.index) if call.intervene else None
        changed = None if changes is None else changes.get_lexical_changes(q)
        q, k = self.terms.apply_factors((q * scale)[:, None], k[:, None], reading, changed)
        q, k = append_columns(q, k, self.terms.build_columns(reading, None, changed))
        out, seen = self.compute_outputs(v, (q, k, v), reading, reading.keep, changes, trace=call.trace)
        return out, dataclasses.replace(seen, terms=self.terms.trace_terms(reading, changed)) if call.trace else None


@dataclass
class Call:
    """One call of a pretrained encoder's block: the inputs of its attention, and the resulting trace."""

    attention: BackboneAttention
    reading: AttentionInputs
    trace: bool
    intervene: Sequence[Intervention]
    seen: LayerTrace | None = None


def compute_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    call: Call,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    """Compute the attention of a pretrained encoder's block, replacing its own function: (B, L, H, d/H)."""
    out, call.seen = call.attention((query, key, value), scaling, call)
    return out.transpose(1, 2), None


class BackboneLayer(nn.Module):
    """A transformer block of a pretrained encoder, with its attention replaced by a traceable one."""

    def __init__(self, *, block: nn.Module, attention: BackboneAttention) -> None:
        super().__init__()
        self.block, self.attention = block, attention

    def forward(
        self, x: Tensor, reading: AttentionInputs, *, trace: bool, intervene: Sequence[Intervention]
    ) -> tuple[Tensor, LayerTrace | None]:
        """Map token vectors x (B, L, d) through a pretrained block to (B, L, d), with a trace on request."""
        call = Call(self.attention, reading, trace, intervene)
        x = self.block(x, None, call=call)
        if intervene:
            x = Changes(intervene, self.attention.index).patch_hidden(x, reading.donor)
        return x, None if call.seen is None else dataclasses.replace(call.seen, hidden=x)


class PretrainedClassifier(EncoderClassifier):
    """A classifier on a pretrained encoder that reads [CLS] text [SEP] (pairs: text [SEP] again), with our head."""

    def __init__(
        self,
        *,
        body: Body,
        attentions: Sequence[BackboneAttention],
        head: Head,
        width: int,
        provides: frozenset[str],
        pairs: bool = False,
    ) -> None:
        nn.Module.__init__(self)
        self.entering, self.project, self.specials = body.entering, body.project, body.specials
        both = zip(body.blocks, attentions, strict=True)
        self.layers = nn.ModuleList([BackboneLayer(block=block, attention=each) for block, each in both])
        self.head = head
        self.class_token, self.positions, self.ngrams, self.passages = None, None, None, None
        self.fill, self.scale = 0, 1.0
        self.segments, self.mark = None, self.specials.last + KNOWN if pairs else None  # [SEP]
        self.width, self.first, self.last = width, 1, 1  # [CLS] before a text, [SEP] after it
        self.final_norm: nn.Module = nn.Identity()
        self.provides = provides
        replace_layers(self, nn.Dropout, lambda layer: Dropout(layer.p))  # ours is faster and can be left on

    def embed_tokens(self, batch: Batch, record: Record = SILENT) -> Tensor:
        """Return the word embedding (B, L, e) of each token in the pretrained table, without its position."""
        return self.entering.get_submodule("word_embeddings")(self.map_to_rows(batch.ids))

    def map_to_rows(self, ids: Tensor) -> Tensor:
        """Map token ids (B, L) to rows of the pretrained encoder's own word table."""
        special = torch.tensor(self.specials[:KNOWN], device=ids.device)
        return torch.where(ids < KNOWN, special[ids.clamp(max=KNOWN - 1)], ids - KNOWN)

    def number_types(self, ids: Tensor) -> Tensor:
        """Return the token types (B, L): 1 in the second text of a pair, if the encoder was trained with types."""
        table = getattr(self.entering, "token_type_embeddings", None)
        if self.mark is None or table is None or table.num_embeddings < 2:
            return torch.zeros_like(ids)
        return number_segments(ids, self.mark)

    def find_depth(self, name: str) -> int:
        """Return the layer depth of a parameter: 0 for embeddings, then the layers from 1, then the head."""
        return 0 if name.startswith(("entering.", "project.")) else super().find_depth(name)

    def complete_batch(self, batch: Batch) -> tuple[Batch, Tensor]:
        """Add [CLS] before and [SEP] after each text of a batch; also return the mask of real tokens."""
        length = batch.keep.sum(1, keepdim=True)
        ids = F.pad(batch.ids, (1, 1))
        ids[:, 0] = self.specials.first + KNOWN
        ids.scatter_(1, length + 1, self.specials.last + KNOWN)
        keep = torch.arange(ids.shape[1], device=ids.device) < length + 2
        polarity = None if batch.polarity is None else F.pad(batch.polarity, (0, 0, 1, 1), value=NEUTRAL)
        return Batch(ids, keep, polarity=polarity), keep

    def _build_input(
        self,
        x: Tensor,
        batch: Batch,
        embedded: Tensor | None = None,
        off: Sequence[bool] = (),
        record: Record = SILENT,
        places: Tensor | None = None,
    ) -> Tensor:
        """Build the input (B, L, e) of the first layer from word embeddings x, or from `embedded` in their place."""
        if embedded is not None:
            text = F.pad(batch.keep[:, 2:], (1, 1))  # without [CLS] and [SEP], the last real token
            x = torch.where(text[..., None], F.pad(embedded, (0, 0, 1, 1)), x)
        typed = getattr(self.entering, "token_type_embeddings", None) is not None
        given = {"token_type_ids": self.number_types(batch.ids) * batch.keep} if typed else {}
        return self.project(self.entering(input_ids=None, inputs_embeds=x, **given))
