"""A run as one HTML file that runs its model in a browser without a network.

`sentiscope export RUN --format html` comes here through the entry point `sentiscope.verbs`: core does not know the
dashboard. The file holds the run's weights as they are stored, and a forward pass written out in JavaScript.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, cast

from core import runs
from core.exceptions import InputError
from core.formatting import join_names
from core.models.presets import PRESETS
from core.runs.record import WEIGHTS, RunRecord
from core.runs.store import RunStore
from dashboard.figures.drawing import read_asset, to_draw_script
from dashboard.figures.theme import write_colors

if TYPE_CHECKING:
    from core.models.encoder import EncoderClassifier, Layer
    from core.runs.load import LoadedRun
    from core.text.portable_tokenizer import PortableTokenizer

LARGEST = 5_500_000  # bytes of the weights in a page, so that all of it has at most 8 MB
EXAMPLE = "The film was not bad at all, but the ending was too long."


def find_obstacle(record: RunRecord, folder: Path) -> str:
    """Return what a page cannot do of a run; empty: nothing. Loads no model."""
    config, text, weights = record.config.model, record.config.text, folder / WEIGHTS
    large = weights.is_file() and weights.stat().st_size > LARGEST
    cases = {
        f"a model of the family {config.family}": config.family != "encoder",
        "tags of words": record.task == "tokens",
        "pairs of texts": record.pairs,
        "TF-IDF, which is mixed in": record.mix_weight is not None,
        "marks of capitals and drawn-out words": text.mark_elongation or text.mark_capitals,
        "character n-grams of words": config.ngram_buckets,
        "positions with recency or parts of speech": config.position == "polarity-aware",
        "a gate on the keys": config.attention.gate,
        "a window of neighbours": config.attention.window,
        "a lexicon in the attention": config.attention.lexical != "none",
        "λ of each token from the token": config.attention.lambda_input,
        "convolutions, attention or a dense layer in the head": not config.head.linear,
        "padding that is read as text": config.pad_mode == "as_released",
        "weights of more than 5.5 MB (training.weights=int8 keeps them smaller)": large,
    }
    return next((name for name, there in cases.items() if there), "")


def describe_model(run: LoadedRun) -> dict[str, Any]:
    """Return what the page must know of a run besides its weights, as plain data for JSON."""
    from dashboard.figures.attention import build_map_rows

    record, config, attention = run.record, run.record.config.model, run.record.config.model.attention
    view, constant = run.inspect("a"), attention.mixing != "differential-v2"
    layers = cast("list[Layer]", cast("EncoderClassifier", run.model).layers)
    return {
        **dataclasses.asdict(config),
        **dataclasses.asdict(attention),
        "classes": list(record.classes),
        "task": record.task,
        "temperature": record.scaling.temperature,
        "prior": record.scaling.compute_prior_logits(record.task),
        "coefficients": [layer.coefficients[..., 0].tolist() if constant else None for layer in view.layers],
        "head_scales": [layer.attention.mixing.scale for layer in layers],
        "scale": run.model.scale,
        "maps": [row.name for row in build_map_rows(view, 0, attention.subtracts)],
    }


def pack_model(run: LoadedRun, tokenizer: PortableTokenizer) -> dict[str, Any]:
    """Return what the script's `openModel` takes, by name: the model, and its weights in base64."""
    weights = base64.b64encode((run.folder / WEIGHTS).read_bytes()).decode()
    return {"model": {**describe_model(run), "tokenizer": tokenizer.describe_page()}, "weights": weights}


def pack_models(store: RunStore, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return runs for a script, as `pack_model` does; an empty list if a page cannot run one of them."""
    packed = []
    for run in (runs.load.load_run(store, name) for name in names):
        tokenizer, _ = runs.model_export.make_tokenizer(run, [*runs.model_export.TEXTS])
        if tokenizer is None or find_obstacle(run.record, run.folder):
            return []
        packed.append(pack_model(run, tokenizer))
    return packed


def write_engine() -> str:
    """Return a JavaScript expression, the function `openModel` with all that it needs."""
    parts = "\n".join(read_asset(f"model_{name}.js") for name in ("forward", "tokens", "reader"))
    return f"(() => {{\n{parts}\nreturn openModel;\n}})();"


def write_page(run: LoadedRun, tokenizer: PortableTokenizer) -> str:
    """Return the page of a run; InputError: it cannot run this model."""
    record = run.record
    if obstacle := find_obstacle(record, run.folder):
        raise InputError(f"run '{record.run}': a page cannot compute {obstacle}; --format onnx may")
    line = PRESETS[record.preset].line if record.preset in PRESETS else ""
    packed = pack_model(run, tokenizer)
    return Template(read_asset("model_page.html")).substitute(
        title=escape(record.run),
        about=escape(f"{record.described}, classes {join_names(record.classes)}. {line}"),
        example=escape(EXAMPLE),
        colors=write_colors(),
        style="\n".join(read_asset(name) for name in ("model_page.css", "head_view.css")),
        heads=to_draw_script(read_asset("head_view.js")),
        engine=write_engine(),
        script=read_asset("model_page.js"),
        model=json.dumps(packed["model"], ensure_ascii=False).replace("<", "\\u003c"),  # no text can close the tag
        weights=packed["weights"],
    )


def build_page(store: RunStore, run: str) -> bytes:
    """Return the file of a run's page."""
    files, _ = runs.model_export.build_files(store, runs.load.load_run(store, run), "html", write_page)
    return next(iter(files.values()))
