"""Look inside: one text, every figure, a map of a split."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.exceptions import InputError, NotAvailable, RunDamaged
from core.runs.store import RunStore
from core.verbs.evaluation import answer

if TYPE_CHECKING:
    pass


def inspect(run: str, text: str, *, html: Path | None = None, store: RunStore | None = None) -> dict[str, Any]:
    """One text with its tokens, prediction and everything inside the model; `html` also writes a page of it.

    The inside is that of `core.interpret.sentence.inside`.
    """
    from core.evaluation.multilabel import NOTHING
    from core.interpret.html import page
    from core.interpret.sentence import inside, inspect_text
    from core.runs.load import load_run

    loaded = load_run(store or RunStore(), run)
    record = loaded.record
    view = inspect_text(loaded.model, loaded.tokenizer, record.classes, text, task=record.task)
    said = answer(record, view.probabilities)
    if html is not None:
        try:
            labels = said.get("labels_tuned", said.get("labels"))
            words = "" if labels is None else ", ".join(labels) or NOTHING
            whole = page(view, run=run, model=record.preset, answer=words)
            html.write_text(whole, encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"--html {html}: cannot be written ({error.strerror})") from error
    return {
        "run": run,
        "text": text,
        "read_as": view.read_as,
        "tokens": list(view.tokens),
        "unknown": list(view.unknown),
        "truncated": view.truncated,
        "prediction": {**said, "probabilities": view.probabilities},
        **inside(view),
    }


def figures(
    run: str,
    folder: Path,
    *,
    split: str = "",
    only: Sequence[str] = (),
    text: str = "",
    theme: str = "light",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Write the figures of a run as HTML files that open without a network; arguments as `dashboard.export.figures`.

    They are drawn by the dashboard, which core does not know: it registers as an entry point of the installation.

    Returns:
        `run`, `split`, `theme`; `files`: `name`, `title`, `file` of each; `left_out`: name → why there is none.

    Raises:
        InputError: no such run, split, figure or theme, a figure that this run does not have, or a bad folder.
        NotAvailable: the installation knows no dashboard.
    """
    from importlib.metadata import entry_points

    found = tuple(entry_points(group="sentiscope.verbs", name="figures"))
    if not found:
        raise NotAvailable("this installation draws no figures; install it anew: pip install -e .")
    draw: Callable[..., dict[str, Any]] = found[0].load()
    return draw(run, folder, split=split, only=only, text=text, theme=theme, store=store)


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
