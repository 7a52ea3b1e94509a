"""BiLSTM: the recurrent baseline."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from core.models.dropout import Dropout
from core.models.head import Head
from core.models.plain import ReadsVectors
from core.models.provides import BASELINES
from core.models.record import SILENT, Record
from core.models.segments import Segments
from core.models.trace import Batch, Intervene, Output, Trace


class BiLSTM(ReadsVectors):
    """Embedding → LSTM in both directions → [state after the last token; state after the first, read backwards] → head.

    Padding is never read. A text without tokens has a state of zeros.

    Args:
        vocabulary: rows of the embedding.
        width: of the embedding.
        states: of the LSTM, in each direction.
        layers: LSTMs on top of each other; each but the first reads both directions of the one below.
        dropout: after the embedding, between layers, and on the state before the head.
        head: reads 2 * states numbers.
        segments: gives what a token has for standing in the first or the second text of a pair; None: nothing.
    """

    provides = BASELINES["bilstm"]

    def __init__(
        self,
        *,
        vocabulary: int,
        width: int,
        states: int,
        layers: int,
        dropout: float,
        head: Head,
        segments: Segments | None = None,
    ) -> None:
        super().__init__()
        self.embedding, self.segments = nn.Embedding(vocabulary, width), segments
        self.lstm = nn.LSTM(
            width, states, layers, batch_first=True, bidirectional=True, dropout=dropout if layers > 1 else 0.0
        )
        self.dropout = Dropout(dropout)
        self.head = head

    def forward(
        self,
        batch: Batch,
        *,
        trace: bool = False,
        intervene: Intervene = None,
        embedded: Tensor | None = None,
        record: Record = SILENT,
    ) -> Output:
        """Classify a batch; a trace holds the embeddings, and `embedded` stands in place of `embed(batch)`.

        Raises:
            RuntimeError: if a trace is asked for in training mode.
            InputError: if the intervention changes anything.
        """
        self.check(trace=trace, intervene=intervene)
        embedded = self.dropout(self.entering(batch, embedded))
        pooled = self.dropout(self._last(embedded, batch.keep, record))
        own = record.part("head")
        read = self.head(pooled[:, None], batch.keep.new_ones(len(pooled), 1), trace=False, record=own)
        return Output(read.logits, read.pooled, Trace((), embedded, batch.keep) if trace else None)

    def _last(self, x: Tensor, keep: Tensor, record: Record) -> Tensor:
        """(B, 2 * states): the top layer's last states, forward first."""
        lengths = keep.sum(1)
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        states, (state, _) = self.lstm(packed)
        if record:
            forward, backward = pad_packed_sequence(states, batch_first=True)[0].chunk(2, -1)  # (B, L, states) each
            record("f", forward, r"f_i = \operatorname{LSTM}(x_i, f_{i-1})")
            record("b", backward, r"b_i = \operatorname{LSTM}(x_i, b_{i+1})")
        return torch.cat([state[-2], state[-1]], 1) * (lengths > 0)[:, None]
