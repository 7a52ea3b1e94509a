"""The network of a run as an ONNX file, with logits and calibrated probabilities as outputs."""

import copy
import dataclasses
import importlib.util
import io
import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.evaluation.inference import compute_probabilities
from core.exceptions import InputError
from core.models.attention_kernels import Support, draw_global_positions
from core.models.dropout import replace_layers
from core.models.encoder import Layer
from core.models.head import Branch
from core.models.trace import Batch
from core.runs.load import LoadedRun
from core.text.token_table import PaddedBatch, build_token_table

OPSET = 17
CLOSE = 1e-4  # largest difference of a logit from that of the run
FAMILIES = ("encoder", "cnn")
INPUTS = {
    "ids": "token ids, int64 (texts, tokens), 0 where padded",
    "keep": "bool (texts, tokens), true at the tokens of a text",
    "tags": "part of speech of each token's word, int64 (texts, tokens): 1 to 12 in the order {tags}; 0: none",
    "polarity": "positive, neutral and negative share of each token's word in {lexicon}, float32 (texts, tokens, {wide}"
    "); a third each where the lexicon lists none",
}


def refuse_onnx(run: LoadedRun) -> None:
    """Raise InputError with the reason for a run whose network cannot be written as ONNX, or without the packages."""
    model, name = run.record.config.model, run.record.run
    if missing := [each for each in ("onnx", "onnxruntime") if importlib.util.find_spec(each) is None]:
        raise InputError(
            f"--format onnx needs {' and '.join(missing)}: install them with `pip install 'sentiscope[onnx]'`"
        )
    if model.family not in FAMILIES:
        raise InputError(f"run '{name}': --format onnx takes encoders and CNNs trained here, not {model.family}")
    if model.ngram_buckets:
        raise InputError(f"run '{name}': its network reads the letters of words, which --format onnx does not write")


class _SpeltNorm(nn.Module):
    """RMS norm in operations that ONNX has."""

    def __init__(self, norm: nn.RMSNorm) -> None:
        super().__init__()
        self.weight, self.eps = norm.weight, cast(float, norm.eps)

    def forward(self, x: Tensor) -> Tensor:
        """Divide vectors (…, d) by the root of their mean square, and multiply them by the weights."""
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class _SpeltBranch(nn.Module):
    """A convolution of a head that computes padding too, and sets it to 0, in place of leaving it out."""

    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self.convolution, self.norm = branch.convolution, branch.norm

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """Map token vectors x (B, L, d) through convolution, norm and ReLU to (B, L, c), 0 at padding."""
        found = self.norm(self.convolution(x, keep).transpose(1, 2)).transpose(1, 2)
        return F.relu(found) * keep[..., None]


@dataclasses.dataclass(frozen=True)
class _ListedSupport(Support):
    """A window whose global tokens are listed for each length of a text, since ONNX cannot draw them."""

    longest: int = 0

    def draw_globals(self, keep: Tensor, layer: int) -> Tensor:
        """Return the positions of global tokens, (B, G), from the list of a layer."""
        lengths = torch.arange(self.longest + 1)
        rows = draw_global_positions(lengths, layer=layer, random=self.random, seed=self.seed)
        return rows[keep.sum(1)]


class OnnxNetwork(nn.Module):
    """The network of a run with its calibration, in operations that ONNX has."""

    def __init__(self, run: LoadedRun) -> None:
        super().__init__()
        self.task, self.scaling = run.record.task, run.record.scaling
        self.model = copy.deepcopy(run.model)
        replace_layers(self.model, nn.RMSNorm, _SpeltNorm)
        replace_layers(self.model, Branch, _SpeltBranch)
        for layer in cast("Sequence[Layer]", getattr(self.model, "layers", ())):
            if (area := layer.attention.terms.support) is not None:
                most = run.tokenizer.max_length + self.model.first
                listed = _ListedSupport(area.window, area.random, area.seed, most)
                layer.attention.terms = dataclasses.replace(layer.attention.terms, support=listed)

    def forward(
        self, ids: Tensor, keep: Tensor, tags: Tensor | None = None, polarity: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the logits (B, C) and calibrated probabilities (B, C) of texts; with a trace, as maps are explicit."""
        logits = self.model(Batch(ids, keep, tags, polarity), trace=True).logits
        return logits, compute_probabilities(logits, self.task, self.scaling)


def list_inputs(batch: PaddedBatch) -> dict[str, np.ndarray]:
    """Return the arrays of a batch by the names of the ONNX inputs."""
    return {name: each for name, each in batch._asdict().items() if name in INPUTS and each is not None}


def export_onnx(run: LoadedRun, texts: Sequence[str]) -> tuple[bytes, list[str], float]:
    """Return a run's network as an ONNX file, its inputs, and the largest difference of a logit over texts.

    The texts are read alone and in batches, with padding. InputError: it differs from the run, or as `refuse_onnx`.
    """
    refuse_onnx(run)
    window = run.record.config.model.attention.window
    example = run.tokenizer.max_length if window else 16  # longer than the window, so that it is written
    given = {name: torch.from_numpy(each) for name, each in list_inputs(_build_batch(run, texts[:2], example)).items()}
    axes = {name: {0: "texts", 1: "tokens"} for name in given} | {name: {0: "texts"} for name in OUTPUTS}
    written = io.BytesIO()
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of branches on lengths, which `_measure` checks
        torch.onnx.export(
            OnnxNetwork(run).eval(),
            (),
            written,  # type: ignore[arg-type]
            kwargs=given,
            input_names=list(given),
            output_names=list(OUTPUTS),
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,  # the other exporter needs onnxscript
        )
    content = written.getvalue()
    if (difference := _measure(run, content, texts)) > CLOSE:
        raise InputError(
            f"run '{run.record.run}': the ONNX file differs by {difference:.1g} from it, so it is not kept"
        )
    return content, list(given), difference


OUTPUTS = ("logits", "probabilities")


def _build_batch(run: LoadedRun, texts: Sequence[str], width: int = 0) -> PaddedBatch:
    table = build_token_table(run.tokenizer, texts)
    return table.pad_rows(np.arange(len(table)), width)


def _measure(run: LoadedRun, content: bytes, texts: Sequence[str]) -> float:
    import onnxruntime

    session: Any = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found, logits = 0.0, run.predict(texts, unmixed=True).logits
    for size in (1, 7, len(texts)):
        for start in range(0, len(texts), size):
            some = slice(start, start + size)
            said = session.run(["logits"], list_inputs(_build_batch(run, texts[some])))[0]
            found = max(found, float(np.abs(said - logits[some]).max()))
    return found
