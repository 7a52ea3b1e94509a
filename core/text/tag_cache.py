"""Tags that were found before: the tagger reads some ten thousand words per second, this file a million."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.cache import cache_folder
from core.text.tags import Tagger

log = logging.getLogger(__name__)

FILE = "tags.sqlite"
BUSY_S = 20
AT_ONCE = 500


def tag_texts(tagger: Tagger, texts: Sequence[Sequence[str]]) -> list[bytes]:
    """Return one byte per word of each text: `tagger.tag`, kept under the words and the tagger's version."""
    keys = [_key(tagger, words) for words in texts]
    try:
        with _opened(cache_folder() / FILE) as kept:
            return _through(kept, tagger, keys, texts)
    except (sqlite3.Error, OSError) as error:
        log.warning("tags are not kept: %s: %s", cache_folder() / FILE, error)
        return [bytes(tagger.tag(words)) for words in texts]


def _through(
    kept: sqlite3.Connection, tagger: Tagger, keys: Sequence[bytes], texts: Sequence[Sequence[str]]
) -> list[bytes]:
    found: dict[bytes, bytes] = {}
    for start in range(0, len(keys), AT_ONCE):
        part = keys[start : start + AT_ONCE]
        marks = ",".join("?" * len(part))
        found.update(kept.execute(f"SELECT key, tags FROM tags WHERE key IN ({marks})", part))
        new = {}
        for key, words in zip(part, texts[start : start + AT_ONCE], strict=True):
            if len(found.get(key, ())) != len(words):
                found[key] = new[key] = bytes(tagger.tag(words))
        if new:
            with kept:
                kept.executemany("INSERT OR REPLACE INTO tags VALUES (?, ?)", new.items())
    return [found.get(key, b"") for key in keys]


def _key(tagger: Tagger, words: Sequence[str]) -> bytes:
    content = "\n".join((tagger.version, *words))  # no word holds a line break
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The table of tags; a damaged file is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = _connect(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # locked or not to be opened, not damaged
            raise
        log.warning("%s is damaged (%s) and started again", path, error)
        path.unlink()
        connection = _connect(path)
    with contextlib.closing(connection):
        yield connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_S)
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS tags (key BLOB PRIMARY KEY, tags BLOB NOT NULL) WITHOUT ROWID")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
