"""Export and import of training runs as zip files, or from a run directory elsewhere. Imports nothing heavy.

Only known files of a run are exported, and no checkpoints. Imports are untrusted: they are unpacked into a separate
folder with a size limit, checked through the store, and then moved in atomically.
"""

import contextlib
import dataclasses
import io
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from core import data, limits
from core.atomic import convert_os_errors, write_named, write_text
from core.config import RunConfig
from core.data import sandbox
from core.data.config import join_list
from core.data.sources import is_registered
from core.exceptions import DataError, InputError, NotAvailable, RunDamaged
from core.formatting import count
from core.paths import ELSEWHERE, HERE, read_regular, resolve_path
from core.runs.backbone_weights import BACKBONE, BackboneRecord, strip_location
from core.runs.record import (
    EMBEDDINGS,
    EVALUATION,
    HISTORY,
    IMPORTED,
    LINEAGE,
    METRICS,
    PREDICTIONS,
    RECORD,
    SPEAKING,
    TAGS,
    RunRecord,
)
from core.runs.store import STARTER, RunStore, make_slug
from core.text.lexicon import VADER
from core.training.config import TFIDF
from core.training.history import read_history

LIMIT = 512 * 1024**2  # bytes on disk of a run: ten times the largest run with default settings
FILES = 500
KNOWN = {RECORD, HISTORY, BACKBONE, *SPEAKING}
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_INSIDE = (
    re.compile(rf"{EVALUATION}/{_NAME}/({'|'.join(map(re.escape, (PREDICTIONS, EMBEDDINGS, METRICS, TAGS)))})"),
    re.compile(r"projections/[A-Za-z0-9-]+\.(npy|json)"),
    re.compile(r"belief/[A-Za-z0-9-]+\.json"),
    re.compile(rf"{LINEAGE}/[0-9a-f]{{32}}\.texts"),
)
_BLOCK = 1024**2
_BROKEN = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error),
    *(NotImplementedError, EOFError, ValueError, OverflowError, IndexError, RuntimeError),
)
"""Exceptions that `zipfile` raises for damaged files, such as negative offsets or sizes and undecodable names."""


def export_run(store: RunStore, run: str) -> bytes:
    """Pack a run as zip, always the same bytes; InputError: it is training, RunDamaged: a file cannot be read."""
    record, folder = store.read(run), store.get_path(run)
    if record.is_live:
        raise InputError(f"run '{run}' is {record.status}; export it when it has ended")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, path in (*_find_known_files(folder), *_find_shared_lineage(folder, record)):
            info = zipfile.ZipInfo(f"{run}/{name}")
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            try:
                if name == BACKBONE:
                    archive.writestr(info, BackboneRecord.read(folder).strip_path().to_json())
                else:
                    archive.writestr(info, read_regular(path, LIMIT))
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise RunDamaged(f"{path}: cannot be read: {reason}; the run is not exported") from error
    return packed.getvalue()


def export_file(store: RunStore, run: str, file: Path) -> None:
    """Write a run as a zip file, completely or not at all; InputError: it cannot be written."""
    write_named("zip file", file, export_run(store, run))


def import_run(store: RunStore, source: Path) -> str:
    """Import a run from a directory or zip file; return the new run's name, numbered if the name is taken.

    An imported starter becomes an ordinary run. Raises InputError, and writes nothing, if it is no run or unsafe.
    """
    source = resolve_path(str(source), HERE, folders=True)
    if source.is_dir():
        with make_temp_folder(store, make_slug(source.absolute().name)) as landing:
            _copy_folder(source, landing)
            return _move_into_store(store, landing)
    try:
        with source.open("rb") as stream:
            return import_zip(store, stream, source.name)
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror})") from error


def import_zip(store: RunStore, stream: IO[bytes], name: str) -> str:
    """Import a run from an open zip stream; `name` is the file name that error messages show."""
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = _list_entries(archive, name)
            with make_temp_folder(store, _find_root(entries) or make_slug(Path(name).stem)) as landing:
                _unpack_files(archive, entries, landing, name)
                return _move_into_store(store, landing)
    except _BROKEN as error:
        raise InputError(f"{name}: is not a zip file that can be read ({error})") from error


def _find_known_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if _is_known(inside) and path.is_file():
            if any(part.is_symlink() for part in (path, *path.relative_to(folder).parents) if str(part) != "."):
                raise InputError(f"{folder.name}/{inside}: is a link, which is not followed")
            yield inside, path


def _find_shared_lineage(folder: Path, record: RunRecord) -> Iterator[tuple[str, Path]]:
    from core.runs.lineage import find_files

    if lacking := tuple(name for name in record.lineage if not (folder / LINEAGE / name).is_file()):
        with contextlib.suppress(NotAvailable):
            for path in find_files(folder, dataclasses.replace(record, lineage=lacking)):
                yield f"{LINEAGE}/{path.name}", path


def _is_known(inside: str) -> bool:
    return inside in KNOWN or any(pattern.fullmatch(inside) for pattern in _INSIDE)


def _list_entries(archive: zipfile.ZipFile, name: str) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """Return the files of a run's zip archive by path; InputError if it would be unsafe to unpack."""
    infos = archive.infolist()
    if len(infos) > FILES:
        raise InputError(f"{name}: has {len(infos)} entries; a run has fewer than {FILES}")
    entries: dict[PurePosixPath, zipfile.ZipInfo] = {}
    for info in infos:
        path = PurePosixPath(info.filename)
        if "\\" in info.filename or ":" in info.filename or path.is_absolute() or ".." in path.parts:
            raise InputError(f"{name}: the entry '{info.filename}' leads out of the archive; nothing was imported")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise InputError(f"{name}: the entry '{info.filename}' is a link; nothing was imported")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{name}: is packed in an unusual way; pack it as plain zip (deflate)")
        if info.flag_bits & 1:
            raise InputError(f"{name}: is encrypted; export the run without a password")
        if info.is_dir():
            continue
        if path in entries:
            raise InputError(f"{name}: the entry '{info.filename}' is there twice")
        entries[path] = info
    if sum(info.file_size for info in entries.values()) > LIMIT:
        raise InputError(f"{name}: {_explain_too_large()}")
    return entries


def _explain_too_large() -> str:
    return f"unpacks to more than {LIMIT // 1024**2} MB, more than a run has"


def _find_root(entries: dict[PurePosixPath, zipfile.ZipInfo]) -> str:
    """Return the folder in a zip archive that holds its only `run.json`; empty if it is at the top level."""
    records = [path for path in entries if path.name == RECORD and len(path.parts) <= 2]
    if len(records) != 1:
        found = "no run.json in it" if not records else f"{len(records)} runs in it"
        raise InputError(f"a zip file of one run is needed; there {'is' if not records else 'are'} {found}")
    return records[0].parts[0] if len(records[0].parts) == 2 else ""


def _unpack_files(
    archive: zipfile.ZipFile, entries: dict[PurePosixPath, zipfile.ZipInfo], landing: Path, name: str
) -> None:
    """Unpack the expected files of a run's zip archive, counting their real size, as headers may lie."""
    top, left = _find_root(entries), LIMIT
    for path, info in entries.items():
        inside = path.relative_to(top).as_posix() if top and path.parts[0] == top else path.as_posix()
        if not _is_known(inside):
            continue
        target = landing / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as stream, target.open("xb") as out:
            while block := stream.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise InputError(f"{name}: {_explain_too_large()}")
                out.write(block)


def _copy_folder(source: Path, landing: Path) -> None:
    files = list(_find_known_files(source))
    if RECORD not in dict(files):
        raise InputError(f"{source}: has no {RECORD}, so it is no run directory")
    if sum(path.stat().st_size for _, path in files) > LIMIT:
        raise InputError(f"{source}: takes more than {LIMIT // 1024**2} MB, more than a run has")
    for inside, path in files:
        (landing / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, landing / inside)


@contextlib.contextmanager
def make_temp_folder(store: RunStore, name: str) -> Iterator[Path]:
    """Yield a new folder in a store, called like the future run, that is deleted at the end if it is still there."""
    store.guard.check_start()
    hidden = store.folder / f".import-{os.getpid()}-{os.urandom(4).hex()}"
    landing = hidden / (make_slug(make_slug(name).removeprefix(STARTER)) or "imported")
    with convert_os_errors(store.folder):
        try:
            landing.mkdir(parents=True)
            yield landing
        finally:
            shutil.rmtree(hidden, ignore_errors=True)


def remove_paths(config: RunConfig) -> RunConfig:
    """Return a run's settings without file paths of this machine; a teacher run is marked as from elsewhere."""
    name, lexicons, teacher = config.data.name, config.text.lexicons, config.training.teacher
    rows: dict[str, Any] = {} if is_registered(name) else {"name": _hide_location(name)}
    if examples := config.data.examples:
        rows["examples"] = _hide_location(examples)
    if lineage := config.data.parse_list("lineage"):
        rows["lineage"] = join_list(_hide_location(path) for path in lineage)
    text, model, training = config.text, config.model, config.training
    if set(lexicons) - {VADER}:
        told = [each if each == VADER else _hide_location(each) for each in lexicons]
        again = [f" ({told[:place].count(name) + 1})" * (name in told[:place]) for place, name in enumerate(told)]
        text = dataclasses.replace(text, lexicon=",".join(map("".join, zip(told, again, strict=True))))
    if model.backbone:
        model = dataclasses.replace(model, backbone=strip_location(model.backbone))
    if teacher not in ("", TFIDF):
        training = dataclasses.replace(training, teacher=_hide_location(teacher))
    return RunConfig(dataclasses.replace(config.data, **rows), text, model, training)


def _hide_location(name: str) -> str:
    return ELSEWHERE + (re.split(r"[/\\]", name.removeprefix(ELSEWHERE).rstrip("/\\"))[-1] or "a folder")


def _move_into_store(store: RunStore, landing: Path) -> str:
    aside = RunStore(landing.parent)
    try:
        record = aside.read(landing.name)
    except RunDamaged as error:
        raise InputError(str(error).replace(f"{landing}{os.sep}", "")) from error
    if record.is_live:
        raise InputError(f"the run is {record.status} on another machine; import it when it has ended")
    config, results = remove_paths(record.config), record.results
    if owed := results.get("backbone"):
        results = {**results, "backbone": {**owed, "name": strip_location(owed["name"])}}
    aside.write(dataclasses.replace(record, process=None, config=config, results=results))
    _clean_files(landing)
    check_quota(store, landing)
    run = place_folder(store, landing)
    own = store.folder / run / LINEAGE
    names = [name.removeprefix(ELSEWHERE) for name in config.data.parse_list("lineage")]
    found = [str(own / name) if _is_known(f"{LINEAGE}/{name}") else ELSEWHERE + name for name in names]
    data_config = dataclasses.replace(config.data, lineage=join_list(found))
    store.update(run, config=dataclasses.replace(config, data=data_config))  # also writes the new name
    return run


def place_folder(store: RunStore, landing: Path) -> str:
    """Move a complete run directory into a store; return its name, numbered if the name is taken."""
    for number in range(1, 100_000):
        run = landing.name if number == 1 else f"{landing.name}-{number}"
        with contextlib.suppress(FileExistsError):
            (store.folder / run).mkdir()  # reserves the name; the full directory can replace an empty one
            if os.name == "nt":
                (store.folder / run).rmdir()
            os.replace(landing, store.folder / run)
            store.guard.take_run(run)
            return run
    raise InputError(f"no free name for run '{landing.name}'")


def _clean_files(landing: Path) -> None:
    """Check the files of an imported run and remove paths from its encoder's record; InputError if one is damaged."""
    for path in sorted(each for name in (PREDICTIONS, TAGS) for each in landing.glob(f"{EVALUATION}/*/{name}")):
        try:
            sandbox.check_parquet(path)
        except DataError as error:
            raise InputError(f"{path.parent.relative_to(landing.parent)}{os.sep}{error}") from error
    if unreadable := read_history(landing / HISTORY).unreadable:
        raise InputError(unreadable.replace(f"{landing}{os.sep}", ""))
    try:
        if (landing / BACKBONE).is_file():
            BackboneRecord.read(landing).strip_path().write(landing)
        for path in sorted(landing.glob(f"{LINEAGE}/*")):
            data.mixture.read_lineage(path)
    except RunDamaged as error:
        raise InputError(str(error).replace(f"{landing}{os.sep}", "")) from error
    except DataError as error:
        raise InputError(f"{landing.name}/{LINEAGE}/{error}") from error


def check_quota(store: RunStore, landing: Path) -> None:
    """Record the disk size of an imported run; InputError if imports would exceed the quota of this server."""
    size = sum(path.stat().st_size for path in landing.rglob("*") if path.is_file())
    before = 0
    for mark in store.folder.glob(f"*/{IMPORTED}"):
        with contextlib.suppress(OSError, ValueError):
            before += int(mark.read_bytes())
    if before + size > limits.IMPORTED_MB() * 1_000_000:
        raise InputError(
            f"this server imports at most {count(limits.IMPORTED_MB())} {limits.IMPORTED_MB.what} "
            f"({limits.IMPORTED_MB.variable}), and {count(before // 1_000_000)} are here; delete some first"
        )
    write_text(landing / IMPORTED, str(size))
