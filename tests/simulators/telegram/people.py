"""Actions of people: write, send files, reply, edit, press buttons, react, block."""

import itertools
from typing import Any

from tests.simulators.control import operation
from tests.simulators.telegram.entities import normalize
from tests.simulators.telegram.state import CallbackQuery, SimulatorState
from tests.simulators.telegram.world import CHANNEL, Bot, Chat, Message, User

Json = dict[str, Any]


class PeopleActions(SimulatorState):
    """Actions of people.

    ``chat_id=None`` is the private chat with ``bot`` (with the only bot if that is None too).
    """

    def __init__(self, *, first_callback_id: int = 4_382_000_000_000_000_001, **settings: Any) -> None:
        super().__init__(**settings)
        self._callback_ids = itertools.count(first_callback_id)

    # -- where and who

    def _place(self, user_id: int, chat_id: int | None, bot: int | str | None) -> tuple[User, Chat]:
        user = self.person(user_id)
        if chat_id is None or chat_id == user_id:
            account = self.bot(bot)
            account.started_by.add(user_id)
            account.blocked_by.discard(user_id)
            return user, self.world.private_chat(account, user)
        if chat_id not in self.world.chats:
            raise LookupError(f"no chat {chat_id}")
        return user, self.world.chats[chat_id]

    def chat(self, chat_id: int, bot: int | str | None = None) -> Chat:
        """A chat by id (a person's id means the private chat with ``bot``). Raises ``LookupError``."""
        if chat_id > 0:
            key = (self.bot(bot).id, chat_id)
            if key not in self.world.private:
                raise LookupError(f"no private chat with {chat_id}")
            return self.world.private[key]
        if chat_id not in self.world.chats:
            raise LookupError(f"no chat {chat_id}")
        return self.world.chats[chat_id]

    def message(self, chat_id: int, message_id: int, bot: int | str | None = None) -> Message:
        """A message, deleted ones included. Raises ``LookupError``."""
        found = self.chat(chat_id, bot).messages.get(message_id)
        if found is None:
            raise LookupError(f"no message {message_id} in chat {chat_id}")
        return found

    # -- writing

    def _say(
        self,
        user_id: int,
        content: Json,
        *,
        chat_id: int | None,
        bot: int | str | None,
        topic_id: int | None,
        reply_to: int | None,
        **fields: Any,
    ) -> Message:
        user, chat = self._place(user_id, chat_id, bot)
        target = chat.messages.get(reply_to) if reply_to is not None else None
        if reply_to is not None and target is None:
            raise LookupError(f"no message {reply_to} in chat {chat.id}")
        message = self.world.add_message(
            chat,
            None if chat.kind == CHANNEL else user,
            self.now(),
            content,
            topic_id=topic_id,
            reply_to=target,
            **fields,
        )
        self.changed()
        self.deliver(message)
        return message

    @operation
    def user_sends_text(
        self,
        user_id: int,
        text: str,
        chat_id: int | None = None,
        bot: int | str | None = None,
        topic_id: int | None = None,
        reply_to: int | None = None,
        entities: list[Json] | None = None,
        quote: str | None = None,
    ) -> Message:
        """A person writes. Mentions, commands and links become entities as on the platform."""
        clean, found = normalize(text, entities or [])
        content: Json = {"text": clean, "entities": found} if found else {"text": clean}
        quoted = {"text": quote, "position": 0, "is_manual": True} if quote else None
        return self._say(
            user_id, content, chat_id=chat_id, bot=bot, topic_id=topic_id, reply_to=reply_to, quote=quoted
        )

    @operation
    def user_edits_text(
        self,
        user_id: int,
        message_id: int,
        text: str,
        chat_id: int | None = None,
        bot: int | str | None = None,
    ) -> Message:
        """A person edits the text (or caption) of an own message."""
        user, chat = self._place(user_id, chat_id, bot)
        message = chat.messages.get(message_id)
        if message is None or (message.sender is not None and message.sender.id != user.id):
            raise LookupError(f"user {user_id} has no message {message_id} in chat {chat.id}")
        name = "text" if "text" in message.content else "caption"
        entities_name = "entities" if name == "text" else "caption_entities"
        clean, found = normalize(text, [])
        message.history.append(
            {"at": self.clock(), "request": None, "content": message.content, "keyboard": None}
        )
        kept = {key: value for key, value in message.content.items() if key not in {name, entities_name}}
        message.content = kept | {name: clean} | ({entities_name: found} if found else {})
        message.edit_date = self.now()
        self.changed()
        self.deliver(message, edited=True)
        return message

    # -- buttons and reactions

    @operation
    def user_presses_button(
        self,
        user_id: int,
        message_id: int,
        button: int | None = None,
        data: str | None = None,
        chat_id: int | None = None,
        bot: int | str | None = None,
    ) -> CallbackQuery:
        """A person presses an inline button: the N-th (from 0, row by row), or any with this callback data.

        ``data`` need not be on the keyboard any more: an old client may still show an old keyboard.
        """
        user = self.person(user_id)
        message = self.message(user_id if chat_id is None else chat_id, message_id, bot)
        if data is None:
            rows = (message.keyboard or {}).get("inline_keyboard", [])
            flat = [item for row in rows for item in row]
            if button is None or not 0 <= button < len(flat):
                raise LookupError(f"message {message_id} has {len(flat)} buttons, not button {button}")
            data = str(flat[button].get("callback_data", ""))
        account = self._author(message)
        query = CallbackQuery(
            id=str(next(self._callback_ids)),
            bot_id=account.id,
            user_id=user_id,
            chat_id=message.chat.id,
            message_id=message.id,
            data=data,
            pressed_at=self.clock(),
            answers=[],
        )
        self.callbacks[query.id] = query
        shown = message.to_json()
        if message.deleted:
            shown = {"chat": message.chat.to_json(), "message_id": message.id, "date": 0}
        body = {
            "id": query.id,
            "from": user.to_json(),
            "message": shown,
            "chat_instance": str(7_000_000_000_000_000_000 + message.chat.id),
            "data": data,
        }
        self.push_update(account, "callback_query", body)
        return query

    def _author(self, message: Message) -> Bot:
        if message.request is not None and message.sender is None:
            admins = [
                bot for bot in self.world.bots.values() if message.chat.status_of(bot.id) == "administrator"
            ]
            return admins[0]
        account = self.world.bot_by_id(message.sender.id) if message.sender else None
        if account is None:
            raise LookupError(f"message {message.id} is not a bot's")
        return account

    @operation
    def user_reacts(
        self,
        user_id: int,
        message_id: int,
        emoji: str | None,
        chat_id: int | None = None,
        bot: int | str | None = None,
    ) -> Message:
        """A person sets (or with None takes back) a reaction.

        Bots that asked for ``message_reaction`` hear of it.
        """
        user = self.person(user_id)
        message = self.message(user_id if chat_id is None else chat_id, message_id, bot)
        old = message.reactions.get(user_id, [])
        new = [{"type": "emoji", "emoji": emoji}] if emoji else []
        message.reactions[user_id] = new
        body = {
            "chat": message.chat.to_json(),
            "message_id": message.id,
            "user": user.to_json(),
            "date": self.now(),
            "old_reaction": old,
            "new_reaction": new,
        }
        for account in self.world.bots.values():
            status = message.chat.status_of(account.id)
            if status in {"administrator", "creator"} or message.chat.bot_id == account.id:
                self.push_update(account, "message_reaction", body)
        self.changed()
        return message

    # -- blocking

    @operation
    def user_blocks_bot(self, user_id: int, bot: int | str | None = None) -> None:
        """A person blocks a bot; it hears ``my_chat_member`` and gets 403 from now on."""
        account = self.bot(bot)
        account.blocked_by.add(user_id)
        self._my_status(account, self.person(user_id), "member", "kicked")

    @operation
    def user_unblocks_bot(self, user_id: int, bot: int | str | None = None) -> None:
        """A person unblocks a bot."""
        account = self.bot(bot)
        account.blocked_by.discard(user_id)
        self._my_status(account, self.person(user_id), "kicked", "member")

    @operation
    def user_is_deactivated(self, user_id: int) -> None:
        """A person deletes the account: bots get 403 "user is deactivated"."""
        for (_bot_id, person_id), chat in self.world.private.items():
            if person_id == user_id:
                chat.members[user_id] = "deactivated"
        self.changed()

    def _my_status(self, account: Bot, user: User, old: str, new: str) -> None:
        chat = self.world.private_chat(account, user)
        face = account.user.to_json()
        body = {
            "chat": chat.to_json(),
            "from": user.to_json(),
            "date": self.now(),
            "old_chat_member": _as_member(face, old),
            "new_chat_member": _as_member(face, new),
        }
        self.push_update(account, "my_chat_member", body)
        self.changed()


def _as_member(face: Json, status: str) -> Json:
    return {"user": face, "status": status} | ({"until_date": 0} if status == "kicked" else {})
