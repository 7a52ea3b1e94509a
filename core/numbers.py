"""How whole numbers and shares are written wherever a person reads them: pages, command line, messages, notebooks."""

from __future__ import annotations

MINUS = "\u2212"
NARROW = "\u202f"
"""A narrow space that does not break: between thousands, where a comma would be a decimal point to half the readers."""


def count(value: int) -> str:
    """`6 920`, with a narrow space between thousands."""
    return f"{value:,}".replace(",", NARROW)


def whole_percent(share: float) -> str:
    """`12 %`: a share in whole percent."""
    return f"{100 * share:.0f} %"


def percent(share: float) -> str:
    """`17.5 %`: a share with one digit behind the point."""
    return f"{number(100 * share, 1)} %"


def exact(value: float) -> str:
    """`12`, `0.1`: as short as can be read back as the same number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def signed(value: float, digits: int = 2) -> str:
    """`+0.12`: for a difference; what is rounded to nothing has no minus."""
    return f"{value:+z.{digits}f}".replace("-", MINUS)


def number(value: float, digits: int = 3) -> str:
    """`−0.843`."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)  # + 0.0: no negative zero


def shorten(text: str, longest: int) -> str:
    """Cut a text to `longest` characters, the last of which is then an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def subscript(index: int) -> str:
    """`₁₂`."""
    return "".join(chr(0x2080 + int(digit)) for digit in str(index))
