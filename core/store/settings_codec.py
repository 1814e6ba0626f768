"""Presets and limits as databases keep them; see core.store.codec."""

import json
from typing import cast

from core.approvals import UNSAID, ApprovalSettings, Preset


def limits_to_json(settings: ApprovalSettings) -> str | None:
    """What is set of a person's or conversation's limits; None for nothing. The preset is a column of its
    own."""
    names = ("max_rounds", "max_tools", "loop_timeout_s")
    limits = {name: value for name in names if (value := getattr(settings, name)) is not None}
    return json.dumps(limits, separators=(",", ":")) if limits else None


def settings_from_columns(preset: str | None, limits: str | None) -> ApprovalSettings:
    """The settings of which `limits_to_json` stored a part."""
    if preset is None and limits is None:
        return UNSAID
    stored = {} if limits is None else cast("dict[str, int]", json.loads(limits))
    return ApprovalSettings(None if preset is None else Preset(preset), **stored)
