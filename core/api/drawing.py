"""Figures and reports of a run, drawn by the dashboard, which is found through package entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

from core.api import options as arguments
from core.api.options import Against, AnyRun, CliArgument, OnProgress, RunName, Split, Store, get_names, split_names
from core.api.printing import say, tabulate
from core.exceptions import NotAvailable
from core.formatting import count
from core.runs.store import RunStore


def find_drawing(name: str) -> Callable[..., Any]:
    """Return the dashboard function that draws figures or reports; NotAvailable: no such function is installed."""
    found = tuple(entry_points(group="sentiscope.verbs", name=name))
    if not found:
        raise NotAvailable("this installation draws no figures; install it again: pip install -e .")
    return found[0].load()


def figures(
    run: RunName,
    folder: Annotated[Path | str, CliArgument(name="--to")],
    *,
    against: Against = (),
    split: Split = "",
    only: Annotated[Sequence[str], CliArgument(metavar="NAME,…", kind=str, parse=split_names)] = (),
    text: str = "",
    theme: str = "light",
    options: Annotated[
        Mapping[str, str | float] | None,
        CliArgument(
            name="--with",
            metavar="NAME=VALUE",
            kind=list[str],
            parse=arguments.make_pair_parser("--with: write name=value, e.g. threshold=0.7"),
        ),
    ] = None,
    csv: bool = False,
    store: Store = None,
) -> dict[str, Any]:
    """Write all figures of the dashboard as HTML files that open without a network; a single file is self-contained.

    Args:
        folder: The folder for the files; created if it does not exist.
        against: Another run, for the figures of Compare; repeat for more.
        only: Names of figures; default: all.
        text: A sentence for the figures of one text, such as `grid` and `coefficients`.
        theme: light or dark.
        options: An option, as in a link of the pages, e.g. threshold=0.7; repeat.
        csv: Also write their numbers as CSV.

    Returns:
        `run`, `split`, `theme`; `files`: `name`, `title`, `file` of each; `left_out`: name → why there is none.
    """
    given: dict[str, Any] = {"against": get_names(against), "split": split, "text": text, "theme": theme}
    return find_drawing("figures")(run, Path(folder), only=only, csv=csv, store=store, options=options, **given)


def figure(
    run: str,
    name: str,
    *,
    against: Sequence[AnyRun] = (),
    split: str = "",
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    store: RunStore | None = None,
) -> Any:
    """Draw a figure of the dashboard by name (`roc`, `confusion`, `learning`, `lambdas` …); a wrong name lists all.

    Args:
        against: Other runs, for the figures that compare several.
        split: The split for figures on predictions; empty: test, or the last that was evaluated.
        text: The sentence for the figures of one text (`grid`, `coefficients`, `gates` …).
        theme: `light` or `dark`.
        options: The options of its page, by the name in a link: `{"threshold": 0.7}`, `{"layer": 1}`.

    Returns:
        A Plotly chart; a table (`metrics`, `each-class` …) with `rows` as a pandas frame; or a browser component
        (`head-view`, `parts`) with its `data`. A notebook can display each.
    """
    given: dict[str, Any] = {"against": get_names(against), "split": split, "text": text, "theme": theme}
    return find_drawing("figure")(run, name, options=options, store=store, **given)


def report(
    run: Annotated[str, CliArgument("A run; several on the same rows are compared.")],
    file: Annotated[Path | str, CliArgument(name="--to", metavar="FILE")] = "",
    *,
    against: Annotated[Sequence[AnyRun], CliArgument(metavar="[RUN…]", kind=list[str], place=True)] = (),
    codes: Annotated[str, CliArgument(metavar="SESSION")] = "",
    split: Split = "",
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Write a report on a run, a comparison or a coding session as one HTML file that opens without a network.

    Args:
        file: The file to write; default: sentiscope-report-RUN.html, here. An existing file is not replaced.
        against: Further runs on the same rows.
        codes: A coding session, as `sentiscope codes list` names it: the id of a sample, an author, or the codebook.

    Returns:
        `file`, its size in `bytes`, `kind` (`run`, `comparison` or `codes`), `runs`, `split`, `n` sentences, whether it
        contains their `texts`, the `command` that builds it again; `sections`, in order: `name`, `title` and the number
        `n` of items; `figures`: their names; `left_out`: name of a missing figure → reason.
    """
    given: dict[str, Any] = {"codes": codes, "split": split, "store": store, "on_progress": on_progress}
    return find_drawing("report")([run, *get_names(against)], file, **given)


def print_figures(result: dict[str, Any]) -> None:
    """Print the files of the written figures, and why other figures are left out."""
    tabulate(result["files"], ("name", "title", "file"))
    for name, reason in result["left_out"].items():
        say(f"without {name}: {reason}")


def print_report(result: dict[str, Any]) -> None:
    """Print the file of a written report, and how much each section holds."""
    megabytes = f"{result['bytes'] / 1e6:.1f} MB"
    say(f"{result['file']}: {megabytes}, n = {count(result['n'])} {result['split']} sentences")
    for each in result["sections"]:
        say(f"{each['title']}: {count(each['n'])}")
