"""The model card of an exported run: metadata of the Hugging Face hub, measured results, and how to load the model."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from core.data.sources import SOURCES, split_mixture
from core.data.sources.source import DataSource
from core.formatting import count, join_names
from core.metrics import METRICS, USUAL
from core.models.presets import PRESETS
from core.runs.configuration import write_train_command
from core.runs.record import RunRecord
from core.runs.store import RunStore

LICENCES = ("mit", "cc0-1.0", "apache-2.0", "gpl-3.0")  # identifiers of the hub
METRIC_TYPES = {"accuracy": "accuracy", "f1_macro": "f1", "average_precision": "average_precision"}
FIRST_SPLITS = ("test", "validation")
PREPARE = {
    "unescape": "html.unescape(text)",
    "entities": "re.sub(pattern, lambda found: html.unescape(found[0]) if is_entity(found[0]) else found[0], text)",
    "table": "re.sub(pattern, lambda sign: content[sign[0]], text)",
    "keep": 're.sub(pattern, lambda found: found[1] or "", text)',
    "hashtags": """re.sub(pattern, lambda tag: f" # {re.sub(content, ' ', tag[1])} ", text)""",
    "replace": "re.sub(pattern, content, text)",
}  # Kind of a step before the tokenizer → the Python expression that does it
ENTITY = 'def is_entity(text):\n    return text[1] == "#" or text[1:] in html.entities.html5\n\n\n'
LOADING = """\
{imports}import numpy as np
import onnxruntime
from tokenizers import Tokenizer

classes = {classes}
session = onnxruntime.InferenceSession("model.onnx")
tokenizer = Tokenizer.from_file("tokenizer.json")
{prepare}

def classify(texts):
    found = tokenizer.encode_batch({prepared})
    ids = np.array([each.ids or [0] for each in found], np.int64)
    keep = np.array([each.attention_mask or [0] for each in found], bool)
    logits, probabilities = session.run(None, {{"ids": ids, "keep": keep}})
    return [dict(zip(classes, map(float, row))) for row in probabilities]


print(classify(["Not bad at all.", "I would not buy it again."]))
"""


def write_card(store: RunStore, record: RunRecord, use: str, tags: Sequence[str] = ()) -> str:
    """Return the model card of a run as Markdown; `use` is its section on how to load the model."""
    metadata = yaml.safe_dump(build_metadata(record, tags), sort_keys=False, allow_unicode=True)
    preset, classes, data = PRESETS.get(record.preset), join_names(record.classes), list_data(record)
    names = join_names([name for name, _ in data])
    command, note = write_train_command(record, store)
    licences = [f"- {name}: {source.licence if source else 'not stated'}" for name, source in data]
    parts = [
        f"---\n{metadata}---\n\n# {record.run}",
        f"A classifier of texts with the classes {classes}. Preset {record.described}. {preset.line if preset else ''}",
        f"Sentiscope trained it on {names}. It has {count(record.parameters)} parameters "
        f"and reads the first {count(record.max_length)} tokens of a text. Its probabilities are calibrated on "
        f"validation (temperature {record.temperature:.3f}).",
        f"## Use\n\n{use}",
        "## Results\n\n" + "\n".join(_write_results(record)),
        "## Data\n\nLicence of each set, as far as Sentiscope knows it:\n\n" + "\n".join(licences),
        f"## Training\n\n```bash\n{command}\n```" + f"\n\n{note}" * bool(note),
        "## Limits\n\nIt learned from these data only. Measure it on texts of your own before you rely on it, and look "
        "for groups of people that it judges differently (`sentiscope behave`).",
    ]
    return "\n\n".join(parts) + "\n"


def list_data(record: RunRecord) -> list[tuple[str, DataSource | None]]:
    """List the names of a run's training data, with their sources if they are registered."""
    data = record.config.data
    names = [*(split_mixture(data.name) or (data.name,)), *data.parse_list("add")]
    return [(Path(name).name, SOURCES.get(name)) for name in names]


def build_metadata(record: RunRecord, tags: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of a run for the Hugging Face hub; results are those that the run has measured."""
    data, backbone = list_data(record), record.config.model.backbone
    licences = {source.licence.lower() if source else "" for _, source in data}
    named = licences.pop() if len(licences) == 1 else ""
    free = {"license": named} if named in LICENCES else {"license": "other", "license_name": "see-training-data"}
    languages = sorted({source.language for _, source in data if source})
    hub = [source.hub.repo for _, source in data if source and source.hub]
    metrics = [METRIC_TYPES[name] for name in USUAL[record.task] if name in METRIC_TYPES]
    return {
        **({"language": languages} if languages else {}),
        **free,
        "library_name": "sentiscope",
        "pipeline_tag": "text-classification",
        "tags": ["sentiment-analysis", "sentiscope", record.preset, *tags],
        **({"datasets": list(dict.fromkeys(hub))} if hub else {}),
        **({"base_model": Path(backbone).name} if backbone else {}),
        "metrics": metrics,
        "model-index": [{"name": record.run, "results": list(_yield_results(record))}],
    }


def _yield_results(record: RunRecord) -> Iterator[dict[str, Any]]:
    name = "+".join(each for each, _ in list_data(record)[:1])
    for split in _order_splits(record):
        measured = record.results["metrics"][split]
        yield {
            "task": {"type": "text-classification", "name": "Text classification"},
            "dataset": {"name": name, "type": name, "split": split},
            "metrics": [
                {"type": kind, "name": METRICS[metric].title, "value": round(float(measured[metric]), 4)}
                for metric, kind in METRIC_TYPES.items()
                if measured.get(metric) is not None
            ],
        }


def _order_splits(record: RunRecord) -> list[str]:
    splits = record.results.get("metrics", {})
    return sorted(splits, key=lambda split: (split not in FIRST_SPLITS, split))


def _write_results(record: RunRecord) -> Iterator[str]:
    yield "| split | metric | value | 95 % interval |\n|---|---|---|---|"
    for split in _order_splits(record):
        for metric in METRIC_TYPES:
            if (value := record.results["metrics"][split].get(metric)) is None:
                continue
            ends = record.results.get("intervals", {}).get(split, {}).get(metric)
            between = " to ".join(f"{end:.3f}" for end in ends) if ends else ""
            yield f"| {split} | {METRICS[metric].title} | {value:.3f} | {between} |"


def write_loading(classes: Sequence[str], kinds: Collection[str]) -> str:
    """Return Python lines that use onnxruntime and `tokenizers` only; `kinds` of steps come before the tokenizer."""
    imports = prepare = ""
    if kinds:
        imports = f"import html{', html.entities' * ('entities' in kinds)}, json, re\n\n"
        cases = [
            f'if kind == "{kind}":\n            text = {line}\n' for kind, line in PREPARE.items() if kind in kinds
        ]
        prepare = 'steps = json.load(open("preparation.json", encoding="utf-8"))\n\n\n' + ENTITY * ("entities" in kinds)
        prepare += "def prepare(text):\n    for kind, pattern, content in steps:\n        "
        prepare += "        el".join(cases) + "    return text\n"
    prepared = "[prepare(text) for text in texts]" if kinds else "texts"
    return LOADING.format(imports=imports, classes=list(classes), prepare=prepare, prepared=prepared)
