"""A run as files for use elsewhere: a folder for the Hugging Face hub, an ONNX file, or a page that runs the model."""

import contextlib
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.paths import read_regular
from core.runs.archive import LIMIT
from core.runs.backbone_weights import BACKBONE, BackboneRecord
from core.runs.load import LoadedRun, load_run, pack_weights
from core.runs.model_card import fill_template, write_card, write_loading
from core.runs.onnx_model import describe_arrays, export_onnx, refuse_onnx
from core.runs.predictions import choose_split, read_predictions
from core.runs.record import EVALUATION, PREDICTIONS, RECORD, SPEAKING, WEIGHTS
from core.runs.store import RunStore
from core.text.portable_tokenizer import PortableTokenizer

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
