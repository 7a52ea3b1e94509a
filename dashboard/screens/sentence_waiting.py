"""What a long text keeps a page waiting for: its words, parts and λ, asked before they are drawn."""

from __future__ import annotations

from core.interpret.edits import UNCHANGED
from core.models.provides import provides
from dashboard.data import data
from dashboard.figures.source import Source
from dashboard.figures.words import target
from dashboard.reader.models import Wanted
from dashboard.widgets.waiting import waited

SHORT = 200
"""Characters of a text that is read so soon that its maps are drawn while its words are asked."""
STOPPED = "The answer stands above. Its words and parts were not all asked; a shorter text is read in a moment."


def bench_asked(source: Source, *, deep: bool) -> bool:
    """Whether all is known that stands on the bench; `deep`: with parts and λ, of a text with maps."""
    if len(source.text) <= SHORT:
        return True
    wanted = _each(source, "pushed")
    if deep:
        wanted += _each(source, "parts") + _lambdas(source)
    return bool(waited(data.asking(*wanted), "bench", STOPPED).whole)


def words_asked(source: Source, place: str) -> bool:
    """Whether the pushes of the words of a second reading are known."""
    return bool(waited(data.asking(*_each(source, "pushed")), f"words-{place}", STOPPED).whole)


def _each(source: Source, name: str) -> list[Wanted]:
    """As edited, and as trained beside it."""
    changes = [source.edits, UNCHANGED] if source.edits else [UNCHANGED]
    return [(name, source.record.run, source.text, target(source), edits) for edits in changes]


def _lambdas(source: Source) -> list[Wanted]:
    if "lambda" not in provides(source.record.config.model):
        return []
    return [("lambdas", source.record.run, source.text, target(source), source.edits)]
