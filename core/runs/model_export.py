"""A run as files for use elsewhere: a folder for the Hugging Face hub, an ONNX file, or a page that runs the model."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.paths import read_regular
from core.runs.archive import LIMIT
from core.runs.backbone_weights import BACKBONE, BackboneRecord
from core.runs.load import LoadedRun, load_run, pack_weights
from core.runs.model_card import write_card, write_loading
from core.runs.onnx_model import INPUTS, OUTPUTS, export_onnx, refuse_onnx
from core.runs.predictions import choose_split, read_predictions
from core.runs.record import EVALUATION, PREDICTIONS, RECORD, SPEAKING, WEIGHTS
from core.runs.store import RunStore
from core.text.portable_tokenizer import PortableTokenizer
from core.text.pos_tags import TAGS

Files = dict[str, bytes]
FORMATS = ("huggingface", "onnx", "html")
SAMPLE = 40  # stored texts with which an exported file is compared with the run
TEXTS = (
    "Not bad at all!",
    "I would NOT buy it again… the screen is “fine”, but it doesn’t last &amp; costs 1,000.50.",
    "@someone look at https://example.org/a?b=c #BestDayEver 👍🏽 ❤️ soooo good",
    "Der Film war schön, aber zu lang. Ça va? 日本語",
    "",
    "good " * 600,
)  # own texts for the same


def export_model(
    store: RunStore, run: str, form: str, to: Path, write_page: Callable[[LoadedRun, PortableTokenizer], str]
) -> dict[str, Any]:
    """Write a run to a new folder in one of `FORMATS`; `write_page` returns the page of the form `html`.

    Raises InputError for an unknown format, a folder that is not empty, a run without weights, or one that cannot be
    written so.

    Returns:
        `folder`; `files`: size of each in bytes; `difference`: the largest of a logit from the run (ONNX), else None.
    """
    if form not in FORMATS:
        raise InputError(f"--format {form!r:.40}: one of zip, {', '.join(FORMATS)}")
    folder = to.expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--to {to}: is there already; name a new folder")
    record = store.read(run)
    if not (store.get_path(run) / WEIGHTS).is_file():
        raise InputError(f"run '{run}' is {record.status} and has no weights, so there is no model to export")
    files, difference = build_files(store, load_run(store, run), form, write_page)
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise InputError(f"--to {to}: cannot be written ({error.strerror})") from error
    sizes = {name: len(content) for name, content in files.items()}
    return {"run": run, "format": form, "folder": str(folder), "files": sizes, "difference": difference}


def build_files(
    store: RunStore, run: LoadedRun, form: str, write_page: Callable[[LoadedRun, PortableTokenizer], str]
) -> tuple[Files, float | None]:
    """Return the files of an exported run by name, and for ONNX the largest difference of a logit from the run."""
    name = run.record.run
    if form != "huggingface" and run.record.mix_weight is not None:
        raise InputError(f"run '{name}' mixes TF-IDF into its answers, which --format {form} does not write")
    if form == "onnx":
        refuse_onnx(run)
    texts = [*TEXTS, *read_sample(store, run)]
    tokenizer, why = make_tokenizer(run, texts)
    if form == "html":
        if tokenizer is None:
            raise InputError(f"run '{name}': a page cannot read its texts: {why}")
        return {f"{name}.html": write_page(run, tokenizer).encode()}, None
    if form == "huggingface":
        return build_hub_folder(store, run, tokenizer, why), None
    content, inputs, difference = export_onnx(run, texts[: len(TEXTS) + SAMPLE])
    use = write_onnx_use(run, tokenizer, why, inputs, difference)
    card = write_card(store, run.record, use, ["onnx"]).encode()
    return {"README.md": card, "model.onnx": content, **write_tokenizer(run, tokenizer)}, difference


def read_sample(store: RunStore, run: LoadedRun) -> list[str]:
    """Read texts of the run's stored predictions, which exported files are compared on; none if none are stored."""
    with contextlib.suppress(SentiscopeError):
        split = choose_split(store, run.record.run, "")
        texts: list[str] = read_predictions(run.folder / EVALUATION / split / PREDICTIONS)["text"].head(300).tolist()
        return texts
    return []


def make_tokenizer(run: LoadedRun, texts: Sequence[str]) -> tuple[PortableTokenizer | None, str]:
    """Return the run's tokenizer in a form that needs no Sentiscope, or None and the reason."""
    try:
        made = PortableTokenizer(run.tokenizer)
    except NotAvailable as error:
        return None, str(error)
    if different := made.find_differences(texts):
        return None, f"other programs split a text in another way, such as {different[0]!r:.80}"
    return made, ""


def write_tokenizer(run: LoadedRun, tokenizer: PortableTokenizer | None) -> Files:
    """Return the files of a tokenizer: that of the library `tokenizers` with the steps before it, else Sentiscope's."""
    if tokenizer is None:
        return {"sentiscope/tokenizer.json": run.tokenizer.to_json().encode()}
    files = {"tokenizer.json": tokenizer.pipeline.to_str(pretty=False).encode()}
    if tokenizer.before:
        files["preparation.json"] = _dump([step.to_python() for step in tokenizer.before])
    return files


def build_hub_folder(store: RunStore, run: LoadedRun, tokenizer: PortableTokenizer | None, why: str) -> Files:
    """Return the files of a folder for the Hugging Face hub; `sentiscope/` in it can be imported as a run."""
    record, config = run.record, run.record.config
    labels = dict(enumerate(record.classes))
    described = {
        "model_type": "sentiscope",
        "architectures": [type(run.model).__name__],
        "id2label": labels,
        "label2id": {name: number for number, name in labels.items()},
        "problem_type": f"{record.task}_label_classification",
        "max_length": run.tokenizer.max_length,
        "pad_token_id": 0,
        "temperature": record.scaling.temperature,
        "prior": list(record.scaling.prior),
        "preset": record.preset,
        **{room: dataclasses.asdict(getattr(config, room)) for room in ("model", "text")},
    }
    special = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "unk_token": "<unk>"}
    special |= {"model_max_length": run.tokenizer.max_length} if run.tokenizer.max_length else {}
    reading = f"The texts are split by Sentiscope's own tokenizer, `sentiscope/tokenizer.json`: {why}."
    if tokenizer is not None:
        before = "; `preparation.json` lists the steps of normalisation before it" if tokenizer.before else ""
        reading = f"`tokenizer.json` is a tokenizer of the library `tokenizers`{before}."
    weights = "" if record.mix_weight is None else " Its answers mix in TF-IDF, whose weights are in `sentiscope/mix`."
    use = (
        f"`model.safetensors` has the weights in float32, `config.json` the settings. {reading}{weights} The "
        "architecture is Sentiscope's, which transformers does not have; the folder `sentiscope` is the run:\n\n"
        f"```bash\nsentiscope runs import sentiscope\nsentiscope predict {record.run} 'Not bad at all.'\n```\n\n"
        f"`sentiscope export {record.run} --format onnx --to FOLDER` makes a file that needs no Sentiscope."
    )
    files = {"README.md": write_card(store, record, use).encode(), "config.json": _dump(described)}
    files |= {"model.safetensors": pack_weights(run.model, "float32"), **_read_run(run)}
    files |= {"tokenizer_config.json": _dump(special), **write_tokenizer(run, tokenizer)} if tokenizer else {}
    return files


def _read_run(run: LoadedRun) -> Files:
    """Return the files of a run that its predictions need, without its texts."""
    found: Files = {}
    for name in (RECORD, *SPEAKING):
        with contextlib.suppress(FileNotFoundError):
            found[f"sentiscope/{name}"] = read_regular(run.folder / name, LIMIT)
    if (run.folder / BACKBONE).is_file():
        found[f"sentiscope/{BACKBONE}"] = BackboneRecord.read(run.folder).strip_path().to_json().encode()
    return found


def write_onnx_use(
    run: LoadedRun, tokenizer: PortableTokenizer | None, why: str, inputs: Sequence[str], difference: float
) -> str:
    """Return the section of a card on an ONNX file: its inputs and outputs, and the lines that load it."""
    text = run.tokenizer.config
    about = {"tags": ", ".join(TAGS), "lexicon": text.lexicon, "wide": 3 * max(1, len(text.lexicons))}
    lines = [f"- `{name}`: {INPUTS[name].format(**about)}" for name in inputs]
    lines += [f"- `{name}` (output): float32 (texts, {len(run.record.classes)})" for name in OUTPUTS]
    exact = f"Logits differ by at most {difference:.0e} from those of Sentiscope, alone or in padded batches."
    listed = "\n".join(lines)
    if tokenizer is None or set(inputs) - {"ids", "keep"}:
        more = [{"tags": "a part-of-speech tagger", "polarity": "a lexicon"}[each] for each in inputs[2:]]
        needs = why or f"its further inputs come from {' and '.join(more)}"
        return f"The texts of this model can only be read by Sentiscope: {needs}. {exact}\n\n{listed}"
    kinds = [step.kind for step in tokenizer.before]
    code = write_loading(run.record.classes, kinds)
    return f"It needs onnxruntime and tokenizers. {exact}\n\n{listed}\n\n```python\n{code}```"


def _dump(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False, indent=1).encode("utf-8", "replace")
