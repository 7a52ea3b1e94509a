"""The model card of an exported run: metadata of the Hugging Face hub, measured results, and how to load the model."""

from collections.abc import Collection, Sequence
from pathlib import Path
from string import Template
from typing import Any

import yaml

from core.data.sources import SOURCES, split_mixture
from core.formatting import count, join_names
from core.metrics import METRICS
from core.models.presets import PRESETS
from core.runs.configuration import write_train_command
from core.runs.record import RunRecord
from core.runs.store import RunStore

LICENCES = ("mit", "cc0-1.0", "apache-2.0", "gpl-3.0")  # as the hub writes them
METRIC_TYPES = {"accuracy": "accuracy", "f1_macro": "f1", "average_precision": "average_precision"}
PREPARE = {
    "unescape": "html.unescape(text)",
    "entities": "re.sub(pattern, lambda found: html.unescape(found[0]) if is_entity(found[0]) else found[0], text)",
    "table": "re.sub(pattern, lambda sign: content[sign[0]], text)",
    "keep": 're.sub(pattern, lambda found: found[1] or "", text)',
    "hashtags": """re.sub(pattern, lambda tag: f" # {re.sub(content, ' ', tag[1])} ", text)""",
    "replace": "re.sub(pattern, content, text)",
}  # Kind of a step before the tokenizer → the Python expression that does it
ENTITY = 'def is_entity(text):\n    return text[1] == "#" or text[1:] in html.entities.html5\n\n\n'


def fill_template(name: str, **values: Any) -> str:
    """Fill in a Markdown file of this folder."""
    return Template(Path(__file__).with_name(name).read_text(encoding="utf-8")).substitute(values)


def write_card(store: RunStore, record: RunRecord, use: str) -> str:
    """Return the model card of a run as Markdown; `use` is its section on how to load the model."""
    data, results = record.config.data, record.results.get("metrics", {})
    names = [*(split_mixture(data.name) or (data.name,)), *data.parse_list("add")]
    known = [SOURCES[name] for name in names if name in SOURCES]
    sets = {Path(name).name: SOURCES[name].licence if name in SOURCES else "not stated" for name in names}
    first, terms = next(iter(sets)), sorted(set(map(str.lower, sets.values())))
    splits = sorted(results, key=lambda split: (split != "test", split))
    found, rows = list[dict[str, Any]](), []
    for split, metric in ((split, each) for split in splits for each in METRIC_TYPES if results[split].get(each)):
        value, title = float(results[split][metric]), METRICS[metric].title
        ends = record.results.get("intervals", {}).get(split, {}).get(metric, ())
        rows.append(f"| {split} | {title} | {value:.3f} | {' to '.join(f'{end:.3f}' for end in ends)} |")
        task = {"type": "text-classification", "name": "Text classification"}
        measured = [{"type": METRIC_TYPES[metric], "name": title, "value": round(value, 4)}]
        found.append({"task": task, "dataset": {"name": first, "type": first, "split": split}, "metrics": measured})
    metadata = {
        "language": sorted({source.language for source in known}),
        "license": terms[0] if len(terms) == 1 and terms[0] in LICENCES else "other",
        "library_name": "sentiscope",
        "pipeline_tag": "text-classification",
        "tags": ["sentiment-analysis", "sentiscope", record.preset],
        "datasets": list(dict.fromkeys(source.hub.repo for source in known if source.hub)),
        "base_model": Path(record.config.model.backbone).name,
        "metrics": sorted({each["metrics"][0]["type"] for each in found}),
        "model-index": [{"name": record.run, "results": found}],
    }
    command, note = write_train_command(record, store)
    return fill_template(
        "model_card.md",
        metadata=yaml.safe_dump({key: value for key, value in metadata.items() if value}, sort_keys=False),
        run=record.run,
        classes=join_names(record.classes),
        described=record.described,
        line=PRESETS[record.preset].line if record.preset in PRESETS else "",
        sets=join_names(list(sets)),
        parameters=count(record.parameters),
        longest=count(record.max_length),
        temperature=f"{record.temperature:.3f}",
        use=use,
        results="\n".join(rows),
        licences="; ".join(f"{name}: {terms}" for name, terms in sets.items()),
        command=command,
        note=note,
    )


def write_loading(classes: Sequence[str], kinds: Collection[str]) -> str:
    """Return how to load an ONNX file with onnxruntime and `tokenizers`, after the given kinds of steps."""
    imports = prepare = ""
    if kinds:
        imports = f"import html{', html.entities' * ('entities' in kinds)}, json, re\n\n"
        cases = [f'if kind == "{kind}":\n            text = {PREPARE[kind]}\n' for kind in PREPARE if kind in kinds]
        prepare = 'steps = json.load(open("preparation.json", encoding="utf-8"))\n\n\n' + ENTITY * ("entities" in kinds)
        prepare += "def prepare(text):\n    for kind, pattern, content in steps:\n        "
        prepare += "        el".join(cases) + "    return text\n"
    given = {"classes": list(classes), "prepared": "[prepare(text) for text in texts]" if kinds else "texts"}
    return fill_template("model_card_onnx.md", imports=imports, prepare=prepare, **given)
