"""The command line: parse, call an API function, print. JSON goes to stdout as one object, all else to stderr.

Every command comes from a verb of `core.api.VERBS`: arguments from the signature, help from the docstring, the table
from `print_VERB`. Exit codes: 0 done, 1 failure, 2 wrong input.
"""

import contextlib
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from core.api import NOUNS, VERBS, load_verb
from core.api.options import NamedRun, CliArgument
from core.api.printing import err, say, show_tree, make_listener
from core.api.printing import SweepProgress, TrainingProgress
from core.exceptions import InputError, SentiscopeError
from core.runs.training_jobs import handle_stop_signals
from core.text.text_pairs import join_pair

OLD_NAMES = {
    "evaluate": {"--limit-test": "--limit"},
    "project": {"--rows": "--limit"},
    "predict": {"--file": "--data"},
    "report": {"--output": "--to"},
    "codes edit": {"--to": "--name"},
}
"""Command → old name of an option → its present name. Help texts do not show old names."""
FAILED: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "train": lambda result: result["status"] != "done",
    "pretrain": lambda result: result["status"] != "done",
    "sweep": lambda result: "rows" in result and result["progress"]["done"] < result["progress"]["runs"],
    "reproduce": lambda result: bool(result.get("failed")),
    "doctor": lambda result: bool(result["problems"]),
}
"""Commands with a result that can still exit with 1: when they do."""


def main() -> None:
    """Run the console command `sentiscope`; an expected error is printed as a sentence and sets the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its code
    try:
        app()
    except SentiscopeError as error:
        say(f" {error}", head="sentiscope:", console=err)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of the output has ended (`| head`), so the rest is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Command(TyperCommand):
    """A Typer command that also understands the old names of its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace old names of options by the present ones; everything after `--` stays unchanged."""
        end = args.index("--") if "--" in args else len(args)
        cut = [each.partition("=") for each in args[:end]]
        names: Mapping[str, str] = getattr(self.callback, "old_names", {})
        renamed = [names.get(name, name) + equals + value for name, equals, value in cut]
        return super().parse_args(ctx, renamed + args[end:])


class Argument(NamedTuple):
    """An argument of an API function, as typed on the command line."""

    name: str
    typed: CliArgument
    parameter: inspect.Parameter  # parameter of the command


def generate_command(command: str) -> Callable[..., None]:
    """Return a function for Typer that calls the API function of a command and prints its result."""
    verb, printer = load_verb(command)
    (about, arguments, listeners), signature = _read_arguments(verb), inspect.signature(verb)

    def call_verb(context: typer.Context, second_text: str | None = None, as_json: bool = False, **given: Any) -> None:
        _refuse_company(context, arguments, given)
        values = {each.name: _parse_value(each, given[each.name], second_text) for each in arguments}
        with contextlib.ExitStack() as stack:
            values |= {name: stack.enter_context(LISTENERS[kind](as_json)) for name, kind in listeners.items()}
            said: Any = {name: value for name, value in values.items() if value is not None}
            bound = inspect.BoundArguments(signature, said)
            result = verb(*bound.args, **bound.kwargs)
        _end_command(command, result, printer, as_json)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for each in arguments:
        parameters += [each.parameter, *([PAIR] if each.typed.pair else [])]
    parameters += [] if signature.return_annotation == "int" else [JSON]
    call_verb.__doc__, call_verb.__signature__ = about, inspect.Signature(parameters)  # type: ignore[attr-defined]
    call_verb.__annotations__ = {each.name: each.annotation for each in parameters}
    call_verb.old_names = OLD_NAMES.get(command, {})  # type: ignore[attr-defined]
    return call_verb


def _end_command(command: str, result: Any, printer: Callable[[dict[str, Any]], None] | None, as_json: bool) -> None:
    """Print the result of a command, and exit with an error code if it is a failure."""
    if isinstance(result, int):
        raise typer.Exit(result)
    if as_json:
        # ASCII passes through any pipe unchanged, even undecodable arguments.
        sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")
    else:
        (printer or show_tree)(result)
    if not result.get("ok", True):
        raise InputError(result["problem"])
    if command in FAILED and FAILED[command](result):
        raise typer.Exit(1)


def _read_arguments(verb: Callable[..., Any]) -> tuple[str, list[Argument], dict[str, str]]:
    """Return an API function's description, its typed arguments, and the names of its progress callbacks."""
    about, *sections = re.split(r"^(Args|Returns|Raises):$", inspect.getdoc(verb) or "", flags=re.MULTILINE)
    told = dict(zip(sections[::2], sections[1::2], strict=True)).get("Args", "")
    entries = re.split(r"^    (\w+): ", told, flags=re.MULTILINE)[1:]
    helps = {name: " ".join(text.split()) for name, text in zip(entries[::2], entries[1::2], strict=True)}
    hints = get_type_hints(verb, None, {"Intervention": object}, include_extras=True)
    arguments, listeners = list[Argument](), dict[str, str]()
    for name, parameter in inspect.signature(verb).parameters.items():
        marks = getattr(hints[name], "__metadata__", ())
        typed = next((each for each in marks if type(each) is CliArgument), CliArgument())
        if typed.listener:
            listeners[name] = typed.listener
        else:
            arguments.append(_build_argument(parameter, hints[name], typed, helps.get(name, typed.help)))
    return about.strip(), arguments, listeners


def _build_argument(parameter: inspect.Parameter, hint: Any, typed: CliArgument, help: str) -> Argument:
    """Build the command-line form of an API function's argument, with the parameter of the command."""
    kind, default = _find_type(hint, typed, parameter), parameter.default
    placed = parameter.kind is not inspect.Parameter.KEYWORD_ONLY and not typed.name
    info: dict[str, Any] = {"help": help, "metavar": typed.metavar or None, "min": typed.least}
    if typed.place if typed.place is not None else placed:
        about = typer.Argument(**info)
    else:
        name = typed.name or f"--{parameter.name.replace('_', '-')}"
        about = typer.Option(*([] if default is True else [name]), **info)
    several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    if default is parameter.empty and not several:
        default = ...
    elif kind in (list[str], Path) or (kind is str and not isinstance(default, str)):
        kind, default = kind | None, None
    return Argument(parameter.name, typed, _build_option(parameter.name, kind, default, about))


def _find_type(hint: Any, typed: CliArgument, parameter: inspect.Parameter) -> Any:
    plain = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    members = get_args(plain) if get_origin(plain) in (Union, UnionType) else (plain,)
    if typed.kind:
        return typed.kind
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL or any(get_origin(each) is Sequence for each in members):
        return list[str]
    return Path if Path in members else str if NamedRun in members else plain


def _build_option(name: str, kind: Any, default: Any, about: Any) -> inspect.Parameter:
    given = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=Annotated[kind, about])


PAIR = _build_option(
    "second_text",
    str | None,
    None,
    typer.Option("--pair", metavar="TEXT", help="The second text, of a run that reads two at once."),
)
JSON = _build_option("as_json", bool, False, typer.Option("--json", help="One JSON object on stdout, logs on stderr."))


def _parse_value(argument: Argument, value: Any, second_text: str | None) -> Any:
    """Convert a command-line value to what the API function expects, such as two texts to a pair."""
    if argument.typed.pair and second_text is not None:
        return join_pair(value, second_text)
    return argument.typed.parse(value) if argument.typed.parse and value is not None else value


def _refuse_company(context: typer.Context, arguments: Sequence[Argument], given: Mapping[str, Any]) -> None:
    """Refuse other options beside an option that excludes them, such as `--resume`; raises InputError."""
    alone = next((each for each in arguments if each.typed.alone and given[each.name]), None)
    if alone is None:
        return
    sources = {each.name: context.get_parameter_source(each.name) for each in arguments if each is not alone}
    typed = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    if others := sorted(each.opts[0] for each in context.command.params if each.name in typed):
        raise InputError(f"{alone.typed.name} continues with the settings of the run; leave out {', '.join(others)}")


@contextlib.contextmanager
def _listen_to_signals(as_json: bool) -> Iterator[Callable[[], bool]]:
    with handle_stop_signals() as signalled:
        yield signalled.is_set


LISTENERS: dict[str, Callable[[bool], contextlib.AbstractContextManager[Any]]] = {
    "progress": lambda as_json: contextlib.nullcontext(make_listener()),
    "training": lambda as_json: TrainingProgress(err),
    "sweep": lambda as_json: SweepProgress(err, as_json),
    "stopped": _listen_to_signals,
    "python": lambda as_json: contextlib.nullcontext(),
}
"""`CliArgument.listener` → the callback that a verb gets from the command line."""


def generate_app() -> typer.Typer:
    """Build the Typer application with every command of Sentiscope."""
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, help="Train small sentiment classifiers, look inside."
    )
    groups = dict[str, typer.Typer]()
    for command in VERBS:
        noun, _, name = command.rpartition(" ")
        if noun and noun not in groups:
            verbs = ", ".join(each.removeprefix(f"{noun} ") for each in VERBS if each.startswith(f"{noun} "))
            groups[noun] = typer.Typer(no_args_is_help=True, help=f"{NOUNS[noun][0]}: {verbs}.")
        (groups[noun] if noun else app).command(name, cls=Command)(generate_command(command))
    for noun in sorted(groups):
        app.add_typer(groups[noun], name=noun)
    return app


app = generate_app()
