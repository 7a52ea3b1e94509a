"""What a run says of one text and its words, and what its parts do.

Methods of `core.handle.objects.Run`, which is the first argument of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import verbs
from core.handle.named import Named, named, path

if TYPE_CHECKING:
    from core.models.trace import Intervention


def inspect(
    run: Named,
    text: str,
    *,
    edit: str = "",
    intervene: Intervention | None = None,
    html: str | Path | None = None,
) -> dict[str, Any]:
    """The same as plain data for JSON; `html` also writes a page with every map, which needs no network."""
    changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
    return verbs.inspect(run.name, text, html=path(html), store=run.store, **changed)


def explain(
    run: Named,
    text: str,
    *,
    method: str = "deletion",
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
) -> dict[str, Any]:
    """What each word of a text does to the log-odds of a class.

    Args:
        text: Any.
        method: `deletion`, the log-odds with the word minus without it (the text is read anew), or `shapley`;
            `gradient` (times input) or `integrated` where it reads vectors of words; beside them, how much a word
            is read: `attention`, in the last layer, or `collapse`, in the first.
        target: A class; empty: the one with the highest probability.
        edit: What is changed inside, as in `sentence`: all is then said of the model that is changed so.
        intervene: The same as an `Intervention`.

    Returns:
        `words` with `push`, `log_odds`, `completeness`, `agreement` with deletion and attention …; see
        `core.verbs.explain`.

    Raises:
        InputError: There is no such method or class, or this model cannot be explained so; the message says which
            there are.
    """
    changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
    return verbs.explain(run.name, text, method=method, target=target, store=run.store, **changed)


def methods(
    run: Named,
    text: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """What each word of a text does to the log-odds of a class by every method, and how far each two agree.

    Args:
        text: Any.
        target: A class; empty: the one with the highest probability.
        edit: What is changed inside, as in `sentence`.
        intervene: The same as an `Intervention`.
        on_progress: Told which method is at work, and how far it is, where that is known.

    Returns:
        `words` with `pushes` by method, `agreement` of each pair, `most_read`, `most_needed` …; see
        `core.verbs.methods`.

    Raises:
        InputError: There is no such class.
    """
    changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
    return verbs.methods(run.name, text, target=target, on_progress=on_progress, store=run.store, **changed)


def patch(
    run: Named,
    text: str,
    donor: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
) -> dict[str, Any]:
    """What the log-odds of a class become when a place inside has the values that it has of another text.

    Args:
        text: Any.
        donor: Another of as many tokens, as the model reads them.
        target: A class; empty: the one with the highest probability for the first text.
        edit: What is changed inside for both, as in `sentence`.
        intervene: The same as an `Intervention`.

    Returns:
        `patches`: `kind` (`layer`, `token` or `head`), `layer`, `token`, `head`, `log_odds`, `moved`; `tokens`,
        `donor_tokens` …; see `core.verbs.patch`.

    Raises:
        InputError: There is no such class, this model has no attention, or the texts are of different lengths.
    """
    changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
    return verbs.patch(run.name, text, donor, target=target, store=run.store, **changed)


def parts(
    run: Named,
    text: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
) -> dict[str, Any]:
    """What silencing each layer, head, component, gate and lexical term does to the log-odds of a class.

    Args:
        text: Any.
        target: A class; empty: the one with the highest probability.
        edit: What is changed inside, as in `sentence`: each part is silenced besides.
        intervene: The same as an `Intervention`.

    Returns:
        `parts` with `zero` and `mean`: log-odds with the part minus log-odds where it says nothing, or at every
        token its mean over the tokens; `log_odds`, `tokens` …; see `core.verbs.parts`.

    Raises:
        InputError: There is no such class, or this model has no attention.
    """
    changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
    return verbs.parts(run.name, text, target=target, store=run.store, **changed)


def lambdas(
    run: Named, text: str, *, target: str = "", edit: str = "", intervene: Intervention | None = None
) -> dict[str, Any]:
    """What each λ does to the log-odds of a class, from one end of its range to the other.

    Args:
        text: Any.
        target: A class; empty: the one with the highest probability.
        edit: What is changed inside, as in `sentence`; a curve replaces what it says of the same λ.
        intervene: The same as an `Intervention`.

    Returns:
        `curves`, of each λ and of a factor on all: `values` with `log_odds` and `probabilities` of the target,
        `learned`, `start` …; see `core.verbs.lambdas`.

    Raises:
        InputError: There is no such class, or this model has no λ.
    """
    changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
    return verbs.lambdas(run.name, text, target=target, store=run.store, **changed)


def steps(
    run: Named,
    text: str,
    *,
    layer: int | None = None,
    head: int | None = None,
    component: int | None = None,
    edit: str = "",
    intervene: Intervention | None = None,
) -> dict[str, Any]:
    """The forward pass of a text as stages, from its tokens to the probabilities, with formulas and matrices.

    Args:
        text: Any, of at most 512 tokens.
        layer: Counted from 1, as on the pages; None: the last.
        head: From 1; None: the first.
        component: From 0, the base component, which is meant by None.
        edit: What is changed inside, as in `sentence`.
        intervene: The same as an `Intervention`.

    Returns:
        `stages` with `key`, `title`, `formulas` (LaTeX), `reading` and `matrices` (`name`, `rows`, `columns`,
        `values`); `tokens`, `prediction` …; see `core.verbs.steps`.

    Raises:
        InputError: There is no such layer, head or component.
        NotAvailable: The text has no token that the model knows, or too many.
    """
    changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
    return verbs.steps(run.name, text, layer=layer, head=head, component=component, store=run.store, **changed)


def flip(
    run: Named,
    text: str,
    *,
    target: str = "",
    readings: int | None = None,
    edit: str = "",
    intervene: Intervention | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """The smallest change of a text that changes its answer: words deleted, or replaced by candidates.

    Args:
        text: Any.
        target: A class, which the answer leaves, or becomes if it is another; empty: the one with the highest
            probability.
        readings: Texts that are read at most; 4000 unless given.
        edit: What is changed inside, as in `sentence`, but for changes at single tokens.
        intervene: The same as an `Intervention`.
        on_progress: Told what is done, and which share of the readings.
        stopped: Asked before each 128 readings; True ends the search with what was found.

    Returns:
        `flip` with `text` and `moves`, or None; `also`, more of its size; `verdict`: `proven`, `smallest found`,
        `none, proven` or `none found`; `readings`, `moves_allowed` …; see `core.verbs.flip`.

    Raises:
        InputError: There is no such class, a number of readings that cannot be, or a change
            at single tokens.
    """
    given: dict[str, Any] = {"on_progress": on_progress, "stopped": stopped, "store": run.store}
    given |= {"edit": edit, "intervene": intervene}
    return verbs.flip(run.name, text, target=target, readings=readings, **given)


def distance(
    run: Named,
    text: str,
    *,
    against: Sequence[str | Named] = (),
    insert: str = "",
    most: int | None = None,
    target: str = "",
) -> dict[str, Any]:
    """How far a negation reaches: a sentence with more and more words between it and what it denies.

    Args:
        text: A sentence with {} where words are put in and, where it is to be read without its negation too, the
            negation in brackets: `"The film was [not] {} good."`; or the name of one of ours, `"not good"`.
        against: Further runs that read the same.
        insert: What is put in, one word at a time, or with | between pieces a piece at a time; empty: phrases
            without a polarity.
        most: Pieces at most.
        target: A class that all runs have; empty: the one that says positive, else the last.

    Returns:
        `steps` with `words`, `text` and `without`; `curves` with `run` and `probabilities` …; see
        `core.verbs.distance`.

    Raises:
        InputError: There is no such class or place, or nothing to put in.
    """
    given: dict[str, Any] = {
        "against": list(map(named, against)),
        "insert": insert,
        "most": most,
        "target": target,
        "store": run.store,
    }
    return verbs.distance(run.name, text, **given)


def agreement(
    run: Named,
    *,
    split: str = "",
    wrong: bool = False,
    limit: int = 200,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """How often the most read word is the most needed one, and how far methods agree with deletion in rank.

    Args:
        split: Empty: test, or the last that was evaluated.
        wrong: Only texts that it is wrong about.
        limit: Texts drawn at random, seed 0; 0: all.
        on_progress: Told which share of the texts is done.

    Returns:
        `methods`: `method`, `texts`, `same`, `chance`, `rho`, `ranked`; `found`, `drawn` …; see `core.verbs.agreement`.

    Raises:
        InputError: There is no such split or text, or it can be explained by deletion alone.
    """
    given: dict[str, Any] = {"split": split, "wrong": wrong, "limit": limit, "on_progress": on_progress}
    return verbs.agreement(run.name, store=run.store, **given)


def believe(
    run: Named,
    text: str | None = None,
    *,
    method: str = "",
    target: str = "",
    limit: int = 200,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """Whether the pushes of `explain` are evidence, an illustration or neither; kept with the run.

    Args:
        text: Instead, what one text says of itself, without intervals or verdict.
        method: One of `explain`; empty: all that it can be explained by.
        target: Of a text, a class; empty: the one with the highest probability.
        limit: Validation sentences, drawn with seed 0.
        on_progress: Told what is done, and which share of all.

    Returns:
        `methods`: `method`, `verdict`, `tests` with intervals, `areas`, `control`, `curves`, `agreement`;
        `answers`, `thresholds` …; see `core.verbs.believe`.

    Raises:
        InputError: There is no such method or class, this model cannot be explained so, or it has no validation
            sentence that is long enough.
    """
    given: dict[str, Any] = {"method": method, "target": target, "limit": limit, "on_progress": on_progress}
    return verbs.believe(run.name, text, store=run.store, **given)
