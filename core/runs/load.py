"""A finished run loaded into memory: its model, for predictions and explanations."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from core.config import compose
from core.evaluation.baseline import CHARACTERS
from core.evaluation.class_separability import read_layers
from core.evaluation.inference import Ensemble, PassagePredictions, Predictions, predict_passages, predict_texts
from core.exceptions import InputError, RunDamaged
from core.formatting import count
from core.interpret.ablation import LambdaCurves, compute_lambda_curves
from core.interpret.background_thread import OnProgress, choose_batch_size, ignore_progress
from core.interpret.explain_context import UNCHANGED, ExplainContext
from core.interpret.model_edits import UNCHANGED as NO_EDITS
from core.interpret.model_edits import Editable, Edits, get_text_editable, refuse_words
from core.interpret.sentence_inspection import SentenceView, inspect_text
from core.models.builder import Model, build_model
from core.models.capabilities import HEAD, list_spaces
from core.models.config import ModelConfig
from core.models.dropout import activate_dropout, shuffle_weights
from core.models.encoder import EncoderClassifier
from core.models.model_description import count_parameters
from core.models.trace import Intervene, Intervention
from core.paths import open_regular
from core.runs.backbone_weights import BackboneRecord, list_frozen
from core.runs.record import HISTORY, MIX, STEPS, TOKENIZER, WEIGHTS, RunRecord, refuse_passages, refuse_tagged
from core.runs.store import RunStore, list_kept_steps
from core.text.text_pairs import MARK
from core.text.token_table import TokenTable
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_factory import load_tokenizer
from core.training.history import read_history
from core.training.training_stage import freeze_layers

Change = Intervention | None
CHARACTERS_HEARD = 200_000  # characters tokenised between two progress reports: some tenths of a second


@dataclass(frozen=True)
class LoadedRun:
    """A run with its model in evaluation mode on the CPU, shared by all callers and never changed."""

    record: RunRecord
    model: Model
    tokenizer: Tokenizer
    folder: Path
    tell: OnProgress = ignore_progress
    edits: Edits = NO_EDITS  # in every prediction without an edit of its own

    @functools.cached_property
    def mix(self) -> Ensemble | None:
        """Return the TF-IDF model that is mixed into the run's predictions, read at first use; None if none is."""
        weight = self.record.mix_weight
        return None if weight is None else Ensemble(*read_mixed_in(self.folder, self.record), weight)

    def read_as(self, normalizer: str) -> LoadedRun:
        """Return the run, and TF-IDF in it, with texts cleaned in another way; InputError: there is no such way."""
        changed = self._copy(tokenizer=self.tokenizer.read_as(normalizer))
        if self.mix is not None:
            vars(changed)["mix"] = dataclasses.replace(self.mix, tokenizer=self.mix.tokenizer.read_as(normalizer))
        return changed

    def _copy(self, **changes: Any) -> LoadedRun:
        other = dataclasses.replace(self, **changes)
        vars(other)["mix"] = self.mix
        return other

    def predict(
        self,
        texts: Sequence[str],
        *,
        intervene: Intervene = None,
        unmixed: bool = False,
        passage: int = 0,
        whole: Sequence[str] = (),
    ) -> Predictions:
        """Predict texts with the run, in the given order, also empty ones; the probabilities are calibrated.

        `intervene` changes the network, for all texts or for each; `unmixed` leaves out a TF-IDF model that is mixed
        in. `passage`: predict longer texts by passages of so many words (`core.evaluation.inference`), without
        `intervene`; 0: each text as a whole. `whole`: texts that TF-IDF reads in place of `texts`.
        """
        task, unmixed = self.record.task, unmixed or self.edits.unmixed
        if passage:
            if intervene is not None:
                raise InputError("edits name positions of a whole text, not of passages")
            return self.predict_by_passage(texts, passage, unmixed=unmixed).whole
        if intervene is None and self.edits.inside:
            intervene = self.edits.to_intervention()
        read = functools.partial(predict_texts, self.model, self.tokenizer, task=task)
        if self.tell is ignore_progress:
            found = read(texts, intervene=intervene)
        else:
            found = self._predict_in_portions(read, texts, intervene)
        if self.mix is not None and not unmixed:
            found = self.mix.blend_predictions(found, whole or texts, task)
        return found.apply_scaling(self.record.scaling, task)

    def build_predictor(self, texts: Sequence[str], tokens: TokenTable) -> Callable[[Intervene], Predictions]:
        """Return a function that predicts texts, whose `tokens` are given, for a change, as `predict` does."""
        task, mix, known = self.record.task, self.mix, None
        if mix is not None:
            known = mix.predict_parts(np.zeros((len(texts), len(self.record.classes)), np.float32), texts, task)

        def predict(change: Intervene) -> Predictions:
            found = predict_texts(self.model, self.tokenizer, texts, task=task, intervene=change, tokens=tokens)
            if mix is not None and known is not None:
                found = mix.blend_parts(found, known._replace(network=found.logits), task)
            return found.apply_scaling(self.record.scaling, task)

        return predict

    def predict_by_passage(self, texts: Sequence[str], words: int, *, unmixed: bool = False) -> PassagePredictions:
        """Predict texts by passages of `words` words, or a single one by the run's own (0); InputError: it cannot."""
        task, scaling = self.record.task, self.record.scaling
        if not words:
            model, tokens, whole = self.model, self.tokenizer, self.predict(texts)
            return PassagePredictions.read_own(model, tokens, texts[0], whole, task, scaling)
        refuse_passages(self.record)
        read = functools.partial(self.predict, unmixed=unmixed)
        return predict_passages(read, texts, words).apply_scaling(scaling, task)

    def compute_vector(self, text: str, space: str = "") -> np.ndarray:
        """Return the vector (d,) of a text: the head's input, or the mean over tokens at the embedding or a layer."""
        if not space:
            return self.predict([text]).pooled[0]
        names = list_spaces(self.record.config.model)[1:]
        if space not in names:
            raise InputError(f"space {space!r}: run '{self.record.run}' has {', '.join((HEAD, *names))}")
        read: np.ndarray = read_layers(cast(EncoderClassifier, self.model), self.tokenizer, [text])
        return read[names.index(space), 0]

    def _predict_in_portions(
        self, read: Callable[..., Predictions], texts: Sequence[str], intervene: Intervene
    ) -> Predictions:
        longest, every = max(map(len, texts), default=0), max(1, len(texts))
        batch = choose_batch_size(longest, self.tokenizer.max_length)
        portion = max(1, CHARACTERS_HEARD // (longest + 1))
        found = []

        def tell(before: float, share: float) -> None:
            """Report the fraction of all texts that is predicted, from the fraction of this portion."""
            self.tell("", before + min(1.0, portion / every) * share)

        for start in range(0, every, portion):
            some, on_batch = slice(start, start + portion), functools.partial(tell, start / every)
            change = intervene[some] if isinstance(intervene, Sequence) else intervene
            found.append(read(texts[some], intervene=change, batch_size=batch, on_batch=on_batch))
        return Predictions.concatenate(found)

    def inspect(self, text: str, intervene: Change = None, *, unmixed: bool = False) -> SentenceView:
        """Return all inner values of the model for one text; with `unmixed`, no TF-IDF model is mixed in."""
        record = self.record
        look = functools.partial(inspect_text, task=record.task, scaling=record.scaling, mix=self.mix)
        return look(self.model, self.tokenizer, record.classes, text, intervene=intervene, unmixed=unmixed)

    def parse_edits(self, text: str, line: str) -> Edits:
        """Parse a typed line of model edits (such as heads off) for a text; InputError lists the invalid ones."""
        return self.get_editable(self.inspect(text)).parse_edits(line) if line.strip() else NO_EDITS

    def get_editable(self, trained: SentenceView) -> Editable:
        """Return which parts of the run can be edited when it reads a certain text."""
        editable = get_text_editable(self.record.config.model, trained)
        return dataclasses.replace(editable, steps=list_kept_steps(self.folder))

    def read_step(self, step: int | None) -> LoadedRun:
        """Return the run with the weights of a kept step of its training; None: the run itself."""
        if step is None:
            return self
        model, _ = _read_model(self.folder, self.record.config.model, self.record, f"{STEPS}/{step}.safetensors")
        return self._copy(model=model.requires_grad_(False))

    def edit_all(self, line: str) -> LoadedRun:
        """Return the run with an edit in all its predictions; InputError: the edit names a word or token."""
        refuse_words(line)
        editable = self.get_editable(self.inspect(f"a{MARK}b" if self.record.pairs else "a"))
        edits = dataclasses.replace(editable, gated=0).parse_edits(line)
        return self.read_step(edits.step)._copy(edits=edits)

    def measure_lambdas(
        self, text: str, target: str = "", change: Change = None, *, unmixed: bool = False
    ) -> LambdaCurves:
        """Return the log-odds of a class as each map weight λ varies over its range; `change` is applied as well."""
        attention, starts = self.record.config.model.attention, self.read_first_lambdas()
        return compute_lambda_curves(
            self.make_reader(), text, attention, target, starts=starts, change=change or UNCHANGED, unmixed=unmixed
        )

    def read_first_lambdas(self) -> Sequence[Sequence[float]]:
        """Return each map weight λ before training, by layer and map (mean over heads); empty if it was not logged."""
        first = next(iter(read_history(self.folder / HISTORY).rows), {})
        starts: Sequence[Sequence[float]] = first.get("lambda") or () if first.get("step") == 0 else ()
        return () if any(value is None for layer in starts for value in layer) else starts

    def flatten_head(self, part: Literal["branches", "attention"]) -> LoadedRun:
        """Return a copy of the run whose head has convolutions of output 0, or attention with equal weights."""
        model = copy.deepcopy(self.model)
        head: Any = model.head
        if part == "branches":  # with factor and bias 0, norm and ReLU give 0
            silent = [each for branch in head.branches.values() for each in (branch.norm.weight, branch.norm.bias)]
        else:  # with queries 0, all scores are 0
            silent = [head.attention.query.weight, head.attention.query.bias]
        for each in silent:
            each.data.zero_()
        return self._copy(model=model)

    def copy_with_progress(self, tell: OnProgress) -> LoadedRun:
        """Return a copy of the loaded run that reports progress to `tell`; an exception from `tell` stops the work."""
        return self._copy(tell=tell)

    def randomize_weights(self, seed: int = 0) -> LoadedRun:
        """Return a copy of the loaded run with all weights permuted, also those of TF-IDF, as an untrained baseline."""
        other = self._copy(model=shuffle_weights(self.model, seed))
        if self.mix is not None:
            vars(other)["mix"] = dataclasses.replace(self.mix, model=shuffle_weights(self.mix.model, seed))
        return other

    def build_untrained(self, seed: int = 0) -> Model:
        """Build a model of the run's shape with newly drawn weights, as a control of analyses."""
        config, tokenizer, classes = self.record.config.model, self.tokenizer, len(self.record.classes)
        body, size = None, tokenizer.size
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if config.family == "pretrained":
                body, size = BackboneRecord.read(self.folder).build_body(config.dropout, tokenizer, None), 0
            about: dict[str, Any] = {
                "max_length": tokenizer.max_length,
                "passages": self.record.config.training.passages,
            }
            model = build_model(config, vocabulary=size, classes=classes, body=body, pairs=tokenizer.pairs, **about)
        return model.eval().requires_grad_(False)

    def enable_dropout(self, seed: int = 0) -> LoadedRun:
        """Return a copy of the loaded run with seeded dropout switched on for predictions."""
        return self._copy(model=activate_dropout(self.model, seed))

    def make_reader(self, intervene: Change = None, *, unmixed: bool = False) -> ExplainContext:
        """Return the context in which `core.interpret` explains the run, changed as in `predict`."""
        record = self.record
        return ExplainContext(
            predict=functools.partial(self.predict, unmixed=unmixed),
            inspect=functools.partial(self.inspect, intervene=intervene, unmixed=unmixed),
            model=self.model,
            tokenizer=self.tokenizer,
            classes=record.classes,
            task=record.task,
            scaling=record.scaling,
            mix_weight=None if unmixed else record.mix_weight,
            thresholds=record.tuned_thresholds or {},
            change=intervene or UNCHANGED,
            tell=self.tell,
        )


def load_run(store: RunStore, run: str, *, tags: bool = False) -> LoadedRun:
    """Load a run's best model and tokenizer; RunNotFound, RunDamaged, or InputError for a tagging run unless `tags`."""
    if (held := store.find_loaded(run)) is not None:
        return cast(LoadedRun, held)
    record, folder = store.read(run), store.get_path(run)
    if not tags:
        refuse_tagged(record)
    model, tokenizer = _read_model(folder, record.config.model, record)
    return LoadedRun(record, model.requires_grad_(False), tokenizer, folder)


def read_mixed_in(folder: Path, record: RunRecord) -> tuple[Model, Tokenizer]:
    """Read the TF-IDF model that is mixed into a run's predictions; RunDamaged names the unreadable file."""
    return _read_model(folder / MIX, compose(CHARACTERS).model, record)


def _read_model(
    folder: Path, config: ModelConfig, record: RunRecord, weights: str = WEIGHTS
) -> tuple[Model, Tokenizer]:
    for name in (TOKENIZER, weights):
        if not (folder / name).is_file():
            raise RunDamaged(f"{folder / name}: not there; {_explain_missing(record)}")
    tokenizer = load_tokenizer(folder / TOKENIZER)
    if config.family == "pretrained":
        return _read_pretrained(folder, config, record, tokenizer, folder / weights).eval(), tokenizer
    size, length, classes = tokenizer.size, tokenizer.max_length, len(record.classes)
    about: dict[str, Any] = {"pairs": tokenizer.pairs, "passages": record.config.training.passages}
    check_size(folder / weights, count_parameters(config, vocabulary=size, classes=classes))
    # Device "meta" would save memory, but with it torch imports its compiler, which takes 3 s in each process.
    tags = record.task == "tokens"
    model = build_model(config, vocabulary=size, classes=classes, max_length=length, each_token=tags, **about)
    if lost := sorted(find_missing(model, folder / weights)):
        raise RunDamaged(f"{folder / weights}: belongs to another model: {lost[0]} is not there")
    read_weights(model, folder / weights)
    return model.eval(), tokenizer


def _read_pretrained(
    folder: Path, config: ModelConfig, record: RunRecord, tokenizer: Tokenizer, weights: Path
) -> Model:
    """Read a pretrained model of a run; weights that training did not change come from the encoder's folder."""
    known, classes = BackboneRecord.read(folder), len(record.classes)
    known.check(config, record.run)
    pairs, tags = tokenizer.pairs, record.task == "tokens"

    def make_model(place: Path | None) -> Model:
        """Build the pretrained model with the weights in a folder; with random weights for None."""
        body = known.build_body(config.dropout, tokenizer, place)
        return build_model(config, vocabulary=0, classes=classes, body=body, pairs=pairs, each_token=tags)

    with torch.device("meta"):  # only names and shapes are needed
        shell = make_model(None)
    freeze_layers(shell, record.config.training)
    check_size(weights, 0)
    without = find_missing(shell, weights)
    if lost := sorted(without ^ list_frozen(shell)):
        why = "is not there" if lost[0] in without else "is there, and stands in the files of its backbone"
        raise RunDamaged(f"{weights}: belongs to another model: {lost[0]} {why}")
    model = make_model(known.find_backbone(record.run).folder if without else None)
    read_weights(model, weights, without)
    return model


def _explain_missing(record: RunRecord) -> str:
    """Explain when a missing file of a run will exist, or what to do."""
    if record.config.model.family == "function":
        return f"run '{record.run}' has the predictions of a function, whose inside is not known"
    if record.is_live:
        return f"run '{record.run}' is {record.status} and writes it after the first epoch"
    if record.status == "done":
        return f"run '{record.run}' had written it, so it was removed later: train or import the run again"
    return f"run '{record.run}' {'was' if record.status == 'cancelled' else 'has'} {record.status}: resume or remove it"


Kept = Literal["float32", "float16", "int8"]
SCALE = ":scale"  # suffix of the name of an int8 tensor for the tensor with the scale of each row
LARGEST = 127
LARGEST_HEADER = 16 * 1024**2  # bytes of a file's list of tensors, at most; the largest encoders have 0.1 MB


def pack_weights(model: nn.Module, kept: Kept, without: Collection[str] = ()) -> bytes:
    """Return the weights of a model as the bytes of a safetensors file, except the tensors named in `without`.

    float16: every floating-point tensor. int8: tensors with at least two dimensions, each row scaled so that its
    largest number is 127; other tensors as float16. The rounding error is at most half a step: 2^-11 of a number in
    float16, and 1/254 of the row's largest number in int8.
    """
    stored: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if name in without:
            continue
        whole = tensor.detach().cpu().contiguous()
        if kept == "float32" or not whole.is_floating_point():
            stored[name] = whole
        elif kept == "int8" and whole.ndim > 1:
            rows = whole.reshape(len(whole), -1)
            scale = stored[name + SCALE] = rows.abs().amax(1) / LARGEST
            steps = torch.where(scale > 0, scale, 1.0)[:, None]
            stored[name] = (rows / steps).round().to(torch.int8).reshape(whole.shape)
        else:
            stored[name] = whole.half()
    return safetensors.torch.save(stored)


def unpack_weights(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert stored tensors back to a model's weights; int8 tensors are multiplied by their scales."""
    return {
        name: tensor.float() * stored[name + SCALE].reshape(-1, *(1,) * (tensor.ndim - 1))
        if name + SCALE in stored
        else tensor
        for name, tensor in stored.items()
        if not name.endswith(SCALE)
    }


def check_size(path: Path, numbers: int) -> None:
    """Raise RunDamaged, before a model is built, for a weight file with fewer bytes than the model has parameters."""
    try:
        with open_regular(path, sys.maxsize) as stream:
            size, header = os.fstat(stream.fileno()).st_size, int.from_bytes(stream.read(8), "little")
    except (OSError, ValueError) as error:
        raise RunDamaged(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if header > LARGEST_HEADER:
        raise RunDamaged(f"{path}: cannot be read: its list of tensors has more than {LARGEST_HEADER // 1024**2} MB")
    if size < numbers:
        raise RunDamaged(
            f"{path}: cannot be read: by its settings the model has {count(numbers)} numbers, and the file has "
            f"{count(size)} bytes"
        )


def find_missing(model: nn.Module, path: Path) -> frozenset[str]:
    """Return the names of a model's tensors that its file lacks, from the header; RunDamaged: unreadable or unfit."""
    own = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    own |= {name + SCALE: shape[:1] for name, shape in own.items()}
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            there = {name: file.get_slice(name).get_shape() for name in file.keys()}
    except (safetensors.SafetensorError, OSError) as error:
        raise RunDamaged(f"{path}: cannot be read: {' '.join(str(error).split()):.300}") from error
    for name, shape in there.items():
        if name not in own:
            raise RunDamaged(f"{path}: belongs to another model: this one has no {name:.100}")
        if shape != own[name]:
            raise RunDamaged(f"{path}: {name} has the shape {shape}, and this model {own[name]}")
    return frozenset(name for name in own if not name.endswith(SCALE)) - set(there)


def read_weights(model: nn.Module, path: Path, without: Collection[str] = ()) -> None:
    """Load weights, except the loaded tensors in `without`; RunDamaged: incomplete, of another model or not finite."""
    try:
        own = {name: tensor for name, tensor in model.state_dict().items() if name in without}
        found = unpack_weights(safetensors.torch.load_file(path))
        model.load_state_dict({**own, **found})
    except (safetensors.SafetensorError, OSError, RuntimeError) as error:
        raise RunDamaged(f"{path}: cannot be read: {' '.join(str(error).split()):.300}") from error
    for name, tensor in found.items():
        # If a tensor contains NaN, its smallest and largest number are NaN too; unlike isfinite, this makes no copy.
        if tensor.is_floating_point() and tensor.numel() and not torch.isfinite(torch.stack(tensor.aminmax())).all():
            raise RunDamaged(f"{path}: cannot be used: {name} holds a number that is not finite")
