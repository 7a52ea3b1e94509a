"""Page Data: the contents of a data set, how much of each text a model reads, and a user's own files."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.api.data import Yardsticks
from core.config import RunConfig, compose
from core.data import uploads
from core.data.dataset import TEST, TRAIN, Dataset
from core.data.sources import SOURCES, is_registered
from core.exceptions import DataError, NotAvailable
from core.formatting import count, plural
from core.text.config import TextConfig
from dashboard import access, state
from dashboard.access import DataCard
from dashboard.data import data
from dashboard.figures import dataset_summary as figures
from dashboard.figures.dataset_summary import CARDINALITY, SPLITS
from dashboard.figures.datasets import BUILT_IN, DatasetOption, build_catalog_table, filter_rows
from dashboard.screens import data_file
from dashboard.screens.data_rows import show_filters, show_rows, show_text
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show, show_caption, show_heading, show_table, show_with_tables
from dashboard.widgets.messages import show_finding, show_header, show_notes, show_problem, show_shift, show_summary
from dashboard.widgets.options import Sections, collect_tables
from dashboard.widgets.progress import offer_analysis
from dashboard.widgets.style import get_row_height, split_page

ALWAYS = (BUILT_IN, "life")  # data sets that come with Sentiscope
QUESTION = "What is in the data, and what will be used?"
CHOOSE = "Data sets that can be opened come first. You can type the path of a file or folder on this machine"
FILE_FIRST = "First use or remove the file below"
NAMED_SETS = "Named data sets"
NAMED = (
    "A folder with the name of a data set in SENTISCOPE_DATA replaces the hub. It holds the original files, if a "
    "layout is listed here, or train, validation and test files with a labels.json."
)
BASELINES = "A useful model beats TF-IDF with logistic regression."
ABOUT = "First with single words and pairs, as for every run; then also with parts of words, 2 to 5 characters long."


def show_page() -> None:
    """Draw the Data page for a data set, or for a file whose columns have yet to be confirmed."""
    head, waits = st.container(), data_file.is_unconfirmed()
    with st.container(key="data-choice", horizontal=True, vertical_alignment="center", gap="small"):
        look: dict[str, Any] = {"accept_new_options": True, "disabled": waits, "label_visibility": "collapsed"}
        look |= {"bind": "query-params", "width": 330, "help": FILE_FIRST if waits else CHOOSE}
        name = st.selectbox("Data", access.list_names(), key=state.DATA, **look)
        actions = st.container(horizontal=True, width="content")
        file = data_file.pick_upload()
    if file is not None:
        data_file.show_upload(file)
    if text := state.pop_value(state.PROBLEM):
        show_problem("Nothing was changed", text)
    title, facts = "Data", []
    if waits:  # the page has one main button at a time
        with head:
            show_header(title, QUESTION, [("a new file,", "not used yet")])
        return
    try:
        option = access.find_dataset(name or BUILT_IN)
        raw = Path(option.id)
        if option.lacking:
            show_problem(f"“{option.id}” is not available", option.lacking)
            _show_named()
        elif option.id == option.settings["data.name"] and not is_registered(option.id) and raw.expanduser().is_file():
            show_heading(raw.name, "file", note="not used yet")
            data_file.show_path_file(raw)
        else:
            facts = _show_dataset(option, actions)
    except (DataError, NotAvailable) as error:
        show_problem("This data cannot be used", str(error))
    with head:
        show_header(title, QUESTION, facts)


def _show_dataset(option: DatasetOption, actions: st.delta_generator.DeltaGenerator) -> list[tuple[str, str]]:
    config = access.make_config(option)
    with st.spinner("Reading the texts", show_time=True):
        dataset = data.load_dataset(config.data)
    with actions:
        if st.button("Train on this", type="primary", key="train-on", icon=":material/play_circle:"):
            state.open_page("train", view=state.FORM_VIEW)
    show_summary(figures.describe_texts(dataset))
    guesses = st.container()
    rows = _show_texts(dataset, config)
    for each in data.compare_splits(dataset):
        show_shift(each)
    tables = collect_tables(_list_sections(option, dataset, _read_card(dataset, config.text)))
    if not is_registered(option.id):
        with guesses if any(each.guessed for each in dataset.decisions) else st.container():
            read = functools.partial(_read_again, option)
            changed = {name for name in data_file.WITH_FOUND if option.settings.get(f"data.{name}")}
            task = "multi" if "separator" in changed else dataset.task
            data_file.show_decisions(dataset.decisions, task, dataset.fingerprint[:12], read, changed)
    show_export_bar("data", {**tables, "Texts": lambda: rows}, figures=bool(tables))
    n = sum(map(len, dataset.splits.values()))
    what = {"single": "classes", "multi": "labels, several per text", "tokens": "tags, one per word"}[dataset.task]
    return [(dataset.name, f"{len(dataset.classes)} {what}"), (f"n = {count(n)}", "labelled texts")]


def _list_sections(option: DatasetOption, dataset: Dataset, card: Mapping[str, Any] | None) -> Sections:
    sections: dict[str, Callable[[], dict[str, Table]]] = {}
    if card:
        _show_conflicts(card)
        sections |= {
            "Splits": functools.partial(_show_splits, card),
            "Classes and lengths": functools.partial(_show_classes, dataset, card),
        }
        if dataset.task != "tokens":
            sections["Baselines"] = functools.partial(_show_baselines, option, dataset, card)
        sections["Lexicon"] = functools.partial(_show_lexicon, dataset)
    return {**sections, "About": functools.partial(_show_about, dataset, card), NAMED_SETS: _show_named}


def _show_named() -> dict[str, Table]:
    show_caption(NAMED)
    widths = {"Name": 150, "State": 130, "Source": 240, "Layout": 240, "Terms": 130, "Checked": 96}
    columns = {name: (name, width) for name, width in widths.items()}
    show_table(build_catalog_table(access.has_hub()), NAMED_SETS, columns, row_height=2 * get_row_height())
    return {}


def _read_again(option: DatasetOption, setting: str, value: str, _word: str) -> None:
    """Read a user's file again with one setting changed, such as the delimiter; if that fails, keep the old setting."""
    option = dataclasses.replace(option, settings={**option.settings, f"data.{setting}": value})
    with state.store_refusal(state.PROBLEM):
        config = access.make_config(option).data
        config = dataclasses.replace(config, name=str(Path(config.name).expanduser().absolute()))
        try:
            data.load_dataset(config)
        except DataError:
            if setting not in data_file.OF_TEXT:
                raise
            config = dataclasses.replace(config, text="", label="", pair="")  # the columns have other names now
            data.load_dataset(config)
        state.set_value(state.DATA, uploads.keep_choice(access.get_library_folder(), config).id)


def _read_card(dataset: Dataset, text: TextConfig) -> Mapping[str, Any] | None:
    """Read the stored data card of a data set, or compute it; for a large data set only when asked."""
    wanted = DataCard.from_dataset(dataset, text)
    card = wanted.read()
    if card is None and not access.is_quick(dataset):
        show_finding("This data set is large", wanted.offer.takes)
        if not st.button(wanted.offer.button, key="make-card"):
            return None
    if card is None:
        with st.spinner(wanted.offer.title, show_time=True):
            card = wanted.compute()
    return card


def _show_conflicts(card: Mapping[str, Any]) -> None:
    """Show texts with several labels, and pairs that training has in the other order, if there are any."""
    for name, seen in card["repeats"]["from_train"].items():
        if mirrored := seen.get("mirrored"):
            show_finding(
                f"{plural(int(mirrored), f'{name} pair')} in training with swapped texts",
                "A model that compares two texts has seen them, so its score says little about new pairs.",
            )
    if conflicts := card["repeats"]["conflicting"]:
        several = any("labels" in split for split in card["splits"].values())
        show_finding(
            f"{plural(conflicts, 'text')} with {'different labels' if several else 'more than one label'}",
            "No model and no person can get all their rows right.",
        )


def _show_splits(card: Mapping[str, Any]) -> dict[str, Table]:
    several = any("labels" in split for split in card["splits"].values())
    tables: dict[str, Table] = {}
    for figure in (SPLITS, CARDINALITY) if several else (SPLITS,):
        tables |= show_with_tables(figure, card)
    return tables


def _show_classes(dataset: Dataset, card: Mapping[str, Any]) -> dict[str, Table]:
    part = state.get_bound(state.PART)
    part = part if part in card["splits"] else TRAIN
    left, right = split_page("data", 2)
    with left:
        show(figures.CLASSES, figures.Balance(figures.get_class_shares(card), dataset.task == "multi", dataset.ordered))
    with right:
        show(figures.LENGTHS, figures.LengthHistogram(part, card["splits"][part], card["vocabulary"]["max_length"]))
    return {"Classes": figures.build_class_table(card), "Lengths": figures.build_length_table(card)}


def _show_lexicon(dataset: Dataset) -> dict[str, Table]:
    others = (data.load_dataset(compose("vanilla", {"data.name": name}).data) for name in ALWAYS)
    rows = {each.name: data.measure_neutral(each) for each in (dataset, *others)}
    shown = [row for each in rows.values() for row in each if row.get("interval")]
    return {**show_with_tables(figures.NEUTRAL, shown)}


def _show_baselines(option: DatasetOption, dataset: Dataset, card: Mapping[str, Any]) -> dict[str, Table]:
    wanted = Yardsticks.from_dataset(dataset, option.settings)
    measured = wanted.read()
    show_heading("Baselines", "yardstick", note="TF-IDF", about=ABOUT)
    if measured is None:
        offer_analysis(wanted, "measure", about=True)
    tables: dict[str, Table] = {}
    three = st.column_config.NumberColumn(format="%.3f")
    if measured:
        rows = {name: split["rows"] for name, split in card["splits"].items()}
        tables["Yardstick"] = table = figures.build_baseline_table(measured, rows)
        show_table(table, "Baselines", dict.fromkeys(("accuracy", "F1, macro", "tuned", "AUPR"), three))
    show_caption(BASELINES)
    named = figures.build_phenomena_table(card, measured["yardstick"] if measured else None)
    if not named.empty:
        tables["Phenomena"] = named
        show_heading("Kinds of sentences", "kinds", note=f"rows of each of the {len(named)} kinds")
        show_table(named, "Kinds of sentences", {"TF-IDF, test": three})
    return tables


def _show_texts(dataset: Dataset, config: RunConfig) -> pd.DataFrame:
    bar = st.container(key="data-filters", horizontal=True, vertical_alignment="bottom", gap="small")
    rows = filter_rows(dataset, show_filters(dataset, config.data.name, bar))
    if (chosen := show_rows(rows, bar)) is not None:
        show_text(*chosen, data.fit_tokenizer(dataset, config.text))
    return rows


def _show_about(dataset: Dataset, card: Mapping[str, Any] | None) -> dict[str, Table]:
    show_heading("About", "about-data")
    source = SOURCES.get(dataset.name)
    kept = dataset.source.startswith(str(access.get_library_folder()))
    facts = {
        "Source": "an uploaded file, stored on the machine that runs this page" if kept else dataset.source,
        "Licence": dataset.licence or "not known",
        "Language": dataset.language or "not known",
        "Fingerprint": dataset.fingerprint[:16],
    }
    if dataset.decisions:
        facts["Read as"] = " · ".join(
            f"{each.what}{f' of {each.file}' if each.file else ''}: {each.chosen}{' (a guess)' if each.guessed else ''}"
            for each in dataset.decisions
        )
    if card and TEST in card["splits"]:
        facts["Unknown words"] = (
            f"{figures.format_percent(card['splits'][TEST]['tokens']['unknown_share'])} of the test tokens"
        )
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    st.html(f'<dl class="s-facts">{listed}</dl>')
    measured = card and card["measured"]
    notes = (source and source.note, measured and measured["challenge labels"], *dataset.notes)
    show_notes([each for each in notes if each])
    return {}


show_page()
