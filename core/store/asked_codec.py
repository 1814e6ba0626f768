"""The calls of a joint prompt as they are stored: JSON, a list of their fields for each."""

import json
from collections.abc import Sequence

from core.prompts import AskedCall
from core.store.codec import storable


def asked_to_json(calls: Sequence[AskedCall]) -> str | None:
    """None where there are none."""
    if not calls:
        return None
    listed = [[call.call_id, call.tool, call.reason, call.detail, call.binding] for call in calls]
    return storable(json.dumps(listed, ensure_ascii=False))


def asked_from_json(text: str) -> tuple[AskedCall, ...]:
    """What `asked_to_json` wrote."""
    return tuple(AskedCall(*fields) for fields in json.loads(text))
