"""Sentences of a split in the model's embedding space: maps, groups, layers, neighbours."""

from typing import Annotated, Any, cast

import msgspec

from core import error_analysis, evaluation, runs
from core.api.options import CliArgument, File, OnProgress, RunName, Space, Split, Store
from core.api.printing import say, tabulate, write_ends, write_points
from core.atomic import write_named
from core.exceptions import InputError, NotAvailable
from core.formatting import count, format_csv, format_decimals, plural
from core.models.capabilities import HEAD, list_capabilities
from core.runs.store import RunStore


def project(
    run: RunName,
    *,
    split: Annotated[str, CliArgument("Whose embeddings; the splits that the run was evaluated on.")] = "test",
    method: str = "tsne",
    dimensions: int = 2,
    rows: Annotated[int, CliArgument(name="--limit")] = 3000,
    seed: int = 0,
    space: Space = "",
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Map a split's embeddings to 2-D or 3-D, store the map in the run, and measure how far it can be trusted.

    Args:
        method: tsne, umap or pca.
        dimensions: 2 or 3.
        rows: The maximum number of sentences, a stratified sample of larger splits; PCA places all.
        seed: The seed of the sample and of the map.
    """
    store, space = store or RunStore(), "" if space == HEAD else space
    config = evaluation.projection.ProjectionConfig(cast(Any, method), dimensions, rows, seed, space)
    files = runs.projections.MapFiles.from_run(store, run, split, config)
    made, there = files.read_or_compute(on_progress)
    return {
        "run": run,
        "split": split,
        **config.list_arguments(len(made.rows)),
        "n": len(made.rows),
        "computed": not there,
        "file": str(files.get_path("npy")),
        "explained": list(made.explained),
        "quality": runs.projections.summarize_map(made),
    }


def groups(run: RunName, *, split: Split = "", csv: File = None, store: Store = None) -> dict[str, Any]:
    """Find groups of sentences that are close in embedding space, named by their distinguishing words.

    Args:
        csv: Also write the rows with their groups to this file.

    Returns:
        `run`, `split`; `n` rows, of which `wrong`, with `rate` and its 95 % `interval` (Wilson); `looked_at`, the
        number of clustered rows (all, except in very large splits); `least`, the smallest size of a group; `groups`,
        largest first: `name`, its `words` with occurrences in the group (`selected`) and in the `rest`, `log_odds` and
        `z` (`core.error_analysis.keywords`), the same numbers for its rows, and their `keys`; `none`: the rows without
        a group; `reason`: why there are no groups, else empty.
    """
    store = store or RunStore()
    _check_vectors(store, run)
    table, found = error_analysis.clusters.find_clusters(store, run, split)
    if csv is not None:
        write_named("--csv", csv, format_csv(error_analysis.clusters.build_table(table, found)))
    return error_analysis.clusters.report_clusters(table, found)


def layers(
    run: RunName,
    *,
    split: Split = "",
    against: Annotated[str, CliArgument(metavar="RUN")] = "",
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Measure how well the classes are separated in each layer: silhouette, and purity of neighbourhoods.

    The vector of a text in a layer is the mean of its token vectors. The result is stored in the cache of the machine.

    Args:
        against: Also compare each layer with those of another run on the same data, by linear CKA.

    Returns:
        `run`, `split`; `n` rows, a stratified sample `of` all; `neighbours`, ten; `stages`, the first layer first:
        `name`, `width`, mean `silhouette` by true class (Euclidean) with its 95 % `interval`, and `purity`: the mean
        share of nearest neighbours with the same true class (with several labels per text: the same set of labels);
        `chance`: the purity of random neighbours; `reason`: why there is no silhouette; `cka`, None without another
        run: its `run`, common `rows`, `stages` of both and `values`, a row for each stage of `run`.
    """
    store = store or RunStore()
    there = runs.predictions.list_evaluated_splits(store.get_path(run))
    usual = "test" if "test" in there else next(reversed(there), "test")
    here = runs.projections.LayerFiles.from_run(store, run, split or usual)
    found, _ = here.read_or_compute(on_progress)
    cka = None
    if against:
        other = runs.projections.LayerFiles.from_run(store, against, here.split)
        other.read_or_compute(on_progress)
        alike = runs.projections.compare_layers(here, other)
        both = [list(alike.first), list(alike.second)]
        cka = {"run": against, "rows": alike.rows, "stages": both, "values": alike.values.tolist()}
    return {
        "run": run,
        "split": here.split,
        "cka": cka,
        "n": len(found.rows),
        "of": found.total,
        "neighbours": evaluation.projection.NEIGHBORS,
        "stages": msgspec.to_builtins(found.stages),
        "chance": found.chance,
        "reason": found.reason,
    }


def neighbours(
    run: RunName,
    text: Annotated[str, CliArgument(metavar="[TEXT]")] = "",
    *,
    key: str = "",
    split: Split = "",
    space: Space = "",
    most: int = 10,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Find the sentences that are nearest to a sentence in embedding space.

    Args:
        text: Any sentence.
        key: A row of the split instead of a text, see sentiscope errors.
        most: The number of sentences, at most 200.

    Returns:
        `run`, `split`, `space`, `text`; `neighbours`, nearest first: `key`, `row`, `text`, `true`, `predicted`, `wrong`
        and the Euclidean `distance`.
    """
    if bool(text.strip()) == bool(key):
        raise InputError("name a text or --key, one of the two")
    store = store or RunStore()
    _check_vectors(store, run)
    table = error_analysis.predictions_table.read_table(store, run, split)
    config = evaluation.projection.ProjectionConfig("pca", space="" if space == HEAD else space)
    files = runs.projections.MapFiles.from_run(store, run, table.split, config)  # refuses an unknown space
    if config.space:
        runs.projections.LayerFiles.from_run(store, run, table.split).read_or_compute(on_progress)
    there = files.read_space(table.classes)
    own = error_analysis.neighbors.find_row(table, key) if key else None
    text = text if own is None else table.texts[own]
    at = (there.rows == own).nonzero()[0]
    asked = there.vectors[at[0]] if len(at) else runs.load.load_run(store, run).compute_vector(text, config.space)
    found = error_analysis.neighbors.find_neighbors(table, there, asked, own, most)
    about = {"run": run, "split": table.split, "space": space or HEAD, "text": text}
    return {**about, "neighbours": error_analysis.report.to_records(found)}


def _check_vectors(store: RunStore, run: str) -> None:
    """Refuse a run whose model has no sentence vectors, and so no embedding space; raises NotAvailable."""
    record = store.read(run)
    if "pooled" not in list_capabilities(record.config.model):
        raise NotAvailable(f"{record.preset} has no sentence vectors: run '{run}' has no embedding space")


def print_project(result: dict[str, Any]) -> None:
    """Print the file of an embedding map, and the quality of the map."""
    what = f"{result['method']}, {result['dimensions']}-D, {result['split']}, n = {result['n']}"
    say(f"{what}{'' if result['computed'] else ' (was there)'}: {result['file']}")
    quality = {key: value for key, value in result["quality"].items() if isinstance(value, float)}
    tabulate([{"quality": key, "value": value} for key, value in quality.items()], ("quality", "value"))
    if reason := result["quality"]["reason"]:
        say(f"no silhouette: {reason}")


def print_groups(result: dict[str, Any]) -> None:
    """Print a row for each group of sentences that are close in embedding space."""
    if result["reason"]:
        say(f"{result['reason']}.", head="No groups: ")
        return
    none = result["none"]
    found = f"{plural(len(result['groups']), 'group')} of {count(result['least'])} sentences or more"
    say(f"{result['run']} on {result['split']}: {found}; {count(none['n'])} of {count(result['looked_at'])} in none.")
    rows = [*result["groups"], {**none, "name": "no cluster"}]
    columns: dict[str, Any] = {
        "group": "name",
        "sentences": lambda each: count(each["n"]),
        "errors": lambda each: f"{write_points(each['rate'])} %" if each["n"] else "",
        "interval": lambda each: write_ends(each["interval"], write_points) if each["n"] else "",
    }
    tabulate(rows, columns, "group")


def print_layers(result: dict[str, Any]) -> None:
    """Print how well the classes are separated in each layer of a model."""
    of = "" if result["n"] == result["of"] else f" of {count(result['of'])}"
    say(f"{result['run']} on {result['split']}, n = {count(result['n'])}{of}, {result['neighbours']} neighbours")
    columns: dict[str, Any] = {
        "stage": "name",
        "silhouette": "silhouette",
        "interval": lambda each: write_ends(each["interval"]),
    }
    tabulate(result["stages"], {**columns, "purity": "purity"}, "stage")
    say(f"{format_decimals(result['chance'])}.", head="Purity of neighbours drawn at random: ")
    if result["reason"]:
        say(f"{result['reason']}.", head="No silhouette: ")
    if cka := result["cka"]:
        say(f"linear CKA with the layers of {cka['run']}, n = {count(cka['rows'])}")
        own, other = cka["stages"]
        lines = zip(own, cka["values"], strict=True)
        rows = [{"stage": name, **dict(zip(other, row, strict=True))} for name, row in lines]
        tabulate(rows, ("stage", *other), "stage")


def print_neighbours(result: dict[str, Any]) -> None:
    """Print the sentences that are nearest in embedding space, the nearest first."""
    say(f"{result['text']}", head=f"Nearest on {result['split']}, {result['space']}: ")
    tabulate(result["neighbours"], ("key", "distance", "true", "predicted", "text"), "key")
