"""The work of a run's process once it has a slot: data, tokenizer, training, evaluation, baseline."""

from __future__ import annotations

import functools
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import core
from core.atomic import storage_errors, write_bytes, write_text
from core.config import RunConfig
from core.data.config import listed
from core.data.kept_examples import NAME, digest_of
from core.data.lineage import write_lineage
from core.data.load import load
from core.data.mixture import CORPUS
from core.data.table import TEST, TRAIN, VALIDATION, Dataset, Task, targets
from core.evaluation import scores
from core.evaluation.efficiency import inference, parameter_count
from core.evaluation.metrics import evaluate
from core.evaluation.mix import Mix
from core.evaluation.predict import device_of, predict_tokens, probabilities
from core.evaluation.yardstick import CHARACTERS, fitted_yardstick, yardstick
from core.exceptions import Cancelled, ConfigError, DataError, NotAvailable
from core.metrics import INTERVAL_VERSION
from core.models.build import Model, build
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch
from core.runs import queue, tagged, taught
from core.runs.bodies import published
from core.runs.borrowed import begun, told, unchanged
from core.runs.budget import check_fits, free_memory
from core.runs.differences import split_differences
from core.runs.lineage import describe_unknown, find_parents, inherit_lineage
from core.runs.load import read_mixed_in
from core.runs.record import CHECKPOINT, HISTORY, LINEAGE, MASKED, MIX, TOKENIZER, WEIGHTS, MaskedWords, Mixed, Position
from core.runs.results import Evaluated, write_split
from core.runs.start import Start
from core.runs.store import RunStore, this_machine
from core.runs.weights import packed, read_weights
from core.text.config import TextConfig
from core.text.pretrained import Published
from core.text.token_table import TokenTable, token_table
from core.text.tokenizer import Tokenizer
from core.text.tokenizers import fit_tokenizer, load_tokenizer
from core.training.checkpoint import FILE, Progress
from core.training.config import metric_for
from core.training.device import choose_device, keep_freed_memory
from core.training.further_texts import with_joined, with_nonsense
from core.training.history import Row, finite, read_history
from core.training.linear import fit_lexicon, fit_linear
from core.training.loop import PROBE, Training, read_gates, read_inside
from core.training.loss import taught_targets
from core.training.masked import Masking
from core.training.ppmi import place, word_vectors
from core.training.scaling import UNSCALED, Scaling
from core.training.stage import Events, Examples
from core.training.temperature import class_prior, validation_scaling

Tell = Callable[[dict[str, Any]], None]


class Experiment(Events):
    """One run from data to results; everything known is recorded at once."""

    def __init__(self, store: RunStore, run: str, stopped: Callable[[], bool], tell: Tell) -> None:
        self.store, self.run, self._stopped, self.tell = store, run, stopped, tell
        self.record = store.read(run)
        self.config, self.folder = self.record.config, store.path(run)
        self.borrows = self.config.model.family == "pretrained"
        self.unchanged: frozenset[str] = frozenset()

    def perform(self) -> None:
        """Run all stages, in the order in which a person wants to see them; Cancelled: finished stages are kept."""
        device = self._settle()
        dataset = self._data()
        fit = self._by_steps if self.config.model.by_steps else self._solved
        model, tokenizer = fit(dataset, device)
        evaluate_all = self._evaluate_tags if dataset.task == tagged.TASK else self._evaluate
        evaluate_all(dataset, model, tokenizer)
        self._note("yardstick")
        try:
            self._add_results(yardstick=yardstick(dataset))
        except NotAvailable as error:
            self._add_results(yardstick={"left_out": str(error)})
        for split in {VALIDATION, TEST} & set(dataset.splits):  # while the data are in memory: Performance tells them
            split_differences(self.record, split, dataset)
        # A run that is done is never resumed, and a checkpoint is four times as large as the weights.
        shutil.rmtree(self.folder / CHECKPOINT, ignore_errors=True)
        (self.folder / taught.FILE).unlink(missing_ok=True)

    def _settle(self) -> torch.device:
        device = choose_device(self.config.training.device)
        keep_freed_memory()
        torch.set_num_threads(self.config.training.threads or queue.threads())
        versions = {"sentiscope": core.__version__, "python": platform.python_version(), "torch": torch.__version__}
        self._update(device=str(device), threads=torch.get_num_threads(), versions=versions)
        return device

    def _data(self) -> Dataset:
        self._note("data")
        unknown = self._inherit_lineage()
        dataset = load(self.config.data)
        dataset = replace(dataset, notes=(*dataset.notes, *describe_unknown(unknown)))
        if self.record.data_fingerprint not in ("", dataset.fingerprint):
            raise DataError(
                "the data are no longer those that this run began with, so it cannot be continued; start a new run",
                file=self.config.data.name,
            )
        check_task(self.config, dataset.task, ordered=dataset.scale)
        known = {
            "classes": dataset.classes,
            "task": dataset.task,
            "ordered": dataset.ordered,
            "data_notes": dataset.notes,
            "data_decisions": tuple(
                each if self.config.data.texts else replace(each, proof="") for each in dataset.decisions
            ),
        }
        own = write_lineage(self.folder / LINEAGE, _texts(dataset, TRAIN)).name
        before = [Path(file).name for file in self.config.data.learned()]
        lineage = tuple(dict.fromkeys((own, *before)))
        self._update(data_fingerprint=dataset.fingerprint, lineage=lineage, lineage_unknown=unknown, **known)
        if self.config.data.examples:
            rows = int((dataset.splits[TRAIN][CORPUS] == NAME).sum())
            self._add_results(examples={"rows": rows, "digest": digest_of(self.config.data)})
        return dataset

    def _inherit_lineage(self) -> tuple[str, ...]:
        """Keep the parents' training texts out of validation and test; return the parents whose texts are unknown."""
        if self.record.data_fingerprint:  # a training that goes on has the rows that it began with
            return self.record.lineage_unknown if self.record.lineage else tuple(find_parents(self.config))
        found = inherit_lineage(self.store, self.config, self.folder)
        data = replace(self.config.data, lineage=listed(map(str, found.files)))
        self.config = replace(self.config, data=data)
        self._update(config=self.config)
        return found.unknown

    def _by_steps(self, dataset: Dataset, device: torch.device) -> tuple[Model, Tokenizer]:
        self._note("tokenizer")
        borrowed, backbone = begun(self.config.model.backbone, self.folder) if self.borrows else (None, None)
        if borrowed is not None:
            borrowed.check(self.config.model, self.run)
        tokenizer, start = self._tokenizer(dataset, None if backbone is None else published(backbone))
        body = None
        if borrowed is not None and backbone is not None:
            check_fits(self.config, tokenizer.max_length, free_memory(device))
            self._note("reading the backbone")
            body = borrowed.body(self.config.model.dropout, tokenizer, backbone.folder)
        examples, doubt = self._taught(dataset, _examples(dataset, TRAIN, tokenizer))
        tags = dataset.task == tagged.TASK
        torch.manual_seed(self.config.training.seed)
        model = build(
            self.config.model,
            vocabulary=tokenizer.size,
            classes=len(dataset.classes),
            max_length=tokenizer.max_length,
            body=body,
            pairs=tokenizer.pairs,
            each_token=tags,
        )
        self._place_vectors(model, examples, tokenizer)
        if start is not None:
            self._add_results(start=start.into(model, dataset.classes))
        model = model.to(device)
        self._update(
            vocabulary=tokenizer.size,
            max_length=tokenizer.max_length,
            pairs=tokenizer.pairs,
            parameters=parameter_count(model) + self._fit_mixed_in(dataset),
            data_notes=(*dataset.notes, *tokenizer.notes, *doubt),
        )
        before = self._guess_masked_words(model, examples.tokens, device)
        training = Training(
            model=model,
            training=self._with_further(dataset, examples, tokenizer),
            validation=_examples(dataset, VALIDATION, tokenizer),
            config=self.config.training,
            classes=len(dataset.classes),
            max_length=tokenizer.max_length,
            score=functools.partial(tagged.score, dataset.classes) if tags else functools.partial(_score, dataset),
            history=self.folder / HISTORY,
            checkpoint=self.folder / CHECKPOINT,
            device=device,
            events=self,
            task=dataset.task,
            ordered=dataset.scale,
            borrowed=self.borrows,
        )
        if borrowed is not None:
            self.unchanged = unchanged(model)
            self._add_results(backbone=told(borrowed, model, self.unchanged))
        self._plan(training)
        self._note("training", steps=training.steps)
        outcome = training.run()
        self._write_weights(model)
        read_weights(model, self.folder / WEIGHTS, self.unchanged)  # what is measured is what is kept
        self._update(seconds=before + outcome.seconds)
        self._add_results(best_epoch=outcome.best_epoch, steps=outcome.steps)
        return model, tokenizer

    def _taught(self, dataset: Dataset, examples: Examples) -> tuple[Examples, tuple[str, ...]]:
        """Add a teacher's predictions of the texts, if there is one, and return reasons to doubt that teacher."""
        training = self.config.training
        if not training.teacher:
            return examples, ()
        self._note("teacher")
        said = taught.taught(self.store, self.folder, self.config, dataset, self._pause)
        targets = taught_targets(examples.labels, said, training.teacher_weight)
        return replace(examples, targets=targets), taught.describe_doubt(said, examples.labels)

    def _fit_mixed_in(self, dataset: Dataset) -> int:
        """Fit and store the model that is mixed into the predictions, if any; return its number of parameters."""
        if self.config.training.mix == "none":
            return 0
        folder = self.folder / MIX
        if not (folder / WEIGHTS).is_file():
            self._note("TF-IDF to be mixed in")
            fitted = fitted_yardstick(dataset.fingerprint, dataset.classes, lambda: dataset, CHARACTERS)
            with storage_errors(folder):
                folder.mkdir(exist_ok=True)
            write_text(folder / TOKENIZER, fitted.tokenizer.to_json())
            write_bytes(folder / WEIGHTS, packed(fitted.model, self.config.training.weights))
        return parameter_count(read_mixed_in(self.folder, self.record)[0])

    def _with_further(self, dataset: Dataset, examples: Examples, tokenizer: Tokenizer) -> Examples:
        training, texts, classes = self.config.training, _texts(dataset, TRAIN), len(dataset.classes)
        if training.joined and tokenizer.pairs:
            raise ConfigError("training.joined: makes one text of several, and here each row has two; leave it out")
        joined = with_joined(examples, texts, tokenizer, classes=classes, share=training.joined, seed=training.seed)
        return with_nonsense(joined, texts, tokenizer, classes=classes, share=training.nonsense, seed=training.seed)

    def _place_vectors(self, model: Model, examples: Examples, tokenizer: Tokenizer) -> None:
        training = self.config.training
        if training.vectors == "ppmi" and not (self.folder / CHECKPOINT).is_dir():
            self._note("vectors")
            width = self.config.model.width
            place(model, *word_vectors(examples.tokens, size=tokenizer.size, width=width, seed=training.seed))

    def _guess_masked_words(self, model: Model, tokens: TokenTable, device: torch.device) -> float:
        """Run the masked-word stage before the labels, if it is set; return its seconds."""
        known: MaskedWords = self.record.results.get("masked", {})
        epochs = self.config.training.masked_epochs
        if not epochs or (self.folder / CHECKPOINT / FILE).is_file():  # the labels have begun
            return known.get("seconds", 0.0)
        assert isinstance(model, EncoderClassifier)  # the settings refuse all others
        with storage_errors(self.folder):
            (self.folder / CHECKPOINT).mkdir(exist_ok=True)
        stage = Masking(
            model=model,
            tokens=tokens,
            config=self.config.training,
            history=self.folder / MASKED,
            checkpoint=self.folder / CHECKPOINT / "masked",
            device=device,
            events=_MaskedEvents(self),
        )
        self._note("masked words", steps=stage.steps)
        seconds = stage.run()
        loss = read_history(self.folder / MASKED).kind("epoch")[-1]["train_loss"]
        self._update(progress={})
        self._add_results(masked={"loss": loss, "epochs": epochs, "seconds": seconds})
        return seconds

    def _tokenizer(self, dataset: Dataset, given: Published | None) -> tuple[Tokenizer, Start | None]:
        """Fit the tokenizer, or adopt that of the run to start from; a resumed training keeps its own."""
        path, config = self.folder / TOKENIZER, self.config
        if (self.folder / CHECKPOINT).is_dir() and path.is_file():
            return load_tokenizer(path), None
        texts, start = _texts_to_fit(dataset, config.text), None
        if config.training.start:
            start = Start.of(self.store, config.training.start, texts, config.text)
        tokenizer = start.tokenizer if start else fit_tokenizer(texts, config.text, given)
        tokenizer.buckets = config.model.ngram_buckets
        write_text(path, tokenizer.to_json())
        return tokenizer, start

    def _plan(self, training: Training) -> None:
        """Record the number of steps and rows before the first step; numbers of a checkpoint are kept."""
        rows = {TRAIN: len(training.training.labels), VALIDATION: len(training.validation.labels)}
        begun = {"step": 0, "epoch": 0, **self.record.progress}
        ends = {"steps": training.steps, "epochs": self.config.training.epochs}
        self._update(progress={**begun, **ends, "rows": rows, "machine": this_machine()})

    def _solved(self, dataset: Dataset, device: torch.device) -> tuple[Model, Tokenizer]:
        """Fit a baseline that has no steps with scikit-learn on the CPU, stored and read like every other model."""
        self._note("training", steps=0)
        began = time.monotonic()
        train, validation = ((_texts(dataset, split), dataset.targets(split)) for split in (TRAIN, VALIDATION))
        text, family, classes = self.config.text, self.config.model.family, len(dataset.classes)
        if family == "lexicon":
            tokenizer = fit_tokenizer(_texts_to_fit(dataset, text), text)
            fit = fit_lexicon(tokenizer, *train, *validation, classes=classes)
        else:
            fit = fit_linear(*train, *validation, config=text, classes=classes, family=family)
        write_text(self.folder / TOKENIZER, fit.tokenizer.to_json())
        self._write_weights(fit.model)
        self._update(
            vocabulary=fit.tokenizer.size,
            max_length=fit.tokenizer.max_length,
            pairs=fit.tokenizer.pairs,
            parameters=parameter_count(fit.model),
            data_notes=(*dataset.notes, *fit.tokenizer.notes),
            seconds=time.monotonic() - began,
            device="cpu",
        )
        self._add_results(**fit.settings)
        return fit.model, fit.tokenizer

    def _evaluate(self, dataset: Dataset, model: Model, tokenizer: Tokenizer) -> None:
        """Measure every split but train, test before further ones; then intervals, which take longer."""
        evaluated, thresholds, neutral, tested, scaling, held = [], None, dict[str, float](), None, UNSCALED, 0
        mix = None
        for split in _evaluated(dataset):
            self._note("evaluation", split=split)
            texts, labels = _texts(dataset, split), dataset.targets(split)
            tokens = token_table(tokenizer, texts)
            predictions = predict_tokens(model, tokens, task=dataset.task)
            if split == VALIDATION and self.config.training.mix != "none":
                mixed_in = read_mixed_in(self.folder, self.record)
                mix = Mix.fitted(*mixed_in, predictions.logits, texts, labels, dataset.task)
            if mix is not None:
                predictions = mix.into(predictions, texts, dataset.task)
            if split == VALIDATION:
                scaling, held = self._scaling(dataset, predictions.logits, model, tokenizer, mix)
            predictions = predictions.at(scaling, dataset.task)
            if split == TEST:
                tested = tokens, None if mix is None else (mix.model, token_table(mix.tokenizer, texts))
            if tokenizer.lexicon is not None:
                neutral[split] = tokens.neutral_share
            if dataset.task == "multi" and split == VALIDATION:
                thresholds = scores.tuned_thresholds(dataset.targets(split), predictions.probabilities)
            rows = dataset.splits[split]
            found = split, rows, predictions, dataset.classes, dataset.task, thresholds
            evaluated.append(Evaluated(*found, ordered=dataset.ordered, scaling=scaling))
        before = {each.split: each.as_trained for each in evaluated}
        self._add_results(
            metrics={each.split: each.metrics for each in evaluated},
            temperature={
                "value": scaling.temperature,
                "rows": held,
                **({"prior": dict(zip(dataset.classes, scaling.prior, strict=True))} if scaling.prior else {}),
                "as_trained": before,
            },
            **({"mix": _mixed(mix.weight, held, evaluated)} if mix else {}),
            **_inside(dataset, model, tokenizer),
        )
        self._note("intervals")
        for each in evaluated:
            half = self.config.training.weights != "float32"
            write_split(self.folder, each, texts=self.config.data.texts, half=half)
        self._add_results(
            intervals={each.split: each.intervals for each in evaluated},
            interval_version=INTERVAL_VERSION,
            silhouette={each.split: each.silhouette for each in evaluated},
            **({"inference": {**inference(model, *tested), "machine": this_machine()}} if tested else {}),
            **_tuned(evaluated),
            **({"neutral_share": finite(neutral)} if neutral else {}),
        )

    def _evaluate_tags(self, dataset: Dataset, model: Model, tokenizer: Tokenizer) -> None:
        found = []
        for split in _evaluated(dataset):
            self._note("evaluation", split=split)
            given = dataset.splits[split], dataset.classes, model, tokenizer
            found.append(tagged.TaggedSplit.of(split, *given))
        self._note("intervals")
        for each in found:
            each.write(self.folder)
        self._add_results(
            metrics={each.split: each.report["metrics"] for each in found},
            intervals={each.split: each.report["intervals"] for each in found},
            interval_version=INTERVAL_VERSION,
            **_inside(dataset, model, tokenizer),
        )

    def _scaling(
        self, dataset: Dataset, logits: np.ndarray, model: Model, tokenizer: Tokenizer, mix: Mix | None
    ) -> tuple[Scaling, int]:
        """Fit the scaling on validation; with taught doubt and equal class weights it moves towards the class prior."""
        labels = dataset.targets(VALIDATION)
        if dataset.beside is not None:
            texts = dataset.beside["text"].tolist()
            found = predict_tokens(model, token_table(tokenizer, texts), task=dataset.task)
            found = found if mix is None else mix.into(found, texts, dataset.task)
            logits = np.concatenate([logits, found.logits])
            labels = np.concatenate([labels, targets(dataset.beside, len(dataset.classes), dataset.task)])
        training = self.config.training
        taught = training.nonsense > 0 and training.class_weights == "none"
        prior = class_prior(dataset.targets(TRAIN), len(dataset.classes)) if taught else ()
        return validation_scaling(logits, labels, prior), len(labels)

    def stopped(self) -> bool:
        """Return whether this run was asked to stop."""
        return self._stopped()

    def row(self, row: Row) -> None:
        """Report a row of the history."""
        self.tell(row)

    def best(self, model: nn.Module) -> None:
        """Write the best weights, readable while training continues."""
        self._write_weights(model)

    def saved(self, progress: Progress, steps: int, *, masked: bool = False) -> None:
        """Record the progress of the training, or of its masked-word stage."""
        epochs = self.config.training.masked_epochs if masked else self.config.training.epochs
        done = {"step": progress.step, "steps": steps, "epoch": progress.step * epochs // steps, "epochs": epochs}
        before = 0.0 if masked else self.record.results.get("masked", {}).get("seconds", 0.0)
        known: Position = {"stage": "masked"} if masked else self.record.progress
        self._update(progress={**known, **done}, seconds=before + progress.seconds)

    def _write_weights(self, model: nn.Module) -> None:
        write_bytes(self.folder / WEIGHTS, packed(model, self.config.training.weights, self.unchanged))

    def _pause(self) -> None:
        if self._stopped():
            raise Cancelled("cancelled")

    def _note(self, kind: str, **more: Any) -> None:
        self._pause()
        self.tell({"kind": kind, **more})

    def _add_results(self, **results: Any) -> None:
        self._update(results={**self.record.results, **results})

    def _update(self, **changes: Any) -> None:
        self.record = self.store.update(self.run, **changes)


class _MaskedEvents(Events):
    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    def stopped(self) -> bool:
        """Return whether the run was asked to stop."""
        return self.experiment.stopped()

    def row(self, row: Row) -> None:
        """Report a row of steps; epochs are left out."""
        if row["kind"] == "step":
            self.experiment.tell(row)

    def saved(self, progress: Progress, steps: int) -> None:
        """Record the progress of the masked-word stage."""
        self.experiment.saved(progress, steps, masked=True)


def _evaluated(dataset: Dataset) -> list[str]:
    return [VALIDATION, TEST, *(name for name in dataset.splits if name not in (TRAIN, VALIDATION, TEST))]


def _texts(dataset: Dataset, split: str) -> list[str]:
    return dataset.splits[split]["text"].tolist()


def _texts_to_fit(dataset: Dataset, config: TextConfig) -> list[str]:
    splits = (TRAIN, VALIDATION, TEST) if config.tokenizer_fit == "all" else (TRAIN,)
    return [text for split in splits for text in _texts(dataset, split)]


def _examples(dataset: Dataset, split: str, tokenizer: Tokenizer) -> Examples:
    if dataset.task == tagged.TASK:
        return tagged.tagged_examples(dataset, split, tokenizer)
    return Examples(token_table(tokenizer, _texts(dataset, split)), dataset.targets(split))


def _score(dataset: Dataset, labels: np.ndarray, logits: torch.Tensor) -> dict[str, float]:
    return evaluate(labels, probabilities(logits, dataset.task).numpy(), dataset.task, ordered=dataset.ordered)


def check_task(config: RunConfig, task: Task, *, ordered: bool = False) -> None:
    """Refuse settings that cannot train on these labels, before any work; ConfigError names the nearest valid one."""
    metric_for(config.training.metric, task, ordered=ordered)
    if task == tagged.TASK:
        tagged.check_config(config)
    if task == "multi" and config.model.head.one_logit:
        raise ConfigError(
            "model.head.one_logit: for two classes of which each text has one; with several labels per text each has a "
            "logit of its own, so choose one_logit=false"
        )


def _tuned(evaluated: Sequence[Evaluated]) -> dict[str, Any]:
    """Return thresholds by label, chosen on validation, and what they change; an empty dictionary for single labels."""
    thresholds = evaluated[0].thresholds
    if thresholds is None:
        return {}
    found = {
        "thresholds": dict(zip(evaluated[0].classes, map(float, thresholds), strict=True)),
        "metrics": {each.split: each.tuned[0] for each in evaluated},
        "intervals": {each.split: each.tuned[1] for each in evaluated},
    }
    return {"tuned": found}


def _mixed(weight: float, rows: int, evaluated: Sequence[Evaluated]) -> Mixed:
    found = {each.split: each.parts for each in evaluated}
    network, tfidf = ({split: parts[name] for split, parts in found.items()} for name in ("network", "tfidf"))
    return {"model": CHARACTERS, "weight": weight, "rows": rows, "network": network, "tfidf": tfidf}


def _inside(dataset: Dataset, model: Model, tokenizer: Tokenizer) -> dict[str, Any]:
    """Read learned numbers as the history has them: input-dependent ones are means over validation texts."""
    probe = _first(dataset, VALIDATION, PROBE, model, tokenizer)
    return {**read_inside(model, probe), **read_gates(model, probe)}


def _first(dataset: Dataset, split: str, count: int, model: Model, tokenizer: Tokenizer) -> Batch:
    return Batch.of(token_table(tokenizer, _texts(dataset, split)[:count]).whole()).to(device_of(model))
