"""Figures of a run, and its report.

Methods of `core.handle.objects.Run`, which is the first argument of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import verbs
from core.handle.named import Named, named

if TYPE_CHECKING:
    pass


def figure(
    run: Named,
    name: str,
    *,
    against: Sequence[str] = (),
    split: str = "",
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
) -> Any:
    """A figure of the dashboard by name (`roc`, `confusion`, `learning`, `lambdas` …) .

    Args:
        name: `sentiscope figures` has all; a name that is none is answered with the list.
        against: Names of other runs, for the figures that compare several.
        split: Of the figures on predictions; empty: test, or the last that was evaluated.
        text: Of the figures of a sentence (`grid`, `coefficients`, `gates` …).
        theme: `light` or `dark`.
        options: What its page lets a person choose, by the name in a link: `{"threshold": 0.7}`, `{"layer": 1}`.

    Returns:
        A chart as a Plotly object; a table (`metrics`, `each-class` …), whose `rows` are a pandas frame; or one of
        our components (`head-view`, `parts`), whose `data` it draws. A notebook shows each.

    Raises:
        InputError: There is no such figure, split or option, or this run has none of it; the message says why.
    """
    about: dict[str, Any] = {"against": against, "split": split, "text": text, "theme": theme}
    return verbs.figure(run.name, name, options=options, store=run.store, **about)


def figures(
    run: Named,
    folder: str | Path,
    *,
    against: Sequence[str] = (),
    split: str = "",
    only: Sequence[str] = (),
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    csv: bool = False,
) -> dict[str, Any]:
    """Write its figures, or `only` some, into a folder as HTML files that open without a network.

    With `csv` their numbers too.

    Returns:
        `files`: name, title and file of each; `left_out`: name → why there is none.

    Raises:
        InputError: As `figure`, or the folder cannot be written.
    """
    chosen: dict[str, Any] = {"against": against, "options": options, "csv": csv, "store": run.store}
    return verbs.figures(run.name, Path(folder), split=split, only=only, text=text, theme=theme, **chosen)


def report(
    run: Named,
    file: str | Path = "",
    *,
    against: Sequence[str | Named] = (),
    codes: str = "",
    split: str = "",
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """Write one HTML file that opens without a network: figures, tables, codes, settings, predictions.

    Args:
        file: Empty: `sentiscope-report-RUN.html` in the working directory. A file that is there stays as it is.
        against: Other runs on the same rows, which it is compared with.
        codes: A coded session: the id of a draw, an author or the codebook, as `run.codes.list()` names them.
        split: Empty: test, or the last that was evaluated.
        on_progress: Told what is done and which share of all.

    Returns:
        `file`, its size in `bytes`, its `sections` with how much each holds, `figures`, and what was `left_out`.

    Raises:
        InputError: There is no such run, split or session, or a file of this name is there.
    """
    about: dict[str, Any] = {"codes": codes, "split": split, "on_progress": on_progress}
    return verbs.report(run.name, file, against=list(map(named, against)), store=run.store, **about)
