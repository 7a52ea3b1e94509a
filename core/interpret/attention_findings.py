"""Sentences that say what the attention of a run over a split shows, one for each section of the analysis."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from core.formatting import count, format_p, format_subscript, number, percent, signed, whole_percent

ALPHA = 0.05
LITTLE = 0.05  # share of answers; a λ whose absence changes fewer does little
Row = Mapping[str, Any]


def name_part(row: Row) -> str:
    """Return the name of a head, component or map in words: `head 2 of layer 1, A₀`."""
    where = f"layer {row['layer']}"
    if row.get("head"):
        where = f"head {row['head']} of {where}"
    if row.get("component") is None:
        return where
    components = [row["component"], *([row["other"]] if "other" in row else [])]
    return f"{where}, {' and '.join(f'A{format_subscript(each)}' for each in components)}"


def is_apart(row: Row, control: str) -> bool:
    """Tell whether the interval of a row and that of a control have no common point."""
    own, other = row["interval"], row["control"][control]["interval"]
    return bool(own and other and (own[0] > other[1] or own[1] < other[0]))


def _select(rows: Sequence[Row], measure: str) -> list[Row]:
    return [row for row in rows if row["measure"] == measure and row["value"] is not None]


def describe_entropy(found: Row) -> str:
    """Say how evenly the heads read, from the row entropy as a share of uniform attention."""
    rows = _select(found["entropy"], "entropy share")
    if not rows:
        return "No maps: the model reads passages, or no text has two tokens to choose from."
    sharpest = min(rows, key=lambda row: row["value"])
    mean = sum(row["value"] for row in rows) / len(rows)
    untrained = sum(row["control"]["untrained"]["value"] for row in rows) / len(rows)
    said = f"Attention has {whole_percent(mean)} of maximum entropy on average (untrained: {whole_percent(untrained)})"
    least = f"{name_part(sharpest)}, {whole_percent(sharpest['value'])}"
    return f"{said}. 100 % is uniform attention. Most focused: {least}."


def describe_mass(found: Row) -> str:
    """Say which kind of token a head prefers most, of those whose interval is above uniform attention."""
    rows = [row for row in found["mass"] if "uniform" in row["control"] and row["value"] is not None]
    above = [row for row in rows if is_apart(row, "uniform") and row["value"] > row["control"]["uniform"]["value"]]
    if not above:
        return "No head reads any kind of token more than uniform attention would."
    best = max(above, key=compute_least_preference)
    share = best["control"]["uniform"]["value"]
    kind = f"the {best['measure']}" if best["measure"].endswith("token") else best["measure"]
    return (
        f"The clearest preference: {name_part(best)} puts {whole_percent(best['value'])} on {kind}, "
        f"{number(best['value'] / share, 1)} times uniform attention."
    )


def compute_least_preference(row: Row) -> float:
    """Return the lower end of a mass as a multiple of that of uniform attention; few texts give a low one."""
    low = row["interval"][0] if row["interval"] else 0.0
    return float(low / max(row["control"]["uniform"]["value"], 1e-9))


def describe_distance(found: Row) -> str:
    """Say whether component maps differ more than both controls; for one map per head, which head looks furthest."""
    pairs = _select(found["distance"], "Jensen–Shannon")
    if pairs:
        outside = sum(row["outside"] for row in pairs)
        mean = sum(row["value"] for row in pairs) / len(pairs)
        return (
            f"{count(outside)} of {count(len(pairs))} pairs of component maps differ more than in both "
            f"controls (exchanged texts; an untrained model). Mean distance: {number(mean, 2)} (0 to 1)."
        )
    rows = _select(found["distance"], "tokens")
    if not rows:
        return "No maps were read."
    far = max(rows, key=lambda row: row["value"])
    near = min(rows, key=lambda row: row["value"])
    return (
        f"{(name := name_part(far))[:1].upper()}{name[1:]} looks furthest, {number(far['value'], 1)} tokens away; "
        f"{name_part(near)} nearest, {number(near['value'], 1)}. Each head has one map."
    )


def describe_deviation(found: Row) -> str:
    """Say how much attention from and to the class token varies over the other tokens."""
    rows = found["deviation"]
    if not rows:
        return "The model has no class token."
    best = max(rows, key=lambda row: row["value"] or 0)
    said = f"Attention varies most for {best['measure']} in layer {best['layer']}: {number(best['value'])}"
    changed = [row for row in rows if "against" in row and row["against"]["interval"]]
    if not changed:
        return f"{said} (untrained: {number(best['control']['untrained']['value'])})."
    most = max(changed, key=lambda row: abs(row["against"]["value"]))
    low, high = most["against"]["interval"]
    differs = "The largest difference from the other run" if low > 0 or high < 0 else "No clear difference; the largest"
    where = f"{most['measure']} in layer {most['layer']}"
    return f"{said}. {differs}: {signed(most['against']['value'], 3)}, {where}."


def describe_gates(found: Row) -> str:
    """Say which kind of word has the lowest and the highest gate, where intervals are apart from all words."""
    rows = [row for row in found["gates"] if row["value"] is not None]
    if not rows:
        return "The model has no gates."
    apart = [row for row in rows if is_apart(row, "all")] or rows
    low, high = min(apart, key=lambda row: row["value"]), max(apart, key=lambda row: row["value"])
    least, most = (f"{row['measure']} in layer {row['layer']} ({number(row['value'], 2)})" for row in (low, high))
    means = {row["layer"]: number(row["control"]["all"]["value"], 2) for row in rows}
    return f"Gates are lowest for {least} and highest for {most}; all words: {', '.join(means.values())}."


def describe_importance(found: Row) -> str:
    """Say which silenced part costs most accuracy, and how many differences are significant after Holm."""
    rows = found["importance"]["parts"]
    worst = min(rows, key=lambda row: row["value"])
    clear = sum(row["p_holm"] < ALPHA for row in rows)
    low, high = (100 * end for end in worst["interval"])
    said = f"Without {name_silenced(worst)}, accuracy changes most: {signed(100 * worst['value'], 1)} points"
    of = f"{count(clear)} of {count(len(rows))} ablations change accuracy (Holm-corrected)."
    return f"{said} ({signed(low, 1)} to {signed(high, 1)}, p {format_p(worst['p_holm'])}). {of}"


def describe_effects(found: Row) -> str:
    """Say how many answers change with all parts of a kind changed at once, such as every λ at 0."""
    own = found["effects"]
    first, *others = own["effects"]
    points = f"accuracy {number(100 * own['accuracy'], 1)} → {number(100 * first['accuracy'], 1)} %"
    of = f"{count(first['changed'])} of {count(own['texts'])} {own['split']} answers change ({points})"
    more = "".join(f"; with {each['what']}, {count(each['changed'])}" for each in others)
    said = f"With {first['what']}, {of}{more}."
    little = first["edit"] == "l:0" and first["changed"] < LITTLE * own["texts"]
    stuck = [f"λ{format_subscript(each['component'])} of layer {each['layer']}" for each in own["trapped"]]
    trapped = f" At its start, perhaps trapped, since it has no gradient there: {', '.join(stuck)}." if stuck else ""
    return f"{said}{' λ does little here.' * little}{trapped}"


def name_silenced(row: Row) -> str:
    """Return a silenced part in words, with the way of silencing if it is not zero."""
    of = {"gates": "the gates of ", "lexical": "the lexical term of "}.get(row["kind"], "")
    how = {"zero": "", "mean": " (replaced by its mean)", "open": " (all open)"}[row["how"]]
    return f"{of}{name_part(row)}{how}"


def describe_received(found: Row) -> str:
    """Say whether the head's own attention is flatter than the last layer."""
    rows = _select(found["received"], "received entropy share")
    if not rows:
        return ""
    own = sum(row["value"] for row in rows) / len(rows)
    last = rows[0]["control"]["last layer"]["value"]
    flatter = (
        "flatter than" if all(row["interval"][0] > last for row in rows if row["interval"]) else "not flatter than"
    )
    return (
        f"The attention that tokens receive in the head is {flatter} that in the last layer: entropy "
        f"{whole_percent(own)} of uniform against {whole_percent(last)}."
    )


def describe_neutral(found: Row) -> str:
    """Say which share of the tokens the lexicon does not list."""
    neutral = found["neutral"]
    low, high = neutral["interval"] or (neutral["value"], neutral["value"])
    return (
        f"{percent(neutral['value'])} of {count(neutral['tokens'])} tokens are not in the lexicon {neutral['lexicon']} "
        f"({percent(low)} to {percent(high)})."
    )


def describe_words(found: Row) -> str:
    """Say which word speaks most for each class, of those whose interval is above 0."""
    best: dict[str, Row] = {}
    for row in found["words"]["rows"]:
        if row["interval"] and row["interval"][0] > 0:
            best.setdefault(row["class"], row)
    named = (f"{each} “{row['word']}” ({signed(row['value'], 2)}, {row['texts']} texts)" for each, row in best.items())
    return f"Words with the largest mean effect on log-odds: {', '.join(named)}." if best else "No word has an effect."


def describe_demos(found: Row) -> str:
    """Say in how many short sentences one part decides the answer, and in which one most clearly."""
    own = found["demos"]
    if not own["texts"]:
        return "The split has no short text with a single label."
    said = f"A single part decides the answer in {count(own['decided'])} of {count(own['texts'])} short sentences."
    return " ".join([said, *map(describe_demo, own["rows"][:1])])


def describe_demo(row: Row) -> str:
    """Return a sentence that one part decides, with its answer as trained and after the edit."""
    before, after = row["probability"], row["probability_after"]
    return f"“{row['text']}” {row['answer']} {number(before, 2)}, with {row['what']} {row['after']} {number(after, 2)}."


SECTIONS: dict[str, Callable[[Row], str]] = {
    "entropy": describe_entropy,
    "mass": describe_mass,
    "distance": describe_distance,
    "deviation": describe_deviation,
    "gates": describe_gates,
    "received": describe_received,
    "neutral": describe_neutral,
    "importance": describe_importance,
    "words": describe_words,
    "effects": describe_effects,
    "demos": describe_demos,
}


def iterate_findings(found: Row) -> Iterator[tuple[str, str]]:
    """Yield the sections of an analysis that have something to say, each with its sentence."""
    for name, describe in SECTIONS.items():
        if found.get(name) is not None and (said := describe(found)):
            yield name, said
