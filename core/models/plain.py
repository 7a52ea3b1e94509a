"""What a model without attention answers where a page or the training asks for the inside of attention."""

from __future__ import annotations

from torch import Tensor, nn

from core.exceptions import InputError
from core.models.segments import MARK, Segments
from core.models.trace import Batch, Intervene, Intervention


class Plain(nn.Module):
    """A classifier with the input and output of every other, and no head, component or lambda."""

    provides: frozenset[str]
    scale = 1.0  # Of the embedding, where there is one
    first = 0  # The place of the first token of a text
    mark: int | None = None  # The id that stands between the texts of a pair; None: it reads single texts

    def lambdas(self) -> list[Tensor | None]:
        """None of the layers has one: an empty list."""
        return []

    def lambda_parameters(self) -> set[str]:
        """No parameter makes a lambda."""
        return set()

    def scalars(self) -> dict[str, list[float]]:
        """No learned number stands for itself."""
        return {}

    def check(self, *, trace: bool, intervene: Intervene) -> None:
        """Raise RuntimeError for a trace in training mode, InputError where an intervention would change something."""
        if trace and self.training:
            raise RuntimeError("a trace needs eval(): dropout would change what it shows")
        changes = (intervene,) if isinstance(intervene, Intervention) else intervene or ()
        if any(each != Intervention() for each in changes):
            raise InputError("this model has no attention: there is no head, component or lambda to change")


class ReadsVectors(Plain):
    """One that reads a vector for each token and nothing beside it."""

    embedding: nn.Embedding
    segments: Segments | None

    @property
    def mark(self) -> int | None:  # type: ignore[override]
        """The id that stands between the texts of a pair; None: it reads single texts."""
        return None if self.segments is None else MARK

    def entering(self, batch: Batch, embedded: Tensor | None) -> Tensor:
        """(B, L, d): what the first layer reads: `embed`, or what stands in its place, and the text of a pair."""
        x = self.embed(batch) if embedded is None else embedded
        return x if self.segments is None else x + self.segments(batch.ids)

    def embed(self, batch: Batch) -> Tensor:
        """(B, L, d): the vector of each token."""
        found: Tensor = self.embedding(batch.ids)
        return found
