"""Readings of loaded models: predictions, attributions, ablations, λ curves and counterfactuals of texts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core import behaviour, failures, interpret
from core import runs as run_files
from core.behaviour.answers import SuiteAnswers
from core.evaluation.projection import Projection, ProjectionConfig, fit_pca, place_among
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import file_version
from core.interpret.edits import UNCHANGED, Edits
from core.interpret.watched import OnProgress, Watched, silent
from core.models.provides import provides
from core.runs import beliefs, projections
from core.runs.beliefs import BeliefFiles
from core.runs.layers import LayerFiles, Layers
from core.runs.projections import MapFiles, Space
from core.runs.record import EMBEDDINGS, EVALUATION, PREDICTIONS, TOKENIZER, WEIGHTS, RunRecord
from dashboard.reader.memo import Key, kept
from dashboard.reader.runs import RunReader

if TYPE_CHECKING:
    from core.behaviour.judge import Judged
    from core.behaviour.suite import Suite
    from core.evaluation.predict import ByPassage
    from core.failures.counter_examples import Answer, CounterExample
    from core.failures.found_groups import FoundGroups
    from core.failures.table import Table
    from core.interpret.explain import Methods
    from core.interpret.flip import Search
    from core.interpret.lambdas import LambdaCurves
    from core.interpret.parts import Parts
    from core.interpret.patch import Patches
    from core.interpret.sentence import SentenceView
    from core.interpret.stages import Steps
    from core.interpret.templates import Reach, Step
    from core.interpret.verdict import Belief
    from core.runs.load import LoadedRun
    from core.runs.tagged import Tagged
    from dashboard.figures.decisions import Floats
    from dashboard.figures.pushes import Pushed

Wanted = tuple[Any, ...]
"""A question that takes a model long: the name of a reading with `tell`, the run, and its further arguments."""


@dataclass(frozen=True)
class Asking:
    """Model computations that a page waits for; a thread runs them once for all visitors."""

    wanted: tuple[Wanted, ...]
    known: Watched[Any]
    steps: Callable[[OnProgress], Iterator[Any]]

    def wait(self, patience: float | None = None) -> Watched[Any]:
        """Start the computations if needed and wait up to `patience` seconds; None: until they end."""
        self.known.ask(self.steps, patience)
        return self.known


class ModelReader(RunReader):
    """Reader of models; RunDamaged: weights or tokenizer cannot be read, InputError: it cannot be asked so."""

    @kept(6, RunReader.model_version, spinner="Loading the model")
    def loaded(self, run: str, *, tags: bool = False) -> LoadedRun:
        """Load a model that all visitors share and nothing changes; interventions are arguments."""
        import torch

        if self.memo.shared:
            torch.set_num_threads(1)  # a sentence is too little to share: threads waiting for each other cost far more
        return run_files.load.load_run(self.store(), run, tags=tags)

    def tagged(self, record: RunRecord, text: str) -> Tagged:
        """Tag each word of a text."""
        loaded = self.loaded(record.run, tags=True)
        return run_files.tagged.tag_texts(loaded.model, loaded.tokenizer, [text], record.classes)[0]

    @kept(48, RunReader.model_version)
    def sentence(self, run: str, text: str, edits: Edits = UNCHANGED) -> SentenceView:
        """Read one text with a model, as trained or with changes; return its predictions and internals."""
        return self.loaded(run).inspect(text, edits.intervention(), unmixed=edits.unmixed)

    @kept(24, RunReader.model_version)
    def passages(self, run: str, text: str, words: int) -> ByPassage:
        """Predict a text passage by passage."""
        return self.loaded(run).by_passage([text], words)

    @kept(24, RunReader.model_version)
    def steps(
        self, run: str, text: str, layer: int | None, head: int | None, component: int | None, edits: Edits = UNCHANGED
    ) -> Steps:
        """Return the forward pass as stages; layer and head from 1, component from 0; NotAvailable: no token."""
        loaded = self.loaded(run)
        return loaded.steps(text, layer, head, component, edits.intervention(), unmixed=edits.unmixed)

    @kept(48, RunReader.model_version)
    def pushed(self, run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> Pushed:
        """Return the effect of each word on the log-odds of a class, as the run was trained or with changes."""
        from core.text.typed import shares
        from dashboard.figures.pushes import Pushed

        loaded, asked = self.loaded(run).watched(tell), ("deletion", "attention")
        *_, methods = loaded.side_by_side(text, target, edits.intervention(), unmixed=edits.unmixed, named=asked)
        found, view, encoding = methods.by["deletion"], loaded.inspect(text), loaded.tokenizer.encode(text)
        spans = [(word.start, word.end) for word in found.words]
        own = shares(text, spans, encoding.offsets, loaded.tokenizer.config)
        belongs = np.pad(own, ((0, 0), (view.before, view.behind)))
        return Pushed(found, belongs, methods.by.get("attention"))

    @kept(48, RunReader.model_version)
    def parts(self, run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent) -> Parts:
        """Return the effect of each part of the model on the log-odds of a class, as trained or besides changes."""
        return self.loaded(run).watched(tell).parts(text, target, edits.intervention(), unmixed=edits.unmixed)

    @kept(48, RunReader.model_version)
    def lambdas(
        self, run: str, text: str, target: str, edits: Edits = UNCHANGED, tell: OnProgress = silent
    ) -> LambdaCurves:
        """Return the effect of each λ on the log-odds of a class, all else as trained or as changed."""
        return self.loaded(run).watched(tell).lambdas(text, target, edits.intervention(), unmixed=edits.unmixed)

    @kept(24, RunReader.model_version)
    def patches(self, run: str, text: str, donor: str, target: str, edits: Edits, tell: OnProgress = silent) -> Patches:
        """Patch activations of a donor with as many tokens into a text, one place at a time; return the effects."""
        loaded = self.loaded(run).watched(tell)
        return loaded.patch(text, donor, target, edits.intervention(), unmixed=edits.unmixed)

    def each_method(
        self, run: str, text: str, target: str, edits: Edits, named: Sequence[str], tell: OnProgress = silent
    ) -> Iterator[Methods]:
        """Yield the effect of each word by these methods, one method more with each step."""
        loaded = self.loaded(run).watched(tell)
        return loaded.side_by_side(text, target, edits.intervention(), unmixed=edits.unmixed, named=named)

    def methods(self, run: str, text: str, target: str, edits: Edits, named: Sequence[str]) -> Methods:
        """Return the effect of each word by these methods, as far as they can explain the model."""
        known = self.asking(("each_method", run, text, target, edits, tuple(named))).wait()
        assert known.found is not None  # the page shows what was stopped by itself
        found: Methods = known.found
        return found

    @kept(128, lambda self, run, steps, target: self.model_version(run, tuple(steps), target))
    def reach(self, run: str, steps: Sequence[Step], target: str, tell: OnProgress = silent) -> Reach:
        """Predict a template with more and more words put in."""
        return self.loaded(run).watched(tell).reach(tuple(steps), target)

    def asking(self, *wanted: Wanted) -> Asking:
        """Request several computations, which run one after the other."""

        def steps(tell: OnProgress) -> Iterator[Any]:
            """Yield the results in order."""
            for name, *about in wanted:
                tell(name, None)
                found = getattr(self, name)(*about, tell=tell)
                yield from found if isinstance(found, Iterator) else (found,)

        return Asking(wanted, self._watched(wanted), steps)

    @kept(96, lambda self, wanted: tuple((name, self.model_version(*about)) for name, *about in wanted))
    def _watched(self, wanted: tuple[Wanted, ...]) -> Watched[Any]:
        return Watched()

    def belief(self, record: RunRecord) -> Belief | None:
        """Return the faithfulness of a run's explanations; None: it is not measured, or cannot be read."""
        store = self.store()
        with contextlib.suppress(RunDamaged):
            folders = store.path(record.run) / beliefs.FOLDER, BeliefFiles.of(store, record.run).folder
            if not any(folder.is_dir() for folder in folders):
                return None
            return beliefs.kept(store, record.run, interpret.explain.methods(provides(record.config.model)))
        return None

    def flips(self, run: str, text: str, target: str, edits: Edits) -> Iterator[Search]:
        """Search for the smallest change of a text that changes its prediction; each iteration is one step."""
        return self.loaded(run).flips(text, target, intervene=edits.intervention(), unmixed=edits.unmixed)

    @kept(8, lambda self, file: (file, file_version(Path(file)) if file else ""))
    def suite(self, file: str) -> Suite:
        """Read the suite of a file, or ours where none is named; DataError: it cannot be read."""
        return behaviour.read.read_suite(file)

    def _suite_version(self, run: str, asked: Suite, sides: Mapping[str, str]) -> Key:
        return self.model_version(run, asked.digest, sorted(sides.items()))

    @kept(32, _suite_version)
    def suite_answers(self, run: str, asked: Suite, sides: Mapping[str, str]) -> SuiteAnswers:
        """Return the job of asking a run a suite; `sides` by class, where a person says what it means."""
        return SuiteAnswers.of(self.store(), run, asked, dict(sides))

    @kept(32, _suite_version, spinner="Asking the model")
    def judged(self, run: str, asked: Suite, sides: Mapping[str, str]) -> Judged:
        """Return the judged answers of a run to a suite, which are computed if they are not stored."""
        return self.suite_answers(run, asked, sides).judge()

    def behaviour(self, record: RunRecord) -> Judged:
        """Return the answers of a run to the suite that comes with Sentiscope; NotAvailable: it has not been asked."""
        try:
            asked = SuiteAnswers.of(self.store(), record.run, behaviour.read.our_suite())
            if asked.read() is None:
                raise NotAvailable(f"it has not been asked yet; `sentiscope {' '.join(asked.words)}` does it")
            return asked.judge()
        except InputError as error:
            raise NotAvailable(str(error)) from error

    def examples(self) -> list[CounterExample]:
        """List the class's counter-examples, the last first; every call reads the disk."""
        return failures.counter_examples.counter_examples(self.store().folder)

    def answers(self, run: str, rows: Sequence[CounterExample]) -> list[Answer]:
        """Predict counter-examples with a run; NotAvailable: it has no weights."""
        if not self.has_weights(run):
            raise NotAvailable("it has no weights, so no sentence can be read")
        return self._answers(run, rows)

    @kept(16, lambda self, run, rows: self.model_version(run, [row.id for row in rows]), spinner="Asking the model")
    def _answers(self, run: str, rows: Sequence[CounterExample]) -> list[Answer]:
        return failures.counter_examples.answers(self.loaded(run), rows)

    def embedded_splits(self, run: str) -> list[str]:
        """List the evaluated splits whose embeddings are kept."""
        folder = self.store().path(run) / EVALUATION
        return [split for split in self.evaluated_splits(run) if (folder / split / EMBEDDINGS).is_file()]

    @kept(256, lambda self, run, *asked: (self.version(run, asked[0], EMBEDDINGS, PREDICTIONS), asked), copied=True)
    def map_files(self, run: str, split: str, config: ProjectionConfig) -> MapFiles:
        """Return the files of a map of this split, computed or not; InputError: the split has no embeddings."""
        return MapFiles.of(self.store(), run, split, config)

    def _map_version(self, record: RunRecord, files: MapFiles) -> Key:
        read = [files.path("npy"), files.path("json")]
        if files.config.space:
            with contextlib.suppress(NotAvailable):
                read.append(self.layer_files(files.run, files.split).path("json"))
        return files, record.classes, [file_version(path) for path in read]

    @kept(16, _map_version)
    def projection(self, record: RunRecord, files: MapFiles) -> Projection | None:
        """Return a PCA map at once, any other only if it has been computed; InputError: too few embeddings."""
        if files.config.method != "pca":
            return files.read()
        with contextlib.suppress(NotAvailable):
            return projections.project_space(self.space(record, files), files.config)
        return None

    @kept(4, _map_version)
    def space(self, record: RunRecord, files: MapFiles) -> Space:
        """Return the vectors that a map is made from; NotAvailable: the layers of the model have not been read."""
        return files.space(record.classes)

    @kept(64, lambda self, run, split: self.version(run, split, PREDICTIONS, WEIGHTS, TOKENIZER), copied=True)
    def layer_files(self, run: str, split: str) -> LayerFiles:
        """Return the files of a split's layers, computed or not; NotAvailable: the model has none, or no weights."""
        return LayerFiles.of(self.store(), run, split)

    def layers(self, record: RunRecord, split: str) -> Layers | None:
        """Return how separable the classes are at each stage of a model; None: unknown; raises as their files do."""
        return self.layer_files(record.run, split).read()

    @kept(128, lambda self, record, files, text: self.model_version(record.run, files.config.space, text), copied=True)
    def vector(self, record: RunRecord, files: MapFiles, text: str) -> Floats:
        """Return the vector, (d,), of a typed text in the space of a map."""
        return self.loaded(record.run).vector(text, files.config.space)

    def place(self, record: RunRecord, files: MapFiles, made: Projection, text: str) -> Floats:
        """Return the place of a typed text: exact for PCA, else among its nearest neighbours in the original space."""
        asked, here = self.vector(record, files, text), self.space(record, files)
        if files.config.method == "pca":
            return fit_pca(here.vectors, files.config.dimensions).transform(asked[None])[0]
        return place_among(asked, here.vectors[np.searchsorted(here.rows, made.rows)], made.places)[0]

    @kept(8, lambda self, record, split: self.split_version(record, split, EMBEDDINGS), spinner="Looking for groups")
    def found_groups(self, record: RunRecord, split: str) -> tuple[Table, FoundGroups]:
        """Return the groups of a split in embedding space, with its table; NotAvailable: no embeddings are kept."""
        return failures.found_groups.found_groups(self.store(), record.run, split)
