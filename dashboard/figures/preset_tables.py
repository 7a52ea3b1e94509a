"""Model presets as tables: a list of presets, the parts of a preset, and differences between two presets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from core import preset_catalog
from core.api.models import list_backbone_recipes
from core.formatting import count
from core.models.config import Family, ModelConfig
from core.models.model_description import count_parameters, list_features
from core.models.presets import PAPERS, PRESETS
from core.runs.backbones import FOLDER, get_download_command, get_own_folder
from core.runs.record import RunRecord
from dashboard.figures.display_names import get_data_name

_READS: dict[Family, str] = {
    "bilstm": "It reads the words one after the other, in both directions",
    "cnn": "It looks for patterns of a few words, anywhere in the text",
    **dict.fromkeys(("tfidf-logreg", "tfidf-nb", "tfidf-svm"), "It weighs words and word pairs"),
    "lexicon": "It adds up the lexicon scores of the words",
}


def describe_baseline(family: Family, lacks: str) -> str:
    """Return a sentence on how a baseline model represents a text, and on what it lacks (such as attention)."""
    return f"{_READS[family]}, without {lacks}."


ALL = "All"
LINKED = 6  # most runs named for a preset; the page Runs lists the others


class Sizes(NamedTuple):
    """Vocabulary size and number of classes for counting a model's parameters, and from which run they come."""

    vocabulary: int
    classes: int
    words: str
    preset: str = ""  # of the run; empty: no run
    model: ModelConfig | None = None  # of the run, with its own layers, heads and widths

    def get_model(self, name: str) -> ModelConfig:
        """Return a preset's model settings, or those of the shown run if that run uses the preset."""
        return self.model if self.model and name == self.preset else PRESETS[name].model


USUAL = Sizes(
    preset_catalog.VOCABULARY, preset_catalog.CLASSES, f"{count(preset_catalog.VOCABULARY)} tokens and two classes"
)


def read_sizes(record: RunRecord | None, label: str = "") -> Sizes | None:
    """Return the vocabulary size and classes of a run, called `label` or by its id; None before they are known."""
    if record is None or not record.vocabulary or len(record.classes) < 2:
        return None
    data = get_data_name(record.config.data.name)
    words = (
        f"{count(record.vocabulary)} tokens and {len(record.classes)} classes, as in {label or record.run} on {data}"
    )
    if record.preset in PRESETS and record.config.model != PRESETS[record.preset].model:
        words += f"; {record.preset} also has its layers, heads and widths"
    return Sizes(record.vocabulary, len(record.classes), words, record.preset, record.config.model)


def list_presets(paper: str) -> list[str]:
    """Return the names of the model presets that implement a paper (given by title), or of all presets."""
    return [name for name, preset in PRESETS.items() if paper in (ALL, PAPERS[preset.paper])]


def build_preset_frame(paper: str, sizes: Sizes, records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return a row for each model preset of a paper or of all papers: paper, model, parameters, parts, runs, source."""
    of = "" if paper == ALL else paper
    listed = preset_catalog.list_presets(of, vocabulary=sizes.vocabulary, classes=sizes.classes)
    made, rows = Counter(record.preset for record in records), []
    for row in listed:
        name, model = row["name"], sizes.get_model(row["name"])
        classes = preset_catalog.limit_classes(name, sizes.classes)
        parameters = count_parameters(model, vocabulary=sizes.vocabulary, classes=classes)
        parts = ", ".join(list_features(model)) or "plain encoder"
        found = {"paper": PAPERS[row["paper"]], "model": name, "parameters": parameters, "parts": parts}
        rows.append(found | {"runs": made[name], "line": row["line"], "source": row["source"]})
    return pd.DataFrame(rows)


def compare_presets(first: str, second: str) -> pd.DataFrame:
    """Return every setting in which two presets differ, as a table: what, both values, setting."""
    found = preset_catalog.compare_presets(first, second)
    columns = ["what", first, second, "setting"]
    return pd.DataFrame([(each.words, each.first, each.second, each.setting) for each in found], columns=columns)


def list_deviations(name: str) -> pd.DataFrame:
    """Return where a preset deviates from its paper, as a table: what, in the paper, here, reason, alternative."""
    frame = pd.DataFrame(preset_catalog.list_deviations(name), columns=["what", "paper", "here", "why", "instead"])
    return frame.assign(paper=frame["paper"].replace("", "not stated"))


def list_questions(name: str) -> pd.DataFrame:
    """Return experiments to try with a model preset, as a table of questions and the settings to change."""
    return pd.DataFrame(preset_catalog.suggest_trials(name), columns=["question", "set"])


def list_backbones(paper: str) -> pd.DataFrame:
    """Return a row for each pretrained backbone of a paper: recipe, name, state on disk, download command, settings.

    The table has no paths, since other people may see the page.
    """
    own, rows = get_own_folder(), []
    for each in list_backbone_recipes():
        if paper not in (ALL, each["paper"]):
            continue
        inside = own is not None and Path(each["folder"]).is_relative_to(own)
        found = f"in {FOLDER}" if inside else "in the hub's cache"
        sets = [f"{name.rpartition('.')[2]}={told['value']}" for name, told in each["settings"].items()]
        rows.append(
            {
                "recipe": each["recipe"],
                "backbone": each["backbone"],
                "state": found if each["ok"] else f"lacks {each['lacks']}" if each["folder"] else "not here",
                "get": "" if each["ok"] else get_download_command(each["backbone"]),
                "sets": ", ".join(sets) or "what the preset sets",
                "source": f"{each['paper']}, {each['source']}. {each['note']}".strip(),
            }
        )
    return pd.DataFrame(rows, columns=["recipe", "backbone", "state", "get", "sets", "source"])


def list_preset_runs(name: str, records: Sequence[RunRecord]) -> list[str]:
    """Return the names of a few of the newest finished runs that use a preset."""
    return [record.run for record in records if record.preset == name and record.status == "done"][:LINKED]
