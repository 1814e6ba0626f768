"""Messages come, change and go, whoever does it; every app that may see it is told."""

from typing import Any

from tests.simulators.slack.events import Events
from tests.simulators.slack.world import App, Channel, Message

Json = dict[str, Any]


class Posting(Events):
    """Writes to conversations."""

    def post(
        self,
        channel: Channel,
        user_id: str,
        body: Json,
        *,
        thread_ts: str | None = None,
        app: App | None = None,
        tell: bool = True,
        **more: Any,
    ) -> Message:
        """A new message of a person or an app's bot; a reply to a reply joins the thread of its parent."""
        if app is not None:
            names = {"bot_id": app.bot_id, "app_id": app.id, "bot_profile": app.profile()}
            body = {**names, "team": self.world.team_id, **body}
            more["app_id"] = app.id
        parent = channel.messages.get(thread_ts or "")
        if parent is not None and parent.is_reply:
            thread_ts = parent.thread_ts
        message = self.world.add_message(
            channel, user_id, body, now_s=self.clock(), thread_ts=thread_ts or None, **more
        )
        self.changed()
        if tell:
            self.told_of_message(message)
        return message

    def change(
        self,
        message: Message,
        body: Json,
        *,
        metadata: Json | None = None,
        mark: bool = True,
        tell: bool = True,
    ) -> None:
        """A message shows something else from now on. ``mark``: people see that it was edited."""
        before = message.to_json(metadata="all")
        message.history.append(message.body)
        message.body = body
        if metadata is not None:
            message.metadata = metadata or None
        if mark:
            edited_ts = self.world.timestamps.next(self.clock())
            message.edited = {"user": message.user_id, "ts": edited_ts}
        self.changed()
        if tell:
            self.told_of_change(message, before)

    def delete(self, message: Message) -> None:
        """A message goes; the head of a thread leaves a tombstone."""
        before = message.to_json(metadata="all")
        if message.channel.replies(message.ts):
            tombstone = {"text": "This message was deleted.", "subtype": "tombstone", "hidden": True}
            self.change(message, tombstone, mark=False)
            return
        message.deleted = True
        parent = message.channel.messages.get(message.thread_ts or "")
        if parent is not None and not message.channel.replies(parent.ts):
            parent.thread_ts = None
        self.changed()
        self.told_of_deletion(message, before)
