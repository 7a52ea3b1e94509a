"""Verbs on papers: their tables beside our results, their claims, and experiments on their theory."""

import csv
import io
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from core.api.options import CliArgument, OnProgress, Store, get_store, split_names
from core.api.printing import say, tabulate
from core.data.sources import SOURCES, check_availability
from core.exceptions import ConfigError, InputError, NotAvailable
from core.formatting import count, escape_formula, signed, whole_percent
from core.models.presets import PAPERS
from core.papers import reproduction, training_cells
from core.papers.claims import FINDERS, VERDICTS, list_claims
from core.papers.reported_results import read_theory
from core.papers.reproduction import NOT_RUN, SCALES, Line, Results
from core.papers.training_cells import RESULTS, TrainingCell
from core.preset_catalog import find_paper
from core.runs import background_jobs, queue
from core.runs.backbones import find_backbone
from core.runs.background_jobs import Analysis, Files, Offer, Tell, publish_progress
from core.runs.store import RunStore, make_slug

FORMATS = ("text", "csv", "markdown", "latex")
FOLDER = ".papers"
"""Own results, in the folder of runs."""


def reproduce(  # noqa: PLR0913 - each is an option that a person types by name
    paper: Annotated[str, CliArgument("ndt, sentiformer, 7ess-xin, lexical or inceptive; default: an overview.")] = "",
    table: Annotated[str, CliArgument("A table, such as VII; default: all.")] = "",
    *,
    format: str = "text",
    run: bool = False,
    dry_run: bool = False,
    resume: bool = False,
    scale: str = "small",
    seeds: Annotated[int | None, CliArgument(least=1)] = None,
    models: Annotated[Sequence[str], CliArgument(name="--model", metavar="NAME,…", kind=str, parse=split_names)] = (),
    results: Path | str | None = None,
    device: str = "cpu",
    at_once: Annotated[int, CliArgument(name="--jobs", least=1)] = 1,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Show a paper's tables beside our results, with verdicts; trains nothing without --run.

    Tests in this order: better than the paper allows (one-sided, 5 %), differs (the 95 % interval of ours − reported
    excludes 0), agrees (the interval lies within ± 1.5 points), inconclusive. The interval counts the test rows of both
    sides and our seeds.

    Args:
        format: text, csv, markdown or latex.
        run: Train what has no result yet, then show the tables.
        dry_run: Only list what is missing, with estimated hours of two cores and what it needs.
        resume: Continue an interrupted --run.
        scale: small: the recipes with committed results. paper: the paper's own sizes and encoders.
        seeds: The number of seeds; default: those of the recipe, fixed beforehand.
        models: With --run and --dry-run: only models whose names begin so; separate by commas.
        results: A folder that replaces both the committed results and your own; a new one trains from scratch.
        device: As training.device.
        at_once: The number of trainings at a time.

    Returns:
        `paper` and `tables`: `table`, `title`, `differs` (from the paper's protocol), `recipe_version` and `rows`
        (`row`, `dataset`, `metric`, `unit`, `reported`, `ours`, `sd`, `n`, `values`, `difference` and `interval` in
        points, `baseline`, `verdict`, `reason`, and the `group` and `model` of the recipe). Without a paper:
        the main rows of all. A dry run: `cells`, `hours` and `lacks`.
    """
    _check_choice("--format", format, FORMATS)
    _check_choice("--scale", scale, SCALES)
    if seeds is not None and seeds < 1:
        raise InputError(f"--seeds {seeds}: at least 1")
    key = find_paper(paper) if paper else ""
    own = Path(results) if results else (store or RunStore()).folder / FOLDER
    folders = [own] if results else [RESULTS, own]
    if run or dry_run:
        every = list_missing(key, table, folders, seeds or 0, scale)
        missing = [cell for cell in every if cell.name.startswith(tuple(models) or "")]
        if dry_run:
            return {"paper": key, **_describe_missing(missing)}
        with publish_progress(Files(own, name_job(key, table)), on_progress) as tell:
            failed = _train_missing(missing, own, resume, tell, device=device, workers=at_once)
    else:
        failed = 0
    known = Results(folders, seeds or 0, scale)
    found = reproduction.reproduce_tables(key, table, known) if key else reproduction.reproduce_overview(known)
    return found | ({"failed": failed} if run else {}) | ({"format": format} if format != "text" else {})


def name_job(paper: str, table: str) -> str:
    """Return the stem of the files in `FOLDER` that show the progress of `--run` to the page Papers."""
    return f"run-{make_slug(f'{paper} {table}')}"


def _check_choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"{option} '{value}': one of {', '.join(known)}")


def list_missing(paper: str, table: str, folders: Sequence[Path], seeds: int, scale: str) -> list[TrainingCell]:
    """Return the cells of a paper's tables, or of all groups, that have no result."""
    recipes = reproduction.list_tables(paper, table) if paper else []
    wanted = {name for each in recipes for names in each.get("groups", {}).values() for name in names}
    groups = [each for each in training_cells.read_recipes()["groups"] if not paper or each["group"] in wanted]
    found = []
    for group in groups:
        lines = training_cells.read_lines(folders, group["group"])
        cells = training_cells.list_cells(group, seeds, scale)
        found += [cell for cell in cells if "failed" in lines.get(cell.key, {"failed": ""})]
    return found


def _describe_missing(cells: Sequence[TrainingCell]) -> dict[str, Any]:
    keys = ("group", "data", "name", "model", "settings", "seed")
    about = [{key: getattr(cell, key) for key in keys} for cell in cells]
    rows = [row | {"needs": cell.needs, "hours": cell.seconds / 3600} for row, cell in zip(about, cells, strict=True)]
    lacks = dict.fromkeys(reason for cell in cells for reason in _list_lacking(cell))
    return {"cells": rows, "hours": sum(cell.seconds for cell in cells) / 3600, "lacks": list(lacks)}


def _list_lacking(cell: TrainingCell) -> list[str]:
    """Return what a cell needs and this machine lacks, with the way to get it."""
    lacking = check_availability(SOURCES[cell.data]).lacking
    found = [f"{cell.data}: {lacking}"] if lacking else []
    try:
        if cell.backbone:
            find_backbone(cell.backbone)
    except ConfigError as error:
        found.append(str(error))
    return found


def _train_missing(cells: Sequence[TrainingCell], folder: Path, resume: bool, tell: Tell, **how: Any) -> int:
    begun = [name for name in dict.fromkeys(cell.group for cell in cells) if (folder / f"{name}.jsonl").exists()]
    if begun and not resume:
        raise InputError(f"{folder} has results of {', '.join(begun)}: --resume continues, --results NEW starts anew")
    lacking = {cell.key + cell.group: _list_lacking(cell) for cell in cells}
    ready = [cell for cell in cells if not lacking[cell.key + cell.group]]
    reasons = list(dict.fromkeys(reason for each in lacking.values() for reason in each))
    if cells and not ready:
        raise NotAvailable("; ".join(reasons))
    for reason in reasons:
        tell(f"left out: {reason}", None)
    return training_cells.train_cells(ready, folder, tell, **how) if ready else 0


def print_reproduce(result: dict[str, Any]) -> None:
    """Print tables, the overview or the missing cells."""
    form = result.get("format", "text")
    if "cells" in result:
        _print_missing(result)
    elif form == "csv":
        _print_grid(form, "", [_flatten_row(each["table"], row) for each in result["tables"] for row in each["rows"]])
    else:
        for each in result["tables"]:
            paper = each.get("paper", result["paper"])
            title = f"{paper}, {each['table']}: {each['title']}" if paper else each["title"]
            notes = [each["differs"], *_explain_missing(each["rows"]), f"Recipe version {each['recipe_version']}."]
            _print_grid(form, title, _drop_columns(tabulate_rows(each["rows"])), " ".join(filter(None, notes)))


def _flatten_row(table: str, row: Line) -> dict[str, Any]:
    low, high = row["interval"] or (None, None)
    return {"table": table, **row, "interval": low, "interval_high": high, "values": " ".join(map(str, row["values"]))}


def _explain_missing(rows: Sequence[Line]) -> Iterator[str]:
    """Yield each reason why rows have no result, once."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == NOT_RUN:
            found.setdefault(row["reason"], []).append(row["row"])
    for reason, names in found.items():
        yield f"Not run, {', '.join(dict.fromkeys(names))}: {reason}."


def _drop_columns(rows: Iterator[dict[str, str]]) -> list[dict[str, str]]:
    """Drop the data set where all rows have the same, and columns without any text."""
    found = list(rows)
    kept = [name for name in found[0] if len({row[name] for row in found}) > 1 or (found[0][name] and name != "data")]
    return [{name: row[name] for name in kept} for row in found]


def _print_missing(result: Mapping[str, Any]) -> None:
    rows: dict[tuple[str, str], Line] = {}
    for cell in result["cells"]:
        start = {"group": cell["group"], "model": cell["name"], "cells": 0, "hours": 0.0, "needs": cell["needs"]}
        row = rows.setdefault((cell["group"], cell["name"]), start)
        row["cells"], row["hours"] = row["cells"] + 1, row["hours"] + cell["hours"]
    tabulate([{**row, "hours": f"{row['hours']:.1f}"} for row in rows.values()], whole="model")
    say(f"{len(result['cells'])} trainings are missing, about {result['hours']:.1f} hours on two cores")
    for reason in result["lacks"]:
        say(reason, head="lacks ")


def format_value(value: float | None, unit: str) -> str:
    """Format a number as in the papers: two decimal places for percentages and millions, three for shares."""
    if value is None:
        return ""
    if unit == "count" or (not unit and abs(value) >= 1 and float(value).is_integer()):
        return count(round(value))
    return f"{value:.2f}" if unit else f"{value:.3f}"


def tabulate_rows(rows: Sequence[Line]) -> Iterator[dict[str, str]]:
    """Yield the rows of a table as texts."""
    for row in rows:
        unit, interval = row["unit"], row["interval"]
        spread = "" if row["sd"] is None else f" ± {format_value(row['sd'], unit)}"
        ends = f" ({signed(interval[0])} to {signed(interval[1])})" if interval else ""
        times = f" × {row['n']}" if row["n"] else ""
        yield {
            "row": row["row"],
            "data": row["dataset"],
            "metric": f"{row['metric']}, {unit}" if unit and unit != "count" else row["metric"],
            "reported": format_value(row["reported"], unit),
            "ours": format_value(row["ours"], unit) + spread + times,
            "difference": "" if row["difference"] is None else signed(row["difference"]) + ends,
            "TF-IDF": format_value(row["baseline"], unit),
            "verdict": ": ".join(filter(None, (row["verdict"], row["reason"] if row["verdict"] != NOT_RUN else ""))),
        }


def _print_grid(form: str, title: str, rows: Sequence[Mapping[str, Any]], note: str = "") -> None:
    if form == "text":
        say("", head=title)
        tabulate(rows, whole="row")
        say(note)
    else:
        for line in [*format_grid(form, title, rows, note).splitlines(), *([""] if form != "csv" else [])]:
            say(line)


def format_grid(form: str, title: str, rows: Sequence[Mapping[str, Any]], note: str = "") -> str:
    """Return a table as CSV, Markdown or LaTeX."""
    head = list(rows[0]) if rows else []
    cells = [head, *(["" if value is None else str(value) for value in row.values()] for row in rows)]
    if form == "csv":
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([escape_formula(cell) for cell in row] for row in cells)
        return stream.getvalue().rstrip("\n")
    if form == "markdown":
        lines = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in cells]
        lines.insert(1, f"|{'---|' * len(head)}")
        return "\n".join([*([f"**{title}**", ""] if title else []), *lines, "", *textwrap.wrap(note, 120)])
    body = [" & ".join(map(escape_latex, row)) + r" \\" for row in cells]
    caption, columns = escape_latex(". ".join((title, note))), "l" * len(head)
    start = [r"\begin{table}", rf"\caption{{{caption}}}", rf"\begin{{tabular}}{{{columns}}}"]
    return "\n".join([*start, r"\hline", body[0], r"\hline", *body[1:], r"\hline", r"\end{tabular}", r"\end{table}"])


_LATEX = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"\u2212": "$-$", "\u202f": r"\,", "∞": r"$\infty$", "λ": r"$\lambda$", "σ": r"$\sigma$"},
    **{"±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$"},
}


def escape_latex(text: str) -> str:
    """Return a text as LaTeX that any engine can set."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def claims(
    paper: Annotated[str, CliArgument(f"{', '.join(FINDERS)}, or a title; default: all.", metavar="[PAPER]")] = "",
) -> dict[str, Any]:
    """Check what a paper says about its results against the numbers in its own tables. Nothing is trained.

    Returns:
        `paper`, the key, empty for all; `claims`: `paper`, `claim` in our words, `source` (section and table),
        `reported` and `recomputed` (a number or several in the paper's units; None: the claim has none), `verdict`
        (holds, in part or does not follow), `count`, `sentence` (what the numbers give).
    """
    key = find_paper(paper) if paper else ""
    if key and key not in FINDERS:
        raise InputError(f"'{paper}' is not a paper; there are {', '.join(FINDERS)}")
    return {
        "paper": key,
        "claims": [{"paper": each} | row for each in FINDERS if key in ("", each) for row in list_claims(each)],
    }


def count_verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many claims hold, follow in part, and do not follow, as a sentence."""
    counts = Counter(row["verdict"] for row in rows)
    holds, part, wrong = (counts[each] for each in VERDICTS)
    verbs = "claim holds" if len(rows) == 1 else "claims hold"
    return f"{holds} of {len(rows)} {verbs}, {part} in part, {wrong} {'does' if wrong == 1 else 'do'} not follow."


def print_claims(result: dict[str, Any]) -> None:
    """Print the claims of each paper with their verdicts, and a line that counts these."""
    for paper in dict.fromkeys(row["paper"] for row in result["claims"]):
        rows = [row for row in result["claims"] if row["paper"] == paper]
        say(f" {count_verdicts(rows)}", head=f"{PAPERS[paper]}:")
        tabulate(rows, ("verdict", "claim", "sentence", "source"), whole="verdict")
        say("")


@dataclass(frozen=True)
class MissingResults(Analysis[int]):
    """The trainings that a table of a paper still needs, run by the command `reproduce`."""

    paper: str
    table: str
    scale: str
    name: ClassVar[str] = "reproduce"
    offer = Offer("Run what is missing", "Training what is missing", "Training what is missing failed", "")

    @classmethod
    def from_table(cls, store: RunStore, paper: str, table: str, scale: str) -> "MissingResults":
        """Return the trainings of a table, whose progress is next to their results in the folder of runs."""
        return cls(store.folder / FOLDER, name_job(paper, table), store, paper, table, scale)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the command that trains the missing runs of the table."""
        return ("reproduce", self.paper, self.table, "--run", "--resume", "--scale", self.scale)

    def find(self, tell: Tell) -> int:
        """Train the missing runs of the table; return the number of failed trainings."""
        asked: dict[str, Any] = {"run": True, "resume": True, "scale": self.scale, "on_progress": tell}
        return int(reproduce(self.paper, self.table, store=self.store, **asked)["failed"])

    def start(self) -> None:
        """Start the trainings in the background when it is their turn; InputError: not allowed, or no room."""
        self.store.guard.check_start()
        command = background_jobs.build_command(*self.words)
        background_jobs.start_job(self.store, self, command, self.name, lane=queue.TRAINING)


QUESTIONS = {
    "kernel": "Is attention a kernel smoother?",
    "memorise": "Can a transformer learn random labels by heart?",
    "markov": "Which models link the first word to the last?",
}
"""Experiment → the question that it answers."""
LIMIT = 1e-6
"""Greatest difference between an attention weight, or an output, and that of the kernel smoother."""
RUN = "starter-sentiformer"  # of the experiment `kernel`, by default
TEXT = "The plot is thin, but I never got bored."


def theory(
    name: Annotated[str, CliArgument(f"{', '.join(QUESTIONS)}.")],
    *,
    run: Annotated[str, CliArgument("Of `kernel`: a run with one attention map per head.")] = RUN,
    text: Annotated[str, CliArgument("Of `kernel`: the text that it reads.")] = TEXT,
    layer: Annotated[int, CliArgument("Of `kernel`: the layer, from 1; default: the last.", least=0)] = 0,
    again: Annotated[bool, CliArgument("Train again, up to three minutes; else the kept results are shown.")] = False,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Show an experiment on the theory of the SentiFormer paper: `kernel`, `memorise` or `markov`.

    Returns:
        `name`, `question`, `finding`. Of `kernel`: `run`, `text`, `layer`, `tokens`, `gates` (factor of each key),
        `maps` and `weights` (heads × tokens × tokens: of the model, and of the kernel smoother), `kernel` (before each
        row is divided by its sum), `difference` (the largest between them) and `distance` (the largest of an output
        from the hull of the values). The others: as their functions in `core.papers.theory`.
    """
    if name not in QUESTIONS:
        raise InputError(f"there is no experiment {name!r:.60}; choose one of {', '.join(QUESTIONS)}")
    if name == "kernel":
        from core.papers.theory import compare_with_kernel
        from core.runs.load import load_run

        found = {"run": run, "text": text, **compare_with_kernel(load_run(get_store((), store), run), text, layer)}
    elif again:
        from core.papers.theory import COMPUTED

        found = COMPUTED[name](on_progress or (lambda what, share: None))
    else:
        found = read_theory(name)
    return {"name": name, "question": QUESTIONS[name], "finding": _describe_result(name, found), **found}


def _describe_result(name: str, found: Mapping[str, Any]) -> str:
    if name == "kernel":
        same, inside = found["difference"] < LIMIT, found["distance"] < LIMIT
        return (
            f"Attention {'is' if same else 'is not'} a kernel smoother to within 10⁻⁶; "
            f"outputs {'stay in' if inside else 'leave'} the convex hull of the values."
        )
    if name == "memorise":
        rows, best = found["rows"], max(row["counts"] for row in found["rows"])
        learned = f"{sum(row['accuracy'] == 1 for row in rows)} of {len(rows)} transformers learn"
        return (
            f"{learned} all {found['sequences']} random labels. Word counts alone reach {whole_percent(best)} at most."
        )
    last = {model: means[-1] for model, means in found["means"].items()}
    windows = max(value for model, value in last.items() if model.startswith("window"))
    return (
        f"At {found['lengths'][-1]} words the transformer gets {whole_percent(last['transformer'])} right and the LSTM "
        f"{whole_percent(last['LSTM'])}; models of a window guess ({whole_percent(windows)})."
    )


def tabulate_kernel(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each key of the first token: its gate, and attention and kernel of each head."""
    columns = {"token": found["tokens"], "gate": found["gates"]}
    for name, key in (("head", "maps"), ("kernel", "kernel")):
        columns |= {f"{name} {number}": rows[0] for number, rows in enumerate(found[key], 1)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def tabulate_markov(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each model with its accuracy on texts that end with *good*, by their number of words."""
    names = [f"n = {n}" for n in found["lengths"]]
    return [{"model": model, **dict(zip(names, means, strict=True))} for model, means in found["means"].items()]


def print_theory(result: dict[str, Any]) -> None:
    """Print the question, a table of results, and the finding."""
    say(result["question"])
    if result["name"] == "kernel":
        say(f"layer {result['layer']}, attention from “{result['tokens'][0]}”")
        tabulate(tabulate_kernel(result), whole="token")
    elif result["name"] == "memorise":
        tabulate(result["rows"], {"seed": "seed", "steps": "step", "accuracy": "accuracy", "by word counts": "counts"})
    else:
        say("accuracy on texts that end with “good”; a guess is right for 0.5")
        tabulate(tabulate_markov(result), whole="model")
        exact = sum(share == 1 for share in result["hand"].values())
        say(f"weights set by hand: no error at {exact} of {len(result['hand'])} lengths, 2 to {result['lengths'][-1]}")
    say(result["finding"])
