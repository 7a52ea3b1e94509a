"""Arguments that several API functions share, and how each is typed on a command line.

The command line is generated from the signatures (`core.cli`): a positional argument of a verb is an argument of the
command, a keyword is an option, and the docstring is the help. `CliArgument` describes what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core.config import parse_settings
from core.exceptions import InputError
from core.runs.store import RunStore
from core.runs.training_jobs import OnEvent

if TYPE_CHECKING:
    from core.models.trace import Intervention


@dataclass(frozen=True)
class CliArgument:
    """The command-line form of an API function's argument, where it does not follow from the signature."""

    help: str = ""  # if the verb's docstring does not describe it
    name: str = ""  # option name if it differs from the argument's, such as `--set`
    metavar: str = ""
    kind: Any = None  # type of the typed value, before `parse`
    parse: Callable[[Any], Any] | None = None
    place: bool | None = None  # True: positional, False: an option; None: as in Python
    least: int | None = None
    pair: bool = False  # a text; `--pair` gives its second text to runs that read pairs
    alone: bool = False  # an option that replaces all others
    listener: str = ""  # callback that the command line passes; `python`: none


@dataclass(frozen=True, repr=False)
class NamedRun:
    """A run, given by its name and the folder of runs that it is in."""

    name: str
    store: RunStore = field(default_factory=RunStore, compare=False)


AnyRun = str | NamedRun


def get_name(run: AnyRun) -> str:
    """Return the name of a run, which is given as an object or by name."""
    return run.name if isinstance(run, NamedRun) else run


def get_names(runs: Sequence[AnyRun] | AnyRun) -> list[str]:
    """Return the names of one run or of several, each given as an object or by name."""
    return list(map(get_name, [runs] if isinstance(runs, str | NamedRun) else runs))


def get_store(runs: Sequence[AnyRun], store: RunStore | None) -> RunStore:
    """Return the given run store, else that of the first run object, else the default store."""
    named = [each.store for each in runs if isinstance(each, NamedRun)]
    found = store or next(iter(named), RunStore())
    held = [model for each in (found, *named) for model in each.held]
    return RunStore(None if found.starters else found.folder, held) if held else found


def as_list(value: Sequence[str] | str) -> list[str]:
    """Return one text, or a sequence of texts, as a list."""
    return [value] if isinstance(value, str) and value else list(value)


def make_pair_parser(wrong: str) -> Callable[[Sequence[str]], dict[str, str]]:
    """Return a parser of texts `a=b` to a dictionary; a text without `=` raises InputError with the message `wrong`."""

    def parse_pairs(texts: Sequence[str]) -> dict[str, str]:
        cut = [text.partition("=") for text in texts]
        if any(not equals for _, equals, _ in cut):
            raise InputError(wrong)
        return {name.strip(): value.strip() for name, _, value in cut}

    return parse_pairs


def split_names(text: str) -> list[str]:
    """Split a text of comma-separated names into a list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def make_map_option(wrong: str, metavar: str = "OLD=NEW") -> CliArgument:
    """Return the command-line option `--map OLD=NEW`; `wrong` is the error message for a value without `=`."""
    return CliArgument(name="--map", metavar=metavar, kind=list[str], parse=make_pair_parser(f"--map: {wrong}"))


OnProgress = Annotated[Callable[[str, float | None], None] | None, CliArgument(listener="progress")]
"""Called with the current step and its progress (0 to 1, or None if unknown)."""
OnTraining = Annotated[OnEvent | None, CliArgument(listener="training")]
Store = Annotated[RunStore | None, CliArgument(listener="python")]
"""The folder of runs; None: `SENTISCOPE_RUNS`, or `trained`."""
Stopped = Annotated[Callable[[], bool] | None, CliArgument(listener="stopped")]
Change = Annotated["Intervention | None", CliArgument(listener="python")]
"""A `core.models.trace.Intervention`, for changes beyond `edit`; of `edit`, only `mix.0` may be combined with it."""

RunName = Annotated[str, CliArgument("Name of a run; `sentiscope runs list` shows all.")]
Runs = Annotated[Sequence[str], CliArgument("Names of runs.", metavar="RUN…")]
Against = Annotated[Sequence[AnyRun] | AnyRun, CliArgument(metavar="RUN", kind=list[str])]
AnyText = Annotated[str, CliArgument("One text.")]
PairText = Annotated[str, CliArgument("One text.", pair=True)]
Pair = Annotated[str | None, CliArgument("The second text, for a run that reads pairs.", metavar="TEXT")]
Split = Annotated[str, CliArgument("Default: test, or the last that was evaluated.")]
Target = Annotated[str, CliArgument("Default: the class with the highest probability.", metavar="CLASS")]
Clauses = Annotated[
    Sequence[str] | str,
    CliArgument(
        "Rows, as in `errors`: wrong, word=not, coded, code=NAME, noted …; repeat.", metavar="CLAUSE", kind=list[str]
    ),
]
Settings = Annotated[
    Mapping[str, Any] | None, CliArgument("A setting; repeat for more.", "--set", "A.B=C", list[str], parse_settings)
]
File = Annotated[Path | str | None, CliArgument()]  # a file to write; None: none
Passage = Annotated[
    int,
    CliArgument(
        "Read longer texts in passages of at most so many words, and average their log-odds; 0: read texts whole.",
        metavar="WORDS",
        least=0,
    ),
]
Edit = Annotated[
    str,
    CliArgument(
        "Change the model inside, as `edit` in the link of the page Sentence: h1.2 (head 2 of layer 1 off), c2.1 (A₁ "
        "of layer 2), m1.2.0 (A₀ of one head), h1.2:mean (at its mean), l2c1:0.5 (λ₁ of layer 2), l:0.5 (all other λ × "
        "0.5), g1.3:0 (gate of token 3 in layer 1 closed), s:0.5 (half the lexical term), s2 (that of layer 2 off), "
        "mix.0 (TF-IDF out), step:120 (weights of a step that "
        "training.keep kept). Example: --edit h1.2,l2c1:0.5",
        metavar="PART,…",
    ),
]
Space = Annotated[str, CliArgument("embedding, layer 1, … of a model with layers; default: the input of its head.")]
Author = Annotated[str, CliArgument("The author of the change; default: no name.")]
Whose = Annotated[str | None, CliArgument("Only the codes of this author; default: of all authors.", "--author")]
