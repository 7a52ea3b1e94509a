"""Download of named data sets from the Hugging Face hub: Parquet files only, without running remote code."""

from pathlib import Path
from typing import Any

import pandas as pd

from core.data.parquet import read_parquet
from core.data.sources.source import DataSource, Hub
from core.exceptions import NotAvailable


def fetch_splits(source: DataSource) -> dict[str, pd.DataFrame]:
    """Return the raw splits of a data set on the Hugging Face hub; files are downloaded once and then cached."""
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
