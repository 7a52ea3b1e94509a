"""Figures of a run, drawn by the dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.runs.store import RunStore
from core.verbs.registered import of_the_dashboard


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
    draw = of_the_dashboard("figures")
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
    draw = of_the_dashboard("figure")
    return draw(run, name, against=against, split=split, text=text, theme=theme, options=options, store=store)
