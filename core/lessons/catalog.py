"""All lessons by name."""

import dataclasses
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from core import json_store
from core.cache import get_cache_folder, keep_files, mark_used
from core.exceptions import InputError, SentiscopeError
from core.fingerprint import get_file_version, hash_value
from core.lessons.accuracy import ACCURACY
from core.lessons.data import DATA
from core.lessons.heads import HEADS
from core.lessons.lambdas import LAMBDA
from core.lessons.lesson import Lesson
from core.lessons.tfidf import TFIDF
from core.lessons.trust import TRUST
from core.lessons.word import WORD
from core.runs.record import EVALUATION, HISTORY, METRICS, PREDICTIONS, RECORD, TOKENIZER, WEIGHTS
from core.runs.store import RunStore, list_starters

LESSONS: dict[str, Lesson] = {lesson.name: lesson for lesson in (DATA, WORD, HEADS, ACCURACY, TRUST, TFIDF, LAMBDA)}
"""By the name in links, in the order of the page Lessons."""


def find_lesson(name: str) -> Lesson:
    """Return a lesson by its name; InputError lists the names."""
    if name not in LESSONS:
        raise InputError(f"there is no lesson {name!r:.60}; choose one of {', '.join(LESSONS)}")
    return LESSONS[name]


def find_next(name: str) -> Lesson | None:
    """Return the lesson after the named one; None after the last."""
    names = list(LESSONS)
    place = names.index(name) + 1
    return LESSONS[names[place]] if place < len(names) else None


MOST_BYTES = 20_000_000  # of all lessons in the cache
FILES = (RECORD, TOKENIZER, WEIGHTS, f"{EVALUATION}/*/{METRICS}", f"{EVALUATION}/*/{PREDICTIONS}", HISTORY)


def get_version(name: str) -> str:
    """Return a text that changes with the code of the lessons and with the files of the starter runs."""
    paths = [path for kind in ("*.py", "*.json") for path in Path(__file__).parent.glob(kind)]
    paths.append(Path(str(files("core.papers"))) / "results" / "theory.json")
    paths += [path for folder in list_starters() for pattern in FILES for path in folder.glob(pattern)]
    return hash_value([name, *sorted((str(path), get_file_version(path)) for path in paths)])[:16]


def read_content(name: str, store: RunStore | None = None) -> dict[str, Any]:
    """Return a lesson's content from the cache or computed; InputError: no such lesson, NotAvailable: no starter."""
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
