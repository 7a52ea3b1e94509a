"""Run directories and the processes that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.runs import answers, archive, bodies, comparison, differences, experiment, jobs, judged, layers
    from core.runs import lineage, load, predictions, projections, report, results, seen, sides, store, sweep
    from core.runs import sweep_drive, sweep_table, tagged, tagged_texts, taught, worker

__getattr__ = open_door(__name__)
