"""Actions of people in conversations: write, mention, reply, edit, delete, react, send files."""

import re
from typing import Any

from tests.simulators.control import operation
from tests.simulators.slack.content import normalized
from tests.simulators.slack.files import File, media_type_of
from tests.simulators.slack.interactions import Interactions
from tests.simulators.slack.limits import MAX_TEXT_CHARS
from tests.simulators.slack.world import MPIM, Channel, Message

Json = dict[str, Any]
_TOKEN = re.compile(r"<@[UW][A-Z0-9]+>|<#C[A-Z0-9]+>|<!(?:here|channel|everyone)>|https?://[^\s<>]+")


class PeopleActions(Interactions):
    """Actions of people.

    ``channel=None`` is the direct conversation with ``app`` (with the only app if that is None too). A
    person's text is what they typed; ``<@U…>``, ``<#C…>`` and ``<!here>`` in it stand for what the client
    completes, everything else is escaped as the client does it.
    """

    def place(self, user_id: str, channel: str | None, app: str | None = None) -> Channel:
        """The conversation a person acts in. Raises ``LookupError``."""
        person = self.person(user_id)
        if channel is None:
            found, _ = self.world.direct([self.app(app).user.id, person.id], self.clock())
            return found
        found = self.channel(channel)
        if user_id not in found.members:
            raise LookupError(f"{user_id} is not in {channel}")
        return found

    def _written(
        self, channel: Channel, user_id: str, text: str, thread_ts: str | None, **more: Any
    ) -> Message:
        stored, elements = typed(text[:MAX_TEXT_CHARS])  # as Slack cuts whatever is posted
        body: Json = {"client_msg_id": self.ids.uuid(), "team": self.world.team_id, "text": stored, **more}
        if elements:
            section = {"type": "rich_text_section", "elements": elements}
            body["blocks"] = [{"type": "rich_text", "block_id": self.ids.short(), "elements": [section]}]
        if thread_ts is not None and thread_ts not in channel.messages:
            raise LookupError(f"no message {thread_ts} in {channel.id}")
        return self.post(channel, user_id, body, thread_ts=thread_ts)

    @operation
    def user_sends_text(
        self,
        user_id: str,
        text: str,
        channel: str | None = None,
        thread_ts: str | None = None,
        app: str | None = None,
    ) -> Message:
        """A person writes."""
        return self._written(self.place(user_id, channel, app), user_id, text, thread_ts)

    @operation
    def user_mentions(
        self,
        user_id: str,
        text: str,
        channel: str,
        thread_ts: str | None = None,
        app: str | None = None,
    ) -> Message:
        """A person writes to an app by name: ``@name text``."""
        named = f"<@{self.app(app).user.id}> {text}"
        return self._written(self.place(user_id, channel), user_id, named, thread_ts)

    @operation
    def user_sends_file(
        self,
        user_id: str,
        name: str = "notes.txt",
        content: bytes | str = b"notes",
        text: str = "",
        channel: str | None = None,
        thread_ts: str | None = None,
        media_type: str | None = None,
        size_bytes: int | None = None,
        app: str | None = None,
    ) -> Message:
        """A person sends a file; ``size_bytes`` makes it bigger without its memory."""
        place = self.place(user_id, channel, app)
        data = content.encode() if isinstance(content, str) else content
        file = File(
            id=self.ids.object("F"),
            name=name,
            title=name,
            user_id=user_id,
            created=self.now(),
            declared_bytes=len(data),
            media_type=media_type or media_type_of(name),
            secret=self.ids.secret(),
            content=data,
            padding_bytes=max(0, (size_bytes or 0) - len(data)),
            completed=True,
            channels=[place.id],
        )
        self.world.files[file.id] = file
        files = [self.file_json(file.id)]
        return self._written(place, user_id, text, thread_ts, subtype="file_share", files=files, upload=False)

    @operation
    def user_edits(self, user_id: str, channel: str, ts: str, text: str) -> Message:
        """A person changes a message of theirs."""
        message = self._own(user_id, channel, ts)
        stored, elements = typed(text)
        section = {"type": "rich_text_section", "elements": elements}
        block = {"type": "rich_text", "block_id": self.ids.short(), "elements": [section]}
        self.change(message, {**message.body, "text": stored, "blocks": [block]})
        return message

    @operation
    def user_deletes(self, user_id: str, channel: str, ts: str) -> Message:
        """A person deletes a message of theirs."""
        message = self._own(user_id, channel, ts)
        self.delete(message)
        return message

    def _own(self, user_id: str, channel: str, ts: str) -> Message:
        message = self.message(channel, ts)
        if message.user_id != user_id or message.deleted:
            raise LookupError(f"{user_id} has no message {ts} in {channel}")
        return message

    @operation
    def user_reacts(self, user_id: str, channel: str, ts: str, name: str) -> None:
        """A person reacts to a message with an emoji's name."""
        message = self.message(channel, ts)
        message.reactions.setdefault(name, []).append(self.person(user_id).id)
        self.changed()
        self.told_of_reaction("reaction_added", message, user_id, name)

    # -- conversations

    @operation
    def create_channel(
        self,
        name: str,
        members: list[str],
        channel_id: str | None = None,
        private: bool = False,
        apps: list[str] | None = None,
    ) -> Channel:
        """A channel with these people and apps (None: the only app; an empty list: none)."""
        bots = [self.app().user.id] if apps is None else [self.app(app).user.id for app in apps]
        for member in members:
            self.person(member)
        channel_id = channel_id or self.ids.object("C")
        kind = "group" if private else "channel"
        return self.world.add_channel(channel_id, kind, name, [*members, *bots], self.clock())

    @operation
    def open_group_dm(self, members: list[str], app: str | None = None) -> Channel:
        """A direct conversation of several people and an app."""
        users = [self.app(app).user.id, *(self.person(member).id for member in members)]
        found, _ = self.world.direct(users, self.clock())
        if found.kind != MPIM:
            raise ValueError("a group needs at least two people")
        return found

    @operation
    def direct_channel(self, user_id: str, app: str | None = None) -> Channel:
        """The direct conversation of a person with an app."""
        return self.place(user_id, None, app)

    @operation
    def user_invites_app(self, user_id: str, channel: str, app: str | None = None) -> None:
        """An app joins a channel."""
        place, bot = self.place(user_id, channel), self.app(app).user
        if bot.id not in place.members:
            place.members.append(bot.id)
            self.told_of_joining(place, bot.id, user_id)
            self.changed()

    @operation
    def user_removes_app(self, user_id: str, channel: str, app: str | None = None) -> None:
        """An app is taken out of a channel."""
        self.place(user_id, channel).members.remove(self.app(app).user.id)
        self.changed()

    @operation
    def channel_is_archived(self, channel: str) -> None:
        """Nobody can write there any more."""
        self.channel(channel).archived = True
        self.changed()


def typed(text: str) -> tuple[str, list[Json]]:
    """Return what a person typed: the stored text and the elements of its rich text."""
    stored = ""
    elements: list[Json] = []
    end = 0
    for match in [*_TOKEN.finditer(text), None]:
        plain = text[end : match.start() if match else len(text)]
        if plain:
            stored += normalized(plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
            elements.append({"type": "text", "text": plain})
        if match:
            token = match.group()
            stored += token if token.startswith("<") else f"<{token}>"
            elements.append(_element(token))
            end = match.end()
    return stored, elements


def _element(token: str) -> Json:
    if token.startswith("<@"):
        return {"type": "user", "user_id": token[2:-1]}
    if token.startswith("<#"):
        return {"type": "channel", "channel_id": token[2:-1]}
    if token.startswith("<!"):
        return {"type": "broadcast", "range": token[2:-1]}
    return {"type": "link", "url": token}
