"""Look inside: one text, every figure, a map of a split."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.exceptions import InputError, NotAvailable, RunDamaged
from core.runs.store import RunStore
from core.verbs.prediction import answer

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def sentence(run: str, text: str, store: RunStore | None = None) -> SentenceView:
    """One text as a run reads it: tokens, probabilities and everything inside the model, as arrays.

    Raises:
        InputError: no such run.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    from core.runs.load import load_run

    return load_run(store or RunStore(), run).inspect(text)


def inspect(
    run: str,
    text: str,
    *,
    without: Sequence[tuple[str, str]] = (),
    html: Path | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """One text with its tokens, prediction and everything inside the model.

    The inside is that of `core.interpret.sentence.inside`.

    Args:
        run: its name.
        text: any.
        without: (word, piece) to silence, wherever they stand: character n-grams, of a model that reads them.
        html: also write a page of it.
        store: where runs live.

    Raises:
        InputError: no such run; or no such word or piece in the text.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    from core.evaluation.multilabel import NOTHING
    from core.interpret.sentence import inside
    from core.interpret.unknown import unknown_note

    store = store or RunStore()
    view, record = sentence(run, text, store), store.read(run)
    if without:
        view = _silenced(run, view, without, store)
    said = answer(record, view.probabilities)
    if html is not None:
        labels = said.get("labels_tuned", said.get("labels"))
        words = "" if labels is None else ", ".join(labels) or NOTHING
        _of_the_dashboard("inside")(view, html, record, words)
    return {
        "run": run,
        "text": text,
        "read_as": view.read_as,
        "tokens": list(view.tokens),
        "unknown": list(view.unknown),
        "unknown_words": view.unknown_words,
        "note": unknown_note(view.unknown_words),
        "truncated": view.truncated,
        "prediction": said,
        **inside(view),
    }


def _silenced(run: str, view: SentenceView, without: Sequence[tuple[str, str]], store: RunStore) -> SentenceView:
    """The same text without some pieces of its words."""
    from core.models.trace import Intervention
    from core.runs.load import load_run

    if view.pieces is None:
        raise InputError(f"run '{run}' reads no pieces of words, so there is none to silence")
    off: set[tuple[int, int]] = set()
    for word, piece in without:
        places = [place for place, token in enumerate(view.tokens) if token == word and view.pieces[place]]
        if not places:
            raise InputError(f"no word {word!r:.80} in the text; it is read as: {view.read_as:.200}")
        found = [(place, each) for place in places for each, name in enumerate(view.pieces[place]) if name == piece]
        if not found:
            raise InputError(f"{word!r:.80} has no piece {piece!r:.80}; it has {' '.join(view.pieces[places[0]]):.200}")
        off.update(found)
    return load_run(store, run).inspect(view.text, Intervention(pieces_off=frozenset(off)))


def figures(
    run: str,
    folder: Path,
    *,
    against: Sequence[str] = (),
    split: str = "",
    only: Sequence[str] = (),
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    csv: bool = False,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Write the figures of a run as HTML files that open without a network; arguments as `dashboard.export.figures`.

    Returns:
        `run`, `split`, `theme`; `files`: `name`, `title`, `file` of each; `left_out`: name → why there is none.

    Raises:
        InputError: no such run, split, figure, option or theme, a figure that this run does not have, or a bad folder.
        NotAvailable: the installation knows no dashboard.
    """
    draw = _of_the_dashboard("figures")
    given: dict[str, Any] = {"against": against, "split": split, "text": text, "theme": theme, "options": options}
    return draw(run, folder, only=only, csv=csv, store=store, **given)


def figure(
    run: str,
    name: str,
    *,
    against: Sequence[str] = (),
    split: str = "",
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    store: RunStore | None = None,
) -> Any:
    """One of these figures, to show, change and save; arguments and errors as `figures`.

    Returns:
        A chart as a Plotly object, a table with a pandas frame as its `rows`, or a component with the `data` it draws.
    """
    draw = _of_the_dashboard("figure")
    return draw(run, name, against=against, split=split, text=text, theme=theme, options=options, store=store)


def _of_the_dashboard(name: str) -> Callable[..., Any]:
    """What draws: core does not know the dashboard, which registers as entry points of the installation."""
    from importlib.metadata import entry_points

    found = tuple(entry_points(group="sentiscope.verbs", name=name))
    if not found:
        raise NotAvailable("this installation draws no figures; install it anew: pip install -e .")
    return found[0].load()


def project(
    run: str,
    *,
    split: str = "test",
    method: str = "tsne",
    dimensions: int = 2,
    rows: int = 3000,
    seed: int = 0,
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """A map of a split's embeddings, computed and kept in the run directory; one that is there is only read.

    Raises:
        InputError: no such run, split or method.
        NotAvailable: the library of the method is missing.
    """
    from core.evaluation.projection import ProjectionConfig
    from core.runs import projections

    store = store or RunStore()
    config = ProjectionConfig(cast(Any, method), dimensions, rows, seed)
    files = projections.map_files(store, run, split, config)
    made = None
    with contextlib.suppress(RunDamaged):
        made = projections.read(files)
    there = made is not None
    made = made or projections.compute(store, run, files, on_progress)
    return {
        "run": run,
        "split": split,
        **config.arguments(len(made.rows)),
        "n": len(made.rows),
        "computed": not there,
        "file": str(files.path("npy")),
        "explained": list(made.explained),
        "quality": projections.summary(made),
    }
