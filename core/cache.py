"""Where results are kept that can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """SENTISCOPE_CACHE, else ~/.cache/sentiscope."""
    chosen = os.environ.get("SENTISCOPE_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "sentiscope"
