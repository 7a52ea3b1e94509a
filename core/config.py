"""The complete settings of a training run: changed by `--set a.b=c`, recorded in `run.json`."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from core.data.config import DataConfig
from core.exceptions import ConfigError
from core.formatting import suggest_name
from core.json_store import Flaw, convert, flatten_tree, refuse_unsafe
from core.models.config import DENSE_TRACE, ModelConfig, explain_no_effect
from core.models.presets import PRESETS
from core.settings import Need, collect_settings, format_setting, get_value
from core.text.config import LOOKALIKES, TextConfig, parse_lexicons
from core.training.config import TrainingConfig

T = TypeVar("T")
SWITCH = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}


@dataclass(frozen=True)
class RunConfig:
    """The complete settings of a training run in four groups: data, text, model and training."""

    data: DataConfig = field(default_factory=DataConfig)
    text: TextConfig = field(default_factory=TextConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        """Check the settings of data, text, model and training against one another; ConfigError: a contradiction."""
        self._check_inputs()
        self._check_start()
        self._check_backbone()
        for name, need in ACROSS.items():
            value, usual = get_value(self, name), SETTINGS[name].default
            if need.refused and value != usual and not need.met(self.model):
                raise ConfigError(f"{format_setting(name, value)}: {need.unmet}")
        if self.model.ngram_buckets and self.text.tokenizer != "word":
            raise ConfigError(
                f"model.ngram_buckets={self.model.ngram_buckets}: byte pairs are pieces of words already; choose "
                "text.tokenizer=word, or model.ngram_buckets=0"
            )
        if self.training.diversity and self.model.attention.window and self.text.max_length > DENSE_TRACE:
            raise ConfigError(
                f"training.diversity={self.training.diversity}: needs maps, and with a window there are none beyond "
                f"{DENSE_TRACE} tokens; choose text.max_length={DENSE_TRACE}, or model.attention.window=0"
            )

    def _check_start(self) -> None:
        """Refuse warm-start settings without a run to start from, and too many frozen layers."""
        for name in ("text.grown", "training.frozen"):
            borrowed = name == "training.frozen" and self.model.family == "pretrained"
            if (value := get_value(self, name)) and not self.training.start and not borrowed:
                why = "only for a training that starts from another run; name it with training.start=RUN"
                raise ConfigError(f"{name}={value}: {why}")
        if self.training.start and self.training.vectors != "random":
            raise ConfigError(
                f"training.vectors={self.training.vectors}: a training that starts from another run uses the "
                "words of that run; choose training.vectors=random"
            )
        frozen, layers = self.training.frozen, self.model.layers
        if frozen > layers + 1:
            raise ConfigError(f"training.frozen={frozen}: the words and {layers} layers, so {layers + 1} at most")

    def _check_backbone(self) -> None:
        """Check that a pretrained encoder is used with its own tokenizer and word vectors; ConfigError if not."""
        borrowed, tokenizer = self.model.family == "pretrained", self.text.tokenizer
        if borrowed and tokenizer != "pretrained":
            why = "a backbone reads with its own; choose text.tokenizer=pretrained"
            raise ConfigError(f"text.tokenizer={tokenizer}: {why}")
        if not borrowed and tokenizer == "pretrained":
            raise ConfigError(f"text.tokenizer={tokenizer}: this model has no backbone; choose word or bpe")
        if borrowed and (vectors := self.training.vectors) != "random":
            why = "a backbone has its own word vectors; choose training.vectors=random"
            raise ConfigError(f"training.vectors={vectors}: {why}")

    def _check_inputs(self) -> None:
        for name, each in INPUTS.items():
            if each.read(self.model) and get_value(self, name) == SETTINGS[name].default:
                raise ConfigError(f"{each.reader(self.model)}: {each.lacking}")
        given, many = self.model.attention.lexicons, len(self.text.lexicons)
        if self.model.attention.lexical != "none" and many != given:
            raise ConfigError(f"model.attention.lexicons={given}: text.lexicon names {many}; choose {many}")


SETTINGS = {each.name: each for each in collect_settings(RunConfig)}  # every setting by its dotted name, as declared


def _find_lexicon_reader(model: ModelConfig) -> str:
    """Return the model setting, as `name=value`, that makes the model read a sentiment lexicon."""
    if model.family == "lexicon":
        return "model.family=lexicon"
    lexical = model.attention.lexical
    return f"model.attention.lexical={lexical}" if lexical != "none" else "model.attention.lexicon_gate=true"


class Input(NamedTuple):
    """A text setting that some model parts need and that is off by default: the tagger or the sentiment lexicon."""

    read: Callable[[ModelConfig], bool]
    reader: Callable[[ModelConfig], str]
    usual: str  # the value of the text setting if the user has not chosen one
    lacking: str


INPUTS = {
    "text.tagger": Input(
        lambda model: model.needs_tags,
        lambda model: f"model.position={model.position}",
        "auto",
        "reads parts of speech, and text.tagger=none gives none; choose text.tagger=auto, or model.pos_tags=false",
    ),
    "text.lexicon": Input(
        lambda model: model.needs_lexicon,
        _find_lexicon_reader,
        "vader",
        "reads a lexicon, and text.lexicon names none; choose text.lexicon=vader",
    ),
}
_TWO_MAPS = "or model.attention.mixing=additive and model.attention.components=2"
_NO_LEXICON = Need(INPUTS["text.lexicon"].read, "no part of this model reads a lexicon", refused=False)
_BY_STEPS = Need(
    lambda model: model.by_steps,
    "this model is solved in one go, not trained step by step; choose model.family=encoder",
)
READS_PASSAGES = ("encoder", "mean", "masked", "")
ACROSS = {
    "training.lambda_lr": Need(
        lambda model: model.has_lambda, f"this model has no lambda; choose training.lambda_lr=1, {_TWO_MAPS}"
    ),
    "training.start": Need(
        lambda model: model.family == "encoder", "only an encoder has layers for it; a pretrained one has its own"
    ),
    **{
        name: Need(lambda model: model.layered, "only an encoder has layers for it")
        for name in ("training.frozen", "training.layer_decay")
    },
    "training.masked_epochs": Need(
        lambda model: model.family == "encoder" and model.pad_mode == "masked",
        "guesses words from those around, which only an encoder that masks its padding does here; choose "
        "training.masked_epochs=0",
    ),
    "training.passages": Need(
        lambda model: (model.family, model.pooling, model.pad_mode, model.head.kernels) == READS_PASSAGES,
        "only an encoder that averages its tokens, masks its padding and has no convolutions in its head (pooling, "
        "pad_mode and head.kernels of the model) reads passages; choose training.passages=0",
    ),
    "training.diversity": Need(
        lambda model: model.has_lambda,
        f"pushes the maps of a head apart, and there are no two; choose training.diversity=0, {_TWO_MAPS}",
    ),
    **{
        f"training.{name}": _BY_STEPS
        for name in ("word_dropout", "vectors", "teacher", "mix", "nonsense", "joined", "portions")
    },
    "text.char_ngrams": Need(
        lambda model: model.family.startswith("tfidf"),
        "only TF-IDF counts character n-grams; choose text.char_ngrams=0, or model.family=tfidf-logreg",
    ),
    "text.lexicon": _NO_LEXICON,
    "text.lexicon_match": _NO_LEXICON,
    "text.tagger": Need(INPUTS["text.tagger"].read, "no part of this model reads parts of speech", refused=False),
}
"""Setting outside the model → what the model must have for it to have an effect."""


def explain_idle(name: str, model: ModelConfig) -> str:
    """Explain why a setting has no effect on a given model; an empty text means that it has an effect."""
    if name.startswith("model."):
        return explain_no_effect(name.removeprefix("model."), model)
    need = ACROSS.get(name)
    return need.unmet if need and not need.met(model) else ""


def compose(
    preset: str, settings: Mapping[str, Any] | None = None, suited: Mapping[str, Any] | None = None
) -> RunConfig:
    """Build the complete settings of a run from a preset and dotted overrides, e.g. `{"training.lr": 1e-3}`.

    Values have the right type or are text as typed at `--set`. The preset's own settings override `suited`, the
    settings recommended for the data set, which baselines ignore. Portions of a batch are refused with batch
    normalisation here and not in `RunConfig`, so that a run recorded with both can still be read.

    Raises ConfigError for an unknown preset or setting, a wrong type, or a contradiction.
    """
    config = from_dict(_build_tree(preset, settings or {}, suited or {}))
    if config.model.family == "function":
        raise ConfigError("model.family=function: such a model is not trained here; choose model.family=encoder")
    if config.training.portions > 1 and config.model.normalizes_batches:
        raise ConfigError(
            f"training.portions={config.training.portions}: model.head.kernels={config.model.head.kernels} has batch "
            "normalisation, which would take the statistics of each portion, not of the batch; choose "
            "training.portions=1 with a smaller training.batch_size, or no model.head.kernels"
        )
    return config


def find_missing_inputs(preset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return text settings that a preset's model needs and that are unset, with usual values; raises as `compose`."""
    tree = _build_tree(preset, settings, {})
    model = _convert_settings(tree["model"], ModelConfig, "model.")
    known = flatten_tree(tree)
    return {
        name: each.usual
        for name, each in INPUTS.items()
        if each.read(model) and known[name] == SETTINGS[name].default and name not in settings
    }


def _build_tree(preset: str, settings: Mapping[str, Any], suited: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings as a tree: given ones override the preset's, which override the data set's.

    Old runs do not record `text.lookalikes`: its default is theirs; new runs merge look-alikes where texts allow it.
    """
    if preset not in PRESETS:
        hint = suggest_name(preset, PRESETS)
        raise ConfigError(f"unknown model preset '{preset}'{hint}; `sentiscope presets` lists all")
    chosen = PRESETS[preset]
    tree = to_dict(RunConfig()) | {"model": dataclasses.asdict(chosen.model)}
    below = suited if chosen.model.by_steps else {}
    for name, value in {**below, **chosen.settings, **settings}.items():
        *groups, last = name.split(".")
        node: Any = tree
        for group in groups:
            node = node.get(group) if isinstance(node, dict) else None
        if not isinstance(node, dict) or last not in node or isinstance(node[last], dict):
            raise ConfigError(f"unknown setting '{name}'{suggest_name(name, SETTINGS)}")
        node[last] = _parse_value(value, node[last], name)
    text, part = tree["text"], tree["model"]["attention"]
    as_released = text["normaliser"] == "tweet-clean-as-released" or tree["model"]["pad_mode"] == "as_released"
    if not (as_released or text["tokenizer"] == "pretrained" or "text.lookalikes" in {**chosen.settings, **settings}):
        text["lookalikes"] = LOOKALIKES
    if "model.attention.lexicons" not in settings and part["lexical"] != "none" and isinstance(text["lexicon"], str):
        part["lexicons"] = max(1, len(parse_lexicons(text["lexicon"])))
    return tree


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `--set` arguments `["a.b=c", …]` to a dictionary; values stay text until `compose` knows their type."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {pair!r}: write name=value, e.g. training.lr=0.001")
        settings[name.strip()] = value.strip()
    return settings


def to_dict(config: RunConfig) -> dict[str, Any]:
    """Return the settings of a run as nested dictionaries, for JSON."""
    return dataclasses.asdict(config)


def from_dict(tree: Mapping[str, Any]) -> RunConfig:
    """Build the settings of a run from nested dictionaries; ConfigError names an unknown setting or a wrong type."""
    if unknown := sorted(set(flatten_tree(tree)) - set(SETTINGS)):
        raise ConfigError(f"unknown setting '{unknown[0]}'{suggest_name(unknown[0], SETTINGS)}")
    return _convert_settings(tree, RunConfig)


def _convert_settings(tree: Mapping[str, Any], kind: type[T], group: str = "") -> T:
    """Convert a nested dictionary to a settings dataclass; `group` goes before setting names in error messages."""
    try:
        refuse_unsafe(tree)
        return convert(tree, kind)
    except Flaw as flaw:
        raise ConfigError(f"{group}{flaw.field}={flaw.value!r:.80}: {flaw.reason}") from None


def flatten_config(config: RunConfig) -> dict[str, Any]:
    """Return all settings of a run, as dotted name → value, in order of declaration."""
    return flatten_tree(to_dict(config))


def _parse_value(value: Any, like: Any, name: str) -> Any:
    """Convert a typed text to the type of a setting's old value `like`; if it does not fit, return it unchanged."""
    if isinstance(like, bool):
        return SWITCH.get(str(value).lower(), value)
    if isinstance(like, (int, float)) and not isinstance(value, bool):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            number = float(value)
            if not math.isfinite(number):
                raise ConfigError(f"{name}={value!s:.80}: a number")
            whole = isinstance(like, int) and (isinstance(value, str) or number.is_integer())
            return int(value) if whole else number
    return value
