"""Pretrained encoders on this machine."""

from __future__ import annotations

from typing import Any

from core.exceptions import ConfigError
from core.models.fine_tunings import FINE_TUNINGS
from core.models.presets import PAPERS
from core.runs import backbones


def backbones_list() -> dict[str, Any]:
    """Those found by name, each as `core.runs.backbones.described` says, where was looked, and the papers' own.

    Returns:
        `backbones`, `folder` (SENTISCOPE_BACKBONES, empty where it is not set), `hub_cache`, `families`, and `recipes`:
        see `backbone_recipes`.
    """
    return {
        "backbones": [backbones.described(each) for each in backbones.listed()],
        "folder": str(backbones.own_folder() or ""),
        "hub_cache": str(backbones.hub_cache()),
        "families": list(backbones.FAMILIES),
        "recipes": backbone_recipes(),
    }


def backbone_recipes() -> list[dict[str, Any]]:
    """The backbones of the papers as their recipes fine-tune them, and whether their weights are here.

    Returns:
        Of each `recipe`, `paper`, `backbone`, `source`, `settings` (each with `value` and `where`, the section that
        says so), `note`, `folder` (empty: nowhere), `ok`, `lacks` (a file), and `problem`: that, and how to get it.
    """
    found = []
    for name, each in FINE_TUNINGS.items():
        try:
            here = backbones.described(backbones.find(each.backbone))
        except ConfigError:
            get = backbones.getting(each.backbone)
            here = {"folder": "", "ok": False, "lacks": backbones.CONFIG, "problem": f"not here; {get}"}
        found.append(
            {
                "recipe": name,
                "paper": PAPERS[each.paper],
                "backbone": each.backbone,
                "source": each.source,
                "settings": {key: told._asdict() for key, told in each.settings.items()},
                "note": each.note,
                **{key: here[key] for key in ("folder", "ok", "lacks", "problem")},
            }
        )
    return found


def backbones_check(name: str) -> dict[str, Any]:
    """Whether a backbone can be used: its files, its sizes, and the SHA-256 of its weights.

    Args:
        name: as `model.backbone`: a name, or the path of a folder; or a recipe of a paper's backbone.

    Raises:
        InputError: it is nowhere; says how to get it.
    """
    backbone = backbones.find(FINE_TUNINGS[name].backbone if name in FINE_TUNINGS else name)
    found = backbones.described(backbone)
    return {**found, "digests": backbone.digests() if found["ok"] else {}}
