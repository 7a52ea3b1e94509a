"""Error analysis of a run: predictions as a table, rules that select rows, and what the selected rows share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.failures import analyses, code_rates, coded, coded_csv, codes, counter_examples, found_groups
    from core.failures import label_errors, neighbours, report, rules, selection, shift, slices, table, tags
    from core.failures import training, unsure

__getattr__ = open_door(__name__)
