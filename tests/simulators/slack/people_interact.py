"""Presses, submissions and commands of people."""

from typing import Any

from tests.simulators.control import operation
from tests.simulators.slack.blocks import interactive_elements
from tests.simulators.slack.log import DeliveryRecord
from tests.simulators.slack.people import PeopleActions
from tests.simulators.slack.state import Ephemeral, View
from tests.simulators.slack.world import App, Message

Json = dict[str, Any]
_STYLED = ("text", "value", "style", "url")


class InteractiveActions(PeopleActions):
    """Presses, submissions and commands of people; each gives the record of its delivery.

    Its ``state`` ends as ``acked``, or as ``failed``: the person was shown that the app did not answer.
    """

    # -- buttons

    @operation
    def user_presses_button(
        self,
        user_id: str,
        channel: str,
        ts: str,
        button: int | str | None = None,
        action_id: str | None = None,
        value: str | None = None,
        stale: bool = False,
    ) -> DeliveryRecord:
        """Presses a button of a message (or of an ephemeral one), found by its position or label
        (``button``), its ``action_id`` or its ``value``; the first if nothing is said.

        With ``stale`` it need not be there any more: an old client may still show what was there before.
        Raises ``LookupError`` if nobody could press such a button.
        """
        target = self._shown(user_id, channel, ts)
        wanted = {"action_id": action_id, "value": value}
        bodies = [target.body, *(reversed(target.history) if stale else ())]
        found = [
            (block, element)
            for body in bodies
            for block in body.get("blocks", [])
            for element in interactive_elements(block)
            if element["type"] in {"button", "icon_button"}
        ]
        if isinstance(button, str):
            found = [pair for pair in found if pair[1]["text"]["text"] == button]
        for name, text in wanted.items():
            found = [pair for pair in found if text is None or pair[1].get(name) == text]
        index = button if isinstance(button, int) else 0
        if not 0 <= index < len(found):
            raise LookupError(f"no such button in {ts} of {channel}")
        return self._act(user_id, target, *found[index], {})

    @operation
    def user_chooses(
        self, user_id: str, channel: str, ts: str, option: str, action_id: str | None = None
    ) -> DeliveryRecord:
        """Chooses an option (by value or label) of a select, overflow or radio element of a message."""
        target = self._shown(user_id, channel, ts)
        for block in target.blocks:
            for element in interactive_elements(block):
                for one in element.get("options", []):
                    if option in {one["value"], one["text"]["text"]} and action_id in {
                        None,
                        element["action_id"],
                    }:
                        return self._act(user_id, target, block, element, {"selected_option": one})
        raise LookupError(f"no option {option!r} in {ts} of {channel}")

    def _shown(self, user_id: str, channel: str, ts: str) -> Message | Ephemeral:
        place = self.place(user_id, channel)
        for hidden in self.ephemeral_messages:
            if (hidden.channel, hidden.ts, hidden.user_id, hidden.deleted) == (place.id, ts, user_id, False):
                return hidden
        message = place.living(ts)
        if message is None:
            raise LookupError(f"no message {ts} in {channel}")
        return message

    def _act(
        self, user_id: str, target: Message | Ephemeral, block: Json, element: Json, chosen: Json
    ) -> DeliveryRecord:
        user = self.person(user_id)
        if target.app_id is None:
            raise LookupError(f"{target.ts} is no app's message")
        app = self.world.apps[target.app_id]
        hidden = isinstance(target, Ephemeral)
        place = self.world.channels[target.channel] if isinstance(target, Ephemeral) else target.channel
        kept = {name: element[name] for name in _STYLED if name in element}
        action = {
            "action_id": element["action_id"],
            "block_id": block["block_id"],
            **kept,
            **chosen,
            "type": element["type"],
            "action_ts": self.world.timestamps.next(self.clock()),
        }
        container = {
            "type": "message",
            "message_ts": target.ts,
            "channel_id": place.id,
            "is_ephemeral": hidden,
        }
        payload: Json = {
            "type": "block_actions",
            "user": self.about_user(user),
            "api_app_id": app.id,
            "token": "verification-token-not-for-use",
            "container": container,
            "trigger_id": self.new_trigger(app, user),
            "team": self.about_team(),
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": place.id, "name": "privategroup" if place.kind == "group" else place.name},
            "state": {"values": {}},
            "response_url": self.new_response_url(app, place, user, target, target.thread_ts),
            "actions": [action],
        }
        if target.thread_ts:
            container["thread_ts"] = target.thread_ts
        if isinstance(target, Message):
            payload["message"] = target.to_json(metadata="all")
        return self.interact(app, "interactive", "block_actions", payload)

    # -- commands

    @operation
    def user_runs_command(
        self, user_id: str, command: str, text: str = "", channel: str | None = None, app: str | None = None
    ) -> DeliveryRecord:
        """Types a slash command. Raises ``LookupError`` if no installed app knows it."""
        place = self.place(user_id, channel, app)
        account = self._app_of_command(command, app)
        user = self.person(user_id)
        payload = {
            "token": "verification-token-not-for-use",
            "team_id": self.world.team_id,
            "team_domain": self.world.team_domain,
            "channel_id": place.id,
            "channel_name": "privategroup" if place.kind == "group" else place.name,
            "user_id": user.id,
            "user_name": user.name,
            "command": command,
            "text": text.strip(),
            "api_app_id": account.id,
            "is_enterprise_install": "false",
            "response_url": self.new_response_url(account, place, user),
            "trigger_id": self.new_trigger(account, user),
        }
        return self.interact(account, "slash_commands", command, payload, accepts_response=True)

    def _app_of_command(self, command: str, app: str | None) -> App:
        for account in self.world.apps.values():
            if command in account.commands and app in {None, account.id, account.name}:
                return account
        raise LookupError(f"{command} is not a valid command")

    # -- modals

    @operation
    def user_submits_view(self, user_id: str, view_id: str, values: Json | None = None) -> DeliveryRecord:
        """Submits a modal; ``values`` are texts or chosen values by ``action_id`` (or ``block_id``).

        Raises ``LookupError`` if the person has no such modal open or an input was left empty.
        """
        view = self._open_view(user_id, view_id)
        given = values or {}
        filled: Json = {}
        for block in view.body["blocks"]:
            if block["type"] == "input":
                element = block["element"]
                text = given.get(element["action_id"], given.get(block["block_id"]))
                if text is None and not block.get("optional"):
                    raise LookupError(f"{block['block_id']} was left empty")
                filled[block["block_id"]] = {element["action_id"]: _value(element, text)}
        view.body["state"] = {"values": filled}
        view.errors, view.is_open = {}, False
        return self._view_event(view, "view_submission", accepts_response=True)

    @operation
    def user_closes_view(self, user_id: str, view_id: str) -> DeliveryRecord | None:
        """Closes a modal; the app hears of it only if it asked to."""
        view = self._open_view(user_id, view_id)
        view.is_open = False
        self.changed()
        return self._view_event(view, "view_closed") if view.body.get("notify_on_close") else None

    def _open_view(self, user_id: str, view_id: str) -> View:
        view = self.views.get(view_id)
        if view is None or view.user_id != user_id or not view.is_open:
            raise LookupError(f"{user_id} has no open view {view_id}")
        return view

    def _view_event(self, view: View, kind: str, *, accepts_response: bool = False) -> DeliveryRecord:
        app, user = self.world.apps[view.app_id], self.person(view.user_id)
        payload: Json = {
            "type": kind,
            "team": self.about_team(),
            "user": self.about_user(user),
            "api_app_id": app.id,
            "token": "verification-token-not-for-use",
            "view": view.to_json(),
            "is_enterprise_install": False,
            "enterprise": None,
        }
        if kind == "view_submission":
            payload |= {"trigger_id": self.new_trigger(app, user), "response_urls": []}
        else:
            payload["is_cleared"] = False
        return self.interact(app, "interactive", kind, payload, accepts_response=accepts_response)


def _value(element: Json, given: Any) -> Json:
    """The state of a filled element."""
    options = {option["value"]: option for option in element.get("options", [])}
    if element["type"] in {"static_select", "radio_buttons"}:
        return {"type": element["type"], "selected_option": options.get(given)}
    if element["type"] in {"checkboxes", "multi_static_select"}:
        chosen = [options[one] for one in given or []]
        return {"type": element["type"], "selected_options": chosen}
    return {"type": element["type"], "value": given}
