"""Attention of a run over a whole split."""

from typing import Annotated, Any

from core.api.options import CliArgument, OnProgress, RunName, Split, Store
from core.api.printing import say, tabulate, write_ends, write_p
from core.exceptions import InputError
from core.formatting import count, plural, signed
from core.interpret.attention_findings import SECTIONS, describe_demo, iterate_findings, name_silenced
from core.runs import attention_files
from core.runs.store import RunStore

PRINTED = 10  # parts in the printed table


def attend(
    run: RunName,
    *,
    split: Split = "",
    limit: int = attention_files.LIMIT,
    against: Annotated[str, CliArgument(metavar="RUN")] = "",
    only: Annotated[str, CliArgument(metavar="STEP")] = "",
    each_map: bool = False,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Measure what attention does over a whole split, and what each part of the model is needed for.

    Five steps, each stored with the run: the maps of each text; the importance of parts, which predicts the texts
    again with each part silenced; words, by the effect of deleting them; effects, with all parts of a kind changed
    together, such as every λ at 0; and demos, short sentences whose answer one part decides. Layers and heads count
    from 1, components from 0, as in --edit. To replace a word in all texts: sentiscope errors RUN --replace OLD=NEW.

    Args:
        limit: The number of texts, a stratified sample with seed 0; importance and words read 300 of them at most,
            demos up to 5,000.
        against: A run to compare the deviation of attention with, on the same texts.
        only: One step: maps, importance, words, effects or demos; default: all.
        each_map: Also silence each component in each head.

    Returns:
        `run`, `data`, `split`, `texts`, `left_out`, `against`, `findings` (a sentence for each section); `entropy`,
        `mass`, `distance`, `deviation`, `gates`, `received` (attention of the model's own head) and `neutral` (tokens
        outside the lexicon): as in `core.interpret.split_attention.describe_split`, each row with `value`, `interval`
        and, where there is one, `control`; `deviation` with `against`: the difference from the other run; `examples`:
        texts with the largest output of each head; `importance`: as `core.runs.part_importance.measure_importance`;
        `words`: `texts` and `rows` as of `core.interpret.attribution.measure_words`; `effects`: as
        `core.runs.part_importance.measure_effects`; `demos`: as `find_demos` there. A step that was left out is None.
    """
    store = store or RunStore()
    if only not in ("", *attention_files.STEPS):
        raise InputError(f"--only {only}: no such step; choose {', '.join(attention_files.STEPS)}")
    if against and only not in ("", attention_files.MAPS):
        raise InputError(f"--against compares maps: leave --only {only} out")
    maps: dict[str, Any] = {}
    others = dict.fromkeys(attention_files.STEPS[1:])
    if only in ("", attention_files.MAPS):
        maps = _read_maps(store, run, split, limit, on_progress)
        if against:
            other = _read_maps(store, against, split, limit, on_progress)
            maps = {**maps, "deviation": attention_files.compare_deviation(maps, other)}
    for analysis in attention_files.AFTER_MAPS:
        if only in ("", analysis.name):
            mapped = each_map and analysis.name == attention_files.IMPORTANCE
            here = analysis.from_run(store, run, split, limit, each_map=mapped)
            others[analysis.name] = here.read_or_compute(on_progress)[0]
    about = {"run": run, "data": store.read(run).config.data.name, "split": split or "test", "against": against}
    result = {**about, **dict.fromkeys(SECTIONS), **maps, **others}
    result.pop("by_text", None)
    return {**result, "findings": dict(iterate_findings(result))}


def _read_maps(store: RunStore, run: str, split: str, limit: int, on_progress: OnProgress) -> dict[str, Any]:
    return attention_files.AttentionMaps.from_run(store, run, split, limit).read_or_compute(on_progress)[0]


WORD_COLUMNS: dict[str, Any] = {
    "class": "class",
    "word": "word",
    "texts": lambda row: count(row["texts"]),
    "effect": lambda row: signed(row["value"], 2),
    "interval": lambda row: write_ends(row["interval"], lambda end: signed(end, 2)),
}
"""Columns on the words with the largest effect."""


def print_attend(result: dict[str, Any]) -> None:
    """Print a sentence for each section, then the parts that cost most accuracy and the course over λ."""
    importance = result["importance"]
    read = [plural(result["texts"], "text")] if result.get("texts") else []
    read += [f"{plural(importance['texts'], 'text')} with parts silenced"] if importance else []
    read += [f"{plural(result['words']['texts'], 'text')} without each word"] if result["words"] else []
    read += [f"{plural(result['effects']['texts'], 'text')} with parts of a kind changed"] if result["effects"] else []
    read += [f"{plural(result['demos']['texts'], 'short text')} without each part"] if result["demos"] else []
    say(f"{result['run']}, {result['split']}: {'; '.join(read) or 'no maps'}, 95 % intervals over texts")
    for name, sentence in result["findings"].items():
        say(sentence, head=f"{name}: ")
    for row in result["demos"]["rows"][1:] if result["demos"] else ():
        say(describe_demo(row))
    if result["words"]:
        for name in dict.fromkeys(row["class"] for row in result["words"]["rows"]):
            tabulate([row for row in result["words"]["rows"] if row["class"] == name][:PRINTED], WORD_COLUMNS, name)
    if not importance:
        return
    say("")
    rows = sorted(importance["parts"], key=lambda row: row["value"])
    columns: dict[str, Any] = {
        "silenced": name_silenced,
        "accuracy": "accuracy",
        "difference": lambda row: signed(row["value"], 3),
        "interval": lambda row: write_ends(row["interval"], lambda end: signed(end, 3)),
        "p (Holm)": lambda row: write_p(row["p_holm"]),
        "log-loss": lambda row: signed(row["loss"], 3),
    }
    tabulate(rows[:PRINTED], columns, "silenced")
    if len(rows) > PRINTED:
        say(f"{count(PRINTED)} of {count(len(rows))}; --json has all.")
    if common := [row for row in importance["lambdas"] if row["layer"] is None]:
        say(", ".join(f"× {row['factor']:g}: {row['accuracy']:.3f}" for row in common), head="accuracy with all λ ")
