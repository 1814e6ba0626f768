"""A tiny chat in a terminal: what one person types reaches the bot, what the bot shows is printed."""

import re
from collections.abc import Callable
from typing import Any

from tests.simulators.stage import PEOPLE
from tests.simulators.telegram import TelegramSimulator

HELP = """\
Type a text and the person you are sends it to the bot; the hub's commands (/help, /status, ...) are texts.
  !N          press button N of the newest message with buttons;  !N ID: of message ID
  /user NAME  be somebody else: Ann is the owner, Bob a member, Eve a stranger, any other name a new person
  /quit       end (Ctrl-D and Ctrl-C do as well)"""

PRESS = re.compile(r"!(\d+)(?: +#?(\d+))?")
FOREVER_S = 10 * 365 * 24 * 3600.0


class Terminal:
    """Turns lines into what people do, and what the bot does into lines given to `show`."""

    def __init__(self, telegram: TelegramSimulator, show: Callable[[str], None]) -> None:
        self._telegram = telegram
        self._show = show
        self._people = {person.name.lower(): person.id for person in PEOPLE}
        self._names = {person.id: person.name for person in PEOPLE}
        self._me = PEOPLE[0].id
        self._shown: dict[tuple[int, int], tuple[str, bool]] = {}
        self._answered: set[str] = set()

    @property
    def prompt(self) -> str:
        return f"{self._names[self._me]}> "

    def take(self, line: str) -> bool:
        """Do what one line says; False when it says to end. What cannot be done is shown, not raised."""
        line = line.strip()
        command, _, rest = line.partition(" ")
        try:
            if command == "/quit":
                return False
            if command == "/user":
                self._be(rest.strip())
            elif press := PRESS.fullmatch(line):
                self._press(int(press[1]), int(press[2]) if press[2] else None)
            elif line:
                self._telegram.user_sends_text(self._me, line)
        except (LookupError, ValueError) as error:
            self._show(f"  ({error})")
        return True

    async def watch(self) -> None:
        """Show everything the bots do, as it happens, until cancelled."""
        while True:
            for line in await self._telegram.wait_for(self._news, FOREVER_S):
                self._show(line)

    def _be(self, name: str) -> None:
        if not name:
            self._show("  (people: " + ", ".join(self._names.values()) + ")")
            return
        if name.lower() not in self._people:
            user = self._telegram.add_user(first_name=name)
            self._people[name.lower()] = user.id
            self._names[user.id] = name
        self._me = self._people[name.lower()]

    def _press(self, number: int, message_id: int | None) -> None:
        with_buttons = [m for m in self._telegram.messages(self._me, by="bot") if _buttons(m)]
        if message_id is None and not with_buttons:
            raise LookupError(f"{self._names[self._me]} sees no buttons")
        chosen = with_buttons[-1].id if message_id is None else message_id
        self._telegram.user_presses_button(self._me, chosen, number - 1)

    def _news(self) -> list[str]:
        """Lines for what is new or changed since the last call."""
        lines: list[str] = []
        for chat_id, name in self._names.items():
            for message in self._telegram.messages(chat_id, by="bot", deleted=True):
                lines += self._about(name, (chat_id, message.id), message)
        for query in self._telegram.callback_queries():
            if query.id not in self._answered and query.answers:
                self._answered.add(query.id)
                if text := query.answers[-1].get("text"):
                    lines.append(f"  (a notice: {text})")
        return lines

    def _about(self, name: str, key: tuple[int, int], message: Any) -> list[str]:
        buttons = _buttons(message)
        now = (message.text + "\0".join(buttons), message.deleted)
        before = self._shown.get(key)
        if before == now:
            return []
        self._shown[key] = now
        if message.deleted:
            return [f"bot to {name} #{message.id}: (deleted)"]
        changed = " (edited)" if before else ""
        shown = message.text.replace("\n", "\n    ")
        lines = [f"bot to {name} #{message.id}{changed}: {shown}"]
        if buttons:
            lines.append("    " + "  ".join(f"[!{i} {label}]" for i, label in enumerate(buttons, 1)))
        return lines


def _buttons(message: Any) -> list[str]:
    """The labels of a message's inline buttons, row by row."""
    rows = (message.keyboard or {}).get("inline_keyboard", [])
    return [str(button["text"]) for row in rows for button in row]
