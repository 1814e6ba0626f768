"""What fired a run, as the store keeps it: `{"by": "slot", "slot_at": …}` with the fields of its kind."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from core.routine_run import ManualInput, MessageInput, RunInput, SlotInput, SystemInput, WebhookInput

_KINDS: Mapping[str, type[RunInput]] = {
    "slot": SlotInput,
    "message": MessageInput,
    "event": SystemInput,
    "delivery": WebhookInput,
    "manual": ManualInput,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def input_to_json(fired_by: RunInput) -> str:
    """JSON text."""
    return json.dumps({"by": _NAMES[type(fired_by)], **asdict(fired_by)}, ensure_ascii=False)


def input_from_json(text: str) -> RunInput:
    """What `input_to_json` wrote."""
    page = cast("dict[str, Any]", json.loads(text))
    kind = _KINDS[page.pop("by")]
    if kind is MessageInput:
        page["groups"] = tuple(page["groups"])
        page["named_groups"] = tuple((name, found) for name, found in page["named_groups"])
    return kind(**page)
