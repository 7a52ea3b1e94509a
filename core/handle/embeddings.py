"""What a run has made of texts: maps, groups, layers, neighbours.

Methods of `core.handle.objects.Run`, which is the first argument of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import verbs
from core.handle.named import Named, path

if TYPE_CHECKING:
    pass


def project(
    run: Named,
    *,
    split: str = "test",
    method: str = "tsne",
    dimensions: int = 2,
    rows: int = 3000,
    seed: int = 0,
    space: str = "",
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """Compute a map of a split's embeddings and keep it, for `figure("map-tsne")` and for the dashboard.

    Args:
        split: One that was evaluated.
        method: `tsne`, `umap` or `pca`.
        dimensions: 2 or 3.
        rows: Sentences placed, a stratified sample of more; PCA places all.
        seed: Of the sample and of the map.
        space: `embedding`, `layer 1` … of a model that has layers; empty: what its head reads.
        on_progress: Told what is done and which share of it, 0 to 1, where that is known.

    Returns:
        How far the map can be believed (`quality`), and the file.

    Raises:
        InputError: There is no such split or method.
    """
    own: dict[str, Any] = {"rows": rows, "seed": seed, "on_progress": on_progress, "store": run.store}
    own["space"] = space
    return verbs.project(run.name, split=split, method=method, dimensions=dimensions, **own)


def groups(run: Named, *, split: str = "", csv: str | Path | None = None) -> dict[str, Any]:
    """Groups of sentences that lie close together in its space, named by the words that mark them.

    Args:
        split: Empty: test, or the last that was evaluated.
        csv: A file for the rows, each with its group.

    Returns:
        `groups`: of each `name`, `words`, `n`, `wrong`, `rate`, `interval`, `keys`; `none`; see
        `core.verbs.groups`.

    Raises:
        InputError: There is no such split, or the file cannot be written.
        NotAvailable: It makes no vector of a sentence.
    """
    return verbs.groups(run.name, split=split, csv=path(csv), store=run.store)


def layers(
    run: Named, *, split: str = "", on_progress: Callable[[str, float | None], None] | None = None
) -> dict[str, Any]:
    """How clearly the classes of a split lie apart at each stage: from what enters to what its head reads.

    Args:
        split: Empty: test, or the last that was evaluated.
        on_progress: Told what is done, and which share of it.

    Returns:
        `stages`: of each `name`, `silhouette` and `purity`; `chance`, the purity of neighbours drawn at random; see
        `core.verbs.layers`.

    Raises:
        InputError: There is no such split.
        NotAvailable: It has no layers.
    """
    return verbs.layers(run.name, split=split, store=run.store, on_progress=on_progress)


def neighbours(
    run: Named,
    text: str = "",
    *,
    key: str = "",
    where: Sequence[str] | str = (),
    split: str = "",
    space: str = "",
    most: int = 10,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """The sentences that are nearest to a text, to a row of a split or to a whole selection, in a space of the model.

    Args:
        text: Any, or
        key: of a row of the split, which is no neighbour of itself; or
        where: clauses that select rows, as of `errors`: then those of training that are near to most of these.
        split: Empty: test, or the last that was evaluated.
        space: `embedding`, `layer 1` … of a model that has layers; empty: what its head reads.
        most: Sentences.
        on_progress: Told what is done, where the layers must be read first.

    Returns:
        `neighbours`: of each `key`, `text`, `truth`, `said` and the Euclidean `distance`, the nearest first; of a
        selection `text`, `label`, `near`, `share` and `likeness`; see `core.verbs.neighbours`.

    Raises:
        InputError: There is no such split, key or space, a clause is not understood, or none or several of text, key
            and where are given.
        NotAvailable: It makes no vector of a sentence.
    """
    own: dict[str, Any] = {"split": split, "space": space, "most": most, "store": run.store}
    return verbs.neighbours(run.name, text, key=key, where=where, on_progress=on_progress, **own)
