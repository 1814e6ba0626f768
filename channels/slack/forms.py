"""Changing a call's arguments in a modal (https://docs.slack.dev/surfaces/modals): what it shows, and what is
handed in. Pure.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from channels.blocks import showable
from channels.slack.inbound import Account
from channels.slack.places import address_of, ref_of
from channels.slack.wire import Submission
from core.messages import ChoiceAnswer, EditForm, FormField, Sender, as_taken

CALLBACK = "edit"
MAX_INPUT_CHARS = 3_000
"""Block Kit, plain-text input: initial_value and max_length."""
MAX_INPUTS = 20
"""More are one input of JSON; a view may have 100 blocks (Views, blocks)."""
MAX_BLOCK_ID_CHARS = 255
WHOLE = "(JSON)"
"""The one input in place of too many."""
TOO_LONG = "The arguments are too long for a form here. Change them in the console."


def view_of(answer: ChoiceAnswer, form: EditForm) -> dict[str, object] | None:
    """The modal in which this is filled in; None where Slack cannot hold it."""
    fields = _few(form.fields)
    if any(len(field.value) > MAX_INPUT_CHARS or len(field.name) > MAX_BLOCK_ID_CHARS for field in fields):
        return None
    where = {
        "prompt": answer.prompt_id,
        "choice": form.choice,
        "address": answer.address,
        "ref": answer.ref,
    }
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": json.dumps(where),
        "title": _plain("Change the call"),
        "submit": _plain("Approve so"),
        "close": _plain("Cancel"),
        "blocks": [_input(field) for field in fields],
    }


def read_submission(payload: object, account: Account, channel: str, now: int) -> ChoiceAnswer | None:
    """What was handed in; None for other forms, and what cannot be read."""
    try:
        given = Submission.model_validate(payload)
        where = json.loads(given.view.private_metadata or "{}")
        prompt_id, choice = where["prompt"], int(where.get("choice", 0))
        address, ref = where["address"], where["ref"]
    except (ValidationError, ValueError, LookupError, TypeError):
        return None
    if given.view.callback_id != CALLBACK:
        return None
    values = {
        block: next(iter(actions.values())).value or "" for block, actions in given.view.state.values.items()
    }
    form = values.get(WHOLE) or json.dumps(values, ensure_ascii=False, sort_keys=True)
    said = hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    place, _, thread_ts = str(address).partition(":")
    user = given.user
    return ChoiceAnswer(
        key=f"sl:{account.team_id}:v:{given.view.id}:{said}",
        channel=channel,
        address=address_of(place, thread_ts or None),
        sender=Sender(user.id, showable(as_taken(user.name or user.username or user.id)), user.username),
        prompt_id=str(prompt_id),
        choice=choice,
        sent_at=now,
        direct=place.startswith("D"),
        ref=ref_of(*str(ref).split(":", 1)) if isinstance(ref, str) and ":" in ref else None,
        form=form,
    )


def errors_of(payload: Mapping[str, object], refusal: str) -> dict[str, object]:
    """The answer to a submission that is refused: said below the input it is about, else below the first."""
    view = cast("Mapping[str, Any]", payload.get("view") or {})
    blocks = [str(block.get("block_id")) for block in view.get("blocks") or ()]
    named = refusal.partition(":")[0]
    block = named if named in blocks else (blocks or [WHOLE])[0]
    return {"response_action": "errors", "errors": {block: refusal}}


def _few(fields: Sequence[FormField]) -> Sequence[FormField]:
    if len(fields) <= MAX_INPUTS:
        return fields
    whole = {field.name: field.value for field in fields}
    return [FormField(WHOLE, json.dumps(whole, ensure_ascii=False, indent=1))]


def _input(field: FormField) -> dict[str, object]:
    element: dict[str, object] = {
        "type": "plain_text_input",
        "action_id": "value",
        "multiline": True,
        "max_length": MAX_INPUT_CHARS,
    }
    if field.value:
        element["initial_value"] = field.value
    return {
        "type": "input",
        "block_id": field.name,
        "optional": True,
        "label": _plain(field.name),
        "element": element,
    }


def _plain(text: str) -> dict[str, object]:
    return {"type": "plain_text", "text": text, "emoji": False}
