"""Somebody in private with the bot, as any platform lets people do: write, read, press, change a call."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from tests.harness.hub import AnyHub
from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator

LIMIT_S = PATIENCE_S
EDIT = "Edit…"


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot's as it was when it was looked at; `data`: what its buttons carry. `links`: where
    buttons lead that open a page."""

    id: Any
    text: str
    buttons: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    def carried(self, label: str) -> str:
        """Return what the button of that label carries."""
        return self.data[self.buttons.index(label)]


_MASKED = re.compile(r"\]\(<(https?://[^>]*)>\)")
HandIn = Callable[[str], Awaitable[None]]
"""Hands in another command for a call."""


class Person(Protocol):
    """One person on one platform."""

    def say(self, text: str) -> None:
        """They write to the bot."""
        ...

    def reply(self, to: Shown, text: str) -> None:
        """They reply to a message of the bot, by the function that the platform has for it."""
        ...

    def shown(self) -> Sequence[Shown]:
        """Return what the bot shows them, in order."""
        ...

    def asides(self) -> Sequence[str]:
        """The words that answered their presses where the card alone does not."""
        ...

    async def press(self, card: Shown, label: str) -> None:
        """They press a button that the card had when they looked: an old client may still show it. Until the
        platform knows it taken."""
        ...

    async def change(self, card: Shown, command: str) -> None:
        """They have the card's call run this command instead."""
        ...

    async def begins_change(self, card: Shown) -> HandIn:
        """They are about to; what is returned has it done, whatever happened meanwhile."""
        ...

    def refusals(self) -> Sequence[str]:
        """Why changes of theirs were not taken, as they read it."""
        ...

    async def until(self, holds: Callable[[], object]) -> None:
        """Until that is so. Raises TimeoutError."""
        ...

    def hold_next_message(self) -> Callable[[], None]:
        """The platform does not take the bot's next message until what is returned is called."""
        ...

    async def held(self) -> None:
        """Until there is such a message."""
        ...


async def card(person: Person, label: str = "Approve") -> Shown:
    """The newest message with that button, once there is one."""

    def found() -> list[Shown]:
        return [one for one in person.shown() if label in one.buttons]

    await person.until(found)
    return found()[-1]


async def hears(person: Person, text: str, times: int = 1) -> None:
    """Until so many messages have that text."""
    await person.until(lambda: sum(text in one.text for one in person.shown()) >= times)


async def sees(person: Person, seen: Shown, text: str) -> None:
    """Until that message has that text, and no buttons."""

    def settled() -> bool:
        return any(one.id == seen.id and text in one.text and not one.buttons for one in person.shown())

    await person.until(settled)


async def told(person: Person, text: str, times: int = 1) -> None:
    """Until a press of theirs was answered so."""
    await person.until(lambda: list(person.asides()).count(text) >= times)


class OnTelegram:
    """See Person. `settled`: until the hub knows where its messages are shown."""

    def __init__(self, telegram: TelegramSimulator, me: int, settled: Callable[[], Awaitable[None]]) -> None:
        self._telegram = telegram
        self._me = me
        self._settled = settled

    def say(self, text: str) -> None:
        self._telegram.user_sends_text(self._me, text)

    def reply(self, to: Shown, text: str) -> None:
        self._telegram.user_sends_text(self._me, text, reply_to=to.id)

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(
                message.id,
                message.text,
                tuple(button["text"] for button in buttons),
                tuple(button.get("callback_data", "") for button in buttons),
                tuple(button["url"] for button in buttons if "url" in button),
            )
            for message in self._telegram.bot_messages(self._me)
            for buttons in [[b for r in (message.keyboard or {}).get("inline_keyboard", []) for b in r]]
        ]

    def asides(self) -> Sequence[str]:
        mine = [one for one in self._telegram.callback_queries() if one.user_id == self._me]
        return [answer.get("text", "") for one in mine for answer in one.answers]

    async def press(self, card: Shown, label: str) -> None:
        query = self._telegram.user_presses_button(self._me, card.id, data=card.carried(label))
        await self._telegram.wait_callback_answer(query.id, LIMIT_S)

    async def change(self, card: Shown, command: str) -> None:
        await (await self.begins_change(card))(command)

    async def begins_change(self, card: Shown) -> HandIn:

        async def hand_in(command: str) -> None:
            await self._settled()
            self._telegram.user_sends_text(self._me, f"command: {command}", reply_to=card.id)
            await self._telegram.wait_confirmed(timeout_s=LIMIT_S)

        return hand_in

    def refusals(self) -> Sequence[str]:
        return [one.text for one in self.shown()]

    async def until(self, holds: Callable[[], object]) -> None:
        await self._telegram.wait_for(holds, LIMIT_S)

    def hold_next_message(self) -> Callable[[], None]:
        fault = self._telegram.fail("hold", method="sendMessage", when="before", count=1)
        return lambda: self._telegram.release(fault.id)

    async def held(self) -> None:
        await self._telegram.wait_held(timeout_s=LIMIT_S)


class OnSlack:
    """See Person."""

    def __init__(self, slack: SlackSimulator, me: str) -> None:
        self._slack = slack
        self._me = me

    @property
    def _here(self) -> str:
        return self._slack.direct_channel(self._me).id

    def say(self, text: str) -> None:
        self._slack.user_sends_text(self._me, text)

    def reply(self, to: Shown, text: str) -> None:
        self._slack.user_sends_text(self._me, text, self._here, thread_ts=to.id)

    def shown(self) -> Sequence[Shown]:
        seen = [(one, self._slack.look(one)) for one in self._slack.bot_messages(self._here)]
        return [
            Shown(
                one.ts,
                look.text,
                tuple(b[0] for b in look.buttons),
                tuple(b[1] for b in look.buttons),
                tuple(e["url"] for b in one.blocks for e in b.get("elements", []) if "url" in e),
            )
            for one, look in seen
        ]

    def asides(self) -> Sequence[str]:
        return [self._slack.look(one).text for one in self._slack.ephemerals(self._me)]

    async def press(self, card: Shown, label: str) -> None:
        pressed = self._slack.user_presses_button(
            self._me, self._here, card.id, value=card.carried(label), stale=True
        )
        assert (await self._slack.wait_settled(pressed.id, LIMIT_S)).state == "acked"

    async def change(self, card: Shown, command: str) -> None:
        await (await self.begins_change(card))(command)

    async def begins_change(self, card: Shown) -> HandIn:
        before = {*self._slack.views}
        await self.press(card, EDIT)
        view = await self._slack.wait_for(
            lambda: next((one for one in self._slack.views.values() if one.id not in before), None), LIMIT_S
        )
        shown = {block["block_id"]: block["element"].get("initial_value") for block in view.body["blocks"]}

        async def hand_in(command: str) -> None:
            handed_in = self._slack.user_submits_view(self._me, view.id, {**shown, "command": command})
            assert (await self._slack.wait_settled(handed_in.id, LIMIT_S)).state == "acked"

        return hand_in

    def refusals(self) -> Sequence[str]:
        return [text for view in self._slack.views.values() for text in (view.errors or {}).values()]

    async def until(self, holds: Callable[[], object]) -> None:
        await self._slack.wait_for(holds, LIMIT_S)

    def hold_next_message(self) -> Callable[[], None]:
        self._slack.fail("hold", method="chat.postMessage", when="before", count=1)
        return self._slack.clear_faults

    async def held(self) -> None:
        await self._slack.wait_held(timeout_s=LIMIT_S)


class OnDiscord:
    """See Person."""

    def __init__(self, discord: DiscordSimulator, me: int) -> None:
        self._discord = discord
        self._me = me

    def say(self, text: str) -> None:
        self._discord.user_sends_text(self._me, text)

    def reply(self, to: Shown, text: str) -> None:
        self._discord.user_sends_text(self._me, text, reply_to=to.id)

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(
                one.id,
                one.text,
                tuple(button["label"] for button in one.buttons()),
                tuple(button.get("custom_id", "") for button in one.buttons()),
                (*(b["url"] for b in one.buttons() if "url" in b), *_MASKED.findall(one.content)),
            )
            for one in self._discord.bot_messages(self._discord.dm_channel(self._me).id)
            if one.ephemeral_for is None
        ]

    def asides(self) -> Sequence[str]:
        return [one.text for one in self._discord.ephemeral_messages(self._me)]

    async def press(self, card: Shown, label: str) -> None:
        pressed = self._discord.user_presses_button(self._me, card.id, custom_id=card.carried(label))
        assert (await self._discord.wait_interaction(pressed.id, LIMIT_S)).failure is None

    async def change(self, card: Shown, command: str) -> None:
        await (await self.begins_change(card))(command)

    async def begins_change(self, card: Shown) -> HandIn:
        pressed = self._discord.user_presses_button(self._me, card.id, custom_id=card.carried(EDIT))
        await self._discord.wait_interaction(pressed.id, LIMIT_S)

        async def hand_in(command: str) -> None:
            handed_in = self._discord.user_submits_modal(pressed.id, {"command": command})
            assert (await self._discord.wait_interaction(handed_in.id, LIMIT_S)).failure is None

        return hand_in

    def refusals(self) -> Sequence[str]:
        return self.asides()

    async def until(self, holds: Callable[[], object]) -> None:
        await self._discord.wait_for(holds, LIMIT_S)

    def hold_next_message(self) -> Callable[[], None]:
        self._discord.fail("hold", method="createMessage", when="before", count=1)
        return self._discord.clear_faults

    async def held(self) -> None:
        await self._discord.wait_held(timeout_s=LIMIT_S)


def person(hub: AnyHub, platform: str, account: str) -> Person:
    """Somebody with an account there."""
    match platform:
        case "telegram":
            return OnTelegram(hub.telegram, int(account), partial(hub.settled_sends, platform))
        case "slack":
            return OnSlack(hub.slack, account)
        case _:
            return OnDiscord(hub.discord, int(account))


__all__ = [
    "EDIT",
    "LIMIT_S",
    "OnDiscord",
    "OnSlack",
    "OnTelegram",
    "Person",
    "Shown",
    "card",
    "hears",
    "person",
    "sees",
    "told",
]
