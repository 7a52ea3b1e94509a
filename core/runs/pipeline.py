"""The training process of a run after its wait in the queue: data, tokenizer, training, evaluation, TF-IDF baseline."""

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
from core.atomic import make_folder, write_bytes, write_text
from core.config import RunConfig
from core.data.config import join_list
from core.data.dataset import TEST, TRAIN, VALIDATION, Dataset, Task, encode_targets
from core.data.load import load_dataset
from core.data.mixture import CORPUS, write_lineage
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.evaluation import metrics
from core.evaluation.baseline import CHARACTERS, fit_baseline, load_baseline
from core.evaluation.inference import (
    Ensemble,
    compute_probabilities,
    count_parameters,
    get_device,
    measure_inference,
    predict_texts,
)
from core.exceptions import Cancelled, ConfigError, DataError, NotAvailable
from core.metrics import INTERVAL_VERSION
from core.models.builder import Model, build_model
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch
from core.runs import distillation, queue, word_tagging
from core.runs import record as run_record
from core.runs.backbone_weights import list_frozen, read_tokenizer, resolve_backbone, summarize_backbone
from core.runs.configuration import Start
from core.runs.cost_estimate import check_fits, get_free_memory
from core.runs.lineage import collect_lineage, compare_run_split, describe_unknown, find_parents
from core.runs.load import pack_weights, read_mixed_in, read_weights
from core.runs.results import EvaluatedSplit, write_split
from core.runs.store import RunStore, get_machine_id
from core.text.config import TextConfig
from core.text.subword_tokenizers import PublishedTokenizer
from core.text.token_table import TokenTable, build_token_table
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_factory import fit_tokenizer, load_tokenizer
from core.training.augmentation import append_joined, append_nonsense
from core.training.config import resolve_metric
from core.training.device import choose_device, keep_freed_memory
from core.training.history import Row, read_history, replace_nonfinite
from core.training.linear import fit_lexicon, fit_linear
from core.training.loop import PROBE, Training, mix_targets, read_gates, read_learned_numbers
from core.training.mlm import Masking, compute_word_vectors, place_vectors
from core.training.temperature import UNSCALED, Scaling, compute_class_prior, fit_scaling
from core.training.training_stage import FILE, Events, Examples, Progress

Tell = Callable[[dict[str, Any]], None]


class Experiment(Events):
    """One run from data to results; each result is stored as soon as it exists."""

    def __init__(self, store: RunStore, run: str, stopped: Callable[[], bool], tell: Tell) -> None:
        self.store, self.run, self._stopped, self.tell = store, run, stopped, tell
        self.record = store.read(run)
        self.config, self.folder = self.record.config, store.get_path(run)
        self.borrows = self.config.model.family == "pretrained"
        self.unchanged: frozenset[str] = frozenset()

    def perform(self) -> None:
        """Run a training from data to TF-IDF baseline; Cancelled: the user stopped it, finished steps are kept."""
        device = choose_device(self.config.training.device)
        keep_freed_memory()
        torch.set_num_threads(self.config.training.threads or queue.count_threads())
        versions = {"sentiscope": core.__version__, "python": platform.python_version(), "torch": torch.__version__}
        self._update_record(device=str(device), threads=torch.get_num_threads(), versions=versions)
        dataset = self._load_data()
        fit = self._train_by_steps if self.config.model.by_steps else self._fit_baseline
        model, tokenizer = fit(dataset, device)
        evaluate_all = self._evaluate_tags if dataset.task == word_tagging.TASK else self._evaluate_splits
        evaluate_all(dataset, model, tokenizer)
        self._report_stage("yardstick")
        try:
            self._add_results(yardstick=fit_baseline(dataset))
        except NotAvailable as error:
            self._add_results(yardstick={"left_out": str(error)})
        for split in {VALIDATION, TEST} & set(dataset.splits):  # cached now, while the data are in memory
            compare_run_split(self.record, split, dataset)
        # A finished run is never resumed, and a checkpoint is four times as large as the weights.
        shutil.rmtree(self.folder / run_record.CHECKPOINT, ignore_errors=True)
        (self.folder / distillation.FILE).unlink(missing_ok=True)

    def _load_data(self) -> Dataset:
        self._report_stage("data")
        unknown = self._apply_lineage()
        dataset = load_dataset(self.config.data)
        dataset = replace(dataset, notes=(*dataset.notes, *describe_unknown(unknown)))
        if self.record.data_fingerprint not in ("", dataset.fingerprint):
            said = "the data are no longer those that this run began with, so it cannot be continued; start a new run"
            raise DataError(said, file=self.config.data.name)
        check_task(self.config, dataset.task, ordered=dataset.scale)
        known = {name: getattr(dataset, name) for name in ("classes", "task", "ordered")}
        decisions = (each if self.config.data.texts else replace(each, proof="") for each in dataset.decisions)
        own = write_lineage(self.folder / run_record.LINEAGE, _get_texts(dataset, TRAIN)).name
        lineage = tuple(dict.fromkeys((own, *(Path(file).name for file in self.config.data.parse_list("lineage")))))
        known |= {"data_notes": dataset.notes, "data_fingerprint": dataset.fingerprint}
        known |= {"data_decisions": tuple(decisions)}
        self._update_record(lineage=lineage, lineage_unknown=unknown, **known)
        if self.config.data.examples:
            rows = int((dataset.splits[TRAIN][CORPUS] == NAME).sum())
            self._add_results(examples={"rows": rows, "digest": Path(self.config.data.examples).stem})
        return dataset

    def _apply_lineage(self) -> tuple[str, ...]:
        """Keep training texts of parent runs out of validation and test; return the parents whose texts are unknown."""
        if self.record.data_fingerprint:  # a resumed training keeps its rows
            return self.record.lineage_unknown if self.record.lineage else tuple(find_parents(self.config))
        found = collect_lineage(self.store, self.config, self.folder)
        self.config = replace(self.config, data=replace(self.config.data, lineage=join_list(map(str, found.files))))
        self._update_record(config=self.config)
        return found.unknown

    def _train_by_steps(self, dataset: Dataset, device: torch.device) -> tuple[Model, Tokenizer]:
        self._report_stage("tokenizer")
        borrowed, backbone = resolve_backbone(self.config.model.backbone, self.folder) if self.borrows else (None, None)
        if borrowed is not None:
            borrowed.check(self.config.model, self.run)
        tokenizer, start = self._fit_tokenizer(dataset, None if backbone is None else read_tokenizer(backbone))
        if tokenizer.pairs and self.config.training.passages:
            raise ConfigError("training.passages: splits one long text, and here each row has two; leave it out")
        body = None
        if self.config.model.by_steps:
            check_fits(self.config, tokenizer.max_length, get_free_memory(device))
        if borrowed is not None and backbone is not None:
            self._report_stage("reading the backbone")
            body = borrowed.build_body(self.config.model.dropout, tokenizer, backbone.folder)
        examples, doubt = self._add_teacher(dataset, _build_examples(dataset, TRAIN, tokenizer))

        def score_logits(labels: np.ndarray, logits: torch.Tensor) -> dict[str, float]:
            chances = compute_probabilities(logits, dataset.task).numpy()
            return metrics.evaluate(labels, chances, dataset.task, ordered=dataset.ordered)

        tags = dataset.task == word_tagging.TASK
        score = functools.partial(word_tagging.score_validation, dataset.classes) if tags else score_logits
        torch.manual_seed(self.config.training.seed)
        sizes: dict[str, Any] = {"vocabulary": tokenizer.size, "max_length": tokenizer.max_length}
        about: dict[str, Any] = {
            "pairs": tokenizer.pairs,
            "each_token": tags,
            "passages": self.config.training.passages,
        }
        model = build_model(self.config.model, **sizes, classes=len(dataset.classes), body=body, **about)
        if self.config.training.vectors == "ppmi" and not (self.folder / run_record.CHECKPOINT).is_dir():
            self._report_stage("vectors")
            how = {"size": tokenizer.size, "width": self.config.model.width, "seed": self.config.training.seed}
            place_vectors(model, *compute_word_vectors(examples.tokens, **how))
        if start is not None:
            self._add_results(start=start.copy_into(model, dataset.classes))
        model = model.to(device)
        self._update_record(
            vocabulary=tokenizer.size,
            max_length=tokenizer.max_length,
            pairs=tokenizer.pairs,
            parameters=count_parameters(model) + self._fit_mixed_in(dataset),
            data_notes=(*dataset.notes, *tokenizer.notes, *doubt),
        )
        before = self._guess_masked_words(model, examples.tokens, device)
        training = Training(
            model=model,
            training=self._append_further(dataset, examples, tokenizer),
            validation=_build_examples(dataset, VALIDATION, tokenizer),
            config=self.config.training,
            classes=len(dataset.classes),
            max_length=tokenizer.max_length,
            score=score,
            history=self.folder / run_record.HISTORY,
            checkpoint=self.folder / run_record.CHECKPOINT,
            device=device,
            events=self,
            task=dataset.task,
            ordered=dataset.scale,
            borrowed=self.borrows,
        )
        if borrowed is not None:
            self.unchanged = list_frozen(model)
            self._add_results(backbone=summarize_backbone(borrowed, model, self.unchanged))
        rows = {TRAIN: len(training.training.labels), VALIDATION: len(training.validation.labels)}
        begun = {"step": 0, "epoch": 0, **self.record.progress}  # a checkpoint's progress is kept
        plan = {"steps": training.steps, "epochs": self.config.training.epochs, "rows": rows}
        self._update_record(progress={**begun, **plan, "machine": get_machine_id()})
        self._report_stage("training", steps=training.steps)
        outcome = training.run()
        self._write_weights(model)
        read_weights(model, self.folder / run_record.WEIGHTS, self.unchanged)  # evaluate the weights as they are stored
        self._update_record(seconds=before + outcome.seconds)
        self._add_results(best_epoch=outcome.best_epoch, steps=outcome.steps)
        return model, tokenizer

    def _add_teacher(self, dataset: Dataset, examples: Examples) -> tuple[Examples, tuple[str, ...]]:
        """Mix a teacher's predictions into the training targets, if one is set; return warnings about that teacher."""
        training = self.config.training
        if not training.teacher:
            return examples, ()
        self._report_stage("teacher")
        said = distillation.get_soft_labels(self.store, self.folder, self.config, dataset, self._check_cancelled)
        targets = mix_targets(examples.labels, said, training.teacher_weight)
        return replace(examples, targets=targets), distillation.describe_doubt(said, examples.labels)

    def _fit_mixed_in(self, dataset: Dataset) -> int:
        """Fit and store the TF-IDF model to mix into the predictions, if set; return its number of parameters."""
        if self.config.training.mix == "none":
            return 0
        folder = self.folder / run_record.MIX
        if not (folder / run_record.WEIGHTS).is_file():
            self._report_stage("TF-IDF to be mixed in")
            fitted = load_baseline(dataset.fingerprint, dataset.classes, lambda: dataset, CHARACTERS)
            make_folder(folder)
            write_text(folder / run_record.TOKENIZER, fitted.tokenizer.to_json())
            write_bytes(folder / run_record.WEIGHTS, pack_weights(fitted.model, self.config.training.weights))
        return count_parameters(read_mixed_in(self.folder, self.record)[0])

    def _append_further(self, dataset: Dataset, examples: Examples, tokenizer: Tokenizer) -> Examples:
        training, texts, classes = self.config.training, _get_texts(dataset, TRAIN), len(dataset.classes)
        if training.joined and tokenizer.pairs:
            raise ConfigError("training.joined: makes one text of several, and here each row has two; leave it out")
        joined = append_joined(examples, texts, tokenizer, classes=classes, share=training.joined, seed=training.seed)
        return append_nonsense(joined, texts, tokenizer, classes=classes, share=training.nonsense, seed=training.seed)

    def _guess_masked_words(self, model: Model, tokens: TokenTable, device: torch.device) -> float:
        """Train the encoder on masked words before the labelled training, if it is set; return its seconds."""
        known: run_record.MaskedWords = self.record.results.get("masked", {})
        epochs = self.config.training.masked_epochs
        if not epochs or (self.folder / run_record.CHECKPOINT / FILE).is_file():  # the labelled training has begun
            return known.get("seconds", 0.0)
        assert isinstance(model, EncoderClassifier)  # settings allow no other model
        make_folder(self.folder / run_record.CHECKPOINT)
        files = self.folder / run_record.MASKED, self.folder / run_record.CHECKPOINT / "masked"
        stage = Masking(model, tokens, self.config.training, *files, device, _MaskedEvents(self))
        self._report_stage("masked words", steps=stage.steps)
        seconds = stage.run()
        loss = read_history(self.folder / run_record.MASKED).select_kind("epoch")[-1]["train_loss"]
        self._update_record(progress={})
        self._add_results(masked={"loss": loss, "epochs": epochs, "seconds": seconds})
        return seconds

    def _fit_tokenizer(self, dataset: Dataset, given: PublishedTokenizer | None) -> tuple[Tokenizer, Start | None]:
        """Fit the tokenizer, or take that of the start run; a resumed training keeps its stored tokenizer."""
        path, config = self.folder / run_record.TOKENIZER, self.config
        if (self.folder / run_record.CHECKPOINT).is_dir() and path.is_file():
            return load_tokenizer(path), None
        texts, start = _get_fit_texts(dataset, config.text), None
        if config.training.start:
            start = Start.from_run(self.store, config.training.start, texts, config.text)
        tokenizer = start.tokenizer if start else fit_tokenizer(texts, config.text, given)
        tokenizer.buckets = config.model.ngram_buckets
        write_text(path, tokenizer.to_json())
        return tokenizer, start

    def _fit_baseline(self, dataset: Dataset, device: torch.device) -> tuple[Model, Tokenizer]:
        """Fit and store a baseline that has no training steps, with scikit-learn on the CPU."""
        self._report_stage("training", steps=0)
        began = time.monotonic()
        train, validation = ((_get_texts(dataset, split), dataset.get_targets(split)) for split in (TRAIN, VALIDATION))
        text, family, classes = self.config.text, self.config.model.family, len(dataset.classes)
        if family == "lexicon":
            fit = fit_lexicon(fit_tokenizer(_get_fit_texts(dataset, text), text), *train, *validation, classes=classes)
        else:
            fit = fit_linear(*train, *validation, config=text, classes=classes, family=family)
        write_text(self.folder / run_record.TOKENIZER, fit.tokenizer.to_json())
        self._write_weights(fit.model)
        self._update_record(
            vocabulary=fit.tokenizer.size,
            max_length=fit.tokenizer.max_length,
            pairs=fit.tokenizer.pairs,
            parameters=count_parameters(fit.model),
            data_notes=(*dataset.notes, *fit.tokenizer.notes),
            seconds=time.monotonic() - began,
            device="cpu",
        )
        self._add_results(**fit.settings)
        return fit.model, fit.tokenizer

    def _evaluate_splits(self, dataset: Dataset, model: Model, tokenizer: Tokenizer) -> None:
        """Evaluate every split except train; store the metrics first, then the intervals, which are slower."""
        evaluated, thresholds, neutral, tested, scaling, held = [], None, dict[str, float](), None, UNSCALED, 0
        mix = None
        for split in _list_splits(dataset):
            self._report_stage("evaluation", split=split)
            texts, labels = _get_texts(dataset, split), dataset.get_targets(split)
            tokens = build_token_table(tokenizer, texts)
            predictions = predict_texts(model, tokenizer, texts, task=dataset.task, tokens=tokens)
            if split == VALIDATION and self.config.training.mix != "none":
                mixed_in = read_mixed_in(self.folder, self.record)
                mix = Ensemble.fit_weight(*mixed_in, predictions.logits, texts, labels, dataset.task)
            if mix is not None:
                predictions = mix.blend_predictions(predictions, texts, dataset.task)
            if split == VALIDATION:
                scaling, held = self._fit_scaling(dataset, predictions.logits, model, tokenizer, mix)
            predictions = predictions.apply_scaling(scaling, dataset.task)
            if split == TEST:
                tested = tokens, None if mix is None else (mix.model, build_token_table(mix.tokenizer, texts))
            if tokenizer.lexicon is not None:
                neutral[split] = tokens.neutral_share
            if dataset.task == "multi" and split == VALIDATION:
                thresholds = metrics.tune_thresholds(dataset.get_targets(split), predictions.probabilities)
            found = split, dataset.splits[split], predictions, dataset.classes, dataset.task, thresholds
            evaluated.append(EvaluatedSplit(*found, ordered=dataset.ordered, scaling=scaling))
        self._add_results(
            metrics={each.split: each.metrics for each in evaluated},
            temperature={
                "value": scaling.temperature,
                "rows": held,
                **({"prior": dict(zip(dataset.classes, scaling.prior, strict=True))} if scaling.prior else {}),
                "as_trained": {each.split: each.as_trained for each in evaluated},
            },
            **({"mix": _describe_mixture(mix.weight, held, evaluated)} if mix else {}),
            **_collect_learned(dataset, model, tokenizer),
        )
        self._report_stage("intervals")
        for each in evaluated:
            half = self.config.training.weights != "float32"
            write_split(self.folder, each, texts=self.config.data.texts, half=half)
        self._add_results(
            intervals={each.split: each.intervals for each in evaluated},
            interval_version=INTERVAL_VERSION,
            silhouette={each.split: each.silhouette for each in evaluated},
            **({"inference": {**measure_inference(model, *tested), "machine": get_machine_id()}} if tested else {}),
            **_tune_thresholds(evaluated),
            **({"neutral_share": replace_nonfinite(neutral)} if neutral else {}),
        )

    def _evaluate_tags(self, dataset: Dataset, model: Model, tokenizer: Tokenizer) -> None:
        found = []
        for split in _list_splits(dataset):
            self._report_stage("evaluation", split=split)
            given = dataset.splits[split], dataset.classes, model, tokenizer
            found.append(word_tagging.TaggedSplit.from_rows(split, *given))
        self._report_stage("intervals")
        for each in found:
            each.write(self.folder)
        self._add_results(
            metrics={each.split: each.report["metrics"] for each in found},
            intervals={each.split: each.report["intervals"] for each in found},
            interval_version=INTERVAL_VERSION,
            **_collect_learned(dataset, model, tokenizer),
        )

    def _fit_scaling(
        self, dataset: Dataset, logits: np.ndarray, model: Model, tokenizer: Tokenizer, mix: Ensemble | None
    ) -> tuple[Scaling, int]:
        """Fit the temperature that calibrates probabilities on validation; also return the number of labels used."""
        labels = dataset.get_targets(VALIDATION)
        if dataset.beside is not None:
            texts = dataset.beside["text"].tolist()
            found = predict_texts(model, tokenizer, texts, task=dataset.task)
            found = found if mix is None else mix.blend_predictions(found, texts, dataset.task)
            logits = np.concatenate([logits, found.logits])
            labels = np.concatenate([labels, encode_targets(dataset.beside, len(dataset.classes), dataset.task)])
        training = self.config.training
        taught = training.nonsense > 0 and training.class_weights == "none"
        prior = compute_class_prior(dataset.get_targets(TRAIN), len(dataset.classes)) if taught else ()
        return fit_scaling(logits, labels, prior), len(labels)

    def is_stop_requested(self) -> bool:
        """Return whether this training run was asked to stop."""
        return self._stopped()

    def on_row(self, row: Row) -> None:
        """Report a new row of the training history."""
        self.tell(row)

    def on_best(self, model: nn.Module) -> None:
        """Write the weights of the best epoch so far, readable while training continues."""
        self._write_weights(model)

    def on_keep(self, model: nn.Module, step: int) -> None:
        """Write the weights of a step that training.keep asks for."""
        make_folder(self.folder / run_record.STEPS)
        weights = pack_weights(model, self.config.training.weights, self.unchanged)
        write_bytes(self.folder / run_record.STEPS / f"{step}.safetensors", weights)

    def on_checkpoint(self, progress: Progress, steps: int, *, masked: bool = False) -> None:
        """Record at a checkpoint how far the training, or its pretraining with masked words, has come."""
        epochs = self.config.training.masked_epochs if masked else self.config.training.epochs
        done = {"step": progress.step, "steps": steps, "epoch": progress.step * epochs // steps, "epochs": epochs}
        before = 0.0 if masked else self.record.results.get("masked", {}).get("seconds", 0.0)
        known: run_record.Position = {"stage": "masked"} if masked else self.record.progress
        self._update_record(progress={**known, **done}, seconds=before + progress.seconds)

    def _write_weights(self, model: nn.Module) -> None:
        write_bytes(self.folder / run_record.WEIGHTS, pack_weights(model, self.config.training.weights, self.unchanged))

    def _check_cancelled(self) -> None:
        if self._stopped():
            raise Cancelled("cancelled")

    def _report_stage(self, kind: str, **more: Any) -> None:
        self._check_cancelled()
        self.tell({"kind": kind, **more})

    def _add_results(self, **results: Any) -> None:
        self._update_record(results={**self.record.results, **results})

    def _update_record(self, **changes: Any) -> None:
        self.record = self.store.update(self.run, **changes)


class _MaskedEvents(Events):
    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    def is_stop_requested(self) -> bool:
        """Return whether the training run was asked to stop."""
        return self.experiment.is_stop_requested()

    def on_row(self, row: Row) -> None:
        """Report a row of the training history from pretraining with masked words, if it is a step and not an epoch."""
        if row["kind"] == "step":
            self.experiment.tell(row)

    def on_checkpoint(self, progress: Progress, steps: int) -> None:
        """Record at a checkpoint how far the pretraining with masked words has come."""
        self.experiment.on_checkpoint(progress, steps, masked=True)


def _list_splits(dataset: Dataset) -> list[str]:
    return [VALIDATION, TEST, *(name for name in dataset.splits if name not in (TRAIN, VALIDATION, TEST))]


def _get_texts(dataset: Dataset, split: str) -> list[str]:
    return dataset.splits[split]["text"].tolist()


def _get_fit_texts(dataset: Dataset, config: TextConfig) -> list[str]:
    splits = (TRAIN, VALIDATION, TEST) if config.tokenizer_fit == "all" else (TRAIN,)
    return [text for split in splits for text in _get_texts(dataset, split)]


def _build_examples(dataset: Dataset, split: str, tokenizer: Tokenizer) -> Examples:
    if dataset.task == word_tagging.TASK:
        return word_tagging.build_examples(dataset, split, tokenizer)
    return Examples(build_token_table(tokenizer, _get_texts(dataset, split)), dataset.get_targets(split))


def check_task(config: RunConfig, task: Task, *, ordered: bool = False) -> None:
    """Check that the settings can train on a data set's labels; ConfigError names the nearest valid ones."""
    resolve_metric(config.training.metric, task, ordered=ordered)
    if task == word_tagging.TASK:
        word_tagging.check_config(config)
    if task == "multi" and config.model.head.one_logit:
        raise ConfigError(
            "model.head.one_logit: for two classes of which each text has one; with several labels per text each has a "
            "logit of its own, so choose one_logit=false"
        )


def _tune_thresholds(evaluated: Sequence[EvaluatedSplit]) -> dict[str, Any]:
    """Return each label's threshold, tuned on validation, and the resulting metrics; empty for single-label runs."""
    thresholds = evaluated[0].thresholds
    if thresholds is None:
        return {}
    found = {
        "thresholds": dict(zip(evaluated[0].classes, map(float, thresholds), strict=True)),
        "metrics": {each.split: each.tuned[0] for each in evaluated},
        "intervals": {each.split: each.tuned[1] for each in evaluated},
    }
    return {"tuned": found}


def _describe_mixture(weight: float, rows: int, evaluated: Sequence[EvaluatedSplit]) -> run_record.TfidfMixture:
    found = {each.split: each.parts for each in evaluated}
    network, tfidf = ({split: parts[name] for split, parts in found.items()} for name in ("network", "tfidf"))
    return {"model": CHARACTERS, "weight": weight, "rows": rows, "network": network, "tfidf": tfidf}


def _collect_learned(dataset: Dataset, model: Model, tokenizer: Tokenizer) -> dict[str, Any]:
    """Return learned numbers such as map weights and gates; those that depend on the text as mean over validation."""
    tokens = build_token_table(tokenizer, _get_texts(dataset, VALIDATION)[:PROBE])
    probe = Batch.from_arrays(tokens.pad_all()).to(get_device(model))
    return {**read_learned_numbers(model, probe), **read_gates(model, probe)}
