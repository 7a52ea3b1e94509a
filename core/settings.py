"""Settings, declared once at dataclass fields: label, range, and the conditions under which they have an effect.

Error messages, pages and the command line read these declarations. Ranges are checked whenever a group of settings is
built, so that each rule exists once. Imports nothing heavy.
"""

import dataclasses
import functools
import typing
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from core.exceptions import ConfigError

T = TypeVar("T")
Group = Literal[
    "", "Maps and lambda", "Scores", "Gate and window", "Lexicon", "Positions", "Layers", "Pooling and head"
]
"""The section of the model builder that offers a setting; empty: none."""
GROUPS: tuple[Group, ...] = tuple(group for group in get_args(Group) if group)
LARGEST_SEED = 2**63 - 1  # every random generator accepts it


class Range(NamedTuple):
    """The range of numbers that a setting may take."""

    low: float
    high: float
    open: Literal["", "low", "high"] = ""  # the end that is excluded
    what: str = ""  # words for such a number, if the setting's name is not enough

    def __contains__(self, value: object) -> bool:
        """Return whether a number is in the range that a setting may take; NaN is not."""
        low, high, end, _ = self
        if not isinstance(value, (int, float)) or not low <= value <= high:
            return False
        return value != (low if end == "low" else high if end == "high" else None)

    def __str__(self) -> str:
        """Format the range of a setting for people, such as `above 0, at most 1`."""
        if self.open == "low":
            return f"above {self.low}, at most {self.high}"
        what = f"{self.what}, " if self.what else ""
        return f"{what}{self.low} to {'below ' * (self.open == 'high')}{self.high}"


@dataclasses.dataclass(frozen=True)
class Need:
    """A condition that a setting needs to have an effect; where it is not met, a message explains why."""

    met: Callable[[Any], bool]  # called with the group of settings that has the setting
    unmet: str  # the reason if it is not met, and what to choose instead; `{0.mixing}` is a setting of that group
    refused: bool = True  # if false, a setting without effect is accepted, such as lambda's range at one map


@dataclasses.dataclass(frozen=True)
class Setting:
    """The description of one setting: name, label, help, choices, range, conditions and default."""

    name: str  # dotted, as in `--set`
    label: str
    help: str
    group: Group
    choices: tuple[str, ...]  # the allowed values, `true` and `false` for a switch; empty for a number or a text
    within: Range | None
    needs: tuple[Need, ...]
    default: Any

    def find_unmet_need(self, group: Any) -> Need | None:
        """Return the first of the setting's conditions that a group of settings does not meet; None if all are met."""
        return next((need for need in self.needs if not need.met(group)), None)


def setting(
    default: T,
    label: str = "",
    group: Group = "",
    help: str = "",
    *,
    within: tuple[float, float] | Range | None = None,
    needs: tuple[Need, ...] = (),
) -> T:
    """Define a dataclass field that is a setting, with its label, help, range and conditions.

    Args:
        default: Its default value.
        label: What it is, in a few words; empty: its name.
        group: The section of the model builder that offers it.
        help: What it does; empty if the name is enough.
        within: Its range.
        needs: Conditions for it to have an effect; a value other than the default is refused if one is not met.
    """
    span = Range(*within) if within else None
    about = {"label": label, "group": group, "help": help, "within": span, "needs": needs}
    return dataclasses.field(default=default, metadata=about)


@functools.cache
def collect_settings(kind: type, prefix: str = "") -> tuple[Setting, ...]:
    """List every setting of a settings dataclass and its nested ones, in order; `prefix` goes before the names."""
    hints, found = typing.get_type_hints(kind), list[Setting]()
    for field in dataclasses.fields(kind):
        hint, name = hints[field.name], prefix + field.name
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            found += collect_settings(hint, f"{name}.")
            continue
        about = {**field.metadata, "label": field.metadata["label"] or field.name.replace("_", " ")}
        found.append(Setting(name, choices=_list_choices(hint), default=field.default, **about))
    return tuple(found)


def _list_choices(hint: object) -> tuple[str, ...]:
    if hint is bool:
        return ("true", "false")
    choices = get_args(hint) if typing.get_origin(hint) is Literal else ()
    return tuple(str(choice) for choice in choices if choice != "")  # the empty choice is the default


def check_ranges(group: Any, name: str) -> None:
    """Refuse a setting outside its range with a ConfigError; `name` is that of the group of settings."""
    for each in _collect_own(group.__class__):
        if each.within and (value := getattr(group, each.name)) not in each.within:
            raise ConfigError(f"{name}.{each.name}={value!s:.40}: {each.within}")


def check_needs(group: Any, name: str) -> None:
    """Refuse a changed setting that has no effect; ConfigError names it, says why and what to choose instead."""
    for each in _collect_own(group.__class__):
        value = getattr(group, each.name)
        if value != each.default and (need := each.find_unmet_need(group)) and need.refused:
            raise ConfigError(f"{format_setting(f'{name}.{each.name}', value)}: {need.unmet.format(group)}")


def format_setting(name: str, value: Any) -> str:
    """Format a setting for a message as `name=value`; a true or false setting by its name alone."""
    return name if isinstance(value, bool) else f"{name}={value!s:.40}"


@functools.cache
def _collect_own(kind: Any) -> tuple[Setting, ...]:
    """List the settings of a group that have a range or a condition, without nested groups."""
    own = (each for each in collect_settings(kind) if "." not in each.name)
    return tuple(each for each in own if each.within or each.needs)


def get_value(group: Any, name: str) -> Any:
    """Return the value of a setting by its dotted name in a group of settings."""
    return functools.reduce(getattr, name.split("."), group)
