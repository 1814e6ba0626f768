"""Where a routine stands, in one word."""

import hashlib
import json
from enum import StrEnum

from core.routine import Definition
from core.routine_json import definition_to_json
from core.routine_run import Progress, RunStatus


class DisplayStatus(StrEnum):
    """What a list shows; the first that holds."""

    DISABLED = "disabled"
    PAUSED = "paused"
    RUNNING = "running"
    UNTESTED = "untested"
    FAILING = "failing"
    ATTENTION = "attention"
    ACTIVE = "active"


def display_status(definition: Definition, progress: Progress) -> DisplayStatus:
    """One word for a routine whose runs left `progress` behind."""
    signs = (
        (not definition.enabled, DisplayStatus.DISABLED),
        (bool(progress.paused_because), DisplayStatus.PAUSED),
        (progress.running > 0, DisplayStatus.RUNNING),
        (progress.tested_as != fingerprint(definition), DisplayStatus.UNTESTED),
        (progress.consecutive_failures > 0, DisplayStatus.FAILING),
        (progress.last_status is RunStatus.ATTENTION, DisplayStatus.ATTENTION),
    )
    return next((status for holds, status in signs if holds), DisplayStatus.ACTIVE)


def fingerprint(definition: Definition) -> str:
    """64 hex digits that change with trigger, action and guardrails, and not with name, description, notices,
    the order of filters, or a setting that is written out although it is the usual one."""
    page = definition_to_json(definition)
    behaviour = {part: page.get(part) for part in ("trigger", "action", "guardrails")}
    return hashlib.sha256(json.dumps(behaviour, sort_keys=True).encode()).hexdigest()
