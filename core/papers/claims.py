"""What the papers say about their results, recomputed from the numbers that they report; nothing is trained.

`claims.json` has the claims in our words, each with the section of its paper; here are the computations. Numbers are in
the papers' units.
"""

import json
import math
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise, product
from typing import Any

from core.formatting import MINUS
from core.models.model_description import count_parameters
from core.models.presets import PRESETS
from core.papers.reported_results import select_reported

HOLDS, PART, NOT = "holds", "in part", "does not follow"
VERDICTS = (HOLDS, PART, NOT)
Cells = dict[tuple[str, str], float]  # model and variant → value


@dataclass(frozen=True)
class Recount:
    """What the numbers of a paper give for one of its claims."""

    key: str
    reported: Any  # a number, a list of numbers, or None if the claim has none
    recomputed: Any
    parts: Sequence[bool]  # whether each single statement is right
    words: dict[str, Any] = field(default_factory=dict)  # further values of the sentence


def list_claims(paper: str) -> list[dict[str, Any]]:
    """Return a paper's claims in order: each holds if all statements are right, and follows in part if some are."""
    found = {each.key: each for each in FINDERS[paper]()}
    return [_describe_claim(words, found[words["key"]]) for words in _read_words()[paper]]


@cache
def _read_words() -> dict[str, list[dict[str, str]]]:
    words: dict[str, list[dict[str, str]]] = json.loads((files("core.papers") / "claims.json").read_text("utf-8"))
    return words


def _describe_claim(words: dict[str, str], found: Recount) -> dict[str, Any]:
    right, every = sum(found.parts), len(found.parts)
    values = {"reported": found.reported, "recomputed": found.recomputed, "right": right, "all": every, **found.words}
    row = {"count": "{right} of {all}"} | words
    told = {
        name: re.sub(r"(?<!\w)-(?=\d)", MINUS, row[name].format(**values)) for name in ("claim", "count", "sentence")
    }
    numbers = {"reported": found.reported, "recomputed": found.recomputed}
    verdict = HOLDS if right == every else PART if right else NOT
    return {"claim": told["claim"], "source": row["source"], **numbers, "verdict": verdict, **told}


def _read(paper: str, table: str, metric: str, dataset: str = "") -> Cells:
    rows = select_reported(paper=paper, metric=metric, dataset=dataset)
    return {(row.model, row.variant): row.value for row in rows if row.table == table}


def _get(paper: str, metric: str, dataset: str = "", variant: str = "") -> Any:
    """Return a number of a paper that has only one such number; a whole one as an integer."""
    (row,) = select_reported(paper=paper, metric=metric, dataset=dataset, variant=variant)
    return int(row.value) if row.value.is_integer() else row.value


def _match(reported: Sequence[float], recomputed: Sequence[float], digits: int) -> list[bool]:
    """Tell which recomputed numbers round to the reported ones; a half may be rounded either way."""
    limit = (0.5 + 1e-6) * 10**-digits
    return [abs(a - b) <= limit for a, b in zip(reported, recomputed, strict=True)]


def _round(values: Sequence[float], digits: int) -> list[float]:
    return [round(value, digits) for value in values]


SETS = {"IMDB": "I", "SST-2": "III", "YELP-5": "V", "TFN": "VII"}
"""Data set of the NDT paper → its table of metrics."""
DT, VANILLA = ("DT", "N=2"), ("Vanilla", "")
SIZED = {VANILLA: "vanilla", DT: "differential", **{("NDT", f"N={n}"): f"ndt-01-n{n}" for n in (2, 3, 4)}}
"""Row of the NDT paper's Table X → the preset with its sizes."""
LAMBDA_ENDS = {"IMDB": (-0.2001, -0.0575), "YELP-5": (-0.2003, -0.0468), "TFN": (-0.2053, -0.0593)}
"""Data set → least and largest λ of the range [−1, 1] in the text of the NDT paper."""


def _compute_ndt() -> Iterator[Recount]:
    accuracy = {name: _read("ndt", table, "accuracy", name) for name, table in SETS.items()}
    own = {name: [cells[row] for row in cells if row[0] == "NDT"] for name, cells in accuracy.items()}
    above = {name: sum(value > accuracy[name][DT] for value in own[name]) for name in SETS}
    for name in ("IMDB", "SST-2", "TFN"):
        told = _get("ndt", "variants_above_DT_of_12", name)
        yield Recount(f"above {name}", told, above[name], [told == above[name]])
    both = [[value > max(accuracy[name][DT], accuracy[name][VANILLA]) for value in own[name]] for name in SETS]
    words: dict[str, Any] = {"above": list(above.values())}
    yield Recount("consistent", None, list(map(sum, both)), [each for row in both for each in row], words)
    stated = [_get("ndt", "accuracy_gain_vs_DT", name) for name in SETS]
    gains = {rival: [round(max(own[name]) - accuracy[name][rival], 2) for name in SETS] for rival in (DT, VANILLA)}
    least = list(map(min, gains[DT], gains[VANILLA]))
    yield Recount("gains", stated, least, _match(stated, least, 2), {"vanilla": gains[VANILLA]})
    spread = [round(max(own[name]) - min(own[name]), 2) for name in ("TFN", "IMDB")]
    yield Recount("spread", None, spread, [spread[0] < spread[1]])
    best = sorted((row for row in accuracy["TFN"] if row[0] == "NDT"), key=lambda row: -accuracy["TFN"][row])[:3]
    yield Recount("top three", None, [accuracy["TFN"][row] for row in best], [row[1].endswith("N=4") for row in best])
    by_set = zip([_read("ndt", "IX", "silhouette", name) for name in SETS], accuracy.values(), strict=True)
    r = [statistics.correlation([known[row] for row in cells], list(cells.values())) for known, cells in by_set]
    yield Recount("silhouette", None, _round(r, 2), [each > 0 for each in r[:2]])
    weights = {
        (row.dataset, row.variant, row.layer or 0, row.component or 0): row.value
        for row in select_reported(paper="ndt", metric="lambda")
    }
    layers: dict[tuple[str, str, int], list[float]] = {}
    for key in sorted(weights):
        layers.setdefault(key[:3], []).append(weights[key])
    falls = {key: all(abs(a) > abs(b) for a, b in pairwise(row)) for key, row in layers.items() if len(row) > 1}
    mixed = sum(not fall and key[1].startswith("[-1") for key, fall in falls.items())
    yield Recount("falls", None, [sum(falls.values()), len(falls)], list(falls.values()), {"mixed": mixed})
    rises = [weights[name, row, 2, at] > value for (name, row, layer, at), value in weights.items() if layer == 1]
    yield Recount("rises", None, [sum(rises), len(rises)], rises)
    known = {name: [each for key, each in weights.items() if (key[0], key[1][:3]) == (name, "[-1")] for name in SETS}
    ends = {name: (min(known[name]), max(known[name])) for name in LAMBDA_ENDS}
    told, found = ([end for pair in each.values() for end in pair] for each in (LAMBDA_ENDS, ends))
    yield Recount("ranges", told, found, [ends[name] == LAMBDA_ENDS[name] for name in ends])
    yield from _compute_sizes()


def _compute_sizes() -> Iterator[Recount]:
    sizes = {name: _read("ndt", "X", "params", name) for name in SETS}
    added = _read("ndt", "X", "delta_params_vs_vanilla", "all")
    told = [value for value in added.values() for _ in SETS]
    found = [round(sizes[name][row] - sizes[name][VANILLA], 2) for row, name in product(added, SETS)]
    yield Recount("overhead", told, found, _match(told, found, 2))
    gaps = []
    for name, (row, preset) in product(SETS, SIZED.items()):
        words, classes = (_get("ndt", metric, name) for metric in ("vocab_size", "n_classes"))
        gaps.append(sizes[name][row] - count_parameters(PRESETS[preset].model, vocabulary=words, classes=classes) / 1e6)
    exact = _match([0] * len(gaps), gaps, 2)
    off = [gap for gap, same in zip(gaps, exact, strict=True) if not same]
    # With fewer words in all of them each must round to the reported number; a word has 128 weights.
    fewer = [math.ceil((-min(off) - 0.005) / 128e-6), math.floor((-max(off) + 0.005) / 128e-6)]
    yield Recount("sizes", None, [sum(exact), len(exact), *_round([max(off), min(off)], 4)], exact, {"words": fewer})


BERT = 110  # M parameters of BERT-base in sections I and II of the SentiFormer paper
LENGTH, WINDOW, GLOBALS = 2048, 128, 2  # n, k and s of its section III.D


def _compute_sentiformer() -> Iterator[Recount]:
    sets = ("SST-5", "IMDb", "Yelp-polarity", "Twitter-3")
    table = {name: _read("sentiformer", "I", "accuracy", name) for name in sets}
    told, model = _get("sentiformer", "params"), PRESETS["sentiformer"].model
    bare, one = (count_parameters(model, vocabulary=words, classes=5) for words in (0, 1))
    words = (told * 1e6 - bare) / (one - bare)
    found = [round(bare / 1e6, 2), round(words / 1e3, 1)]
    yield Recount("parameters", told, found, [round(bare / 1e6) == told, words > 0])
    times = _get("sentiformer", "param_ratio_vs_BERT-base")
    yield Recount("ratio", times, round(BERT / told, 2), _match([times], [BERT / told], 0))
    faster, ratio = _get("sentiformer", "theoretical_speedup_sparse_vs_full"), LENGTH / (WINDOW + GLOBALS)
    yield Recount("speed", faster, round(ratio, 2), [ratio > faster], {"needed": faster * (WINDOW + GLOBALS)})
    gains = [round(table[name]["SentiFormer", ""] - table[name]["BERT-base", ""], 1) for name in sets]
    reached = sum(gain >= 0 for gain in gains)
    yield Recount("three sets", 3, reached, [reached == 3], {"gains": gains})
    yield Recount("clearest", None, gains, [gains[-1] > gain for gain in gains[:-1]])
    ablations = _read("sentiformer", "II", "accuracy")
    whole = ablations["SentiFormer", "full"]
    names = ("polarity-aware PE", "gated attention", "full attention")
    said = [_get("sentiformer", "accuracy_gain", variant=name) for name in names]
    left = [next(ablations[row] for row in ablations if name in row[1]) for name in (*names[:2], "sparse attention")]
    lost = [round(whole - each, 1) for each in left]
    yield Recount("parts", said[:2], lost[:2], _match(said[:2], lost[:2], 1))
    words_of = {"full": left[2], "whole": whole}
    yield Recount("full attention", said[2], -lost[2], _match(said[2:], [-lost[2]], 1), words_of)
    five, two, three = (list(table[name].values()) for name in ("SST-5", "IMDb", "Twitter-3"))
    harder = [a < b for a, b in zip(five, three, strict=True)]
    level = {"above": harder.count(False), "gap": max(b - a for a, b in zip(five, two, strict=True))}
    yield Recount("five classes", None, five, harder, level)


def compute_accuracy(precision: float, recall: float) -> float:
    """Return the accuracy on two equally frequent classes, given precision and recall of the positive one."""
    return (recall + 1 - recall * (1 - precision) / precision) / 2


def _compute_f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall)


def _allow(told: float, compute: Callable[[float, float], float], precision: float, recall: float) -> bool:
    """Tell whether precision and recall, rounded to four places, allow a number that rises with both."""
    half = 5e-5 + 1e-9
    low, high = (compute(precision + by, recall + by) for by in (-half, half))
    return low - half <= told <= high + half


def _compute_7ess_xin() -> Iterator[Recount]:
    columns = [_read("7ess-xin", "II", name) for name in ("accuracy", "f1", "precision", "recall")]
    rows = {row[1]: [column[row] for column in columns] for row in columns[0]}
    fits = {row: _allow(a, compute_accuracy, p, r) for row, (a, _, p, r) in rows.items()}
    implied = _round([compute_accuracy(*row[2:]) for row in rows.values()], 4)
    words = {"misfits": ", ".join(row for row, fit in fits.items() if not fit)}
    yield Recount("accuracy", [row[0] for row in rows.values()], implied, list(fits.values()), words)
    best, told = rows["V6 P2"], _get("7ess-xin", "best_accuracy")
    yield Recount("best accuracy", told, round(100 * compute_accuracy(*best[2:]), 2), [fits["V6 P2"]])
    f1 = _get("7ess-xin", "best_f1")
    yield Recount("best f1", f1, round(100 * _compute_f1(*best[2:]), 2), [_allow(f1 / 100, _compute_f1, *best[2:])])
    tpr, tnr = (_get("7ess-xin", f"confusion_{name}") for name in ("tpr", "tnr"))
    drawn = (tpr + tnr) / 2
    yield Recount("figure 5", told, round(drawn, 2), _match([told], [drawn], 2), {"tpr": tpr, "tnr": tnr})
    rates, missed = [_get("7ess-xin", f"wordcloud_text_{name}") for name in ("fnr", "fpr")], [100 - tpr, 100 - tnr]
    yield Recount("word clouds", rates, _round(missed, 1), _match(rates, missed, 0))
    better = sum(rows[f"V{n} P2"][1] > rows[f"V{n} P1"][1] for n in range(1, 11))
    yield Recount("phase 2", None, better, [better >= 9])
    gain, found = _get("7ess-xin", "V6_f1_gain_P2_minus_P1"), best[1] - rows["V6 P1"][1]
    highest = max(rows, key=lambda row: rows[row][1]) == "V6 P2"
    yield Recount("v6", gain, round(found, 4), [*_match([gain], [found], 4), highest])
    phases = ("P1", "P2")
    lags = sorted(100 * (rows[f"V1 {name}"][at] - rows[f"V5 {name}"][at]) for name, at in product(phases, (0, 1)))
    yield Recount("v5", 5, _round([lags[0], statistics.median(lags), lags[-1]], 2), _match([5] * 4, lags, 0))
    deeper = [rows[f"{name} {phase}"][1] > rows[f"V1 {phase}"][1] for phase, name in product(phases, ("V2", "V7"))]
    yield Recount("depth", None, [sum(deeper), len(deeper)], deeper)
    wide = int(_read("7ess-xin", "I", "ff_expansion_flag")["7ess-Xin", "V8"]) // 2
    yield Recount("v8", 1.5, wide, [wide == 1.5])


ORDER = ("all heads + 1/sqrt(dk)", "all heads", "last head + 1/sqrt(dk)", "last head")
"""Settings of the lexical paper, in the order of its Table 1."""


def _compute_lexical() -> Iterator[Recount]:
    accuracy, told = (_read("lexical", "1", metric) for metric in ("accuracy", "accuracy_delta"))
    found = {row: round(accuracy[row] - accuracy[row[0], "baseline"], 2) for row in told}
    listed = list(told.values()), list(found.values())
    yield Recount("differences", *listed, _match(*listed, 2))
    gains = [[gain for row, gain in found.items() if row[1] == name] for name in ORDER]
    every = {row: gain for row, gain in found.items() if row[1] in ORDER}
    positive = [gain > 0 for gain in every.values()]
    yield Recount("all better", None, [sum(positive), min(every.values())], positive)
    p = statistics.fmean(value for row, value in accuracy.items() if row[1] == "baseline") / 100
    limit = 196 * math.sqrt(2 * p * (1 - p) / _get("lexical", "nsmc_test"))
    small = {"small": ", ".join(sorted({row[0] for row, gain in every.items() if gain <= limit}))}
    yield Recount("considerable", None, round(limit, 2), [gain > limit for gain in every.values()], small)
    names = ("delta_mean", "delta_sigma_as_printed", "delta_sigma2_as_printed")
    printed = [[_read("lexical", "2", name)["mean of 5 models", row] for row in ORDER] for name in names]
    kinds = statistics.fmean, statistics.stdev, statistics.variance
    means, deviations, variances = (_round([compute(row) for row in gains], 3) for compute in kinds)
    yield Recount("means", printed[0], means, _match(printed[0], means, 3))
    as_told = [*_match(sorted(printed[1]), sorted(deviations), 3), *_match(sorted(printed[2]), sorted(variances), 3)]
    exchanged = sum(_match(sorted(printed[1]), sorted(variances), 3))
    numbers = [*printed[1], *printed[2]], [*deviations, *variances]
    yield Recount("deviations", *numbers, as_told, {"exchanged": exchanged})
    yield Recount("highest mean", None, means, [means[3] == max(means)])
    yield Recount("smallest deviation", None, deviations, [deviations[2] == min(deviations)])
    record, top = _get("lexical", "sota_accuracy"), max(accuracy, key=lambda row: accuracy[row])
    yield Recount("record", record, accuracy[top], [accuracy[top] == record, top == ("kc-electra", ORDER[3])])
    other = [row for row in select_reported(paper="lexical", metric="accuracy") if row.table == "3"]
    plain = {(row.dataset, row.model): row.value for row in other if row.variant == "baseline"}
    moves = [(row.model, row.value - plain[row.dataset, row.model]) for row in other if row.variant != "baseline"]
    counts = [sum((by > 0) - (by < 0) == sign for _, by in moves) for sign in (1, -1, 0)]
    yield Recount("other tasks", [13, 5, 2], counts, [a == b for a, b in zip((13, 5, 2), counts, strict=True)])
    falling = [model for model, by in moves if by < 0]
    yield Recount("falls", None, len(falling), [model in ("kr-electra", "kc-electra") for model in falling])


TOLD_GAINS = {
    **{("Emotion", "BERTweet"): 0.98, ("Emotion", "RoBERTa"): 0.89, ("Bangla", "BanglaBERT"): 1.08},
    **{("Bangla", "XLM-RoBERTa"): 0.94, ("Irony", "BERTweet"): 2.20, ("Irony", "RoBERTa"): 2.57},
    **{("OHSUMED", "BioBERT"): 13.92, ("OHSUMED", "RoBERTa"): 6.35, ("CAVES", "CT-BERT"): 0.84},
    **{("CAVES", "RoBERTa"): 1.41},
}
"""Relative gains in section 5.1 of the Inceptive paper, %."""
TOLD_SCORES = {("Emotion", "BERTweet"): 84.02, ("Bangla", "XLM-RoBERTa"): 66.63}
"""Accuracies in the same section that its tables have otherwise, %."""
RUNS = 10


def count_rank_sums(runs: int) -> list[int]:
    """Count the sign patterns of paired runs by rank sum of the negative ones, for Wilcoxon's exact two-sided p."""
    ways = [1]
    for rank in range(1, runs + 1):
        none = [0] * rank
        ways = [without + negative for without, negative in zip(ways + none, none + ways, strict=True)]
    return ways


def _compute_inceptive() -> Iterator[Recount]:
    every = select_reported(paper="inceptive")
    rows = [row for row in every if row.table in "34" and row.metric in ("accuracy", "f1")]
    plain = {(row.dataset, row.model): row.value for row in rows if row.variant == "baseline"}
    full = {(row.dataset, row.model): row.value for row in rows if row.variant != "baseline"}
    points = {key: full[key] - plain[key] for key in TOLD_GAINS}
    told, gains = list(TOLD_GAINS.values()), [100 * by / plain[key] for key, by in points.items()]
    yield Recount("gains", told, _round(gains, 2), _match(told, gains, 2))
    ends = [min(gains), max(gains), min(points.values()), max(points.values())]
    yield Recount("between", [1, 14], _round(ends, 2), _match([1, 14], ends[:2], 0))
    scores = [full[key] for key in TOLD_SCORES]
    same = [a == b for a, b in zip(TOLD_SCORES.values(), scores, strict=True)]
    yield Recount("text", list(TOLD_SCORES.values()), scores, same)
    reported = [row.value for row in every if row.metric == "wilcoxon_p"]
    ways = count_rank_sums(RUNS)
    possible = [2 * sum(ways[: most + 1]) / 2**RUNS for most in range(len(ways) // 2)]
    sums = [min(range(len(possible)), key=lambda at, p=p: abs(possible[at] - p)) for p in reported]  # type: ignore[misc]
    fits = [abs(possible[at] - p) < 1e-5 for at, p in zip(sums, reported, strict=True)]
    words = {"ranks": max(sums), "against": round(possible[max(sums)] * 2**RUNS)}
    yield Recount("wilcoxon", reported, _round([possible[at] for at in sums], 5), fits, words)
    folds = {(row.metric, row.dataset, row.variant): row.value for row in every if row.table == "5"}
    sets = list(dict.fromkeys(name for _, name, _ in folds))
    means, spreads = (
        [round(folds[metric, name, "inceptive"] - folds[metric, name, "baseline"], 2) for name in sets]
        for metric in ("cv10_mean", "cv10_std")
    )
    lower = [(by < 0) == (name != "Irony") for name, by in zip(sets, spreads, strict=True)]
    yield Recount("folds", None, [*means, *spreads], [*(by > 0 for by in means), *lower])
    ablations = [row for row in every if row.table == "7"]
    whole = {row.dataset: (row.model.split()[1], row.value) for row in ablations if row.variant == "full"}
    lost = [round(whole[row.dataset][1] - row.value, 2) for row in ablations if row.variant != "full"]
    yield Recount("ablations", None, lost, [by > 0 for by in lost], {"least": min(lost), "most": max(lost)})
    main = [full[name, model] for name, (model, _) in whole.items()]
    values = [value for _, value in whole.values()]
    yield Recount("full model", values, main, [a == b for a, b in zip(values, main, strict=True)])


FINDERS: dict[str, Callable[[], Iterator[Recount]]] = {
    "ndt": _compute_ndt,
    "sentiformer": _compute_sentiformer,
    "7ess-xin": _compute_7ess_xin,
    "lexical": _compute_lexical,
    "inceptive": _compute_inceptive,
}
"""Key of a paper → what recounts its claims."""
