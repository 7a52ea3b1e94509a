"""Model presets with their speed, pretrained encoders on this machine, and fine-tuned classifiers of others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import preset_catalog, runs
from core.api.options import CliArgument, OnProgress, Settings, Store, make_map_option, split_names
from core.api.printing import make_printer, say, tabulate
from core.cache import get_cache_folder
from core.exceptions import ConfigError, InputError
from core.fingerprint import hash_value
from core.formatting import count
from core.models.presets import PAPERS
from core.paper_settings import FINE_TUNINGS
from core.paths import resolve_path
from core.preset_catalog import CLASSES, VOCABULARY
from core.runs import backbones
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.store import RunStore

if TYPE_CHECKING:
    from core.runs.evaluation_data import DataRequest


def presets(
    paper: Annotated[
        str, CliArgument(f"Only those of one paper: {', '.join(PAPERS)}, or its title.", place=False)
    ] = "",
    *,
    name: Annotated[str, CliArgument(metavar="[NAME]", place=True)] = "",
    vocabulary: int = VOCABULARY,
    classes: int = CLASSES,
) -> dict[str, Any]:
    """List the model presets that can be trained: all, those of one paper, or one in full.

    Args:
        name: One preset, shown in full.
        vocabulary: Vocabulary size at which parameters are counted.
        classes: Number of classes at which parameters are counted.
    """
    if name and paper:
        raise InputError("give the name of a preset or --paper, not both")
    if name:
        return presets_show(name, vocabulary=vocabulary, classes=classes)
    found = preset_catalog.list_presets(paper, vocabulary=vocabulary, classes=classes)
    return {"vocabulary": vocabulary, "classes": classes, "presets": found}


def presets_show(name: str, *, vocabulary: int = VOCABULARY, classes: int = CLASSES) -> dict[str, Any]:
    """Show one preset in full: source, summary, equation, parts, size, nearest preset, differences from its paper."""
    return preset_catalog.describe_preset(name, vocabulary=vocabulary, classes=classes)


def backbones_list() -> dict[str, Any]:
    """List the pretrained encoders that are found by name on this machine, and those of the papers with their recipes.

    Returns:
        `backbones`: each as `core.runs.backbones.describe_backbone`; `folder` (SENTISCOPE_BACKBONES, empty if not set),
        `hub_cache`, `families`, and `recipes`: see `list_backbone_recipes`.
    """
    return {
        "backbones": [backbones.describe_backbone(each) for each in backbones.list_backbones()],
        "folder": str(backbones.get_own_folder() or ""),
        "hub_cache": str(backbones.get_hub_cache()),
        "families": list(backbones.FAMILIES),
        "recipes": list_backbone_recipes(),
    }


def list_backbone_recipes() -> list[dict[str, Any]]:
    """List the papers' pretrained encoders with their fine-tuning recipes, and whether the weights are on this machine.

    Returns:
        For each `recipe`: `paper`, `backbone`, `source`, `settings` (each with `value` and `where`, the section of the
        paper), `note`, `folder` (empty: not found), `ok`, `lacks` (a missing file), and `problem`: how to get it.
    """
    found = []
    for name, each in FINE_TUNINGS.items():
        try:
            here = backbones.describe_backbone(backbones.find_backbone(each.backbone))
        except ConfigError:
            get = backbones.explain_download(each.backbone)
            here = {"folder": "", "ok": False, "lacks": backbones.CONFIG, "problem": f"not here; {get}"}
        about = {"recipe": name, "paper": PAPERS[each.paper], "backbone": each.backbone, "source": each.source}
        settings = {key: told._asdict() for key, told in each.settings.items()}
        state = {key: here[key] for key in ("folder", "ok", "lacks", "problem")}
        found.append({**about, "settings": settings, "note": each.note, **state})
    return found


def backbones_check(name: Annotated[str, CliArgument(metavar="NAME|PATH")]) -> dict[str, Any]:
    """Check whether a pretrained encoder can be used: its files, its sizes, the SHA-256 of its weights.

    Args:
        name: A name or folder, as for --set model.backbone, or a recipe.
    """
    backbone = backbones.find_backbone(FINE_TUNINGS[name].backbone if name in FINE_TUNINGS else name)
    found = backbones.describe_backbone(backbone)
    return {**found, "digests": backbone.hash_weights() if found["ok"] else {}}


def backbones_convert(
    folder: Annotated[Path, CliArgument("The folder as published.")],
    to: Annotated[Path, CliArgument("A new folder; default: FOLDER-converted.", metavar="DIR")] | None = None,
) -> dict[str, Any]:
    """Convert a published encoder (.bin, vocab.txt, bpe.codes) to safetensors and tokenizer.json, running no code.

    Returns:
        As `core.runs.backbone_conversion.convert_backbone`.
    """
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: is no folder")
    target = Path(to) if to else Path(f"{str(folder).rstrip('/')}-converted")
    return runs.backbone_conversion.convert_backbone(Path(folder), target)


print_backbones_convert = make_printer(
    lambda r: (
        f"{r['folder']}: weights from {r['weights']}, tokenizer from {r['tokenizer']}. Use it with "
        f"--model pretrained --set model.backbone={r['folder']}"
    )
)


def print_presets(result: dict[str, Any]) -> None:
    """Print a row for each model preset, or one preset in full."""
    if "presets" not in result:
        _print_preset(result)
        return
    rows = [{**each, "parameters": count(each["parameters"])} for each in result["presets"]]
    tabulate(rows, ("name", "parameters", "line", "source"))
    say(f"parameters with {count(result['vocabulary'])} tokens and {result['classes']} classes")


def _print_preset(result: dict[str, Any]) -> None:
    say(f": {result['line']}", head=result["name"])
    said = f"{count(result['parameters'])} with {count(result['vocabulary'])} tokens and {result['classes']} classes"
    for what, value in (("paper", result["title"]), ("source", result["source"]), ("parameters", said)):
        say(f"{what}: {value}")
    recipe = " ".join(f"--set {key}={value}" for key, value in result["settings"].items())
    say(f"trained with: {recipe or 'the defaults'}")
    say("")
    rows = []
    for part in result["diagram"]:
        times = f"{part['times']} x " if part["times"] > 1 else ""
        rows.append({**part, "parameters": f"{times}{count(part['parameters'])}" if part["parameters"] else ""})
        rows += [{"part": f"  {term['name']}", "detail": term["detail"]} for term in part["terms"]]
    tabulate(rows, ("part", "detail", "parameters"))
    say("")
    for line in result["equation"]:
        say(f"{line['latex']}    {line['words']}")
    say("")
    say(f"from its nearest relative, {result['nearest']}:")
    tabulate(result["differences"], ("setting", "what", "here", result["nearest"]))
    if result["departures"]:
        say("")
        say("departs from the paper, or chooses what it leaves open, in:")
    for each in result["departures"]:
        follow = f" (as the paper: --set {each['instead']})" if each["instead"] else ""
        say(f"- {each['what']}: {each['paper'] or 'not stated'}. Here {each['here']}: {each['why']}{follow}")
    say(f"Train it: sentiscope train --model {result['name']}")


def print_backbones_list(result: dict[str, Any]) -> None:
    """Print the pretrained encoders on this machine, and those that the papers use, each available or missing."""
    rows = [
        {**each, "weights": backbones.format_size(each["bytes"]) if each["ok"] else each["problem"]}
        for each in result["backbones"]
    ]
    if rows:
        tabulate(rows, ("name", "kind", "layers", "width", "weights"))
    else:
        own, command = result["folder"] or "not set", backbones.explain_download("OWNER/NAME")
        say(f"None found in {backbones.FOLDER} ({own}) and the hub's cache ({result['hub_cache']}): {command}.")
    say("The papers' own, fine-tuned as they say (sentiscope train --model pretrained --recipe NAME):")
    columns: dict[str, Any] = {
        "recipe": "recipe",
        "backbone": "backbone",
        "state": lambda each: (
            f"in {each['folder']}" if each["ok"] else f"lacks {each['lacks']}" if each["folder"] else "not here"
        ),
    }
    tabulate(result["recipes"], columns)
    say("`sentiscope backbones check RECIPE` says what one lacks and how to get it, --json where each setting stands.")


def print_backbones_check(result: dict[str, Any]) -> None:
    """Print the sizes and SHA-256 digests of a pretrained encoder that can be used."""
    if not result["ok"]:
        return
    say(
        f" can be used: {result['kind']}, {result['layers']} layers of {result['heads']} heads, width "
        f"{count(result['width'])}, {count(result['vocabulary'])} tokens, texts up to {count(result['longest'])}.",
        head=result["name"],
    )
    for file, digest in result["digests"].items():
        say(f"{file}: SHA-256 {digest}")
    say(f"{result['folder']}, {backbones.format_size(result['bytes'])}")
    say(f"Train it: sentiscope train --model pretrained --set model.backbone={result['name']}")


@dataclass(frozen=True, eq=False)
class ClassifierOpening(Analysis[dict[str, Any]]):
    """The opening of a classifier as a new run, as a background job that is done again at every request."""

    directory: str
    wanted: "DataRequest"
    title: str

    name, again = "open", True
    offer = Offer("Open", "Opening the classifier", "The classifier was not opened", "This trains nothing.")

    @classmethod
    def from_request(cls, store: RunStore, folder: str, wanted: "DataRequest", title: str = "") -> "ClassifierOpening":
        """Return the job that opens a classifier under a name (`title`), evaluated on the data of a request."""
        wanted = replace(wanted, asked=("open", folder, *(("--name", title) if title else ())))
        key = hash_value({"wanted": wanted, "runs": str(store.folder.absolute())})
        return cls(get_cache_folder() / "openings", key, store, folder, wanted, title)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments of the opening."""
        return tuple(runs.evaluation_data.build_arguments("", self.wanted))

    def start(self) -> None:
        """Start a background process that opens the classifier; InputError: the queue is full, or not allowed."""
        self.store.guard.check_start()
        super().start()

    def find(self, tell: Tell) -> dict[str, Any]:
        """Open the classifier as a new run; raises the errors of `core.runs.wrapped_model`."""
        return runs.wrapped_model.open_classifier(self.store, Path(self.directory), self.wanted, self.title, tell)


def open_classifier(
    folder: Annotated[Path, CliArgument("The folder of the classifier, with config.json.")],
    *,
    data: Annotated[str | Path, CliArgument(kind=str)] = "",
    name: str = "",
    split: Annotated[str, CliArgument("Default: test, or the whole of a single file.")] = "",
    rename: Annotated[
        Mapping[str, str] | None, make_map_option("write old=new, a label of the data and a class")
    ] = None,
    settings: Settings = None,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Open a fine-tuned classifier of the transformers library as a run, without training.

    Of BERT, RoBERTa, XLM-R, DistilBERT and ELECTRA, from config.json, tokenizer.json and safetensors. No code in the
    folder is run. The run refers to the encoder's weights in the folder, which has to stay; longer texts are cut.

    Args:
        data: Labelled data to evaluate it on; the result is its test split. Default: it is not evaluated.
        name: The name of the run; default: that of the folder.
        rename: The class that a label of the data means; OLD= leaves its rows out. Repeat for more.
    """
    where = str(resolve_path(str(folder), folders=True).absolute())
    wanted = runs.evaluation_data.DataRequest(str(data), split, rename or {}, settings=settings or {})
    return ClassifierOpening.from_request(store or RunStore(), where, wanted, name).compute_anyway(on_progress)


def print_open_classifier(result: dict[str, Any]) -> None:
    """Print the name and classes of an opened classifier, and its metrics if it was evaluated."""
    tested = f"; n = {count(result['n'])} of {result['data']}, {result['split']}" if result["metrics"] else ""
    say(f": {result['kind']}, {', '.join(result['classes'])}; {'; '.join(result['notes'])}{tested}", head=result["run"])
    tabulate([{"metric": name, "value": value} for name, value in result["metrics"].items()])


MODELS = ("vanilla", "differential", "ndt-01-n2", "ndt-01-n3", "ndt-01-n4", "sentiformer", "bilstm", "cnn")
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
LONGEST, LARGEST = 65_536, 4_096  # tokens of a text, texts of a batch


def _parse_lengths(text: str) -> list[int]:
    try:
        return [int(each) for each in split_names(text)]
    except ValueError:
        raise InputError(f"--lengths: {text[:40]!r} are not whole numbers with commas, as in 128,1024,4096") from None


def efficiency(
    *,
    models: Annotated[Sequence[str], CliArgument(metavar="PRESET,…", kind=str, parse=split_names)] = MODELS,
    length: Annotated[int, CliArgument("Tokens of each text.", least=1)] = 128,
    batch: Annotated[int, CliArgument("Texts that are predicted together.", least=1)] = 128,
    lengths: Annotated[
        Sequence[int],
        CliArgument("Lengths at which sparse and full attention are compared.", kind=str, parse=_parse_lengths),
    ] = LENGTHS,
    device: str = "cpu",
    on_progress: OnProgress = None,
) -> dict[str, Any]:
    """Measure sentences per second and memory of presets, and how both grow with the length of a text.

    The first preset is the baseline. Weights and texts are random. The default takes minutes on two processor cores.

    Returns:
        As `core.papers.speed.measure_efficiency`.
    """
    from core.papers import speed
    from core.training.device import choose_device

    wrong = [each for each in lengths if not 1 <= each <= LONGEST]
    if wrong or not 1 <= length <= LONGEST or not 1 <= batch <= LARGEST:
        raise InputError(f"texts have 1 to {count(LONGEST)} tokens, and a batch 1 to {count(LARGEST)} texts")
    tell = on_progress or (lambda what, share: None)
    return speed.measure_efficiency(
        models, length=length, batch=batch, lengths=lengths, device=str(choose_device(device)), tell=tell
    )


def print_efficiency(result: dict[str, Any]) -> None:
    """Print a row for each preset, a row for each length, and the fitted slopes."""
    say(f"{result['processor']}, {result['threads']} threads, {result['batch']} texts of {result['length']} tokens")
    tabulate(
        result["models"],
        {
            "model": "model",
            "sentences/s": lambda row: count(round(row["sentences_per_second"])),
            "ms per batch": lambda row: f"{row['milliseconds']:.0f}",
            "× first": lambda row: f"{row['ratio']:.2f}",
            "MB": lambda row: count(round(row["memory"] / 1e6)),
            "reported": lambda row: "; ".join(filter(None, map(_write_reported, row["reported"]))),
        },
        "model",
    )
    if result["lengths"]:
        say("")
        tabulate([{**row, **_flatten(row)} for row in result["lengths"]], LENGTH_COLUMNS, "tokens")
    for way, slopes in result["slopes"].items():
        if slopes["milliseconds"] is not None:
            grows = f"time ~ length^{slopes['milliseconds']:.2f}, memory ~ length^{slopes['memory']:.2f}"
            say(f"{way}: {grows}, from 1 024 tokens")


LENGTH_COLUMNS: dict[str, str | Callable[[Any], Any]] = {
    "tokens": lambda row: count(row["tokens"]),
    "sparse, ms": "sparse",
    "full, ms": "full",
    "times faster": lambda row: f"{row['faster']:.2f}",
    "n/(k+s)": lambda row: f"{row['theory']:.2f}",
    "sparse, MB": "sparse MB",
    "full, MB": "full MB",
}


def _flatten(row: Mapping[str, Any]) -> dict[str, str]:
    ways = ("sparse", "full")
    times = {way: f"{row[way]['milliseconds']:.1f}" for way in ways}
    return times | {f"{way} MB": count(round(row[way]["memory"] / 1e6)) for way in ways}


def _write_reported(told: Mapping[str, Any]) -> str:
    """Write a reported ratio or throughput; nothing for times that are a tick of the timer."""
    if told["unit"] == "ms":
        return f"{told['dataset']} × {told['ratio']:.2f}" if told["ratio"] is not None else ""
    return f"{count(round(told['value']))} {told['unit']}"
