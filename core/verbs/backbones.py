"""Pretrained encoders on this machine."""

from __future__ import annotations

from typing import Any

from core.runs import backbones


def backbones_list() -> dict[str, Any]:
    """Those that are found by name, each as `core.runs.backbones.described` says, and where was looked.

    Returns:
        `backbones`, `folder` (SENTISCOPE_BACKBONES, empty where it is not set), `hub_cache`, and `families`.
    """
    return {
        "backbones": [backbones.described(each) for each in backbones.listed()],
        "folder": str(backbones.own_folder() or ""),
        "hub_cache": str(backbones.hub_cache()),
        "families": list(backbones.FAMILIES),
    }


def backbones_check(name: str) -> dict[str, Any]:
    """Whether a backbone can be used: its files, its sizes, and the SHA-256 of its weights.

    Args:
        name: as `model.backbone`: a name, or the path of a folder.

    Raises:
        InputError: it is nowhere; says how to get it.
    """
    backbone = backbones.find(name)
    found = backbones.described(backbone)
    return {**found, "digests": backbone.digests() if found["ok"] else {}}
