"""A run as files for use elsewhere: a folder for the Hugging Face hub, an ONNX file, or a page that runs the model.

The hub gets a model card: metadata, measured results, and how to load the model. The ONNX file has the network, with
logits and calibrated probabilities as outputs.
"""

import contextlib
import copy
import dataclasses
import importlib.util
import io
import json
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
import yaml
from torch import Tensor, nn

from core.data.sources import SOURCES, split_mixture
from core.evaluation.inference import compute_probabilities
from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.formatting import count, join_names
from core.metrics import METRICS
from core.models.attention_kernels import Support, draw_global_positions
from core.models.dropout import replace_layers
from core.models.encoder import Layer
from core.models.head import Branch
from core.models.presets import PRESETS
from core.models.trace import Batch
from core.paths import read_regular
from core.runs.archive import LIMIT
from core.runs.backbone_weights import BACKBONE, BackboneRecord
from core.runs.configuration import write_train_command
from core.runs.load import LoadedRun, load_run, pack_weights
from core.runs.predictions import choose_split, read_predictions
from core.runs.record import EVALUATION, PREDICTIONS, RECORD, SPEAKING, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.text.portable_tokenizer import PortableTokenizer
from core.text.pos_tags import TAGS
from core.text.token_table import build_token_table

Files = dict[str, bytes]
WritePage = Callable[[LoadedRun, PortableTokenizer], str]
FORMATS = ("huggingface", "onnx", "html")
SAMPLE = 40  # stored texts on which an ONNX file is compared with the run
TEXTS = (
    "I would NOT buy it again… the screen is “fine”, but it doesn’t last &amp; costs 1,000.50. Ça va? 日本語",
    *("@someone look at https://example.org/a?b=c #BestDayEver 👍🏽 ❤️ soooo good", "", "good " * 600),
)  # own texts for the same


def export_model(store: RunStore, run: str, form: str, to: Path, write_page: WritePage) -> dict[str, Any]:
    """Write a run to a new folder in one of `FORMATS`; `write_page` returns the page of the format `html`.

    Returns `file` (the folder), `bytes`, `files` (bytes of each) and `difference` (for ONNX the largest of a logit).
    InputError: unknown format, a folder that is not empty, or a run without weights or that cannot be written so.
    """
    folder, record = to.expanduser().absolute(), store.read(run)
    if form not in FORMATS:
        raise InputError(f"--format {form!r:.40}: one of zip, {', '.join(FORMATS)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--to {to}: is there already; name a new folder")
    if not (store.get_path(run) / WEIGHTS).is_file():
        raise InputError(f"run '{run}' is {record.status} and has no weights, so there is no model to export")
    files, difference = build_files(store, load_run(store, run), form, write_page)
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise InputError(f"--to {to}: cannot be written ({error.strerror})") from error
    sizes = {name: len(content) for name, content in files.items()}
    about = {"run": run, "format": form, "file": str(folder), "bytes": sum(sizes.values())}
    return {**about, "files": sizes, "difference": difference}


def build_files(store: RunStore, run: LoadedRun, form: str, write_page: WritePage) -> tuple[Files, float | None]:
    """Return the files of an exported run by name, and for ONNX the largest difference of a logit from the run."""
    name, record = run.record.run, run.record
    whole = {"mixes TF-IDF into its answers": record.mix_weight is not None}
    whole["reads long texts in passages"] = bool(record.config.training.passages)
    for what, found in whole.items():
        if found and form != "huggingface":
            raise InputError(f"run '{name}' {what}, which --format {form} does not write")
    if form == "onnx":
        refuse_onnx(run)
    stored: list[str] = []
    with contextlib.suppress(SentiscopeError):
        split = choose_split(store, name, "")
        stored = read_predictions(run.folder / EVALUATION / split / PREDICTIONS)["text"].head(300).tolist()
    tokenizer, why = make_tokenizer(run, [*TEXTS, *stored])
    if form == "html":
        if tokenizer is None:
            raise InputError(f"run '{name}': a page cannot read its texts: {why}")
        return {f"{name}.html": write_page(run, tokenizer).encode()}, None
    files = {"sentiscope/tokenizer.json": run.tokenizer.to_json().encode()}
    if tokenizer is not None:
        files = {"tokenizer.json": tokenizer.pipeline.to_str().encode()}
        steps = [step.dump() for step in tokenizer.before]
        files |= {"preparation.json": _dump(steps)} if steps else {}
    if form == "huggingface":
        files |= build_hub_folder(run)
        reading = f"Its texts are split by Sentiscope's own tokenizer: {why}."
        if tokenizer is not None:
            before = ", after the steps that `preparation.json` lists" * bool(tokenizer.before)
            reading = f"`tokenizer.json` is read by the library `tokenizers`{before}."
        use, difference = fill_template("model_card_hub.md", run=name, reading=reading), None
    else:
        files["model.onnx"], inputs, difference = export_onnx(run, [*TEXTS, *stored[:SAMPLE]])
        why = why or f"{' and '.join(inputs[2:])} come from its tagger or lexicon" * bool(inputs[2:])
        use = f"Only Sentiscope can read texts for this model: {why}."
        if tokenizer is not None and not why:
            use = write_loading(record.classes, [step.kind for step in tokenizer.before])
        use += f"\n{describe_arrays(run, inputs)}\n\nLogits differ by at most {difference:.0e} from the run's."
    return {"README.md": write_card(store, record, use).encode(), **files}, difference


def make_tokenizer(run: LoadedRun, texts: list[str]) -> tuple[PortableTokenizer | None, str]:
    """Return the run's tokenizer in a form that needs no Sentiscope, or None and the reason."""
    try:
        made = PortableTokenizer(run.tokenizer)
    except NotAvailable as error:
        return None, str(error)
    different = made.find_differences(texts)
    return (None, f"other programs split {different[0]!r:.80} in another way") if different else (made, "")


def build_hub_folder(run: LoadedRun) -> Files:
    """Return weights and settings for the Hugging Face hub, and in `sentiscope/` the run as it can be imported."""
    record, config, longest = run.record, run.record.config, run.tokenizer.max_length
    special: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "unk_token": "<unk>"}
    described = {
        "model_type": "sentiscope",
        "architectures": [type(run.model).__name__],
        "id2label": dict(enumerate(record.classes)),
        "problem_type": f"{record.task}_label_classification",
        "pad_token_id": 0,
        "temperature": record.scaling.temperature,
        "prior": list(record.scaling.prior),
        "preset": record.preset,
        **{room: dataclasses.asdict(getattr(config, room)) for room in ("model", "text")},
    }
    files = {"model.safetensors": pack_weights(run.model, "float32"), "config.json": _dump(described)}
    files["tokenizer_config.json"] = _dump({**special, "model_max_length": longest} if longest else special)
    for name in (RECORD, *SPEAKING):  # not the predictions, which have texts
        with contextlib.suppress(FileNotFoundError):
            files[f"sentiscope/{name}"] = read_regular(run.folder / name, LIMIT)
    if (run.folder / BACKBONE).is_file():
        files[f"sentiscope/{BACKBONE}"] = BackboneRecord.read(run.folder).strip_path().to_json().encode()
    return files


def _dump(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False, indent=1).encode("utf-8", "replace")


LICENCES = ("mit", "cc0-1.0", "apache-2.0", "gpl-3.0")  # as the hub writes them
METRIC_TYPES = {"accuracy": "accuracy", "f1_macro": "f1", "average_precision": "average_precision"}
PREPARE = {
    "unescape": "html.unescape(text)",
    "entities": "re.sub(pattern, lambda found: html.unescape(found[0]) if is_entity(found[0]) else found[0], text)",
    "table": "re.sub(pattern, lambda sign: content[sign[0]], text)",
    "keep": 're.sub(pattern, lambda found: found[1] or "", text)',
    "hashtags": """re.sub(pattern, lambda tag: f" # {re.sub(content, ' ', tag[1])} ", text)""",
    "replace": "re.sub(pattern, content, text)",
}  # Kind of a step before the tokenizer → the Python expression that does it
ENTITY = 'def is_entity(text):\n    return text[1] == "#" or text[1:] in html.entities.html5\n\n\n'


def fill_template(name: str, **values: Any) -> str:
    """Fill in a Markdown file of this folder."""
    return Template(Path(__file__).with_name(name).read_text(encoding="utf-8")).substitute(values)


def write_card(store: RunStore, record: RunRecord, use: str) -> str:
    """Return the model card of a run as Markdown; `use` is its section on how to load the model."""
    data, results = record.config.data, record.results.get("metrics", {})
    names = [*(split_mixture(data.name) or (data.name,)), *data.parse_list("add")]
    known = [SOURCES[name] for name in names if name in SOURCES]
    sets = {Path(name).name: SOURCES[name].licence if name in SOURCES else "not stated" for name in names}
    first, terms = next(iter(sets)), sorted(set(map(str.lower, sets.values())))
    splits = sorted(results, key=lambda split: (split != "test", split))
    found, rows = list[dict[str, Any]](), []
    for split, metric in ((split, each) for split in splits for each in METRIC_TYPES if results[split].get(each)):
        value, title = float(results[split][metric]), METRICS[metric].title
        ends = record.results.get("intervals", {}).get(split, {}).get(metric, ())
        rows.append(f"| {split} | {title} | {value:.3f} | {' to '.join(f'{end:.3f}' for end in ends)} |")
        task = {"type": "text-classification", "name": "Text classification"}
        measured = [{"type": METRIC_TYPES[metric], "name": title, "value": round(value, 4)}]
        found.append({"task": task, "dataset": {"name": first, "type": first, "split": split}, "metrics": measured})
    metadata = {
        "language": sorted({source.language for source in known}),
        "license": terms[0] if len(terms) == 1 and terms[0] in LICENCES else "other",
        "library_name": "sentiscope",
        "pipeline_tag": "text-classification",
        "tags": ["sentiment-analysis", "sentiscope", record.preset],
        "datasets": list(dict.fromkeys(source.hub.repo for source in known if source.hub)),
        "base_model": Path(record.config.model.backbone).name,
        "metrics": sorted({each["metrics"][0]["type"] for each in found}),
        "model-index": [{"name": record.run, "results": found}],
    }
    command, note = write_train_command(record, store)
    return fill_template(
        "model_card.md",
        metadata=yaml.safe_dump({key: value for key, value in metadata.items() if value}, sort_keys=False),
        run=record.run,
        classes=join_names(record.classes),
        described=record.described,
        line=PRESETS[record.preset].line if record.preset in PRESETS else "",
        sets=join_names(list(sets)),
        parameters=count(record.parameters),
        longest=count(record.max_length),
        temperature=f"{record.temperature:.3f}",
        use=use,
        results="\n".join(rows),
        licences="; ".join(f"{name}: {terms}" for name, terms in sets.items()),
        command=command,
        note=note,
    )


def write_loading(classes: Sequence[str], kinds: Collection[str]) -> str:
    """Return how to load an ONNX file with onnxruntime and `tokenizers`, after the given kinds of steps."""
    imports = prepare = ""
    if kinds:
        imports = f"import html{', html.entities' * ('entities' in kinds)}, json, re\n\n"
        cases = [f'if kind == "{kind}":\n            text = {PREPARE[kind]}\n' for kind in PREPARE if kind in kinds]
        prepare = 'steps = json.load(open("preparation.json", encoding="utf-8"))\n\n\n' + ENTITY * ("entities" in kinds)
        prepare += "def prepare(text):\n    for kind, pattern, content in steps:\n        "
        prepare += "        el".join(cases) + "    return text\n"
    given = {"classes": list(classes), "prepared": "[prepare(text) for text in texts]" if kinds else "texts"}
    return fill_template("model_card_onnx.md", imports=imports, prepare=prepare, **given)


OPSET = 17
CLOSE = 1e-4  # largest difference of a logit from that of the run, as a share of logits above 1
SIZES = (1, 16)  # texts that are read at once to find it
INPUTS = {
    "ids": "token ids, int64 (texts, tokens), 0 where padded",
    "keep": "bool (texts, tokens), true at the tokens of a text",
    "tags": f"part of speech of each token's word, int64 (texts, tokens); from 1: {', '.join(TAGS)}; 0: none",
    "polarity": "positive, neutral and negative share of each token's word in the lexicon {lexicon}, float32 (texts, "
    "tokens, {wide}); a third each where it lists none",
}
OUTPUTS = ("logits", "probabilities")


def refuse_onnx(run: LoadedRun) -> None:
    """Raise InputError with the reason for a run whose network cannot be written as ONNX, or without the packages."""
    model = run.record.config.model
    if missing := [each for each in ("onnx", "onnxruntime") if importlib.util.find_spec(each) is None]:
        raise InputError(f"--format onnx needs {' and '.join(missing)}: `pip install 'sentiscope[onnx]'`")
    if model.family not in ("encoder", "cnn") or model.ngram_buckets:
        what = "the letters of words" if model.ngram_buckets else f"a model of the family {model.family}"
        raise InputError(f"run '{run.record.run}': --format onnx does not write {what}")


class _SpeltNorm(nn.Module):
    """RMS norm in operations that ONNX has."""

    def __init__(self, norm: nn.RMSNorm) -> None:
        super().__init__()
        self.weight, self.eps = norm.weight, cast(float, norm.eps)

    def forward(self, x: Tensor) -> Tensor:
        """Divide vectors (…, d) by the root of their mean square, and multiply them by the weights."""
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class _SpeltBranch(nn.Module):
    """A convolution of a head that computes padding too and then sets it to 0."""

    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self.convolution, self.norm = branch.convolution, branch.norm

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """Map token vectors x (B, L, d) through convolution, norm and ReLU to (B, L, c), 0 at padding."""
        return F.relu(self.norm(self.convolution(x, keep).transpose(1, 2)).transpose(1, 2)) * keep[..., None]


@dataclasses.dataclass(frozen=True)
class _ListedSupport(Support):
    """A window whose global tokens are listed for each length of a text, as ONNX cannot draw them."""

    longest: int = 0

    def draw_globals(self, keep: Tensor, layer: int) -> Tensor:
        """Return the positions of global tokens, (B, G), from the list of a layer."""
        lengths = torch.arange(self.longest + 1)
        return draw_global_positions(lengths, layer=layer, random=self.random, seed=self.seed)[keep.sum(1)]


class OnnxNetwork(nn.Module):
    """The network of a run with its calibration, in operations that ONNX has."""

    def __init__(self, run: LoadedRun) -> None:
        super().__init__()
        self.task, self.scaling, self.model = run.record.task, run.record.scaling, copy.deepcopy(run.model)
        replace_layers(self.model, nn.RMSNorm, _SpeltNorm)
        replace_layers(self.model, Branch, _SpeltBranch)
        for layer in cast(Iterable[Layer], getattr(self.model, "layers", ())):
            if (area := layer.attention.terms.support) is not None:
                listed = _ListedSupport(area.window, area.random, area.seed, run.tokenizer.max_length + 1)
                layer.attention.terms = dataclasses.replace(layer.attention.terms, support=listed)

    def forward(
        self, ids: Tensor, keep: Tensor, tags: Tensor | None = None, polarity: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return logits and probabilities (B, C) of texts; a trace makes the model compute its maps explicitly."""
        logits = self.model(Batch(ids, keep, tags, polarity), trace=True).logits
        return logits, compute_probabilities(logits, self.task, self.scaling)


def describe_arrays(run: LoadedRun, inputs: Sequence[str]) -> str:
    """Return a Markdown list of the inputs and outputs of a run's ONNX file."""
    text = run.tokenizer.config
    about = {"lexicon": text.lexicon, "wide": 3 * max(1, len(text.lexicons))}
    lines = [f"- `{name}`: {INPUTS[name].format(**about)}" for name in inputs]
    return "\n".join([*lines, *(f"- output `{name}`: float32 (texts, {len(run.record.classes)})" for name in OUTPUTS)])


def export_onnx(run: LoadedRun, texts: Sequence[str]) -> tuple[bytes, list[str], float]:
    """Return a run's network as an ONNX file, the names of its inputs, and the largest difference of a logit on texts.

    The texts are read alone and in padded batches; InputError: the difference is above `CLOSE`.
    """
    import onnxruntime

    table = build_token_table(run.tokenizer, texts)

    def list_arrays(rows: slice, width: int = 0) -> dict[str, np.ndarray]:
        """Return the inputs of some texts by name, padded to at least `width` tokens."""
        padded = table.pad_rows(np.arange(len(texts))[rows], width)._asdict()
        return {name: padded[name] for name in INPUTS if padded[name] is not None}

    window = run.record.config.model.attention.window  # the example is longer, so that it is written
    example = list_arrays(slice(2), window + 2)
    axes = {name: {0: "texts", 1: "tokens"} for name in example} | {name: {0: "texts"} for name in OUTPUTS}
    given: dict[str, Any] = {"kwargs": {name: torch.from_numpy(each) for name, each in example.items()}}
    given |= {"input_names": list(example), "output_names": list(OUTPUTS), "dynamic_axes": axes, "opset_version": OPSET}
    written = io.BytesIO()
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of branches on lengths; the comparison below covers them
        torch.onnx.export(OnnxNetwork(run).eval(), (), cast(Any, written), **given, dynamo=False)  # without onnxscript
    session: Any = onnxruntime.InferenceSession(written.getvalue(), providers=["CPUExecutionProvider"])
    logits, difference = run.predict(texts).logits, 0.0
    for some in (slice(at, at + size) for size in SIZES for at in range(0, len(texts), size)):
        said = session.run(["logits"], list_arrays(some))[0]
        share = np.abs(said - logits[some]) / np.maximum(1, np.abs(logits[some]))
        difference = max(difference, float(share.max()))
    if difference > CLOSE:
        raise InputError(f"run '{run.record.run}': a logit of its ONNX file differs by {difference:.1g}: not written")
    return written.getvalue(), list(example), difference
