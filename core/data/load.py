"""Loading of a data set by name or path, in splits ready for training."""

import dataclasses
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from core.data import sandbox, splits
from core.data.columns import SINGLE, choose_columns, summarize_columns
from core.data.config import DataConfig
from core.data.conll import OUTSIDE
from core.data.dataset import TEST, TRAIN, VALIDATION, WHOLE, Dataset, Splits, Task, to_indicators
from core.data.findings import refuse_findings
from core.data.labeled_files import FileReport, LabeledSplits, name_classes
from core.data.labels import WITHHELD, LabelNames, encode_labels, find_form, is_several, rename_labels, replace_labels
from core.data.mixture import add_examples, add_texts, drop_learned, exclude_texts, mix_splits
from core.data.row_cleaning import clean_rows, examine_classes
from core.data.sources import (
    DATA_FOLDER,
    LIFE,
    PEOPLE,
    SOURCES,
    DataSource,
    check_availability,
    find_local_folder,
    split_mixture,
)
from core.data.sources.source import fetch_splits
from core.exceptions import ConfigError, DataError, NotAvailable
from core.fingerprint import hash_value
from core.formatting import count, plural, suggest_name, whole_percent
from core.paths import refuse_elsewhere, resolve_path

_AT_ONCE = 10_000  # Texts that are joined at a time; joining all texts of a large data set would double the memory
_UNSPLIT_SHARES = (0.8, 0.1, 0.1)


def load_dataset(
    config: DataConfig, *, to_train: bool = True, on_report: Callable[[FileReport], None] = lambda report: None
) -> Dataset:
    """Load the labelled texts that `config` names, split into train, validation and test by the rules of their source.

    Given splits are kept. Without a test split, validation is halved; without validation, a tenth of train is taken (or
    the share of the source); a single table is cut 80/10/10. `config.split` pools and cuts all again; `config.folds`
    takes one fold as test. Cuts are seeded and stratified by the classes of the file, so `config.rename` and
    `config.order` change none. Classes without a training row leave the other splits. `to_train`: whether to read
    `config.add`, `config.apart` and `config.examples`, which only change train. `on_report` gets the file's report.

    Raises DataError (name, path or content), NotAvailable (not on the hub, nor here) and ConfigError (a setting).
    """
    refuse_elsewhere(config.name)
    refuse_elsewhere(config.examples)
    source = SOURCES.get(config.name)
    mixed, more = split_mixture(config.name), _check_registered("add", config.parse_list("add")) if to_train else ()
    beyond = _check_registered("apart", config.parse_list("apart")) if to_train else ()
    if mixed:
        found, where = mix_splits(mixed, config, load_dataset), ", ".join(mixed)
        config = dataclasses.replace(config, split="", folds=0, fold=0)
    else:
        found, where = _load_source(source, config)
        if found.report:
            on_report(found.report)
    textual = [n for n in ("rename", "order", "add", "examples", "pair") if getattr(config, n) not in ("", SINGLE)]
    if found.task == "tokens" and textual:
        problem = "only for labels of texts, and here each word has a tag; leave it out"
        raise ConfigError(f"data.{textual[0]}: {problem}")
    alone = DataConfig(classes=config.classes, seed=config.seed, split_rule=config.split_rule)
    added = {name: load_dataset(dataclasses.replace(alone, name=name, limit=config.add_limit)) for name in more}
    others = [label for each in added.values() for label in each.classes] if to_train else [*config.parse_renames()]
    of_file, found = found, _rename_classes(found, config, others if config.add else ())
    only_trained = _report_new_tags if found.task == "tokens" else _drop_untrained
    if config.split_rule == 1:
        coded, standing, dropped = only_trained(_encode_labels(found, found.splits), found.classes)
        arranged, made = _arrange_splits(coded, config, source)
        arranged, classes, dropped_again = only_trained(arranged, standing)
    else:
        arranged, made = _arrange_splits(_encode_labels(of_file, of_file.splits), config, source)
        names = {n: config.parse_renames().get(name, name) for n, name in enumerate(of_file.classes)}
        standing, dropped = tuple(dict.fromkeys(names.values())), []
        if found is not of_file:
            kept = {n: name for n, name in names.items() if name}
            arranged = _encode_labels(found, {split: replace_labels(rows, kept) for split, rows in arranged.items()})
        arranged, classes, dropped_again = only_trained(arranged, found.classes)
    if empty := [split for split in (TRAIN, VALIDATION, TEST) if not len(arranged[split])]:
        why = [f" ({note})" for note in (*dropped, *dropped_again) if note.startswith(f"{empty[0]}: ")]
        raise DataError(f"too small: nothing is left for the {empty[0]} split{''.join(why)}", file=config.name)
    arranged, beside, joined = add_texts(arranged, classes, added, config)
    arranged, held_out = exclude_texts(
        arranged, (*beyond, *more), lambda each: load_dataset(dataclasses.replace(each, split_rule=config.split_rule))
    )
    arranged, beside, learned = drop_learned(arranged, beside, config.parse_list("lineage"))
    cut_to, along = list[str](), list[str]()
    if config.limit and config.limit < len(arranged[TRAIN]):
        arranged[TRAIN], note = _limit_train(arranged[TRAIN], config, [standing.index(name) for name in classes])
        arranged, classes, cut_to = only_trained(arranged, classes)  # a class may have lost all rows
        cut_to = [note, *cut_to]
    if to_train:
        arranged, along = add_examples(arranged, classes, config)
    hashes = {name: _hash_rows(rows) for name, rows in arranged.items()}
    known = (*mixed, *((config.name,) if source else ()), *more)
    languages = {*(SOURCES[name].language for name in known), *(() if mixed or source else ("",))}
    return Dataset(
        name=config.name if source or mixed else Path(config.name).expanduser().resolve().name,
        splits=arranged,
        classes=classes,
        fingerprint=hash_value({"classes": classes, "splits": hashes}),
        language=languages.pop() if len(languages) == 1 else "",
        licence="; ".join(f"{n}: {SOURCES[n].licence}" for n in known) if more or not source else source.licence,
        source=f"{source.title} ({source.citation}), from {where}" if source else where,
        task=found.task,
        ordered=bool(config.order) or (source is not None and source.ordered and not config.rename),
        beside=beside,
        notes=(*found.notes, *dropped, *made, *dropped_again, *joined, *held_out, *learned, *cut_to, *along),
        decisions=found.decisions,
    )


def _check_registered(setting: str, names: tuple[str, ...]) -> tuple[str, ...]:
    if strange := [name for name in names if name not in SOURCES]:
        problem = f"'{strange[0]:.60}' is no registered data set; `sentiscope data list` shows all"
        raise ConfigError(f"data.{setting}: {problem}")
    return names


def resolve_data_path(name: str) -> Path:
    """Return the path that a data name means if it is no registered data set; refuse a path that cannot be opened."""
    try:
        return resolve_path(name, folders=True)
    except DataError:
        if not re.fullmatch(r"[\w +-]+", name) or os.path.exists(name):
            raise
    strange = next((part.strip() for part in name.split("+") if part.strip() not in SOURCES), name)
    raise DataError(
        f"no data set and no file is called '{strange}'{suggest_name(strange, SOURCES)}; `sentiscope data list` shows "
        "the names, or give the path of a file or folder"
    )


def _rename_classes(found: LabeledSplits, config: DataConfig, others: Sequence[str] = ()) -> LabeledSplits:
    """Rename, merge, drop and order the classes of a data set by the settings `data.rename` and `data.order`."""
    names, order = config.parse_renames(), config.parse_list("order")
    if not names and not order:
        return found
    if strange := [old for old in names if old not in (*found.classes, *others)]:
        raise ConfigError(f"data.rename: no label '{strange[0]:.60}'; the labels are {', '.join(found.classes)}")
    renamed = {old: new for old in found.classes if (new := names.get(old, old))}
    classes = tuple(dict.fromkeys(renamed.values()))
    kept = {split: replace_labels(rows, renamed) for split, rows in found.splits.items()}
    left = {split: len(rows) - len(kept[split]) for split, rows in found.splits.items()}
    lost = "without a label after data.rename left out"
    notes = [f"{split}: {plural(number, 'row')} {lost}" for split, number in left.items() if number]
    if order and set(order) != set(classes):
        raise ConfigError(f"data.order={config.order!r:.80}: every class once; they are {', '.join(classes)}")
    found = dataclasses.replace(found, splits=kept, classes=order or classes, notes=(*found.notes, *notes))
    if names:
        _check_classes(found, config.name)
    return found


def _encode_labels(found: LabeledSplits, given: Splits) -> Splits:
    return {name: encode_labels(rows, found.classes, found.task) for name, rows in given.items()}


def _load_source(source: DataSource | None, config: DataConfig) -> tuple[LabeledSplits, str]:
    if source is None:
        path = resolve_data_path(config.name)
        found = sandbox.read_labeled(path, config.get_read_settings())
        if path.is_dir():
            _check_classes(found, path.name)
        return found, str(path)
    if source.kind == "built-in":
        return _load_builtin(source.name, config.classes), "this program"
    folder = find_local_folder(source.name)
    if folder and source.published and source.published.is_used_in(folder):
        found, where = sandbox.read_labeled(folder, {}, published=source.name), f"{folder} ({source.published.checked})"
    elif folder:
        found, where = sandbox.read_labeled(folder, {}), str(folder)
        found = _name_published_labels(found, source) if source.task == "pair" else found
    else:
        found, where = _from_hub(source)
    if source.reported_split == VALIDATION and VALIDATION in found.splits and not config.split:
        given = dict(found.splits)
        reported, unused = given.pop(VALIDATION), given.pop(TEST, None)
        notes = [f"the official dev split ({plural(len(reported), 'row')}) is the test split"]
        if unused is not None:
            notes.append(f"the given test split ({plural(len(unused), 'row')}) is left out")
        found = dataclasses.replace(found, splits={**given, TEST: reported}, notes=(*found.notes, *notes))
    _check_classes(found, source.name)
    return found, where


def _name_published_labels(found: LabeledSplits, source: DataSource) -> LabeledSplits:
    """Replace the labels of published files, which have no `labels.json`, by the class names of their data set."""
    if set(found.classes) <= set(source.classes):
        return dataclasses.replace(found, classes=tuple(name for name in source.classes if name in found.classes))
    if strange := sorted(set(found.classes) - set(source.labels)):
        raise DataError(f"label '{strange[0]:.60}' is not among {', '.join(source.labels)}", file=source.name)
    named = {split: rename_labels(rows["label"], source.labels) for split, rows in found.splits.items()}
    renamed = {split: rows.assign(label=named[split]) for split, rows in found.splits.items()}
    return dataclasses.replace(found, splits=renamed, classes=source.classes)


def _load_builtin(name: str, classes: int) -> LabeledSplits:
    from core.data.sources.builtin.corpus_files import get_class_names, read_life, read_people
    from core.data.sources.builtin.generate import generate_corpus

    if name in (LIFE, PEOPLE):
        return LabeledSplits(read_life() if name == LIFE else read_people(), get_class_names(2))
    names, frames = get_class_names(classes), generate_corpus(classes).items()
    known = dict(enumerate(names))
    return LabeledSplits(
        {split: rows.assign(label=rename_labels(rows["label"], known)) for split, rows in frames}, names
    )


def _from_hub(source: DataSource) -> tuple[LabeledSplits, str]:
    base = os.environ.get(DATA_FOLDER)
    if source.hub is None and base:
        more = f". {check_availability(source).lacking}" if source.published else ""
        missing = f"there is no folder '{source.name}' in {DATA_FOLDER}={base}"
        raise NotAvailable(f"{missing}, and no hub repository is known{more}")
    frames, hub = fetch_splits(source), source.hub
    assert hub is not None  # `fetch_splits` has checked it
    cleaned, notes = {}, []
    for split, frame in frames.items():
        if absent := [name for name in (hub.text, hub.label) if name not in frame.columns]:
            raise DataError(f"{hub.repo} has no column '{absent[0]}' ({hub.checked}); found {', '.join(frame.columns)}")
        layout = choose_columns(frame, summarize_columns(frame), text=hub.text, label=hub.label, file=hub.repo)
        layout = find_form(frame, layout, several=source.task == "multi", file=hub.repo)
        rows, found = clean_rows(frame, layout, file=hub.repo, withheld=WITHHELD)
        notes += [f"{split}: {finding.message}" for finding in found]
        if len(rows):
            cleaned[split] = rows
    where = f"{hub.repo} ({hub.revision}) on the Hugging Face hub"
    task: Task = "multi" if source.task == "multi" else "single"
    return name_classes(cleaned, LabelNames(source.labels, task), hub.repo, notes, task), where


def _check_classes(found: LabeledSplits, name: str) -> None:
    if (rows := found.splits.get(TRAIN, found.splits.get(WHOLE))) is None:
        raise DataError("there is no train split", file=name)
    refuse_findings(examine_classes(rows), name)


def _drop_untrained(given: Splits, classes: tuple[str, ...]) -> tuple[Splits, tuple[str, ...], list[str]]:
    """Remove classes without a training row from all splits, and renumber the other classes."""
    trained = sorted(given[TRAIN if TRAIN in given else WHOLE]["label"].explode().dropna().unique())
    if len(trained) == len(classes):
        return given, classes, []
    place = {old: new for new, old in enumerate(trained)}
    notes, kept = [], {}
    for split, rows in given.items():
        strange = rows["label"].explode().value_counts()
        for old in sorted(set(strange.index) - set(trained)):
            lost = f"{plural(int(strange[old]), 'row')} of class '{classes[old]}' left out, train has none"
            notes.append(f"{split}: {lost}" if not is_several(rows["label"]) else f"{split}: the label of {lost}")
        kept[split] = replace_labels(rows, place)
    return kept, tuple(classes[old] for old in trained), notes


def _report_new_tags(given: Splits, classes: tuple[str, ...]) -> tuple[Splits, tuple[str, ...], list[str]]:
    """Report word tags that never occur in training, so cannot be predicted; return splits and classes unchanged."""
    trained = {tag for tags in given[TRAIN if TRAIN in given else WHOLE]["label"] for tag in tags}
    names = {classes[tag] for tag in trained}
    if OUTSIDE not in names or len(names) < 2:
        lacks = "no word outside of all spans (O)" if OUTSIDE not in names else "no span (B-TYPE)"
        raise DataError(f"the training sentences have {lacks}, so there is nothing to learn")
    notes = []
    for split, frame in given.items():
        unknown = Counter(tag for tags in frame["label"] for tag in tags if tag not in trained)
        notes += [
            f"{split}: {plural(number, 'word')} of the tag '{classes[tag]}', which train lacks: counted as missed"
            for tag, number in sorted(unknown.items())
        ]
    return given, classes, notes


def _get_strata(rows: pd.DataFrame) -> splits.Indices:
    if not is_several(rows["label"]):
        return rows["label"].to_numpy()
    classes = 1 + max((max(each) for each in rows["label"] if each), default=0)
    return splits.find_strata(to_indicators(rows["label"].tolist(), classes))


def _arrange_splits(given: Splits, config: DataConfig, source: DataSource | None) -> tuple[Splits, list[str]]:
    extra = {name: rows for name, rows in given.items() if name not in (TRAIN, VALIDATION, TEST, WHOLE)}
    if config.folds:
        made, notes = _split_fold(given, config, source)
    elif config.split or WHOLE in given:
        made, notes = _split_again(given, config, source)
    elif VALIDATION not in given and TEST not in given:
        made, notes = _split_three_ways(given[TRAIN], _UNSPLIT_SHARES, config, "a single split")
    elif VALIDATION not in given:
        made, notes = _split_train(given, config, source)
    elif TEST not in given:
        half, seed = len(given[VALIDATION]) // 2, config.seed
        validation, test = _divide_rows(given[VALIDATION], lambda strata: splits.cut_rows(strata, half, seed), config)
        sizes = f"{count(len(validation))} and {count(len(test))}"
        note = f"no test split: validation halved into {sizes}, stratified, seed {seed}"
        made, notes = {TRAIN: given[TRAIN], VALIDATION: validation, TEST: test}, [note]
    else:
        made, notes = {name: given[name] for name in (TRAIN, VALIDATION, TEST)}, []
    return {**made, **extra}, notes


def _split_again(given: Splits, config: DataConfig, source: DataSource | None) -> tuple[Splits, list[str]]:
    if not config.split:
        return _split_three_ways(given[WHOLE], _UNSPLIT_SHARES, config, "a single table")
    pooled = source.pooled if source else (TRAIN, VALIDATION, TEST)
    parts = [rows for name, rows in given.items() if name in (WHOLE, *pooled)]
    unused = [
        f"the given {name} split ({plural(len(rows), 'row')}) is not pooled and left out"
        for name, rows in given.items()
        if name in (VALIDATION, TEST) and name not in pooled
    ]
    what = "a single table" if WHOLE in given else "the pooled splits"
    made, notes = _split_three_ways(pd.concat(parts, ignore_index=True), config.parse_shares(), config, what)
    return made, unused + notes


def _split_fold(given: Splits, config: DataConfig, source: DataSource | None) -> tuple[Splits, list[str]]:
    """Split rows for cross-validation: one fold is test, the rest train and validation; ignore a given test split."""
    rows = pd.concat([given[name] for name in (WHOLE, TRAIN, VALIDATION) if name in given], ignore_index=True)
    held, rest = splits.select_fold(_get_strata(rows), config.folds, config.fold, config.seed)
    made, _ = _split_train({TRAIN: _take_rows(rows, rest), TEST: _take_rows(rows, held)}, config, source)
    sizes = "/".join(count(len(made[name])) for name in (TRAIN, VALIDATION, TEST))
    where = f"fold {config.fold} (of 0 to {config.folds - 1})"
    notes = [f"{plural(len(rows), 'row')}: {where} is the test split; {sizes}, stratified, seed {config.seed}"]
    if TEST in given:
        notes.append(f"cross-validation: the given test split ({plural(len(given[TEST]), 'row')}) is left out")
    return made, notes


def _divide_rows(
    rows: pd.DataFrame, cut: Callable[[splits.Indices], Sequence[splits.Indices]], config: DataConfig
) -> list[pd.DataFrame]:
    """Divide rows into stratified parts; each part has every class of at least three rows, unless `split_rule` is 1."""
    strata = _get_strata(rows)
    parts = cut(strata)
    if config.split_rule != 1:
        parts = splits.cover_classes(strata, parts, config.seed)
    return [_take_rows(rows, part) for part in parts]


def _split_three_ways(
    rows: pd.DataFrame, shares: tuple[float, float, float], config: DataConfig, what: str
) -> tuple[Splits, list[str]]:
    parts = _divide_rows(rows, lambda strata: splits.cut_three_parts(strata, shares, config.seed), config)
    sizes = "/".join(count(len(part)) for part in parts)
    cut = f"cut {'/'.join(f'{share:g}' for share in shares)} into {sizes}, stratified, seed {config.seed}"
    return dict(zip((TRAIN, VALIDATION, TEST), parts, strict=True)), [f"{what} ({plural(len(rows), 'row')}) {cut}"]


def _split_train(given: Splits, config: DataConfig, source: DataSource | None) -> tuple[Splits, list[str]]:
    share, seed = source.validation_share if source else 0.1, config.seed
    size = round(share * len(given[TRAIN]))
    rest, validation = _divide_rows(given[TRAIN], lambda strata: splits.cut_rows(strata, size, seed)[::-1], config)
    taken = f"{plural(len(validation), 'row')} ({whole_percent(share)})"
    note = f"no validation split: {taken} of train taken, stratified, seed {seed}"
    return {TRAIN: rest, VALIDATION: validation, TEST: given[TEST]}, [note]


def _limit_train(train: pd.DataFrame, config: DataConfig, places: Sequence[int]) -> tuple[pd.DataFrame, str]:
    """Reduce the training rows to `config.limit`, stratified by class; the order of the classes does not matter."""
    if config.limit < len(places):
        raise ConfigError(f"data.limit={config.limit}: at least {len(places)}, one training row for each class")
    chosen, _ = splits.cut_rows(_get_strata(replace_labels(train, dict(enumerate(places)))), config.limit, config.seed)
    note = f"train cut from {count(len(train))} to {count(config.limit)} rows, stratified, seed {config.seed}"
    return _take_rows(train, chosen), note


def _take_rows(rows: pd.DataFrame, numbers: splits.Indices) -> pd.DataFrame:
    return rows.iloc[numbers].reset_index(drop=True)


def _hash_rows(rows: pd.DataFrame) -> str:
    """Return the SHA-256 of the labels and texts of rows, with the length of each text and the number of its labels."""
    texts, labels = rows["text"].tolist(), rows["label"]
    numbers = [[len(text) for text in texts], labels]
    if is_several(labels):
        numbers[1:] = [labels.map(len), [number for each in labels for number in each]]
    digest = hashlib.sha256()
    for each in numbers:
        digest.update(np.array(each, dtype="<i8").tobytes())
    for start in range(0, len(texts), _AT_ONCE):
        digest.update("".join(texts[start : start + _AT_ONCE]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
