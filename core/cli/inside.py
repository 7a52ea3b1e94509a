"""`sentiscope inspect`, `explain`, `steps`, `flip` and `figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from core import verbs
from core.cells import decimals
from core.cli.printing import Edit, Json, Pair, Run, both, emit, out, pairs, say, say_edit, tabulate, teller, visible
from core.data.findings import plural
from core.exceptions import InputError
from core.interpret.templates import TEMPLATES
from core.numbers import count, signed
from core.runs.worker import stop_signals

BAR = 24
"""Signs of the largest push."""
VERDICTS = {
    "proven": "proven: no smaller set of moves changes the answer, and no other of this size moves it more",
    "smallest found": "smallest found: not every set of moves of this size or below was read",
    "none, proven": "proven: none of the moves changes the answer",
    "none found": "none found: not every set of moves was read",
}
OPTIONS = "--with: write name=value, e.g. threshold=0.7"


def inspect(
    run: Run,
    text: Annotated[str, typer.Argument(help="One text.")],
    pair: Pair = None,
    edit: Edit = "",
    html: Annotated[Path | None, typer.Option(help="Also write a page with every map.")] = None,
    as_json: Json = False,
) -> None:
    """Tokens, prediction and every attention map of one text."""
    text = both(text, pair)
    emit(verbs.inspect(run, text, edit=edit, html=html), as_json, _show_inside)


def explain(
    run: Run,
    text: Annotated[str, typer.Argument(help="One text.")],
    pair: Pair = None,
    method: Annotated[
        str, typer.Option(help="deletion (default), shapley, gradient, integrated, attention or collapse.")
    ] = "",
    target: Annotated[str, typer.Option(metavar="CLASS", help="Default: the one with the highest probability.")] = "",
    parts: Annotated[
        bool, typer.Option("--parts", help="Layers, heads, components, gates and lexical terms in place of words.")
    ] = False,
    lambdas: Annotated[
        bool, typer.Option("--lambdas", help="Each λ from end to end, and a factor on all, in place of words.")
    ] = False,
    methods: Annotated[
        bool, typer.Option("--methods", help="Every method side by side, and how far each two agree.")
    ] = False,
    edit: Edit = "",
    as_json: Json = False,
) -> None:
    """What each word of a text, each part of the model or each λ does to the answer, in log-odds of a class."""
    text = both(text, pair)
    others = [name for name, asked in (("parts", parts), ("lambdas", lambdas), ("methods", methods)) if asked]
    if len(others) > 1:
        raise InputError(f"{' and '.join(f'--{name}' for name in others)}: one of them")
    if method and others:
        raise InputError(f"--method: leave it out, or leave --{others[0]} out")
    about: dict[str, Any] = {"target": target, "edit": edit}
    if parts:
        emit(verbs.parts(run, text, **about), as_json, _show_parts)
    elif lambdas:
        emit(verbs.lambdas(run, text, **about), as_json, _show_lambdas)
    elif methods:
        emit(verbs.methods(run, text, on_progress=teller(), **about), as_json, _show_methods)
    else:
        emit(verbs.explain(run, text, method=method or "deletion", **about), as_json, _show_pushes)


def steps(
    run: Run,
    text: Annotated[str, typer.Argument(help="One text.")],
    pair: Pair = None,
    layer: Annotated[int | None, typer.Option(help="Counted from 1; default: the last.")] = None,
    head: Annotated[int | None, typer.Option(help="Counted from 1; default: the first.")] = None,
    component: Annotated[int | None, typer.Option(help="Counted from 0, the base component, the default.")] = None,
    edit: Edit = "",
    as_json: Json = False,
) -> None:
    """The forward pass of one text as stages: formulas, and with --json the matrices."""
    text = both(text, pair)
    emit(verbs.steps(run, text, layer=layer, head=head, component=component, edit=edit), as_json, _show_steps)


def patch(
    run: Run,
    text: Annotated[str, typer.Argument(help="One text.")],
    donor: Annotated[str, typer.Argument(help="Another of as many tokens, whose inside is put into it.")],
    target: Annotated[str, typer.Option(metavar="CLASS", help="Default: the one with the highest probability.")] = "",
    edit: Edit = "",
    as_json: Json = False,
) -> None:
    """The inside of one text put into another: what the answer becomes, by layer, token and head."""
    emit(verbs.patch(run, text, donor, target=target, edit=edit), as_json, _show_patches)


def flip(
    run: Run,
    text: Annotated[str, typer.Argument(help="One text.")],
    pair: Pair = None,
    target: Annotated[
        str, typer.Option(metavar="CLASS", help="That the answer leaves or becomes; default: the most probable one.")
    ] = "",
    readings: Annotated[int | None, typer.Option(help="Texts that are read at most; default: 4000.")] = None,
    edit: Edit = "",
    as_json: Json = False,
) -> None:
    """The fewest words to delete or replace until the answer changes. Ctrl-C stops and shows what was found."""
    text = both(text, pair)
    with stop_signals() as signalled:
        given: dict[str, Any] = {"target": target, "readings": readings, "edit": edit}
        found = verbs.flip(run, text, **given, on_progress=teller(), stopped=signalled.is_set)
    emit(found, as_json, _show_flip)


def distance(
    run: Run,
    text: Annotated[
        str,
        typer.Argument(
            help="A sentence with {} where words are put in and its negation in brackets, e.g. 'The film was [not] {} "
            "good.'; or one of: " + ", ".join(TEMPLATES) + "."
        ),
    ],
    against: Annotated[
        list[str] | None, typer.Option(metavar="RUN", help="Another run that reads the same; repeat for more.")
    ] = None,
    insert: Annotated[
        str,
        typer.Option(metavar="WORDS", help="Put in one at a time, or with | between pieces; default: neutral phrases."),
    ] = "",
    most: Annotated[int | None, typer.Option(help="Pieces that are put in at most; default: all.")] = None,
    target: Annotated[
        str, typer.Option(metavar="CLASS", help="Whose probability is followed; default: the positive one.")
    ] = "",
    as_json: Json = False,
) -> None:
    """How far a negation reaches: the answer with more and more words between it and what it denies."""
    given: dict[str, Any] = {"insert": insert, "most": most, "target": target}
    emit(verbs.distance(run, text, against=against or [], **given), as_json, _show_distance)


def figures(
    run: Run,
    to: Annotated[Path, typer.Option(help="The folder for the files; created if it does not exist.")],
    against: Annotated[
        list[str] | None, typer.Option(metavar="RUN", help="Another run, for the figures of Compare; repeat for more.")
    ] = None,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    only: Annotated[str, typer.Option(metavar="NAME,…", help="Names of figures; default: all that there are.")] = "",
    text: Annotated[str, typer.Option(help="A sentence to look into, for `grid` and `coefficients`.")] = "",
    theme: Annotated[str, typer.Option(help="light or dark.")] = "light",
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=VALUE", help="As a link of the pages has it, e.g. threshold=0.7; repeat."),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Also write their numbers as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """Every figure of the pages as an HTML file that opens without a network; a single one is whole by itself."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    about: dict[str, Any] = {"against": against or [], "split": split, "text": text, "theme": theme}
    made = verbs.figures(run, to, only=names, options=pairs(with_ or [], OPTIONS), csv=csv, **about)
    emit(made, as_json, _show_figures)


def _show_pushes(result: dict[str, Any]) -> None:
    _show_log_odds(result)
    words = result["words"]
    bars = _bars([each["push"] for each in words])
    rows = [
        {"word": each["word"], "push": signed(each["push"], 3), "±": decimals(each.get("error")), "": bar}
        for each, bar in zip(words, bars, strict=True)
    ]
    if words:
        tabulate(rows, ("word", "push", *(["±"] if "error" in words[0] else []), ""))
    if whole := result["completeness"]:
        say(f"pushes add up from {_complete(whole)}")
    for each in result["verdicts"].values():
        say(each["sentence"])


def _complete(whole: dict[str, Any]) -> str:
    said = f"{signed(whole['at_reference'])} of {whole['reference']}"
    return f"{said}; error {signed(whole['error'], 3)} after {count(whole['steps'])} steps"


def _show_methods(result: dict[str, Any]) -> None:
    _show_log_odds(result)
    names, words = list(result["methods"]), result["words"]
    rows = [
        {"word": each["word"], **{name: _number(name, push) for name, push in each["pushes"].items()}} for each in words
    ]
    tabulate(rows, ("word", *names))
    for name, checked in result["methods"].items():
        if whole := checked["completeness"]:
            say(f"{name}: pushes add up from {_complete(whole)}")
    for name, reason in result["left_out"].items():
        say(f"without {name}: {reason}")
    say(f"agreement of ranks, ρ ({plural(len(words), 'word')})")
    rho = {frozenset((each["first"], each["second"])): each["rho"] for each in result["agreement"]}
    matrix = [
        {"": a, **{b: "" if a == b else _rho(rho[frozenset((a, b))]) for b in names}} for a in names if len(names) > 1
    ]
    tabulate(matrix, ("", *names))
    if result["most_read"]:
        read, needed = (result[which]["word"] for which in ("most_read", "most_needed"))
        say(f"most read “{read}”, most needed “{needed}”")
    for each in result["agreement"]:
        if {each["first"], each["second"]} == {"deletion", "attention"}:
            say(each["sentence"])


def _number(method: str, push: float) -> str:
    """A push has a side; how much a word is read has none."""
    return decimals(push) if method in ("attention", "collapse") else signed(push, 3)


def _rho(rho: float | None) -> str:
    return "–" if rho is None else signed(rho).lstrip("+")


def _show_parts(result: dict[str, Any]) -> None:
    _show_log_odds(result)
    bars = _bars([each["zero"] for each in result["parts"]])
    rows = [
        {
            "part": _part(each, result["tokens"]),
            "zero": signed(each["zero"], 3),
            "mean": signed(each["mean"], 3),
            "": bar,
        }
        for each, bar in zip(result["parts"], bars, strict=True)
    ]
    tabulate(rows, ("part", "zero", "mean", ""))


def _show_steps(result: dict[str, Any]) -> None:
    say_edit(result)
    if result["note"]:
        say(result["note"])
    if result["layers"]:
        say(f"layer {result['layer']}, head {result['head']}, A{result['component']}")
    rows = [
        {"stage": f"{number} {stage['title']}", "gives": _size(stage["matrices"]), "reading": stage["reading"]}
        for number, stage in enumerate(result["stages"], start=1)
    ]
    tabulate(rows, ("stage", "gives", "reading"), whole="stage")
    say(verbs.answer_line(result["prediction"]))


def _size(matrices: list[dict[str, Any]]) -> str:
    return f"{len(matrices[-1]['rows'])} × {len(matrices[-1]['columns'])}" if matrices else ""


def _part(part: dict[str, Any], tokens: list[str]) -> str:
    """Counted as on the pages: components from 0, all else from 1."""
    layer, head = f"layer {part['layer'] + 1}", f"head {part.get('head', 0) + 1}"
    return {
        "layer": f"{layer} all heads",
        "head": f"{layer} {head}",
        "component": f"{layer} A{part.get('component')}",
        "map": f"{layer} {head} A{part.get('component')}",
        "gate": f"{layer} gate of {tokens[part.get('token', 0)] if tokens else ''}",
        "lexical": f"{layer} lexical term",
    }[part["kind"]]


def _show_lambdas(result: dict[str, Any]) -> None:
    """A row for each curve: the class at its named values, and between which it lies along the whole curve."""
    _show_log_odds(result)
    rows = []
    for curve in result["curves"]:
        values, chances = curve["values"], curve["probabilities"]
        row = {"λ": f"layer {curve['layer'] + 1} λ{curve['component']}" if "layer" in curve else "all λ ×"}
        at = {name: curve.get(name) for name in ("start", "learned")}
        row |= {
            name: "" if value is None else f"{value:.3f}: {decimals(chances[values.index(value)])}"
            for name, value in at.items()
        }
        row |= {"zero": decimals(chances[values.index(0.0)])}
        rows.append(row | {"all along": f"{min(chances):.3f} to {max(chances):.3f}"})
    say(f"P({result['target']}) where λ is 0, as at the start, as learned, and all along its range")
    tabulate(rows, ("λ", "zero", "start", "learned", "all along"))


def _show_patches(result: dict[str, Any]) -> None:
    _show_log_odds(result)
    donor = verbs.answer_line(result["donor_prediction"])
    say(f"donor: {donor}; log-odds of {result['target']} {signed(result['donor_log_odds'])}")
    moved = {(each["layer"], each.get("token"), each.get("head")): each["moved"] for each in result["patches"]}
    layers = sorted({layer for layer, _, _ in moved})
    names = [f"layer {layer + 1}" for layer in layers]
    heads = sorted({head for _, _, head in moved if head is not None})
    tokens = sorted({token for _, token, _ in moved if token is not None})
    pairs = list(zip(result["tokens"], result["donor_tokens"], strict=True))
    places: list[tuple[str, int | None, int | None]] = [("everything", None, None)]
    places += [(a if a == b else f"{a} ← {b}", at, None) for at, (a, b) in enumerate(pairs) if at in tokens]
    places += [(f"head {head + 1}", None, head) for head in heads]
    rows = [
        {
            "from the donor": name,
            **{title: signed(moved[layer, *at], 3) for title, layer in zip(names, layers, strict=True)},
        }
        for name, *at in places
    ]
    say("what the log-odds move by")
    tabulate(rows, ("from the donor", *names), "from the donor")


def _show_log_odds(result: dict[str, Any]) -> None:
    """The answer, and what to know before it."""
    say_edit(result)
    if result["note"]:
        say(result["note"])
    say(f"{verbs.answer_line(result['prediction'])}; log-odds of {result['target']} {signed(result['log_odds'])}")


def _bars(pushes: list[float]) -> list[str]:
    """Plus and minus signs, `BAR` of them for the largest."""
    largest = max(map(abs, pushes), default=0.0) or 1.0
    return [("+" if push > 0 else "-") * round(BAR * abs(push) / largest) for push in pushes]


def _show_flip(result: dict[str, Any]) -> None:
    say_edit(result)
    if result["note"]:
        say(result["note"])
    say(verbs.answer_line(result))
    for flipped in [result["flip"], *result["also"]] if result["flip"] else []:
        out.print(_marked(result["text"], flipped["moves"]), soft_wrap=True)
        say(verbs.answer_line(flipped))
    say(VERDICTS[result["verdict"]])
    allowed, words = result["moves_allowed"], plural(result["moves_allowed"]["words"], "word")
    say(
        f"moves: of {words} up to {allowed['deletions']} deleted, or up to {allowed['replacements']} deleted or "
        f"replaced, {plural(len(allowed['with']), 'replacement')} in all; {plural(result['readings'], 'text')} read"
    )


def _marked(text: str, moves: list[dict[str, Any]]) -> Text:
    """The text as typed, with [-deleted-] words and {+new+} ones behind those that they replace."""
    shown, at = Text(), 0
    for move in moves:
        shown.append(visible(text[at : move["start"]])).append(visible(f"[-{move['word']}-]"), "strike")
        if move["with"] is not None:
            shown.append(visible(f"{{+{move['with']}+}}"), "bold")
        at = move["end"]
    return shown.append(visible(text[at:]))


def _show_distance(result: dict[str, Any]) -> None:
    bare = result["steps"][0]["without"] is not None
    for curve in result["curves"]:
        if curve["note"]:
            say(f"{curve['run']}: {curve['note']}")
    say(result["text"])
    say(f"P({result['target']}) by words between" + (", then without the negation" if bare else ""))
    rows = [{"words": step["words"]} for step in result["steps"]]
    for curve in result["curves"]:
        both = [each for each in (curve["probabilities"], curve["without"]) if each]
        for row, chances in zip(rows, zip(*both, strict=True), strict=True):
            row[curve["run"]] = "  ".join(map(decimals, chances))
    tabulate(rows, ("words", *(curve["run"] for curve in result["curves"])), whole="words")


def _show_figures(result: dict[str, Any]) -> None:
    tabulate(result["files"], ("name", "title", "file"))
    for name, reason in result["left_out"].items():
        say(f"without {name}: {reason}")


def _show_inside(result: dict[str, Any]) -> None:
    prediction = result["prediction"]
    say_edit(result)
    if result["note"]:
        say(result["note"])
    say(verbs.answer_line(prediction))
    for part, chances in (result["mix"] or {"parts": {}})["parts"].items():
        say(f"{part}: {', '.join(f'{name} {decimals(p)}' for name, p in chances.items())}")
    say("tokens: " + " | ".join(result["tokens"]))
    for token, unknown, pieces in zip(result["tokens"], result["unknown"], result["pieces"] or (), strict=False):
        if unknown:
            say(f"{token} is not in the vocabulary, its pieces: {' '.join(pieces)}")
    for number, layer in enumerate(result["layers"], start=1):
        components, heads = len(layer["components"]), len(layer["combined"])
        maps = "--json or --html F shows the maps" if any(layer["combined"][0]) else "no maps of this text"
        taken = (
            layer["cancelled"]
            and any(layer["cancelled"])
            and f"; cancelled {' '.join(map(decimals, layer['cancelled']))}"
        )
        say(f"layer {number}: {plural(components, 'component')} x {plural(heads, 'head')}{taken or ''}; {maps}")
