"""CNN: the convolutional baseline (Kim, 2014, with embeddings from scratch)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models.dropout import Dropout
from core.models.head import Convolution, Head
from core.models.plain import ReadsVectors
from core.models.provides import BASELINES
from core.models.record import SILENT, Record
from core.models.segments import Segments
from core.models.trace import Batch, HeadTrace, Intervene, Output, Trace


class ConvolutionClassifier(ReadsVectors):
    """Embedding → convolutions of several widths → ReLU → the largest value over the tokens → head.

    There is one window at each token, which reads zeros beyond the text; so a text may be shorter than a window, and
    padding is never read. A text without tokens has zeros.

    Args:
        vocabulary: rows of the embedding.
        width: of the embedding.
        kernels: tokens in a window.
        channels: filters of each.
        dropout: on the largest values.
        head: reads len(kernels) * channels numbers.
        segments: gives what a token has for standing in the first or the second text of a pair; None: nothing.
    """

    provides = BASELINES["cnn"]

    def __init__(
        self,
        *,
        vocabulary: int,
        width: int,
        kernels: tuple[int, ...],
        channels: int,
        dropout: float,
        head: Head,
        segments: Segments | None = None,
    ) -> None:
        super().__init__()
        self.embedding, self.segments = nn.Embedding(vocabulary, width), segments
        self.branches = nn.ModuleDict({str(k): Convolution(width=width, channels=channels, kernel=k) for k in kernels})
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
        """Classify a batch; a trace holds the embeddings and the value of each filter at each token.

        `embedded` stands in place of `embed(batch)`.

        Raises:
            RuntimeError: if a trace is asked for in training mode.
            InputError: if the intervention changes anything.
        """
        self.check(trace=trace, intervene=intervene)
        embedded, away = self.entering(batch, embedded), ~batch.keep[..., None]
        branches = {
            int(kernel): F.relu(branch(embedded, batch.keep)).masked_fill(away, 0)
            for kernel, branch in self.branches.items()
        }
        # After the ReLU nothing is below 0, so a zero at a padded place is never larger than a real token's value.
        pooled = self.dropout(torch.cat([branch.amax(1) for branch in branches.values()], 1))
        own = record.part("head")
        if record:
            for kernel, branch in branches.items():
                record(f"C_{{{kernel}}}", branch, r"C_{k,i} = \operatorname{ReLU}\big(\sum_j W_j\,x_{i+j} + b\big)")
        read = self.head(pooled[:, None], batch.keep.new_ones(len(pooled), 1), trace=False, record=own)
        shown = Trace((), embedded, batch.keep, head=HeadTrace(branches, None)) if trace else None
        return Output(read.logits, read.pooled, shown)
