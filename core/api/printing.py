"""Printing on a terminal: results as sentences and tables, progress as a bar or, elsewhere, as lines."""

import contextlib
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import rich.progress
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from core.formatting import NARROW, format_decimals, signed, whole_percent
from core.runs.sweep import STATES
from core.runs.training_jobs import OnEvent

# Markup is off, since a run may be called :x: and a text may contain [red].
PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
UNBROKEN = 20  # longest cell, such as an interval, that stays on one line if there is room

out, err = Console(**PLAIN), Console(stderr=True, **PLAIN)


def say(text: str, *, head: str = "", console: Console = out) -> None:
    """Print one line on the terminal without markup, after `head` in bold."""
    console.print(Text.assemble((escape_controls(head), "bold"), escape_controls(text)), soft_wrap=True)


def make_printer(write: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], None]:
    """Return a function that prints a command's result as the one line that `write` makes of it."""
    return lambda result: say(write(result))


def say_edit(result: dict[str, Any]) -> None:
    """Print which edits of the model a result was computed with, and the note of the result, if there are any."""
    if result["edit"]:
        say(f"as edited: {result['edit']}")
    if result.get("note"):
        say(result["note"])


def make_listener() -> Callable[[str, float | None], None]:
    """Return a function that prints progress messages on stderr, without repeated lines."""
    last = ""

    def print_progress(what: str, share: float | None) -> None:
        nonlocal last
        line = what if share is None else f"{what}: {whole_percent(share)}"
        if line != last:
            say(line, console=err)
        last = line

    return print_progress


def write_ends(interval: Sequence[float] | None, write: Callable[[float], str] = format_decimals) -> str:
    """Format a confidence interval as `low to high`; empty without an interval."""
    return " to ".join(map(write, interval or ()))


def write_rate(value: float, interval: Sequence[float]) -> str:
    """Format a rate with its interval in brackets, two decimal places each."""
    return f"{value:.2f} ({write_ends(interval, '{:.2f}'.format)})"


def write_value(value: float | None, interval: Sequence[float] | None) -> str:
    """Format a metric, with its interval in brackets if there is one."""
    ends = write_ends(interval)
    return f"{format_decimals(value)}{ends and f' ({ends})'}"


def write_p(p: float | None) -> str:
    """Format a p-value; empty if there is none."""
    return "< 0.001" if p is not None and p < 0.001 else format_decimals(p)


def write_rho(rho: float | None) -> str:
    """Format a correlation coefficient; a dash if there is none."""
    return "–" if rho is None else signed(rho).lstrip("+")


def write_points(share: float) -> str:
    """Format a share in percent with one decimal place, without the percent sign."""
    return f"{100 * share:.1f}"


def tabulate(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] | Mapping[str, str | Callable[[Any], Any]] = (),
    whole: str = "run",
) -> None:
    """Print rows as a table: numbers with three decimal places, intervals as `low to high`, lists with commas.

    Nothing is truncated and no word is broken: long cells wrap. If the words of a row do not fit next to each other,
    each row is a paragraph that begins with its column `whole`, or with the first.

    Args:
        rows: The rows to print.
        columns: Keys of the rows; or title → key, or title → a function of a row. Default: the keys of the first row,
            and without rows no table.
        whole: The column that stays on one line.
    """
    columns = columns or tuple(rows[0] if rows else ())
    asked: Mapping[str, str | Callable[[Any], Any]]
    asked = columns if isinstance(columns, Mapping) else {name: name for name in columns}
    cells = [
        [_format_cell(row.get(of, "") if isinstance(of, str) else of(row)) for of in asked.values()] for row in rows
    ]
    for unbroken in (UNBROKEN, 0) if asked else ():
        if table := _build_table(cells, tuple(asked), whole, unbroken):
            out.print(table)
            return
    titles, first = list(map(escape_controls, asked)), list(asked).index(whole) if whole in asked else 0
    for row in cells:
        out.print(Text(row[first], "bold"), soft_wrap=True)
        if rest := [f"{titles[at]} {text}" for at, text in enumerate(row) if text and at != first]:
            out.print(Padding(Text(" · ".join(rest), overflow="fold"), (0, 0, 0, 2)))


def _build_table(cells: Sequence[Sequence[str]], columns: Sequence[str], whole: str, unbroken: int) -> Table | None:
    """Return a table with columns as wide as the terminal allows, the widest cut first; None: a word would break."""
    least, widths = [], []
    for column, *texts in zip(map(escape_controls, columns), *cells, strict=True):
        words = [word for text in (column, *texts) for word in text.split()]
        unbreakable = (column, *texts) if column == whole else [text for text in texts if cell_len(text) <= unbroken]
        least.append(max(map(cell_len, (*words, *unbreakable)), default=0))
        widths.append(max(map(cell_len, (column, *texts))))
    while sum(widths) + 2 * (len(widths) - 1) > out.width:  # Rich itself ignores the least widths when it cuts
        place = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        if widths[place] <= least[place]:
            return None
        widths[place] -= 1
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        table.add_column(escape_controls(column), no_wrap=column == whole, overflow="fold", width=width)
    for row in cells:
        table.add_row(*row)
    return table


def _format_cell(cell: Any) -> str:
    if isinstance(cell, list | tuple):
        words = all(isinstance(each, str) for each in cell)
        return escape_controls(", ".join(cell)) if words else write_ends(cell)
    return escape_controls(format_decimals(cell) if cell is None or isinstance(cell, float) else str(cell))


def escape_controls(text: str) -> str:
    """Replace control characters and lone surrogates in a text by codes that do not affect the terminal."""
    shown = "".join(
        each.encode("unicode_escape").decode() if unicodedata.category(each) in ("Cc", "Cs") else each for each in text
    )
    return shown if out.encoding.startswith("utf") else shown.replace(NARROW, " ")


def show_tree(result: dict[str, Any]) -> None:
    """Print nested plain data as indented JSON."""
    out.print_json(data=result)


class _Bar:
    """A progress bar that is drawn during the work, on a terminal only."""

    def __init__(self, console: Console, drawn: bool, *columns: rich.progress.ProgressColumn) -> None:
        self.console, self.drawn = console, drawn
        first = rich.progress.TextColumn("{task.description}", markup=False), rich.progress.BarColumn()
        self.bar = rich.progress.Progress(*first, *columns, console=console, transient=True)

    def __enter__(self) -> OnEvent:
        """Start drawing the progress bar; return the function that prints a progress event."""
        if self.drawn:
            self.bar.start()
        return self.print_event

    def __exit__(self, *error: object) -> None:
        """Stop drawing the progress bar."""
        if self.drawn:
            self.bar.stop()

    def print_event(self, event: dict[str, Any]) -> None:
        """Print one progress event."""
        raise NotImplementedError


class TrainingProgress(_Bar):
    """A printer of the progress events of a training run (`core.runs.training_jobs.OnEvent`)."""

    def __init__(self, console: Console) -> None:
        columns = rich.progress.TextColumn("{task.percentage:>3.0f} %"), rich.progress.TimeRemainingColumn()
        super().__init__(console, console.is_terminal, *columns)
        self.task: rich.progress.TaskID | None = None

    def print_event(self, event: dict[str, Any]) -> None:
        """Print one progress event of a training run."""
        kind = event["kind"]
        if kind == "step":
            if self.task is not None:
                self.bar.update(self.task, completed=event["step"])
        elif kind == "epoch":
            shown = ", ".join(f"{name} {value:.3f}" for name, value in event["validation"].items() if value is not None)
            self.console.print(f"epoch {event['epoch'] + 1}: validation {shown}")
        elif kind in ("masked words", "training"):
            self._begin_stage(kind, event["steps"])
        elif kind == "queued":
            self.console.print(f"run {event['run']}")
        elif kind == "cost":
            time = ""
            if event["seconds"] is not None:
                time = f" and {format_time_left(event['seconds'], 0).removesuffix(' left')}"
            self.console.print(f"takes about {event['bytes'] / 1e9:.1f} GB of memory{time}", soft_wrap=True)
        elif kind == "recipe":
            for setting, why in event["left_out"].items():
                self.console.print(f"recipe {event['recipe']}, without {setting}: {why}", soft_wrap=True)
        else:
            self.console.print(kind)

    def _begin_stage(self, stage: str, steps: int) -> None:
        """Start a progress bar for pretraining on masked words or for training, given the number of steps; 0: none."""
        if not self.console.is_terminal:
            if stage != "training":
                self.console.print(stage)
        elif steps:
            if self.task is not None:
                self.bar.remove_task(self.task)
            self.task = self.bar.add_task(stage, total=steps)


class SweepProgress(_Bar):
    """A printer of a sweep's progress (`core.runs.sweep_drive.SweepState.to_event`): a bar, lines, or JSON."""

    def __init__(self, console: Console, as_json: bool) -> None:
        column = rich.progress.TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}")
        super().__init__(console, console.is_terminal and not as_json, column)
        self.as_json, self.last = as_json, ""
        self.task = self.bar.add_task("sweep", total=1.0, left="")

    def print_event(self, event: dict[str, Any]) -> None:
        """Print one progress event of a sweep of training runs."""
        if self.as_json:
            self.console.file.write(json.dumps(event) + "\n")
            self.console.file.flush()
            return
        counts = ", ".join(f"{event[state]} {state}" for state in STATES if event[state])
        line, left = f"{event['runs']} runs: {counts}", format_time_left(event["seconds_left"], event["unknown"])
        if self.drawn:
            share = sum(event[state] for state in ("done", "failed", "cancelled"))
            share += sum(run["share"] for run in event["training"])
            self.bar.update(self.task, description=line, completed=share / event["runs"], left=left)
        elif line != self.last:
            self.console.print(f"{line}; {left}", soft_wrap=True)
        self.last = line


def format_time_left(seconds: float, unknown: int) -> str:
    """Format the remaining time of a sweep, and the number of runs whose remaining time is unknown."""
    if not seconds:
        return "time not known yet" if unknown else "nothing left"
    minutes = f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
    known = f"about {minutes} left"
    return f"{known}, and {unknown} runs whose time is not known yet" if unknown else known


@contextlib.contextmanager
def listen_in_python(on_event: OnEvent | None) -> Iterator[OnEvent]:
    """Yield the function that receives training progress: the given one, else one that draws a progress bar."""
    if on_event is not None:
        yield on_event
        return
    # A bar on a terminal only: notebooks report colour support but cannot redraw a bar, so they get lines.
    here = Console(force_jupyter=False, force_terminal=sys.stdout.isatty(), soft_wrap=True, **PLAIN)
    with TrainingProgress(here) as tell:
        yield tell
