"""Importance of model parts over a split: accuracy and log-loss without a head, component, gate or lexical term.

Also the sentences of the split whose answer one part decides, and the effect of an edit over many texts.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, cast

import numpy as np

from core.data.dataset import encode_targets
from core.evaluation.comparison import McNemar, adjust_holm, count_discordant
from core.evaluation.intervals import TAILS, draw_resamples
from core.exceptions import InputError
from core.interpret.explain_context import UNCHANGED
from core.metrics import TUNED
from core.models.encoder import EncoderClassifier
from core.models.trace import Intervention
from core.runs.background_jobs import Tell
from core.runs.evaluation_data import EvaluationData, predict_rows
from core.runs.load import LoadedRun
from core.runs.predictions import Answers, combine_scores
from core.text.token_table import build_token_table

METRICS = {"single": "accuracy", "multi": f"{TUNED}subset_accuracy"}
SEED = 0
COMMON = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)  # factors on all λ
EACH = (0.0, 0.5, 1.0, 1.5, 2.0)  # factors on one λ
SMALLEST = 1e-12  # probability in a logarithm, at least
SHORT, DEMOS = 12, 6  # words of a short sentence, and demo sentences, at most
CLEAR, SINGLE = 0.3, 0.05  # lead of a clear answer over the next class, and of the answer without any other part


@dataclass(frozen=True)
class Silencing:
    """A part of the model that is silenced in all texts, and how; layers and heads count from 1, as in edits."""

    part: str  # as an edit: h1.2, c2.1, m1.2.0, s2, or gates1
    kind: str  # head, component, map, gates, lexical
    how: str  # zero, mean; gates: open (all 1) or mean
    layer: int
    head: int | None
    component: int | None
    change: Intervention | None  # None: the gates of a layer, whose number depends on the text


def list_silencings(model: EncoderClassifier, *, maps: bool = False) -> Iterator[Silencing]:
    """Yield every head, component, layer of gates and lexical term, and each component in each head if `maps`."""
    heads, components = range(model.heads), range(model.components if model.components > 1 else 0)
    for layer in range(len(model.layers)):
        at = layer + 1
        named: list[tuple[str, str, tuple[int, ...] | int, int | None, int | None]] = [
            *((f"h{at}.{head + 1}", "heads", (layer, head), head + 1, None) for head in heads),
            *((f"c{at}.{i}", "components", (layer, i), None, i) for i in components),
        ]
        if maps:
            each = product(heads, components)
            named += [(f"m{at}.{head + 1}.{i}", "maps", (layer, head, i), head + 1, i) for head, i in each]
        if model.lexical != "none":
            named.append((f"s{at}", "lexical", layer, None, None))
        for part, kind, place, head_number, component in named:
            for how, ending in (("zero", "off"), ("mean", "mean")):
                changed: dict[str, Any] = {f"{kind}_{ending}": frozenset({place})}
                change = replace(UNCHANGED, **changed)
                yield Silencing(part, kind.removesuffix("s"), how, at, head_number, component, change)
        if "gates" in model.provides:
            for how in ("open", "mean"):
                yield Silencing(f"gates{at}", "gates", how, at, None, None, None)


@dataclass(frozen=True)
class _Scored:
    """Which rows are right (n,) bool, the log-loss of each (n,), and the answers."""

    right: np.ndarray
    loss: np.ndarray
    answers: np.ndarray

    def summarize(self) -> dict[str, float]:
        """Return accuracy and mean log-loss."""
        return {"accuracy": float(self.right.mean()), "log_loss": float(self.loss.mean())}


class _SplitScorer:
    """A run with labelled rows, which it predicts again for each change inside the model."""

    def __init__(self, loaded: LoadedRun, given: EvaluationData) -> None:
        self.loaded, self.texts = loaded, given.rows["text"].tolist()
        self.labels = encode_targets(given.rows, len(loaded.record.classes), loaded.record.task)
        self.columns = given.rows[[]]
        self.tokens = build_token_table(loaded.tokenizer, self.texts)
        self.predict = loaded.build_predictor(self.texts, self.tokens)

    @cached_property
    def trained(self) -> _Scored:
        """Return the rows as scored without a change."""
        return self.score(None)

    @cached_property
    def resamples(self) -> np.ndarray:
        """Return the share of each row in each bootstrap sample, (samples, n)."""
        return np.concatenate(list(draw_resamples(len(self.texts), SEED))) / len(self.texts)

    def describe_trained(self) -> dict[str, Any]:
        """Return how many texts there are, and accuracy and log-loss as trained."""
        return {"texts": len(self.texts), **self.trained.summarize()}

    def describe_change(self, found: _Scored) -> dict[str, Any]:
        """Return accuracy and log-loss after a change, and their differences from those as trained."""
        whole, changed = self.trained, found.answers != self.trained.answers
        more, less = int((found.right & ~whole.right).sum()), int((whole.right & ~found.right).sum())
        right, loss = found.right.astype(float) - whole.right, found.loss - whole.loss
        return {
            **found.summarize(),
            "changed": int((changed if changed.ndim == 1 else changed.any(1)).sum()),
            "value": float(right.mean()),
            "interval": self.compute_interval(right),
            "p": McNemar(more, less, len(right)).p,
            "loss": float(loss.mean()),
            "loss_interval": self.compute_interval(loss),
        }

    def compute_interval(self, values: np.ndarray) -> list[float]:
        """Return the ends of the bootstrap interval of a mean over the rows."""
        return list(np.percentile(self.resamples @ values, TAILS).tolist())

    def score(self, change: Intervention | Sequence[Intervention] | None) -> _Scored:
        """Predict all rows with a change inside the model, and score each."""
        record, chances = self.loaded.record, self.predict(change).probabilities
        answers = Answers(record, self.texts, self.labels, chances, self.columns, record.tuned_thresholds)
        scores = answers.to_scores(METRICS[record.task])
        return _Scored(np.asarray(scores.correct) > 0, compute_losses(self.labels, chances), scores.answers)

    def spread_gates(self, layers: Sequence[int], value: float) -> list[Intervention]:
        """Return, for each text, the intervention that sets the gates of all its tokens in some layers to a value."""
        first = cast(EncoderClassifier, self.loaded.model).first
        places = (range(first, first + int(length)) for length in self.tokens.lengths)
        return [replace(UNCHANGED, gates=tuple((at, i, value) for at in layers for i in own)) for own in places]


def compute_losses(labels: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Return the log-loss of each row (n,) in nats; of several labels, the mean over the labels."""
    own = np.asarray(chances, np.float64)
    if labels.ndim == 1:
        own = own[np.arange(len(labels)), labels][:, None]
    else:
        own = np.where(labels != 0, own, 1 - own)
    losses: np.ndarray = -np.log(own.clip(SMALLEST)).mean(1)
    return losses


def measure_importance(
    loaded: LoadedRun, given: EvaluationData, tell: Tell = lambda what, share: None, *, maps: bool = False
) -> dict[str, Any]:
    """Measure accuracy and log-loss of a run on labelled rows with each part silenced, and with other λ.

    Differences are silenced minus trained, paired by row: percentile bootstrap intervals; p of the accuracy by
    McNemar's exact test, after Holm over all silencings. InputError: the model has no attention.

    Returns:
        `texts`, `accuracy`, `log_loss` as trained; `parts`: `part` (as an edit), `kind`, `how`, `layer`, `head`,
        `component`, `accuracy`, `log_loss`, `changed` (answers), `value` (difference of accuracy), `interval`, `p`,
        `p_holm`, `loss` and `loss_interval` (difference of the log-loss); `lambdas`: `layer` and `component` (None: all
        λ), `factor`, `lambda` (its value), `accuracy`, `interval` and `log_loss`.
    """
    model = loaded.model
    if not isinstance(model, EncoderClassifier):
        raise InputError(f"run '{loaded.record.run}' has no attention, so no head can be silenced")
    reader, silencings = _SplitScorer(loaded, given), list(list_silencings(model, maps=maps))
    lambdas = list(_list_lambda_changes(loaded))
    count = 1 + len(silencings) + len(lambdas)

    def report(number: int, what: str) -> None:
        tell(what, number / count)

    report(0, "predicting as trained")
    trained = reader.describe_trained()
    levels = _average_gates(reader) if any(each.change is None for each in silencings) else {}
    rows = []
    for number, each in enumerate(silencings, 1):
        report(number, f"silencing {each.part}")
        value = 1.0 if each.how == "open" else levels.get(each.layer - 1, 1.0)
        change = each.change or reader.spread_gates([each.layer - 1], value)
        about = {name: getattr(each, name) for name in ("part", "kind", "how", "layer", "head", "component")}
        rows.append({**about, **reader.describe_change(reader.score(change))})
    for row, p in zip(rows, adjust_holm(np.array([row["p"] for row in rows])).tolist(), strict=True):
        row["p_holm"] = p
    curves = []
    for number, (about, change) in enumerate(lambdas, 1 + len(silencings)):
        report(number, "changing λ")
        found = reader.score(change)
        curves.append({**about, **found.summarize(), "interval": reader.compute_interval(found.right)})
    return {**trained, "parts": rows, "lambdas": curves}


def measure_effects(loaded: LoadedRun, given: EvaluationData, tell: Tell = lambda what, share: None) -> dict[str, Any]:
    """Measure how many answers change on labelled rows with all parts of one kind changed at once.

    InputError: the model has no attention.

    Returns:
        `texts`, `split`, `accuracy`, `log_loss` as trained; `effects`: `what` in words, `edit` (the same as an edit;
        empty if there is none), and as in `measure_importance` `accuracy`, `log_loss`, `changed`, `value`, `interval`,
        `p`, `loss`, `loss_interval`; `trapped`: `layer` and `component` of each λ at its start without a gradient.
    """
    model = loaded.model
    if not isinstance(model, EncoderClassifier):
        raise InputError(f"run '{loaded.record.run}' has no attention, so nothing can be switched off")
    tell("predicting as trained", 0.0)
    reader, changes = _SplitScorer(loaded, given), _list_joint_changes(loaded)
    trained, rows = reader.describe_trained(), []
    for number, (what, edit, of, change) in enumerate(changes, 1):
        tell(f"with {what}", number / (1 + len(changes)))
        asked = reader if of is loaded else _SplitScorer(of, given)
        found = asked.score(reader.spread_gates(range(len(model.layers)), 1.0) if change is None else change)
        rows.append({"what": what, "edit": edit, **reader.describe_change(found)})
    trapped = [{"layer": layer + 1, "component": i} for layer, i in model.find_trapped_lambdas()]
    return {"split": given.split, **trained, "effects": rows, "trapped": trapped}


def find_demos(loaded: LoadedRun, given: EvaluationData, tell: Tell = lambda what, share: None) -> dict[str, Any]:
    """Find short sentences whose answer one part of the model decides, of each part the clearest first.

    Without the part another class is most probable, clearly before and after; without any other part none is. A run
    with several labels per text has no such sentence. The model has attention.

    Returns:
        `texts` (short ones), `split`, `parts` (how many were tried), `decided` (texts); of some, `rows`: `text`,
        `label`, `answer`, `probability` as trained, the part as an `edit`, in words (`what`) and by `kind`, `after`
        (the answer without it), `probability_after`, and `others`: the least probability of the trained answer without
        any other part.
    """
    model, classes = cast(EncoderClassifier, loaded.model), loaded.record.classes
    parts = [each for each in list_silencings(model) if each.how != "mean"]
    short = (given.rows["text"].str.split().map(len) <= SHORT) & (loaded.record.task == "single")
    rows = given.rows[short].reset_index(drop=True)
    about = {"texts": len(rows), "split": given.split, "parts": len(parts)}
    if rows.empty:
        return {**about, "decided": 0, "rows": []}
    reader, every = _SplitScorer(loaded, replace(given, rows=rows)), np.arange(len(rows))
    edits = [_write_edit(model, each) for each in parts]
    trained, changed = reader.predict(None).probabilities, list[np.ndarray]()
    answers = trained.argmax(1)
    for number, (each, edit) in enumerate(zip(parts, edits, strict=True)):
        tell(f"without {each.part}", number / len(parts))
        change = loaded.edit_all(edit).edits.to_intervention() if edit else reader.spread_gates([each.layer - 1], 1.0)
        changed.append(reader.predict(change).probabilities)
    leads = np.stack([_measure_lead(each, answers) for each in changed])  # (parts, n)
    decisive, clear = leads.argmin(0), np.minimum(_measure_lead(trained, answers), -leads.min(0))
    leads[decisive, every] = 1  # from here on of the other parts
    scores, seen, order = np.minimum(clear, leads.min(0)), Counter[int](), list[tuple[int, bool, float, int]]()
    for row in np.argsort(-scores, kind="stable")[: np.count_nonzero(scores >= SINGLE)].tolist():
        if clear[row] >= CLEAR:
            order.append((seen[decisive[row]], parts[decisive[row]].kind == "head", -scores[row], row))
            seen[decisive[row]] += 1
    demos = []
    for *_, row in sorted(order)[:DEMOS]:
        best, answer = decisive[row], answers[row]
        part, edit, after = parts[best], edits[best], changed[best][row]
        what = loaded.edit_all(edit).edits.describe_changes() if edit else f"gates of layer {part.layer} open"
        places = range(model.first + 1, model.first + 1 + int(reader.tokens.lengths[row]))
        others = min([float(each[row, answer]) for at, each in enumerate(changed) if at != best], default=1.0)
        demo = {"text": reader.texts[row], "label": classes[int(reader.labels[row])], "kind": part.kind}
        demo |= {"edit": edit or ",".join(f"g{part.layer}.{place}:1" for place in places), "what": what}
        demo |= {"answer": classes[answer], "probability": float(trained[row].max()), "others": others}
        demos.append(demo | {"after": classes[after.argmax()], "probability_after": float(after.max())})
    return {**about, "decided": len(order), "rows": demos}


def _write_edit(model: EncoderClassifier, part: Silencing) -> str:
    """Return a silenced part as an edit, a further component as its λ at 0; empty for gates, which depend on a text."""
    if part.kind == "component" and part.component and "lambda" in model.provides:
        return f"l{part.layer}c{part.component}:0"
    return part.part if part.change else ""


def _measure_lead(chances: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return how much more probable a class of each row is than any other class; chances (n, C), answers (n,)."""
    rows, others = np.arange(len(answers)), chances.astype(float)
    others[rows, answers] = -1
    lead: np.ndarray = chances[rows, answers] - others.max(1)
    return lead


def _list_joint_changes(loaded: LoadedRun) -> list[tuple[str, str, LoadedRun, Intervention | None]]:
    """Return the changes of all parts of a kind, each in words, as an edit, with its run; None: all gates open."""
    model, found = cast(EncoderClassifier, loaded.model), list[tuple[str, str, LoadedRun, Intervention | None]]()
    layers, every = range(len(model.layers)), product(range(len(model.layers)), range(model.heads))
    if "lambda" in model.provides:
        found.append(("every λ at 0", "l:0", loaded, replace(UNCHANGED, lambda_scale=0.0)))
        if starts := loaded.read_first_lambdas():
            values = tuple((at, i, value) for at, row in enumerate(starts) for i, value in enumerate(row, 1))
            edit = ",".join(f"l{at + 1}c{i}:{value:.4f}" for at, i, value in values)
            found.append(("every λ back at its start", edit, loaded, replace(UNCHANGED, lambdas=values)))
    if "gates" in model.provides:
        found.append(("all gates open", "", loaded, None))
    if model.lexical != "none":
        edit = ",".join(f"s{at + 1}" for at in layers)
        found.append(("σ off in all layers", edit, loaded, replace(UNCHANGED, lexical_off=frozenset(layers))))
    if "branches" in model.provides:
        found.append(("the head's convolutions at 0", "", loaded.flatten_head("branches"), UNCHANGED))
    if "head-maps" in model.provides:
        found.append(("the head's attention uniform", "", loaded.flatten_head("attention"), UNCHANGED))
    off = frozenset(every)
    edit = ",".join(f"h{at + 1}.{head + 1}" for at, head in sorted(off))
    return [*found, ("all heads off", edit, loaded, replace(UNCHANGED, heads_off=off))]


def _average_gates(reader: _SplitScorer) -> dict[int, float]:
    """Return the mean gate of the split's tokens in each layer that has gates, class tokens left out."""
    from core.interpret.split_attention import TokenKinds, measure_texts

    kinds = TokenKinds((), np.zeros((len(reader.tokens.flat), 0), bool), None, "")
    found = measure_texts(cast(EncoderClassifier, reader.loaded.model), reader.tokens, kinds)
    tokens = np.nansum(found["gated"][:, -1])
    return {layer: float(np.nansum(each) / tokens) for layer, each in enumerate(found["gates"][..., -1].T)}


def _list_lambda_changes(loaded: LoadedRun) -> Iterator[tuple[dict[str, Any], Intervention]]:
    """Yield the changes of λ to try: a factor on all λ, then on each alone; empty without λ that stay the same."""
    model = cast(EncoderClassifier, loaded.model)
    if "lambda" not in model.provides:
        return
    for factor in COMMON:
        about = {"layer": None, "component": None, "factor": factor, "lambda": None}
        yield about, replace(UNCHANGED, lambda_scale=factor)
    for layer, values in enumerate(model.get_lambdas()):
        for i, row in enumerate(() if values is None else values.detach().mean(1).tolist(), 1):
            for factor in EACH:
                about = {"layer": layer + 1, "component": i, "factor": factor, "lambda": row * factor}
                yield about, replace(UNCHANGED, lambdas=((layer, i, row * factor),))


def measure_edit(trained: LoadedRun, edited: LoadedRun, given: EvaluationData) -> dict[str, Any]:
    """Measure what an edit changes on labelled rows, paired by row.

    Returns:
        `edit`; `rows`; `changed`: rows whose answer is another one; the share of right rows `trained` and `edited`
        (several labels per text: all right); their `difference` with its 95 % `interval` and `p` (McNemar).
    """
    record, texts = trained.record, given.rows["text"].tolist()
    labels = encode_targets(given.rows, len(record.classes), record.task)
    said = [predict_rows(each, given).probabilities for each in (edited, trained)]
    answers = [Answers(record, texts, labels, each, given.rows[[]], record.tuned_thresholds) for each in said]
    first, second = (each.to_scores(METRICS[record.task]) for each in answers)
    both = combine_scores(first, second, METRICS[record.task])
    found, changed = McNemar(*count_discordant(both), both.rows), first.answers != second.answers
    return {
        "edit": edited.edits.encode_line(),
        "rows": len(texts),
        "changed": int((changed if changed.ndim == 1 else changed.any(1)).sum()),
        "edited": float(first.correct.mean()),
        "trained": float(second.correct.mean()),
        "difference": found.difference,
        "interval": list(found.compute_interval(0.05)),
        "p": found.p,
    }
