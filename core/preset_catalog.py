"""The catalogue of model presets: by paper, in detail, and compared in pairs. Imports no torch."""

import difflib
import functools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from core.config import compose, flatten_config
from core.exceptions import InputError
from core.models.attention_config import LAMBDA_RANGES
from core.models.config import ModelConfig
from core.models.model_description import count_parameters, list_features, list_parts, write_equation
from core.models.presets import PAPERS, PRESETS
from core.settings import collect_settings

VOCABULARY, CLASSES = 30_000, 2  # sizes for counting parameters: the default of `text.max_vocab`, two classes
OLD_PAPERS = {"tweet_encoder_7essxin": "7ess-xin", "tweet_encoder": "7ess-xin", "lexical_attention": "lexical"}
"""Former key of a paper → its key."""
LARGEST_VOCABULARY = 10_000_000
LARGEST_CLASSES = 10_000


def find_paper(name: str) -> str:
    """Return the key of a paper, given its key or short title in any spelling; InputError lists all papers."""
    sought, keys = _keep_letters(name), {_keep_letters(each): key for key in PAPERS for each in (key, PAPERS[key])}
    keys |= {_keep_letters(old): key for old, key in OLD_PAPERS.items()}
    if sought in keys:
        return keys[sought]
    near = difflib.get_close_matches(sought, keys, n=1)
    hint = f" (did you mean '{keys[near[0]]}'?)" if near else ""
    known = ", ".join(f"{key} ({title})" for key, title in PAPERS.items())
    raise InputError(f"no paper is called '{name}'{hint}; there are {known}")


def _keep_letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def list_presets(paper: str = "", *, vocabulary: int = VOCABULARY, classes: int = CLASSES) -> list[dict[str, Any]]:
    """List presets (of a paper) with source, line, parameters and features; InputError: unknown paper or odd sizes."""
    _check_sizes(vocabulary, classes)
    key = find_paper(paper) if paper else ""
    return [_describe_entry(name, vocabulary, classes) for name, preset in PRESETS.items() if key in ("", preset.paper)]


def _describe_entry(name: str, vocabulary: int, classes: int) -> dict[str, Any]:
    preset = PRESETS[name]
    return {
        "name": name,
        "paper": preset.paper,
        "source": preset.source,
        "line": preset.line,
        "parameters": count_parameters(preset.model, vocabulary=vocabulary, classes=limit_classes(name, classes)),
        "parts": list(list_features(preset.model)),
    }


def limit_classes(name: str, classes: int) -> int:
    """Return the number of classes nearest to `classes` that a preset's model can distinguish."""
    return 2 if PRESETS[name].model.head.one_logit else classes


def describe_preset(name: str, *, vocabulary: int = VOCABULARY, classes: int = CLASSES) -> dict[str, Any]:
    """Describe a preset (entry, equation, diagram, nearest preset); InputError: unknown, or sizes of no model."""
    _check_sizes(vocabulary, classes)
    compose(name)  # raises with the nearest name
    preset = PRESETS[name]
    relative = find_nearest(name, list_preset_settings())
    return {
        **_describe_entry(name, vocabulary, classes),
        "title": PAPERS[preset.paper],
        "vocabulary": vocabulary,
        "classes": classes,
        "diagram": [
            {
                "part": part.title,
                "detail": part.detail,
                "parameters": part.parameters,
                "times": part.times,
                "terms": [{"name": term.name, "detail": term.detail} for term in part.terms],
            }
            for part in list_parts(preset.model, vocabulary=vocabulary, classes=classes)
        ],
        "equation": [{"latex": line.latex, "words": line.words} for line in write_equation(preset.model)],
        "settings": dict(preset.settings),
        "departures": list_deviations(name),
        "nearest": relative,
        "differences": [
            {"setting": each.setting, "what": each.words, "here": each.first, relative: each.second}
            for each in compare_presets(name, relative)
        ],
    }


def list_deviations(name: str) -> list[dict[str, str]]:
    """List a preset's deviations from its paper: `what`, `paper`, `here`, `why`, `instead` (a setting, or empty)."""
    found = []
    for each in PRESETS[name].departures:
        value = list_preset_settings()[name].get(each.setting)
        here = each.ours or f"{each.setting}={str(value).lower() if isinstance(value, bool) else value}"
        instead = f"{each.setting}={each.instead}" if each.instead else ""
        found.append({"what": each.what, "paper": each.paper, "here": here, "why": each.why, "instead": instead})
    return found


def compare_presets(first: str, second: str) -> tuple["SettingDifference", ...]:
    """Return every setting in which two model presets differ; InputError: no such preset."""
    known = list_preset_settings()
    return list_differences(*(known.get(name) or flatten_config(compose(name)) for name in (first, second)))


@functools.cache
def list_preset_settings() -> Mapping[str, Mapping[str, Any]]:
    """Return all settings of every model preset, as preset → dotted name → value."""
    return {name: flatten_config(compose(name)) for name in PRESETS}


def _check_sizes(vocabulary: int, classes: int) -> None:
    if not 1 <= vocabulary <= LARGEST_VOCABULARY:
        raise InputError(f"--vocabulary {vocabulary}: 1 to {LARGEST_VOCABULARY}")
    if not 2 <= classes <= LARGEST_CLASSES:
        raise InputError(f"--classes {classes}: 2 to {LARGEST_CLASSES}")


class SettingDifference(NamedTuple):
    """A setting in which two models differ, with both values."""

    setting: str  # dotted, as in `--set`
    words: str
    first: str
    second: str


def list_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[SettingDifference, ...]:
    """Return the settings in which two runs differ, those of the model first, then in order of declaration."""
    names = [name for name in first if first[name] != second[name]]
    names.sort(key=lambda name: not name.startswith("model."))  # stable
    values = ((name, format_value(name, first[name]), format_value(name, second[name])) for name in names)
    return tuple(SettingDifference(name, describe_setting(name), one, other) for name, one, other in values)


def find_nearest(name: str, settings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the preset that differs from `name` in the fewest model settings, and of these in the fewest settings."""
    own = settings[name]

    def count_differences(other: str) -> tuple[int, int]:
        """Count the settings in which another preset differs: first the model settings, then all settings."""
        changed = [key for key, value in settings[other].items() if value != own[key]]
        return sum(key.startswith("model.") for key in changed), len(changed)

    return min((other for other in settings if other != name), key=count_differences)


def describe_setting(setting: str) -> str:
    """Return a dotted setting in words: the label of a model setting, else the last part of the name."""
    named = {each.name: each.label for each in collect_settings(ModelConfig, "model.")}
    return named.get(setting) or setting.rpartition(".")[2].replace("_", " ")


def format_value(setting: str, value: Any) -> str:
    """Format the value of a setting for people: yes or no, `none` if empty, a range of map weights λ in words."""
    if setting == "model.attention.constraint":
        return LAMBDA_RANGES[value].words
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value != "" else "none"
