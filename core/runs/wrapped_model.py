"""Models from elsewhere as runs without training: a function from texts to probabilities, or a fine-tuned classifier.

The function is in memory, in place of a run's model: each text is given to it once. The classifier of the transformers
library is read from its folder: only `config.json`, `tokenizer.json` and safetensors files are read, and no code in the
folder is run. Labels, tensor names and shapes are checked from headers before a model is built, so that a false claim
takes no memory.
"""

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import safetensors
import torch

import core
from core.atomic import write_bytes
from core.cache import get_cache_folder
from core.config import RunConfig, compose
from core.data.config import DataConfig
from core.data.dataset import TEST, Task
from core.evaluation.inference import Predictions
from core.exceptions import DataError, InputError, NotAvailable
from core.formatting import count
from core.interpret.attribution_math import TINY
from core.interpret.background_thread import ignore_progress
from core.metrics import INTERVAL_VERSION
from core.models.builder import Model, build_model
from core.models.config import ModelConfig
from core.models.encoder import EncoderClassifier
from core.models.trace import Intervene
from core.paths import ELSEWHERE, HERE, UNKNOWN, AllowedPaths, resolve_path
from core.runs import archive, backbone_weights, backbones, record
from core.runs.backbone_weights import BackboneRecord
from core.runs.backbones import CONFIG, INDEX, SETTING, TOKENIZER, WEIGHTS, Backbone
from core.runs.background_jobs import Tell
from core.runs.cost_estimate import get_free_memory
from core.runs.evaluation_data import DataRequest, EvaluationData, predict_rows, read_evaluation_data
from core.runs.load import LoadedRun, pack_weights
from core.runs.record import Results, RunRecord
from core.runs.results import EvaluatedSplit, write_split
from core.runs.store import RunStore, make_slug, refuse_reserved
from core.text.config import TextConfig
from core.text.subword_tokenizers import ALPHABET, BpeTokenizer, PretrainedTokenizer
from core.text.tokenizer import Tokenizer
from core.training.training_stage import freeze_layers

INSIDE = "only the probabilities of a wrapped function are known, and this needs what is inside a model"
Function = Callable[[list[str]], Any]
CLOSE = 1e-3  # how far from 1 the probabilities of a text may sum


class UnknownModel:
    """The inside of a function, of which nothing is known: every attribute but its capabilities is refused."""

    provides = frozenset[str]()

    def __getattr__(self, name: str) -> NoReturn:
        raise NotAvailable(INSIDE)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse to compute anything from token ids."""
        raise NotAvailable(INSIDE)


@dataclass(frozen=True, eq=False)
class WrappedModel(LoadedRun):
    """A function from a list of n texts to probabilities (n, C), as a run that can be explained and evaluated."""

    function: Function = field(kw_only=True)
    answers: dict[str, np.ndarray] = field(default_factory=dict, kw_only=True)  # text → probabilities (C,), float64

    @classmethod
    def from_function(cls, function: Function, classes: Sequence[object], name: str) -> "WrappedModel":
        """Return a function as a run in memory; InputError for classes or a name that cannot be used."""
        names, slug = tuple(str(each) for each in classes), make_slug(name)
        refuse_reserved(slug)
        if len(names) < 2 or len(set(names)) < len(names) or not all(map(str.strip, names)) or not slug:
            raise InputError("wrap needs two classes or more with different names, and a name with a letter or digit")
        text = TextConfig(tokenizer="bpe")
        config = RunConfig(DataConfig(name=ELSEWHERE + UNKNOWN), text, ModelConfig(family="function"))
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        versions = {"sentiscope": core.__version__}
        record = RunRecord(slug, "function", "done", config, created, classes=names, versions=versions)
        tokenizer = BpeTokenizer(ALPHABET, [], text, 0)  # knows every word and cuts no text
        return cls(record, cast(Model, UnknownModel()), tokenizer, get_cache_folder() / "none", function=function)

    def predict(
        self, texts: Sequence[str], *, intervene: Intervene = None, passage: int = 0, **_: object
    ) -> Predictions:
        """Return the probabilities of texts, asking the function for new ones; InputError: it returns others."""
        if intervene is not None:
            self.model(intervene)
        if passage:
            return self.predict_by_passage(texts, passage).whole
        if new := [text for text in dict.fromkeys(texts) if text not in self.answers]:
            self.answers.update(zip(new, self._ask(new), strict=True))
        found = np.array([self.answers[text] for text in texts]).reshape(len(texts), len(self.record.classes))
        logits = np.log(found.clip(TINY)).astype(np.float32)
        return Predictions(logits, found, logits)

    def _ask(self, texts: list[str]) -> np.ndarray:
        """Return the answers of the function, (n, C) float64; InputError: they are no probabilities."""
        given, shape = self.function(list(texts)), (len(texts), len(self.record.classes))
        wrong = f"the function of '{self.record.run}' returned"
        try:
            found = np.asarray(given, np.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"{wrong} no table of numbers, but {type(given).__name__} ({error!s:.80})") from error
        if found.shape != shape:
            raise InputError(f"{wrong} the shape {found.shape}; {shape[0]} texts and {shape[1]} classes need {shape}")
        for text, row in zip(texts, found, strict=True):
            if not ((row >= 0).all() and abs(row.sum() - 1) <= CLOSE):  # also not for NaN
                said = f"{row.round(3).tolist()} for {text!r:.60}"
                raise InputError(f"{wrong} {said}: probabilities that sum to 1 are needed")
        return found


def save_function(store: RunStore, model: WrappedModel, name: str, wanted: DataRequest) -> RunRecord:
    """Write a function as a new run without weights, evaluated on labelled data; return its record."""
    check_name(store, name)
    given = read_evaluation_data(model.record, wanted)
    notes = ("the model is a function, which is not stored; what it learned from is not known", *given.notes)
    return store_run(store, replace(model, record=replace(model.record, data_notes=notes)), name, given, {})


PICKLE, VOCABULARIES = {"pytorch_model.bin"}, {"vocab.txt", "vocab.json"}  # what `backbones convert` reads
KINDS = ("weight", "bias")
LONGEST_LABEL = 200  # characters of a class name, at most
TASKS: dict[str, Task] = {"single_label_classification": "single", "multi_label_classification": "multi"}

HEADS = {
    "bert": ("bert.pooler.dense", "tanh", "classifier"),
    "distilbert": ("pre_classifier", "relu", "classifier"),
    "electra": ("classifier.dense", "gelu", "classifier.out_proj"),
    **dict.fromkeys(("roberta", "xlm-roberta"), ("classifier.dense", "tanh", "classifier.out_proj")),
}
"""Family → tensor name of the dense layer of its classification head, activation, and name of the last layer."""


@dataclass(frozen=True)
class PublishedClassifier:
    """A fine-tuned classifier of texts in a folder; its methods raise DataError for a file that cannot be used."""

    folder: Path

    @cached_property
    def backbone(self) -> Backbone:
        """Return the encoder below the classifier's head."""
        return Backbone(str(self.folder), self.folder)

    @cached_property
    def tensors(self) -> dict[str, tuple[Path, list[int]]]:
        """Return the file and shape of each tensor in the weight files, from their headers."""
        found = dict[str, tuple[Path, list[int]]]()
        for path in self.backbone.weights:
            with safetensors.safe_open(path, framework="np") as file:
                found |= {name: (path, file.get_slice(name).get_shape()) for name in file.keys()}
        return found

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Return the class names, in the order of the logits; `label_0` and so on if the configuration has none."""
        name = f"{HEADS[self.backbone.kind][2]}.weight"
        if len(shape := self.tensors.get(name, (self.folder, []))[1]) != 2:
            raise self.refuse(f"holds no classifier ({name})", WEIGHTS)
        if (rows := shape[0]) < 2:
            raise self.refuse("has one output, for a number or a yes-or-no label; two classes or more are read")
        given = self.backbone.architecture.get("id2label")
        if given is None:
            return tuple(f"label_{number}" for number in range(rows))
        names = [str(given.get(str(row), "")).strip() for row in range(rows)] if isinstance(given, dict) else []
        if len(set(names)) < rows or len(given) != rows or not all(0 < len(name) <= LONGEST_LABEL for name in names):
            raise self.refuse(f"id2label has to give each of the {count(rows)} outputs a different, short name")
        return tuple(names)

    @property
    def task(self) -> Task:
        """Return whether a text has one label or several; DataError for a regression."""
        kind = self.backbone.architecture.get("problem_type") or "single_label_classification"
        if not isinstance(kind, str) or kind not in TASKS:
            raise self.refuse(f"problem_type={kind!r:.40}: only classifiers are read, with one label or several")
        return TASKS[kind]

    def check(self, allowed: AllowedPaths = HERE) -> None:
        """Check files, links, labels and claims without building a model; DataError says what to do."""
        if not resolve_path(str(self.folder), allowed, folders=True).is_dir():
            raise DataError("is no folder", file=str(self.folder))
        self._check_files(allowed)
        known = self.backbone.architecture
        if known.get("auto_map"):
            raise self.refuse("names code of its own (auto_map), which is never run here")
        if known.get("is_decoder"):
            raise self.refuse("is a decoder (is_decoder), whose words do not see those behind them; encoders are read")
        made = known.get("architectures") or "ForSequenceClassification"
        if "ForSequenceClassification" not in str(made):
            way = f"`sentiscope train --model pretrained --set {SETTING}={self.folder}` fine-tunes an encoder"
            raise self.refuse(f"holds {made!s:.60}, not a classifier of texts; {way}")
        self.backbone.check()
        _ = self.task, self.classes

    def _check_files(self, allowed: AllowedPaths) -> None:
        """Refuse missing, pickled and too large files, and links that lead out of the folder."""
        for name in (CONFIG, TOKENIZER, WEIGHTS, INDEX):
            if os.path.lexists(self.folder / name):
                self._check_file(self.folder / name, allowed, 0 if name == WEIGHTS else backbones.SMALL)
        there = {name for name in (TOKENIZER, WEIGHTS, INDEX, *PICKLE, *VOCABULARIES) if (self.folder / name).is_file()}
        for needed, others in (({WEIGHTS, INDEX}, PICKLE), ({TOKENIZER}, VOCABULARIES)):
            if not there & needed and (found := sorted(there & others)):
                made = f"`sentiscope backbones convert {self.folder}` makes it without running code"
                raise self.refuse(f"not there, only {found[0]}; {made}; open the new folder", max(needed - {INDEX}))
        if TOKENIZER not in there:
            raise self.refuse("not there; transformers writes it with `tokenizer.save_pretrained`", TOKENIZER)
        for path in self.backbone.weights:
            self._check_file(path, allowed)

    def _check_file(self, path: Path, allowed: AllowedPaths, limit: int = 0) -> None:
        inside, cached = self.folder.resolve(), backbones.get_hub_cache().resolve()
        resolve_path(str(path), allowed, limit=limit)  # first, as it refuses links that lead in a circle
        snapshot = inside.parent.name == "snapshots" and inside.is_relative_to(cached)
        if not path.resolve().is_relative_to(inside.parent.parent if snapshot else inside):  # a snapshot links to blobs
            raise DataError("is a link out of the folder, which is not followed", file=str(path))

    def check_shapes(self) -> None:
        """Refuse weights that are not those of the configuration, or too large for the free memory."""
        there = {name: shape for name, (_, shape) in self.tensors.items()}
        for name, shape in backbone_weights.list_shapes(self.backbone.architecture, len(self.classes)).items():
            if there.get(name) != shape:
                found = f"has the shape {there[name]}" if name in there else "is not there"
                raise self.refuse(f"{name} {found}, and by {CONFIG} it has {shape}", WEIGHTS)
        size, free = sum(path.stat().st_size for path in self.backbone.weights), get_free_memory()
        if 2 * size > free:  # the weights as read, and those of the model
            raise self.refuse(f"needs {2 * size / 1e9:.1f} GB of memory, and {free / 1e9:.1f} are free", WEIGHTS)

    def make_record(self, name: str = "", data: str = "") -> RunRecord:
        """Return the record of the classifier as a run that is evaluated on `data`, without facts of its tokenizer."""
        backbone, sizes = self.backbone, backbones.add_backbone_sizes("pretrained", {SETTING: str(self.folder)})
        rate = "dropout" if backbone.kind == "distilbert" else "hidden_dropout_prob"
        settings = {
            "data.name": f"{ELSEWHERE}{UNKNOWN}{f', tested on {Path(data).name}' if data else ''}",
            "text.normaliser": "raw",  # its tokenizer reads the texts as transformers does
            "text.max_length": backbone.longest,
            "model.head.dense": sizes["model.width"],
            "model.head.activation": HEADS[backbone.kind][1],
            "model.dropout": backbone.architecture.get(rate, 0.1),
            "training.frozen": sizes["model.layers"] + 1,  # the run stores the head only
        }
        config = compose("pretrained", sizes | settings)
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        made = {"sentiscope": core.__version__, "torch": torch.__version__}
        about: dict[str, Any] = {"classes": self.classes, "task": self.task, "versions": made}
        return RunRecord(make_slug(name) or "opened", "pretrained", "done", config, created, **about)

    def read_tokenizer(self, config: RunConfig) -> Tokenizer:
        """Read the tokenizer; DataError if it puts other tokens around a text than [CLS] and [SEP]."""
        fitted = PretrainedTokenizer.fit([], config.text, backbone_weights.read_tokenizer(self.backbone))
        if not fitted.adds_ends:
            raise self.refuse("does not put [CLS] or <s> before a text and [SEP] or </s> behind it", TOKENIZER)
        return fitted

    def build_model(self, config: RunConfig, tokenizer: Tokenizer, known: BackboneRecord) -> Model:
        """Build the model with the weights of the folder, in evaluation mode; its encoder is frozen."""
        self.check_shapes()
        body = known.build_body(config.model.dropout, tokenizer, self.folder)
        model = build_model(config.model, vocabulary=0, classes=len(self.classes), body=body)
        dense, _, out = HEADS[self.backbone.kind]
        named = [(own + kind, f"{name}.{kind}") for own, name in (("", out), ("dense.", dense)) for kind in KINDS]
        cast(EncoderClassifier, model).head.load_state_dict({own: self._read_tensor(theirs) for own, theirs in named})
        if broken := [name for name, values in model.named_parameters() if not torch.isfinite(values).all()]:
            raise self.refuse(f"{broken[0]} holds a number that is not finite", WEIGHTS)
        freeze_layers(model, config.training)
        return model.eval()

    def _read_tensor(self, name: str) -> torch.Tensor:
        with safetensors.safe_open(self.tensors[name][0], framework="pt") as file:
            return cast(torch.Tensor, file.get_tensor(name).float())

    def refuse(self, why: str, file: str = CONFIG) -> DataError:
        """Return the error for a file of the folder that cannot be used."""
        return DataError(why, file=str(self.folder / file))


def open_classifier(
    store: RunStore, folder: Path, wanted: DataRequest, name: str = "", tell: Tell = ignore_progress
) -> dict[str, Any]:
    """Make a run of a published classifier without training, evaluated on `wanted.data` if it is given.

    Returns:
        `run`, `folder`, `kind`, `classes`, `task`, `max_length`, `notes`, `data`; `split`, `n` and `metrics`, which are
        empty without data.
    """
    backbones.check_installed()
    if name:
        check_name(store, name)
    found = PublishedClassifier(folder.absolute())
    found.check()
    tell("reading the classifier", None)
    made = found.make_record(name, wanted.data)
    tokenizer = found.read_tokenizer(made.config)
    notes = (
        f"opened from '{found.folder.name}' without training; what it learned from is not known",
        f"reads single texts, and of each the first {count(tokenizer.max_length)} tokens",
    )
    made = replace(made, vocabulary=tokenizer.size, max_length=tokenizer.max_length, data_notes=notes)
    given = read_evaluation_data(made, wanted) if wanted.data else None
    known = BackboneRecord.from_backbone(found.backbone)
    model = found.build_model(made.config, tokenizer, known)
    frozen = backbone_weights.list_frozen(model)
    results: Results = {"backbone": cast(Any, backbone_weights.summarize_backbone(known, model, frozen))}
    made = replace(made, parameters=sum(each.numel() for each in model.parameters()), results=results)
    files = {
        record.TOKENIZER: tokenizer.to_json().encode(),
        record.WEIGHTS: pack_weights(model, "float32", frozen),
        backbone_weights.BACKBONE: known.to_json().encode(),
    }
    loaded = LoadedRun(made, model.requires_grad_(False), tokenizer, found.folder)
    loaded = loaded.copy_with_progress(lambda _, share: tell("evaluating", share))
    made = store_run(store, loaded, name or found.folder.name, given, files)
    split, n, metrics = ("", 0, {}) if given is None else (given.split, len(given.rows), made.results["metrics"][TEST])
    about: dict[str, Any] = {"run": made.run, "folder": str(found.folder), "kind": found.backbone.kind}
    about |= {"task": found.task, "classes": list(found.classes), "max_length": tokenizer.max_length, "notes": [*notes]}
    return about | {"data": wanted.data, "split": split, "n": n, "metrics": metrics}


def check_name(store: RunStore, name: str) -> None:
    """Refuse a name for a new run that is taken, reserved, or without a letter or digit, with an InputError."""
    slug = make_slug(name)
    refuse_reserved(slug)
    if not slug or (store.folder / slug).exists():
        raise InputError(f"name {name}: {'there is such a run already' if slug else 'needs a letter or a digit'}")


def store_run(
    store: RunStore, loaded: LoadedRun, name: str, given: EvaluationData | None, files: Mapping[str, bytes]
) -> RunRecord:
    """Write a model that was not trained here as a new run, with its predictions on labelled rows as the test split."""
    made = loaded.record
    with archive.make_temp_folder(store, name) as landing:
        for file, content in files.items():
            write_bytes(landing / file, content)
        if given is not None:
            split = EvaluatedSplit(TEST, given.rows, predict_rows(loaded, given), made.classes, made.task)
            write_split(landing, split)
            results: Results = {
                "metrics": {TEST: split.metrics},
                "intervals": {TEST: split.intervals},
                "interval_version": INTERVAL_VERSION,
                "silhouette": {TEST: cast(Any, split.silhouette)},
            }
            made = replace(made, results={**made.results, **results})
        RunStore(landing.parent).write(replace(made, run=landing.name))
        archive.check_quota(store, landing)
        run = archive.place_folder(store, landing)
    return store.update(run)  # writes the name, which may have a number
