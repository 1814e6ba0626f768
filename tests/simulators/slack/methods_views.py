"""Modals: https://docs.slack.dev/surfaces/modals, https://docs.slack.dev/reference/views."""

import json
from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.block_elements import plain_text
from tests.simulators.slack.blocks import checked_view_blocks
from tests.simulators.slack.errors import SlackError, missing
from tests.simulators.slack.ids import Ids
from tests.simulators.slack.registry import Call, method
from tests.simulators.slack.shapes import anything, boolean, may, need, shape, string
from tests.simulators.slack.state import Trigger, View

Json = dict[str, Any]
_VIEW = shape(
    type=need(string(choices=("modal",))),
    title=need(plain_text(limits.MAX_VIEW_TITLE_CHARS)),
    blocks=need(anything),
    submit=may(plain_text(limits.MAX_VIEW_TITLE_CHARS)),
    close=may(plain_text(limits.MAX_VIEW_TITLE_CHARS)),
    private_metadata=may(string(limits.MAX_PRIVATE_METADATA_CHARS)),
    callback_id=may(string(limits.MAX_CALLBACK_ID_CHARS)),
    clear_on_close=may(boolean),
    notify_on_close=may(boolean),
    external_id=may(string(limits.MAX_CALLBACK_ID_CHARS)),
    submit_disabled=may(boolean),
)
_DEFAULTS: Json = {
    "submit": None,
    "close": None,
    "private_metadata": "",
    "callback_id": "",
    "external_id": "",
    "clear_on_close": False,
    "notify_on_close": False,
    "previous_view_id": None,
    "state": {"values": {}},
}


def checked_view(value: Any, ids: Ids) -> Json:
    """The view as it is stored. Raises ``SlackError``."""
    if not isinstance(value, dict):
        raise missing("view")
    if len(json.dumps(value).encode()) > limits.MAX_VIEW_BYTES:
        raise SlackError("view_too_large")
    problems: list[str] = []
    _VIEW(value, "/view", problems)
    if problems:
        raise SlackError("invalid_arguments", problems)
    blocks = checked_view_blocks(value["blocks"], ids)
    if any(block["type"] == "input" for block in blocks) and not value.get("submit"):
        raise SlackError("invalid_arguments", ["missing required field: submit [json-pointer:/view]"])
    return {**_DEFAULTS, **value, "blocks": blocks}


@method("views.open", tier=4)
def open_view(call: Call) -> Json:
    trigger = _trigger(call)
    body = checked_view(call.params.json("view", "invalid_arguments"), call.sim.ids)
    trigger.used = True
    view = View(call.sim.ids.object("V"), call.app.id, trigger.user_id, body, call.sim.ids.secret())
    view.body |= {
        "team_id": call.sim.world.team_id,
        "bot_id": call.app.bot_id,
        "app_installed_team_id": call.sim.world.team_id,
        "root_view_id": view.id,
    }
    call.sim.views[view.id] = view
    return {"ok": True, "view": view.to_json()}


@method("views.update", tier=4)
def update_view(call: Call) -> Json:
    view = call.sim.views.get(call.params.text("view_id"))
    if view is None or view.app_id != call.app.id or not view.is_open:
        raise SlackError("not_found")
    if call.params.text("hash") not in {"", view.hash}:
        raise SlackError("hash_conflict")
    body = checked_view(call.params.json("view", "invalid_arguments"), call.sim.ids)
    view.body, view.hash = {**view.body, **body}, call.sim.ids.secret()
    return {"ok": True, "view": view.to_json()}


def _trigger(call: Call) -> Trigger:
    name = call.params.text("trigger_id")
    if not name:
        raise missing("trigger_id")
    trigger = call.sim.triggers.get(name)
    if trigger is None or trigger.app_id != call.app.id:
        raise SlackError("invalid_trigger_id")
    if trigger.used:
        raise SlackError("exchanged_trigger_id")
    if call.sim.clock() > trigger.expires_at:
        raise SlackError("expired_trigger_id")
    return trigger
