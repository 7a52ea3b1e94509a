"""Facts about a named data set (licence, published file layout …), and its download. Imports nothing heavy.

Only Parquet files are downloaded from the Hugging Face hub, without running remote code.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from core.exceptions import NotAvailable

if TYPE_CHECKING:
    import pandas as pd

OWN_LAYOUT = "labels.json"  # A folder with this file is read as a folder of splits, not in the published layout


@dataclass(frozen=True)
class PublishedLayout:
    """The file layout in which authors publish a data set: its files by split, their columns and labels."""

    where: str
    files: Mapping[str, tuple[str, ...]]  # Split → its file; for the form `lines`, the files of texts and of labels
    form: Literal["comma", "tab", "lines"]
    """comma, tab: a table with double quotes around cells that contain the delimiter · lines: one text per line."""
    labels: Mapping[str, str]  # Label in these files → class name, in class order
    columns: tuple[str, ...] = ()
    header: bool = False
    text: str = ""
    label: str = ""
    kept: tuple[str, ...] = ()
    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    escaped: bool = False  # Whether `\n` in a text means a line break
    rows: Mapping[str, int] = field(default_factory=dict)  # Split → published number of rows
    optional: tuple[str, ...] = ()  # Splits that some copies lack
    checked: str = "layout not checked against the published files"

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names of a published data set, in order."""
        return tuple(dict.fromkeys(self.labels.values()))

    def is_used_in(self, folder: Path) -> bool:
        """Return whether a folder has this file layout: at least one of its files exists, but no `labels.json`."""
        return not (folder / OWN_LAYOUT).exists() and bool(self.find_splits(folder))

    def list_missing(self, folder: Path) -> list[str]:
        """Return the names of a published data set's files that are missing in a folder."""
        needed = {split: files for split, files in self.files.items() if split not in self.optional}
        asked = (needed | self.find_splits(folder)).values()
        return [file for files in asked for file in files if not (folder / file).is_file()]

    def find_splits(self, folder: Path) -> dict[str, tuple[str, ...]]:
        """Return split → file names for the splits of a published data set that a folder has."""
        return {split: files for split, files in self.files.items() if any((folder / file).is_file() for file in files)}

    def describe_layout(self) -> str:
        """Describe the file layout of a published data set in a sentence without a full stop."""
        files = ", ".join(
            f"{file} (may be absent)" if split in self.optional else file
            for split, files in self.files.items()
            for file in files
        )
        form = {"comma": "columns divided by commas", "tab": "columns divided by tabs", "lines": "one text a line"}
        named = "among them" if self.header else "no row of names"
        columns = f" ({named}: {', '.join(self.columns)})" if self.columns else ""
        return f"{files}; {form[self.form]}{columns}; {self.encoding.upper()}"


@dataclass(frozen=True)
class Hub:
    """The location of a data set's Parquet files on the Hugging Face hub."""

    repo: str
    files: dict[str, tuple[str, ...]]
    text: str = "text"
    label: str = "label"
    revision: str = "main"
    checked: str = "not checked"  # `checked on DATE` if downloaded and counted; else the entry's origin


@dataclass(frozen=True)
class DataSource:
    """A named data set: its description, its origin and the use of its splits."""

    name: str
    title: str
    licence: str
    citation: str
    language: str = "en"
    kind: Literal["built-in", "hub"] = "hub"
    task: Literal["single", "multi", "pair"] = "single"
    labels: dict[str, str] = field(default_factory=dict)
    ordered: bool = False
    hub: Hub | None = None
    reported_split: Literal["test", "validation"] = "test"
    """The split of reported results; if validation, it becomes test, and a new validation split is cut from train."""
    pooled: tuple[str, ...] = ("train", "validation", "test")  # The given splits that `data.split` pools
    validation_share: float = 0.1  # Share of train that becomes validation if there is no validation split
    settings: dict[str, Any] = field(default_factory=dict)  # Recommended (dotted); a preset overrides them
    reported: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Paper (`core.models.presets.Preset.paper`) → further settings with which it reports results on this data set."""
    note: str = ""
    published: PublishedLayout | None = None  # The layout in which its authors give it out, if not a folder of splits

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names of a named data set, in label order."""
        return tuple(dict.fromkeys(self.labels.values()))

    @property
    def checked(self) -> str:
        """Return whether a data set's download or file layout was ever checked against the real files."""
        if self.kind == "built-in":
            return "part of the program"
        if self.hub:
            return self.hub.checked
        return self.published.checked if self.published else "no repository known"


def fetch_splits(source: DataSource) -> dict[str, "pd.DataFrame"]:
    """Return the raw splits of a data set on the Hugging Face hub; files are downloaded once and then cached."""
    import pandas as pd

    from core.data.parquet import read_parquet

    if source.hub is None:
        raise NotAvailable(f"no hub repository is known for '{source.name}'; {_suggest_copy(source.name)}")
    return {
        split: pd.concat([read_parquet(_download_file(source, source.hub, file)) for file in files], ignore_index=True)
        for split, files in source.hub.files.items()
    }


def _suggest_copy(name: str) -> str:
    return (
        f"give a local copy with --data PATH, or set SENTISCOPE_DATA to a folder that holds {name}/ "
        "with train, validation or test files"
    )


def _download_file(source: DataSource, hub: Hub, file: str) -> Path:
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HTTPError, LocalEntryNotFoundError
    except ImportError:
        how = f"needs one more package: pip install 'sentiscope[hub]'; or {_suggest_copy(source.name)}"
        raise NotAvailable(f"downloading '{source.name}' {how}") from None
    reason = "the Hugging Face hub cannot be reached from here and the data set is not in the cache"
    place: dict[str, Any] = {"repo_id": hub.repo, "filename": file, "repo_type": "dataset", "revision": hub.revision}
    try:
        if isinstance(cached := try_to_load_from_cache(**place), str):
            return Path(cached)
        get_hf_file_metadata(hf_hub_url(**place))  # fails at once; the download would retry for half a minute
        return Path(hf_hub_download(**place))
    except LocalEntryNotFoundError:
        pass
    except EntryNotFoundError:
        reason = f"the hub has no file '{file}' in {hub.repo} ({hub.checked})"
    except HfHubHTTPError as error:
        reason = f"the hub refused {hub.repo} ({hub.checked}): {str(error).splitlines()[0]}"
    except (HTTPError, ConnectionError, TimeoutError):
        pass
    except OSError as error:
        reason = f"the download of {hub.repo} could not be stored: {error.strerror or error}"
    raise NotAvailable(f"'{source.name}': {reason}; {_suggest_copy(source.name)}")
