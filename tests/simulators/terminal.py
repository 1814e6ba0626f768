"""A tiny chat in a terminal: what one person types reaches the bot, what the bot shows is printed."""

import asyncio
import re
from collections.abc import Callable, Sequence

from tests.simulators.desks import Desk, Told

HELP = """\
Type a text and the person you are sends it to the bot; the hub's commands (/help, /status, ...) are texts.
  !N          press button N of the newest message with buttons;  !N ID: of message ID
  /user NAME  be somebody else: Ann is the owner, Bob a member, Eve a stranger, any other name a new person
  /on NAME    write on another platform, where several are simulated (--also)
  /quit       end (Ctrl-D and Ctrl-C do as well)"""

PRESS = re.compile(r"!(\d+)(?: +#?(\S+))?")
FOREVER_S = 10 * 365 * 24 * 3600.0


class Terminal:
    """Turns lines into what people do, and what the bot does into lines given to `show`. People write at the
    first of `desks` until they go to another."""

    def __init__(self, desks: Sequence[Desk], show: Callable[[str], None]) -> None:
        self._desks = {desk.name: desk for desk in desks}
        self._here = desks[0]
        self._show = show
        self._names = list(desks[0].identities)
        self._me = self._names[0]
        self._shown: dict[tuple[str, str, str], Told] = {}
        self._said_aside: set[tuple[str, str]] = set()

    @property
    def prompt(self) -> str:
        return f"{self._me}{self._at(self._here)}> "

    def take(self, line: str) -> bool:
        """Do what one line says; False when it says to end. What cannot be done is shown, not raised."""
        line = line.strip()
        command, _, rest = line.partition(" ")
        try:
            if command == "/quit":
                return False
            if command == "/user":
                self._be(rest.strip())
            elif command == "/on":
                self._go(rest.strip().lower())
            elif press := PRESS.fullmatch(line):
                self._press(int(press[1]), press[2])
            elif line:
                self._here.says(self._me, line)
        except (LookupError, ValueError) as error:
            self._show(f"  ({error})")
        return True

    async def watch(self) -> None:
        """Show everything the bots do, as it happens, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for desk in self._desks.values():
                tasks.create_task(self._watch(desk), name=f"news of {desk.name}")

    async def _watch(self, desk: Desk) -> None:
        while True:
            for line in await desk.wait_for(lambda: self._news(desk), FOREVER_S):
                self._show(line)

    def _at(self, desk: Desk) -> str:
        """Return where something happens, if that is not plain."""
        return f" on {desk.name}" if len(self._desks) > 1 else ""

    def _be(self, name: str) -> None:
        if not name:
            self._show("  (people: " + ", ".join(self._names) + ")")
            return
        known = {one.lower(): one for one in self._names}
        if name.lower() not in known:
            for desk in self._desks.values():
                desk.meet(name)
            self._names.append(name)
        self._me = known.get(name.lower(), name)

    def _go(self, name: str) -> None:
        if name not in self._desks:
            raise LookupError("platforms: " + ", ".join(self._desks))
        self._here = self._desks[name]

    def _press(self, number: int, message_id: str | None) -> None:
        with_buttons = [told for told in self._here.told(self._me) if told.buttons]
        if message_id is None and not with_buttons:
            raise LookupError(f"{self._me} sees no buttons")
        self._here.presses(self._me, message_id or with_buttons[-1].id, number - 1)

    def _news(self, desk: Desk) -> list[str]:
        """Lines for what is new or changed there since the last call."""
        lines: list[str] = []
        for name in self._names:
            for told in desk.told(name):
                lines += self._about(desk, name, told)
        for key, text in desk.asides().items():
            if (desk.name, key) not in self._said_aside:
                self._said_aside.add((desk.name, key))
                lines += [f"  (a notice: {text})"] if text else []
        return lines

    def _about(self, desk: Desk, name: str, told: Told) -> list[str]:
        key = (desk.name, name, told.id)
        before, self._shown[key] = self._shown.get(key), told
        if before == told:
            return []
        heading = f"bot to {name}{self._at(desk)} #{told.id}"
        if told.deleted:
            return [f"{heading}: (deleted)"]
        shown = told.text.replace("\n", "\n    ")
        lines = [f"{heading}{' (edited)' if before else ''}: {shown}"]
        if told.buttons:
            lines.append("    " + "  ".join(f"[!{i} {label}]" for i, label in enumerate(told.buttons, 1)))
        return lines
