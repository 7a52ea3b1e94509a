"""The content of lessons, computed once and kept in the cache folder."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from core import json_store
from core.cache import get_cache_folder, keep_files, mark_used
from core.exceptions import SentiscopeError
from core.fingerprint import get_file_version, hash_value
from core.lessons.catalog import find_lesson
from core.runs.record import EVALUATION, METRICS, PREDICTIONS, RECORD, TOKENIZER, WEIGHTS
from core.runs.store import RunStore, list_starters

MOST_BYTES = 20_000_000  # of all lessons in the cache
FILES = (RECORD, TOKENIZER, WEIGHTS, f"{EVALUATION}/*/{METRICS}", f"{EVALUATION}/*/{PREDICTIONS}")


def get_version(name: str) -> str:
    """Return a text that changes with the code of the lessons and with the files of the starter runs."""
    paths = [path for kind in ("*.py", "*.json") for path in Path(__file__).parent.glob(kind)]
    paths += [path for folder in list_starters() for pattern in FILES for path in folder.glob(pattern)]
    return hash_value([name, *sorted((str(path), get_file_version(path)) for path in paths)])[:16]


def read_content(name: str, store: RunStore | None = None) -> dict[str, Any]:
    """Return the content of a lesson as plain data, from the cache or computed.

    Raises:
        InputError: There is no such lesson.
        NotAvailable: A starter run that it is computed from is not here.
    """
    lesson = find_lesson(name)
    path = get_cache_folder() / f"lesson-{name}-{get_version(name)}.json"
    try:
        found: dict[str, Any] = json_store.read_tree(path, limit=MOST_BYTES)
        mark_used(path)
        return found
    except FileNotFoundError:
        pass
    except (SentiscopeError, OSError):
        path.unlink(missing_ok=True)
    made = json.dumps(dataclasses.asdict(lesson.build(store or RunStore())), ensure_ascii=False)
    keep_files([(path, made.encode())], f"lesson-{name}", MOST_BYTES)
    content: dict[str, Any] = json.loads(made)
    return content
