"""The check of a data file or folder (`sentiscope data check`): all its findings, even if it cannot be used."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

from core.data import sandbox
from core.data.config import DataConfig
from core.data.dataset import Dataset
from core.data.folders import find_split_files
from core.data.labeled_files import FileReport
from core.data.load import load_dataset
from core.exceptions import SentiscopeError
from core.paths import resolve_path


def check_dataset(
    config: DataConfig, further: Callable[[Dataset], dict[str, Any]] = lambda dataset: {}
) -> dict[str, Any]:
    """Load the data set `config.name` (a path or a registered name), and report on each of its files.

    Returns:
        `data`, `ok`, `problem`, `files` (a `FileReport` each, or file and problem), `decisions`; if it loads, also
        `task`, `classes`, `splits` (rows of each), `notes`, and the result of `further`.
    """
    reports, dataset, problem = list[FileReport](), None, ""
    try:
        dataset = load_dataset(config, on_report=reports.append)
    except SentiscopeError as error:
        problem = str(error)
    files = [dataclasses.asdict(each) for each in reports] or _inspect_files(config)
    decisions = [{**each, "file": file["file"]} for file in files for each in file.get("decisions", ())]
    if dataset and not files:  # each file is a text, or the texts of a class
        decisions = [dataclasses.asdict(each) for each in dataset.decisions]
    result = {"data": config.name, "ok": bool(dataset), "problem": problem, "files": files, "decisions": decisions}
    if dataset is None:
        return result
    return {
        **result,
        "task": dataset.task,
        "classes": list(dataset.classes),
        "splits": {name: len(rows) for name, rows in dataset.splits.items()},
        "notes": list(dataset.notes),
        **further(dataset),
    }


def _inspect_files(config: DataConfig) -> list[dict[str, Any]]:
    try:
        path = resolve_path(config.name, folders=True)
    except SentiscopeError:  # `load_dataset` has reported it
        return []
    paths = [path] if os.path.isfile(path) else []
    if os.path.isdir(path):
        paths = [first for first, *_ in find_split_files(path).values()]
    found = list[dict[str, Any]]()
    for each in paths:
        try:
            found.append(dataclasses.asdict(sandbox.inspect_file(each, config.get_read_settings())))
        except SentiscopeError as error:
            found.append({"file": each.name, "problem": str(error)})
    return found
