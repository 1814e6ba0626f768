"""Queries of a judge: the log, the state of conversations, and whether something has come to pass."""

from typing import Any

from tests.patience import PATIENCE_S
from tests.simulators.control import operation
from tests.simulators.platform import Platform
from tests.simulators.slack.ids import ts_key
from tests.simulators.slack.log import DeliveryRecord, Log, RequestRecord
from tests.simulators.slack.people_interact import InteractiveActions
from tests.simulators.slack.state import Ephemeral, View
from tests.simulators.slack.visible import Seen, pings, seen
from tests.simulators.slack.world import Message

Json = dict[str, Any]


class Inspection(Platform, InteractiveActions):
    """Questions about what has happened so far."""

    log: Log

    @operation
    def requests(
        self,
        method: str | None = None,
        channel: str | None = None,
        app: str | None = None,
        outcome: str | None = None,
        ok: bool | None = None,
        since: int = 0,
    ) -> list[RequestRecord]:
        """Requests in order, filtered; ``ok`` means taken and accepted, ``since`` a number to start after."""
        app_id = None if app is None else self.app(app).id
        return self.log.select(
            method=method, channel=channel, app_id=app_id, outcome=outcome, ok=ok, since=since
        )

    @operation
    def deliveries(
        self,
        kind: str | None = None,
        what: str | None = None,
        app: str | None = None,
        state: str | None = None,
    ) -> list[DeliveryRecord]:
        """Events, interactions and commands in order; ``what`` is an event's or payload's type."""
        app_id = None if app is None else self.app(app).id
        return [
            record
            for record in self.log.deliveries
            if kind in {None, record.kind}
            and what in {None, record.what}
            and app_id in {None, record.app_id}
            and state in {None, record.state}
        ]

    @operation
    def messages(
        self, channel: str, by: str | None = None, thread_ts: str | None = None, deleted: bool = False
    ) -> list[Message]:
        """A conversation's messages in order; ``by`` is "bot" or "user", ``thread_ts`` a thread's head."""
        found = [
            message
            for message in self.channel(channel).messages.values()
            if (deleted or not message.deleted)
            and (by is None or (by == "bot") == (message.app_id is not None))
            and thread_ts in {None, message.thread_ts, message.ts}
        ]
        return sorted(found, key=lambda message: ts_key(message.ts))

    def bot_messages(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """The messages apps have put into a conversation, in order."""
        return self.messages(channel, by="bot", thread_ts=thread_ts)

    @operation
    def ephemerals(self, user_id: str, channel: str | None = None) -> list[Ephemeral]:
        """Return what apps have shown to one person alone and not taken away, in order."""
        return [
            shown
            for shown in self.ephemeral_messages
            if shown.user_id == user_id and channel in {None, shown.channel} and not shown.deleted
        ]

    @operation
    def open_views(self, user_id: str) -> list[View]:
        """The modals a person has before them."""
        return [view for view in self.views.values() if view.user_id == user_id and view.is_open]

    @operation
    def visible(self, channel: str, ts: str) -> str:
        """A message as a person reads it: no markup, every element in order."""
        return self.look(self.message(channel, ts)).text

    def look(self, message: Message | Ephemeral) -> Seen:
        """A message as a person sees it: its text, code, links and buttons."""
        return seen(message.body, self.names())

    def names(self) -> dict[str, str]:
        """Return what ids are shown as."""
        people = {user.id: f"@{user.real_name}" for user in self.world.users.values()}
        return people | {channel.id: f"#{channel.name}" for channel in self.world.channels.values()}

    @operation
    def pings(self, channel: str, ts: str) -> list[str]:
        """Everything in a message that may notify people."""
        return pings(self.message(channel, ts).body)

    @operation
    def channel_state(self, channel: str) -> Json:
        """A conversation with its members and all messages, deleted ones included."""
        found = self.channel(channel)
        return {
            "channel": found.to_json(),
            "members": found.members,
            "messages": [message.state() for message in found.messages.values()],
            "ephemerals": [shown.to_json() for shown in self.ephemeral_messages if shown.channel == found.id],
        }

    @operation
    def connections(self, app: str | None = None) -> list[Json]:
        """The app's open sockets."""
        return [connection.to_json() for connection in self.sockets.of(self.app(app).id, leaving=True)]

    @operation
    def whole_log(self, since: int = 0) -> Json:
        """All requests after number ``since`` and all deliveries; the control API calls it ``log``."""
        return {"requests": self.requests(since=since), "deliveries": self.deliveries()}

    # -- waiting

    @operation
    async def wait_bot_messages(
        self, channel: str, count: int = 1, thread_ts: str | None = None, timeout_s: float = PATIENCE_S
    ) -> list[Message]:
        """Waits until apps have put at least ``count`` messages into a conversation."""
        return await self.wait_count(lambda: self.bot_messages(channel, thread_ts), count, timeout_s)

    @operation
    async def wait_text(self, channel: str, contains: str, timeout_s: float = PATIENCE_S) -> Message:
        """Waits until an app's message in a conversation shows this text (after edits)."""
        return await self.wait_for(
            lambda: next((m for m in self.bot_messages(channel) if contains in self.look(m).text), None),
            timeout_s,
        )

    @operation
    async def wait_ephemeral(
        self, user_id: str, contains: str = "", channel: str | None = None, timeout_s: float = PATIENCE_S
    ) -> Ephemeral:
        """Waits until an app has shown this text to one person alone."""
        return await self.wait_for(
            lambda: next(
                (e for e in self.ephemerals(user_id, channel) if contains in self.look(e).text), None
            ),
            timeout_s,
        )

    @operation
    async def wait_view(self, user_id: str, timeout_s: float = PATIENCE_S) -> View:
        """Waits until a person has a modal before them."""
        return await self.wait_for(lambda: next(iter(self.open_views(user_id)), None), timeout_s)

    @operation
    async def wait_connected(
        self, count: int = 1, app: str | None = None, timeout_s: float = PATIENCE_S
    ) -> list[Json]:
        """Waits until at least ``count`` sockets of an app take envelopes."""
        found = await self.wait_count(lambda: self.sockets.of(self.app(app).id), count, timeout_s)
        return [connection.to_json() for connection in found]

    @operation
    async def wait_settled(self, delivery_id: str, timeout_s: float = PATIENCE_S) -> DeliveryRecord:
        """Waits until one delivery is acknowledged or given up."""

        def settled() -> DeliveryRecord | None:
            found = next((d for d in self.log.deliveries if d.id == delivery_id), None)
            if found is None:
                raise LookupError(f"no delivery {delivery_id}")
            return found if found.state != "pending" else None

        return await self.wait_for(settled, timeout_s)

    @operation
    async def wait_acked(self, app: str | None = None, timeout_s: float = PATIENCE_S) -> bool:
        """Waits until an app has acknowledged everything that is meant for it."""
        return await self.wait_for(
            lambda: all(d.state == "acked" for d in self.deliveries(app=app)), timeout_s
        )
