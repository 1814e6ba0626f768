"""Events for apps: in their envelope, for every app that may see them.

https://docs.slack.dev/apis/events-api, https://docs.slack.dev/reference/events/message,
https://docs.slack.dev/reference/events/app_mention.
"""

import re
from typing import Any

from tests.simulators.slack.log import DeliveryRecord
from tests.simulators.slack.state import SlackState
from tests.simulators.slack.world import IM, App, Channel, Message

Json = dict[str, Any]
_KIND_OF_EVENT = {
    "channel": "message.channels",
    "group": "message.groups",
    "im": "message.im",
    "mpim": "message.mpim",
}
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")


class Events(SlackState):
    """Makes events and hands them to the apps."""

    def emit(self, app: App, event: Json) -> DeliveryRecord:
        """One event for one app."""
        world = self.world
        event_id = self.ids.object("Ev")
        payload = {
            "token": "verification-token-not-for-use",
            "team_id": world.team_id,
            "context_team_id": world.team_id,
            "context_enterprise_id": None,
            "api_app_id": app.id,
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": self.now(),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": world.team_id,
                    "user_id": app.user.id,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": f"4-{self.ids.secret()}",
        }
        record = DeliveryRecord(event_id, app.id, "events_api", event["type"], payload, self.clock())
        self.log.deliveries.append(record)
        self.deliver(record)
        self.changed()
        return record

    def watchers(self, channel: Channel, kind: str) -> list[App]:
        """The apps in a conversation that want a kind of event."""
        return [
            app for app in self.world.apps.values() if app.user.id in channel.members and kind in app.events
        ]

    # -- messages

    def told_of_message(self, message: Message) -> list[DeliveryRecord]:
        """A message was written: ``message``, and ``app_mention`` for an app it names."""
        channel = message.channel
        event = message.to_json(metadata="all") | _place(channel, message.ts)
        for name in (
            "reply_count",
            "reply_users",
            "reply_users_count",
            "latest_reply",
            "subscribed",
            "is_locked",
        ):
            event.pop(name, None)
        records: list[DeliveryRecord] = []
        mentioned = set(_MENTION.findall(message.text))
        named = [
            app
            for app in self.watchers(channel, "app_mention")
            if app.user.id in mentioned and channel.kind != IM and app.id != message.app_id
        ]
        if self.mention_first:
            records += [self._mention(app, event) for app in named]
        for app in self.watchers(channel, _KIND_OF_EVENT[channel.kind]):
            records.append(self.emit(app, event))
        if not self.mention_first:
            records += [self._mention(app, event) for app in named]
        return records

    def _mention(self, app: App, event: Json) -> DeliveryRecord:
        mention = {name: value for name, value in event.items() if name not in {"channel_type", "subtype"}}
        return self.emit(app, mention | {"type": "app_mention"})

    def told_of_change(self, message: Message, before: Json) -> list[DeliveryRecord]:
        """A message was edited: ``message_changed``."""
        ts = self.world.timestamps.next(self.clock())
        event = {
            "type": "message",
            "subtype": "message_changed",
            "message": message.to_json(metadata="all"),
            "previous_message": before,
            "hidden": True,
            "ts": ts,
            **_place(message.channel, ts),
        }
        return self._tell(message.channel, event)

    def told_of_deletion(self, message: Message, before: Json) -> list[DeliveryRecord]:
        """A message was deleted: ``message_deleted``."""
        ts = self.world.timestamps.next(self.clock())
        event = {
            "type": "message",
            "subtype": "message_deleted",
            "previous_message": before,
            "hidden": True,
            "deleted_ts": message.ts,
            "ts": ts,
            **_place(message.channel, ts),
        }
        return self._tell(message.channel, event)

    def _tell(self, channel: Channel, event: Json) -> list[DeliveryRecord]:
        return [self.emit(app, event) for app in self.watchers(channel, _KIND_OF_EVENT[channel.kind])]

    # -- the rest

    def told_of_reaction(self, kind: str, message: Message, user_id: str, name: str) -> list[DeliveryRecord]:
        """``reaction_added`` or ``reaction_removed``."""
        event = {
            "type": kind,
            "user": user_id,
            "reaction": name,
            "item": {"type": "message", "channel": message.channel.id, "ts": message.ts},
            "item_user": message.user_id,
            "event_ts": self.world.timestamps.next(self.clock()),
        }
        return [self.emit(app, event) for app in self.watchers(message.channel, kind)]

    def told_of_joining(self, channel: Channel, user_id: str, inviter: str | None) -> list[DeliveryRecord]:
        """``member_joined_channel``."""
        event = {
            "type": "member_joined_channel",
            "user": user_id,
            "channel": channel.id,
            "channel_type": "C" if channel.kind == "channel" else "G",
            "team": self.world.team_id,
            "event_ts": self.world.timestamps.next(self.clock()),
        }
        if inviter is not None:
            event["inviter"] = inviter
        return [self.emit(app, event) for app in self.watchers(channel, "member_joined_channel")]


def _place(channel: Channel, ts: str) -> Json:
    return {"channel": channel.id, "event_ts": ts, "channel_type": channel.kind}
