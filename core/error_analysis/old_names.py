"""Earlier names of prediction-table columns and filter rules, so that old rules, links and files can still be read."""

from __future__ import annotations

import re
from typing import Any

ALIASES = {"said": "predicted", "truth": "true", "p_said": "p_predicted", "p_truth": "p_true"}
"""Old name → new name. Only the new one is written."""
_OLD_RULE = re.compile(rf"^\s*({'|'.join(ALIASES)})(?=\s*[=~<>!])")


def rename_rule(rule: str) -> str:
    """Replace an old column name at the start of a filter rule by today's: `said=good` becomes `predicted=good`."""
    return _OLD_RULE.sub(lambda found: ALIASES[found[1]], rule)


def rename_keys(row: dict[str, Any]) -> dict[str, Any]:
    """Return a stored table row with old column names, the keys, replaced by today's names."""
    return {ALIASES.get(name, name): value for name, value in row.items()}
