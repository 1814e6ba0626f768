"""The conversation with the hub in this process."""

from collections.abc import Mapping
from typing import Any

from bot.app import App
from bot.chat.feed import Feed
from bot.chat.talk import (
    Asked,
    Author,
    Began,
    Card,
    CardChoice,
    Event,
    Rested,
    Said,
    Settled,
    Standing,
    Stepped,
    StepState,
    TalkFailed,
    Wrote,
)
from channels.blocks import Paragraph, Text
from channels.markdown import parse, read
from channels.terminal.channel import NAME, TerminalChannel
from core import events, texts
from core.consent.cards import open_card
from core.errors import InboxUnavailable
from core.messages import Message, MessageRef
from core.store.rows import ThreadRow, TurnState
from core.transcript import AssistantSaid, UserSaid

SHOWN_BEFORE = 6
"""So many of the last things said are shown when a terminal is opened."""
LOOKED_AT = 50
_OPTIONS = {label: option for option, label in texts.OPTION_LABELS.items()}


class LocalScreen:
    """The screen of the TerminalChannel, and the TurnListener beside it: both end in one feed."""

    def __init__(self) -> None:
        self.feed = Feed()
        self._beside = ""

    def shows(self, ref: MessageRef, message: Message) -> None:
        """See Screen."""
        del ref
        if message.outcome is not None:
            self.changes(MessageRef(""), message)
        elif message.prompt_id is not None and message.choices:
            self.feed.put(Asked(card_of(message)))
        else:
            files = tuple(f"{file.name} ({file.path})" for file in message.files)
            self.feed.put(Said(Author.HUB, read(message.blocks), files=files))

    def changes(self, ref: MessageRef, message: Message) -> None:
        """See Screen."""
        del ref
        if message.prompt_id is not None:
            self.feed.put(Settled(message.prompt_id, message.outcome or ""))

    def turn_event(self, thread_id: str, turn_id: str, event: events.TurnEvent) -> None:
        """See TurnListener. The words beside a tool call stay; a final answer comes as a message."""
        del thread_id
        match event:
            case events.TextDelta(offset, text):
                self._beside = text if offset == 0 else self._beside + text
                self.feed.put(Wrote(turn_id, offset, text))
            case events.Step(call_id, tool, state):
                if self._beside.strip():
                    self.feed.put(Said(Author.ASSISTANT, parse(self._beside)))
                self._beside = ""
                self.feed.put(Stepped(call_id, tool, StepState(state.value)))
            case events.Began():
                self.feed.put(Began())
            case events.Rested():
                self._beside = ""
                self.feed.put(Rested())
            case events.Finished() | events.Failed():
                self._beside = ""


def card_of(message: Message) -> Card:
    """A prompt's card; what is said of buttons and of typing is said by the terminal itself."""
    choices = tuple(CardChoice(choice.label, _OPTIONS.get(choice.label, "")) for choice in message.choices)
    return Card(message.prompt_id or "", read(message.blocks), choices)


class LocalTalk:
    """See Talk. Everything goes the way of every platform: in through the inbox, out through the outbox."""

    def __init__(self, app: App, channel: TerminalChannel, screen: LocalScreen) -> None:
        self._app = app
        self._channel = channel
        self._feed = screen.feed

    async def open(self) -> None:
        """Put what was said last, and what waits for a decision, before everything else."""
        thread = await self._thread()
        if thread is None:
            return
        for entry in await self._app.store.entries(thread.id, SHOWN_BEFORE):
            match entry.said:
                case UserSaid(text):
                    self._feed.put(Said(Author.PERSON, (Paragraph(Text(text)),), past=True))
                case AssistantSaid(text) if text.strip():
                    self._feed.put(Said(Author.ASSISTANT, parse(text), past=True))
                case _:
                    pass
        for view in await self._app.store.open_prompts():
            if view.thread.channel == NAME:
                self._feed.put(Asked(card_of(open_card(view.prompt))))

    async def say(self, text: str) -> None:
        """See Talk."""
        try:
            await self._channel.say(text)
        except InboxUnavailable as error:
            raise TalkFailed(f"the hub takes nothing now ({error}); try again in a moment") from error

    async def decide(self, prompt_id: str, choice: int) -> str:
        """See Talk."""
        try:
            accepted = await self._channel.press(prompt_id, choice)
        except InboxUnavailable as error:
            raise TalkFailed(f"the hub takes nothing now ({error}); try again in a moment") from error
        return accepted.answer or accepted.outcome

    async def approve_edited(self, prompt_id: str, arguments: Mapping[str, Any]) -> str:
        """See Talk."""
        del prompt_id, arguments
        raise TalkFailed("arguments cannot be edited here; deny it and say what you want instead")

    async def answer(self, prompt_id: str, text: str) -> str:
        """See Talk."""
        del prompt_id, text
        raise TalkFailed("this takes no answer in words")

    async def next(self) -> Event:
        """See Talk."""
        return await self._feed.get()

    async def standing(self) -> Standing | None:
        """See Talk."""
        thread = await self._thread()
        state = thread.active_turn_state if thread is not None else None
        if not self._feed.empty or await self._app.store.pending_outbox(NAME):
            return None
        if state is None:
            return Standing.IDLE
        return Standing.RUNNING if state is TurnState.RUNNING else Standing.WAITING

    async def _thread(self) -> ThreadRow | None:
        threads = await self._app.store.threads(LOOKED_AT)
        return next((thread for thread in threads if thread.channel == NAME), None)
