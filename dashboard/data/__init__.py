"""What pages ask for, and what figures read through: what the core knows, kept for as long as its files stay the same.

Each topic is a file; together they are one `Reader`, as `dashboard.figures.files` is without a memory. What is kept is
known by run or data set, version and options, never by a frame.
"""

from dashboard.data.answers import behaviour, compared, judged, report, sides, suite
from dashboard.data.datasets import dataset, inspect_path, inspect_upload, offered, tokenizer
from dashboard.data.drawings import drawn
from dashboard.data.embeddings import (
    embedded_splits,
    found_groups,
    layer_files,
    layers,
    map_files,
    place,
    points,
    projection,
    space,
    vector,
)
from dashboard.data.examples import answers, examples
from dashboard.data.failures import (
    analysis,
    chosen_group,
    codes,
    details,
    doubted,
    find_tags,
    known,
    selected,
    slices,
    table,
)
from dashboard.data.histories import curves, lambda_heads, learned_numbers
from dashboard.data.inside import belief, flips, lambdas, own_belief, parts, patches, pushed, reach, sentence, steps
from dashboard.data.overview import boards, efficiency, models_table, sweep_table, test_rows, test_ties, ties
from dashboard.data.stored import (
    adopt_once,
    evaluated_splits,
    freeze_once,
    has_checkpoint,
    lacks_texts,
    runs,
    runs_with_weights,
    store,
    weights_fingerprint,
)
from dashboard.data.waiting import Asking, Wanted, asking, methods

__all__ = [
    "Asking",
    "Wanted",
    "adopt_once",
    "analysis",
    "answers",
    "asking",
    "behaviour",
    "belief",
    "boards",
    "chosen_group",
    "codes",
    "compared",
    "curves",
    "dataset",
    "details",
    "doubted",
    "drawn",
    "efficiency",
    "embedded_splits",
    "evaluated_splits",
    "examples",
    "find_tags",
    "flips",
    "found_groups",
    "freeze_once",
    "has_checkpoint",
    "inspect_path",
    "inspect_upload",
    "judged",
    "known",
    "lacks_texts",
    "lambda_heads",
    "lambdas",
    "layer_files",
    "layers",
    "learned_numbers",
    "map_files",
    "methods",
    "models_table",
    "offered",
    "own_belief",
    "parts",
    "patches",
    "place",
    "points",
    "projection",
    "pushed",
    "reach",
    "report",
    "runs",
    "runs_with_weights",
    "selected",
    "sentence",
    "sides",
    "slices",
    "space",
    "steps",
    "store",
    "suite",
    "sweep_table",
    "table",
    "test_rows",
    "test_ties",
    "ties",
    "tokenizer",
    "vector",
    "weights_fingerprint",
]
