"""The built-in model: no network, no account, a few plain requests understood, so that all can be tried.

The same conversation always gets the same reply.
"""

import json
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass

from core.model.base import CallRequest, ModelReply, ModelRequest, ReplyDelta, Usage
from core.model.demo_phrases import PREPARED, Wish, introduction, not_on_offer, told, understand
from core.transcript import AssistantSaid, Origin, Said, ToolCalled, ToolResult, UserSaid

ORIGIN = Origin("demo", "demo")
WORDS_PER_DELTA = 12
CHARS_PER_TOKEN = 4
"""A rule of thumb for English, so that usage is not zero."""


class DemoModel:
    """Implements Model."""

    def __init__(self, name: str = "demo") -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The name it has in the configuration."""
        return self._name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model.reply. Never raises."""
        reply = answer(request)
        for piece in _pieces(reply.text):
            yield ReplyDelta(piece)
        yield reply


def answer(request: ModelRequest) -> ModelReply:
    """The reply to a conversation; pure.

    Every request not answered yet that amounts to a tool call becomes one; once there is nothing to call,
    what the tools returned is told, and what was not understood is answered in words.
    """
    tail = _tail(request.conversation)
    offered = {tool.name for tool in request.tools}
    wishes = [wish for text in tail.asked if (wish := _wish(text, offered)) and wish.tool in offered]
    parts = [told(call.tool, call.arguments, result) for call, result in tail.outcomes]
    if not wishes:
        parts += _in_words(tail, offered)
    text = "\n\n".join(parts)
    made = sum(isinstance(said, ToolCalled) for said in request.conversation)
    calls = tuple(
        CallRequest(f"demo-{number}", wish.tool, json.dumps(wish.arguments, ensure_ascii=False))
        for number, wish in enumerate(wishes, start=made + 1)
    )
    return ModelReply(text, calls, _usage(request, text), ORIGIN)


def _wish(text: str, offered: Collection[str]) -> Wish | None:
    wish = understand(text)
    return None if wish and wish.tool in PREPARED and wish.tool not in offered else wish


def _in_words(tail: "_Tail", offered: Collection[str]) -> Iterator[str]:
    """What is to be said about requests that no call answers."""
    called = {call.tool for call, _ in tail.outcomes} if not tail.asked else set[str]()
    not_understood: list[str] = []
    for text in tail.asked or tail.asked_before:
        wish = _wish(text, {*offered, *called})
        if wish is None:
            not_understood.append(text)
        elif wish.tool not in called:
            yield not_on_offer(wish)
    if not_understood or not (tail.asked or tail.asked_before or tail.outcomes):
        yield introduction(not_understood, offered)


@dataclass(frozen=True, slots=True)
class _Tail:
    """The end of a conversation: what was asked, what the calls made for it came to, what was asked since."""

    asked_before: Sequence[str]
    outcomes: Sequence[tuple[ToolCalled, ToolResult | None]]
    asked: Sequence[str]


def _tail(conversation: Sequence[Said]) -> _Tail:
    asked_before: list[str] = []
    asked: list[str] = []
    calls: list[ToolCalled] = []
    results: dict[str, ToolResult] = {}
    for said in reversed(conversation):
        match said:
            case UserSaid():
                (asked_before if calls else asked).insert(0, said.text)
            case ToolCalled() if not asked_before:
                calls.insert(0, said)
            case ToolResult() if not asked_before:
                results[said.call_id] = said
            case AssistantSaid() if calls and not asked_before:
                pass  # what the model said beside the calls
            case AssistantSaid() | ToolCalled() | ToolResult():
                break
            case _:
                pass  # a note of the hub or a summary asks for nothing
    return _Tail(asked_before, [(call, results.get(call.call_id)) for call in calls], asked)


def _pieces(text: str) -> Iterator[str]:
    words = text.split(" ")
    for start in range(0, len(words), WORDS_PER_DELTA):
        piece = " ".join(words[start : start + WORDS_PER_DELTA])
        if start + WORDS_PER_DELTA < len(words):
            piece += " "
        if piece:
            yield piece


def _usage(request: ModelRequest, text: str) -> Usage:
    seen = len(request.system) + sum(_length_chars(said) for said in request.conversation)
    return Usage(seen // CHARS_PER_TOKEN + 1, len(text) // CHARS_PER_TOKEN + 1)


def _length_chars(said: Said) -> int:
    return len(said.arguments) if isinstance(said, ToolCalled) else len(said.text)
