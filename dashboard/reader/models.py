"""Cached use of loaded models: predictions, attributions, ablations, effects of λ and counterfactuals of texts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core import behavioral_tests, error_analysis, interpret
from core import runs as run_files
from core.behavioral_tests.suite import SuiteAnswers
from core.evaluation.projection import Projection, ProjectionConfig, fit_pca, place_among
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import get_file_version
from core.interpret.background_thread import BackgroundThread, OnProgress, ignore_progress
from core.interpret.model_edits import UNCHANGED, Edits
from core.models.capabilities import list_capabilities
from core.runs import faithfulness_files, projections
from core.runs.attention_files import DemoSentences
from core.runs.faithfulness_files import BeliefFiles
from core.runs.projections import LayerFiles, Layers, MapFiles, Space
from core.runs.record import EMBEDDINGS, PREDICTIONS, TOKENIZER, WEIGHTS, RunRecord
from dashboard.reader.runs import Key, RunReader, cache_result

if TYPE_CHECKING:
    from core.behavioral_tests.suite import Suite, SuiteResult
    from core.error_analysis.clusters import FoundGroups
    from core.error_analysis.counter_examples import CounterExample, ExamplePrediction
    from core.error_analysis.predictions_table import PredictionTable
    from core.error_analysis.quiz import Question, Quiz
    from core.evaluation.inference import PassagePredictions, Predictions
    from core.interpret.ablation import AblationEffects, LambdaCurves, Patches
    from core.interpret.attribution import Methods
    from core.interpret.counterfactual import Search
    from core.interpret.explain_context import ExplainContext
    from core.interpret.faithfulness_verdict import Belief
    from core.interpret.forward_stages import ForwardStages
    from core.interpret.negation_templates import FilledTemplate, TemplatePredictions
    from core.interpret.sentence_inspection import SentenceView
    from core.runs.attention_files import AttentionAnalysis
    from core.runs.load import LoadedRun
    from core.runs.word_tagging import TaggedText
    from dashboard.figures.attention import AttributedWords
    from dashboard.figures.decisions import Floats

Wanted = tuple[Any, ...]
"""A slow model computation: the name of a reader method with `tell`, the run, and further arguments."""


@dataclass(frozen=True)
class ModelRequest:
    """A request for slow model computations that a page waits for; one thread computes for all visitors."""

    wanted: tuple[Wanted, ...]
    known: BackgroundThread[Any]
    steps: Callable[[OnProgress], Iterator[Any]]

    def wait(self, patience: float | None = None) -> BackgroundThread[Any]:
        """Start model computations if needed and wait for at most `patience` seconds; None: wait until they end."""
        self.known.start_and_wait(self.steps, patience)
        return self.known


class ModelReader(RunReader):
    """A class that loads models and caches results; RunDamaged: unreadable weights, InputError: unsuitable request."""

    @cache_result(6, RunReader.make_model_key, spinner="Loading the model")
    def load_model(self, run: str, step: int | None = None, *, tags: bool = False) -> LoadedRun:
        """Load a run's model, or its weights at a kept step, shared by all visitors and never modified."""
        import torch

        if self.memo.shared:
            torch.set_num_threads(1)  # one sentence is too little work for several threads
        return run_files.load.load_run(self.store(), run, tags=tags).read_step(step)

    def _make_context(self, run: str, edits: Edits, tell: OnProgress = ignore_progress) -> ExplainContext:
        loaded = self.load_model(run, edits.step).copy_with_progress(tell)
        reader = loaded.make_reader(edits.to_intervention(), unmixed=edits.unmixed)
        return replace(reader, inspect=lambda text: self.inspect_text(run, text, edits))  # the page has shown it

    def tag_words(self, record: RunRecord, text: str) -> TaggedText:
        """Predict a tag for each word of a text with the model of a run."""
        loaded = self.load_model(record.run, tags=True)
        return run_files.word_tagging.tag_texts(loaded.model, loaded.tokenizer, [text], record.classes)[0]

    @cache_result(48, RunReader.make_model_key)
    def inspect_text(self, run: str, text: str, edits: Edits = UNCHANGED) -> SentenceView:
        """Run a model on one text, as trained or with model edits; return its predictions and internals."""
        return self.load_model(run, edits.step).inspect(text, edits.to_intervention(), unmixed=edits.unmixed)

    @cache_result(24, RunReader.make_model_key)
    def predict_passages(self, run: str, text: str, words: int) -> PassagePredictions:
        """Predict each passage of a long text (at most `words` words each), and the whole text as their mean."""
        return self.load_model(run).predict_by_passage([text], words)

    @cache_result(24, RunReader.make_model_key)
    def trace_steps(
        self, run: str, text: str, layer: int | None, head: int | None, component: int | None, edits: Edits = UNCHANGED
    ) -> ForwardStages:
        """Return a forward pass in steps, for a layer and head (from 1) and map (from 0); NotAvailable: no token."""
        return interpret.forward_pass.compute_stages(self._make_context(run, edits), text, layer, head, component)

    @cache_result(48, RunReader.make_model_key)
    def pushed(
        self, run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = ignore_progress
    ) -> AttributedWords:
        """Return the effect of deleting each word on the log-odds of a class, for the trained or the edited model."""
        from core.text.word_spans import compute_shares
        from dashboard.figures.attention import AttributedWords

        loaded, reader = self.load_model(run), self._make_context(run, edits, tell)
        said, named = self._predict_deletions(run, text, edits, tell), ("deletion", "attention")
        *_, methods = interpret.attribution.explain_by_methods(reader, text, target, named, said)
        found, view, encoding = methods.by["deletion"], reader.inspect(text), loaded.tokenizer.encode(text)
        spans = [(word.start, word.end) for word in found.words]
        own = compute_shares(text, spans, encoding.offsets, loaded.tokenizer.config)
        belongs = np.pad(own, ((0, 0), (view.before, view.behind)))
        return AttributedWords(found, belongs, methods.by.get("attention"))

    @cache_result(48, RunReader.make_model_key)
    def parts(
        self, run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = ignore_progress
    ) -> AblationEffects:
        """Return the effect of ablating each model part on the log-odds of a class, for the trained or edited model."""
        said = self._predict_deletions(run, text, edits, tell)
        return interpret.ablation.silence_parts(self._make_context(run, edits, tell), text, target, said)

    @cache_result(48, RunReader.make_model_key)
    def _predict_deletions(self, run: str, text: str, edits: Edits, tell: OnProgress) -> Predictions:
        """Predict a text with an edited model: the whole text, then one without each of its words."""
        gone = interpret.attribution.list_deletions(interpret.attribution.select_words(text))
        return self._make_context(run, edits, tell).predict_without(text, gone)

    @cache_result(48, RunReader.make_model_key)
    def lambdas(
        self, run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = ignore_progress
    ) -> LambdaCurves:
        """Return the log-odds of a class as a curve over each learned map weight λ, for the trained or edited model."""
        loaded = self.load_model(run, edits.step).copy_with_progress(tell)
        return loaded.measure_lambdas(text, target, edits.to_intervention(), unmixed=edits.unmixed)

    @cache_result(24, RunReader.make_model_key)
    def patches(
        self, run: str, text: str, donor: str, target: str, edits: Edits, tell: OnProgress = ignore_progress
    ) -> Patches:
        """Return a class's log-odds if activations of a text are replaced, one at a time, by an equally long text's."""
        reader = self._make_context(run, edits, tell)
        return interpret.ablation.patch_activations(reader, text, donor, target)

    def each_method(
        self, run: str, text: str, target: str, edits: Edits, named: Sequence[str], tell: OnProgress = ignore_progress
    ) -> Iterator[Methods]:
        """Yield the attributions of a text's words by the named methods, one more method at each step."""
        return interpret.attribution.explain_by_methods(self._make_context(run, edits, tell), text, target, named)

    def compare_methods(self, run: str, text: str, target: str, edits: Edits, named: Sequence[str]) -> Methods:
        """Return the attributions of a text's words by all named methods that can explain the model."""
        known = self.request_all(("each_method", run, text, target, edits, tuple(named))).wait()
        assert known.found is not None  # a stopped computation is shown elsewhere
        found: Methods = known.found
        return found

    @cache_result(128, lambda self, run, steps, target: self.make_model_key(run, tuple(steps), target))
    def reach(
        self, run: str, steps: Sequence[FilledTemplate], target: str, tell: OnProgress = ignore_progress
    ) -> TemplatePredictions:
        """Return predictions for a sentence template while more and more words are inserted into it."""
        return interpret.negation_templates.predict_template(self._make_context(run, UNCHANGED, tell), steps, target)

    def request_all(self, *wanted: Wanted) -> ModelRequest:
        """Request several model computations, to run one after the other in one thread."""

        def run_steps(tell: OnProgress) -> Iterator[Any]:
            for name, *about in wanted:
                tell(name, None)
                found = getattr(self, name)(*about, tell=tell)
                yield from found if isinstance(found, Iterator) else (found,)

        return ModelRequest(wanted, self._get_watched(wanted), run_steps)

    @cache_result(96, lambda self, wanted: tuple((name, self.make_model_key(*about)) for name, *about in wanted))
    def _get_watched(self, wanted: tuple[Wanted, ...]) -> BackgroundThread[Any]:
        return BackgroundThread()

    def read_faithfulness(self, record: RunRecord) -> Belief | None:
        """Return the faithfulness of a run's explanations; None if it was not measured or cannot be read."""
        store = self.store()
        with contextlib.suppress(RunDamaged):
            own = store.get_path(record.run) / faithfulness_files.FOLDER
            if not (own.is_dir() or BeliefFiles.from_run(store, record.run).folder.is_dir()):
                return None
            methods = interpret.attribution.list_methods(list_capabilities(record.config.model))
            return faithfulness_files.read_stored(store, record.run, methods)
        return None

    def read_attention(
        self, analysis: type[AttentionAnalysis], record: RunRecord, split: str, *, each_map: bool = False
    ) -> dict[str, Any] | None:
        """Return the stored measures of a run's attention over a split; None if they were not computed."""
        return self._read_attention(analysis.from_run(self.store(), record.run, split, each_map=each_map))

    @cache_result(16, lambda self, files: (files, get_file_version(files.get_path("json"))))
    def _read_attention(self, files: AttentionAnalysis) -> dict[str, Any] | None:
        return files.read()

    def make_demos_job(self, record: RunRecord) -> DemoSentences | None:
        """Return the job that finds a run's demo sentences in test, or its last split; None if it can have none."""
        splits = self.list_splits(record.run)
        if record.task == "tokens" or "maps" not in list_capabilities(record.config.model) or not splits:
            return None
        return DemoSentences.from_run(self.store(), record.run, "test" if "test" in splits else splits[-1])

    def read_demos(self, record: RunRecord) -> Sequence[Mapping[str, Any]] | None:
        """Return the stored sentences whose answer one part of a run decides; None if they were not searched."""
        job = self.make_demos_job(record)
        found = self._read_attention(job) if job else None
        return None if found is None else found["rows"]

    def search_counterfactual(self, run: str, text: str, target: str, edits: Edits) -> Iterator[Search]:
        """Search for the smallest change of a text that changes its prediction; yield the search after each step."""
        return interpret.counterfactual.search_flip(self._make_context(run, edits), text, target)

    @cache_result(8, lambda self, file: (file, get_file_version(Path(file)) if file else ""))
    def read_suite(self, file: str) -> Suite:
        """Read a behavioural test suite from a file, the built-in one if `file` is empty; DataError: unreadable."""
        return behavioral_tests.suite_reader.read_suite(file)

    def _make_suite_key(self, run: str, asked: Suite, sides: Mapping[str, str]) -> Key:
        return self.make_model_key(run, asked.digest, sorted(sides.items()))

    @cache_result(32, _make_suite_key)
    def make_suite_job(self, run: str, asked: Suite, sides: Mapping[str, str]) -> SuiteAnswers:
        """Return the job that predicts a test suite with a run; `sides`: class → polarity, such as positive."""
        return SuiteAnswers.from_suite(self.store(), run, asked, dict(sides))

    @cache_result(32, _make_suite_key, spinner="Running the model")
    def judge_suite(self, run: str, asked: Suite, sides: Mapping[str, str]) -> SuiteResult:
        """Return a run's results on a behavioural test suite, and compute them first if they are not stored."""
        return self.make_suite_job(run, asked, sides).judge()

    def judge_default_suite(self, record: RunRecord) -> SuiteResult:
        """Return a run's stored results on the built-in behavioural test suite; NotAvailable if it was not tested."""
        try:
            suite = behavioral_tests.suite_reader.load_builtin_suite()
            asked = SuiteAnswers.from_suite(self.store(), record.run, suite)
            if asked.read() is None:
                raise NotAvailable(f"it has not been computed yet; `sentiscope {' '.join(asked.words)}` computes it")
            return asked.judge()
        except InputError as error:
            raise NotAvailable(str(error)) from error

    def read_group_rates(self, record: RunRecord) -> dict[str, Any]:
        """Return a run's stored rates for groups of people; NotAvailable: not measured, or no positive class."""
        found = behavioral_tests.report.find_groups(self.store(), record.run, stored=True)
        if found is None:
            raise NotAvailable(f"this has not been measured yet; `sentiscope behave {record.run}` measures it")
        return found

    def _make_quiz_key(self, run: str) -> Key:
        return self.make_model_key(run), [self.make_key(run, split, PREDICTIONS) for split in self.list_splits(run)]

    @cache_result(64, _make_quiz_key, spinner="Choosing sentences")
    def make_quiz(self, run: str) -> Quiz:
        """Return the sentences that Start shows for a run; NotAvailable: it has none, RunDamaged: it is unreadable."""
        return error_analysis.quiz.make_quiz(self.store(), run, load=lambda: self.load_model(run))

    @cache_result(48, RunReader.make_model_key)
    def ask_sentence(self, run: str, text: str, common: Sequence[str]) -> Question:
        """Return a run's answers to a typed sentence and to it without some words; InputError: it is too long."""
        return error_analysis.quiz.ask_sentence(self.load_model(run), text, common=common)

    def list_examples(self) -> list[CounterExample]:
        """List the counter-examples that users have submitted, newest first; every call reads the disk."""
        return error_analysis.counter_examples.read_examples(self.store().folder)

    def predict_examples(self, run: str, rows: Sequence[CounterExample]) -> list[ExamplePrediction]:
        """Predict counter-examples with the model of a run; NotAvailable if the run has no weights."""
        if not self.has_weights(run):
            raise NotAvailable("it has no weights, so no sentence can be read")
        return self._predict_examples(run, rows)

    @cache_result(
        16, lambda self, run, rows: self.make_model_key(run, [row.id for row in rows]), spinner="Running the model"
    )
    def _predict_examples(self, run: str, rows: Sequence[CounterExample]) -> list[ExamplePrediction]:
        return error_analysis.counter_examples.predict_examples(self.load_model(run), rows)

    def list_embedded_splits(self, run: str) -> list[str]:
        """List the evaluated splits of a run with embeddings, in the order of the splits."""
        known = run_files.predictions.list_embedded_splits(self.store(), run)
        return [split for split in self.list_splits(run) if split in known]

    @cache_result(
        256, lambda self, run, *asked: (self.make_key(run, asked[0], EMBEDDINGS, PREDICTIONS), asked), copied=True
    )
    def get_map_files(self, run: str, split: str, config: ProjectionConfig) -> MapFiles:
        """Return the file paths of a split's embedding map, even if not computed yet; InputError: no embeddings."""
        return MapFiles.from_run(self.store(), run, split, config)

    def _make_map_key(self, record: RunRecord, files: MapFiles) -> Key:
        read = [files.get_path("npy"), files.get_path("json")]
        if files.config.space:
            with contextlib.suppress(NotAvailable):
                read.append(self.get_layer_files(files.run, files.split).get_path("json"))
        return files, record.classes, [get_file_version(path) for path in read]

    @cache_result(16, _make_map_key)
    def read_projection(self, record: RunRecord, files: MapFiles) -> Projection | None:
        """Return an embedding map: PCA is computed at once, others must be stored; InputError: too few embeddings."""
        if files.config.method != "pca":
            return files.read()
        with contextlib.suppress(NotAvailable):
            return projections.project_space(self.read_space(record, files), files.config)
        return None

    @cache_result(4, _make_map_key)
    def read_space(self, record: RunRecord, files: MapFiles) -> Space:
        """Return the sentence vectors that an embedding map shows; NotAvailable: the vectors are not computed."""
        return files.read_space(record.classes)

    @cache_result(64, lambda self, run, split: self.make_key(run, split, PREDICTIONS, WEIGHTS, TOKENIZER), copied=True)
    def get_layer_files(self, run: str, split: str) -> LayerFiles:
        """Return the file paths of a split's analysis by layer, computed or not; NotAvailable: no layers or weights."""
        return LayerFiles.from_run(self.store(), run, split)

    def read_separability(self, record: RunRecord, split: str) -> Layers | None:
        """Return how well the vectors after each model layer separate the classes of a split; None: not computed."""
        return self.get_layer_files(record.run, split).read()

    @cache_result(
        128, lambda self, record, files, text: self.make_model_key(record.run, files.config.space, text), copied=True
    )
    def embed_text(self, record: RunRecord, files: MapFiles, text: str) -> Floats:
        """Return the vector (d,) of a typed text in the space of an embedding map."""
        return self.load_model(record.run).compute_vector(text, files.config.space)

    def place_text(self, record: RunRecord, files: MapFiles, made: Projection, text: str) -> Floats:
        """Return the position of a typed text on an embedding map: exact for PCA, else close to its neighbours."""
        asked, here = self.embed_text(record, files, text), self.read_space(record, files)
        if files.config.method == "pca":
            return fit_pca(here.vectors, files.config.dimensions).transform(asked[None])[0]
        return place_among(asked, here.vectors[np.searchsorted(here.rows, made.rows)], made.places)[0]

    @cache_result(
        8, lambda self, record, split: self.make_split_key(record, split, EMBEDDINGS), spinner="Finding clusters"
    )
    def find_groups(self, record: RunRecord, split: str) -> tuple[PredictionTable, FoundGroups]:
        """Return a split's prediction table and its clusters in embedding space; NotAvailable: no embeddings."""
        return error_analysis.clusters.find_clusters(self.store(), record.run, split)
