"""The built-in demo model, for trying the hub without a network or an account.

It understands a few plain requests. The same conversation always gets the same reply.
"""

import json
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import field

from core.lazy import dataclass
from core.model.base import (
    CallRequest,
    ModelAbilities,
    ModelReply,
    ModelRequest,
    ReplyDelta,
    said_tokens,
    text_tokens,
)
from core.model.provider_data import as_object, as_text
from core.safety.fencing import unfence
from core.transcript import AssistantSaid, Origin, ResultStatus, Said, ToolCalled, ToolResult, UserSaid
from core.usage import Usage

# The requests the demo model understands, and the sentences it answers with.

TEXT_LIMIT_CHARS = 1500
"""The length at which a person's text or a tool's output is cut when repeated."""

PREPARED = frozenset({"http", "write_file", "read_file", "ask_user", "routine_create"})
"""Tools requested only if available. Without the tool, the request counts as ordinary text."""

_PHRASES = {
    "time": "“what time is it”",
    "memory_write": "“note: …”",
    "memory_search": "“what do you remember about …”",
    "shell": "“run: …”",
    "http": "“fetch https://…”",
    "write_file": "“write NAME: …”",
    "read_file": "“read NAME”",
    "ask_user": "“ask: QUESTION | ANSWER | ANSWER”",
    "routine_create": "“every weekday at 9: …”, “when someone says PATTERN: …”, “routine NAME: …”",
}
"""An example phrase for each tool, in the order in which they are explained."""

_REAL_MODEL = "To use a real model, run `hubbub init`, and restart the hub."


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that maps to one tool call."""

    tool: str
    arguments: Mapping[str, str | Sequence[str]] = field(default_factory=dict[str, str | Sequence[str]])


_FORMS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    (r"what time is it(?: now)?[\s?!.]*", "time", {}),
    (r"what do you remember(?: about\s(?P<query>.*[^\s?!.]))?[\s?!.]*", "memory_search", {}),
    (r"(?:note:\s*|remember:?\s+)(?P<text>.+)", "memory_write", {}),
    (r"run:\s*(?P<command>.+)", "shell", {}),
    (r"fetch:?\s+(?P<url>https?://\S+)", "http", {"method": "GET"}),
    (r"write\s+(?P<path>[^\s:]+):\s*(?P<content>.*)", "write_file", {}),
    (r"read:?\s+(?P<path>\S+)", "read_file", {}),
)
_ASK = re.compile(r"ask:\s*(?P<asked>.+)", re.IGNORECASE | re.DOTALL)
_PATTERNS = tuple((re.compile(form, re.IGNORECASE | re.DOTALL), tool, fixed) for form, tool, fixed in _FORMS)


def understand(text: str) -> Wish | None:
    """Return the tool call that a plain request maps to, or None if it is not understood."""
    for pattern, tool, fixed in _PATTERNS:
        if found := pattern.fullmatch(text.strip()):
            said = {name: (value or "").strip() for name, value in found.groupdict().items()}
            return Wish(tool, {**fixed, **said})
    if (asked := _ASK.fullmatch(text.strip())) is not None:
        return _question(asked["asked"])

    routine = wanted_routine(text.strip())
    return None if routine is None else Wish("routine_create", routine)


def _question(asked: str) -> Wish | None:
    """Parse `QUESTION | ANSWER | ANSWER`. Without answers, any text may be the answer."""
    question, *choices = (part.strip() for part in asked.split("|"))
    choices = [choice for choice in choices if choice]
    if not question:
        return None
    return Wish("ask_user", {"question": question, "choices": choices} if choices else {"question": question})


def introduction(texts: Sequence[str], offered: Collection[str]) -> str:
    """Return the answer to unknown requests, listing the requests that the available tools support."""
    phrases = [phrase for tool, phrase in _PHRASES.items() if tool in offered]
    understood = f" I understand {_listed(phrases)}." if phrases else ""
    how_to_go_on = f"I am the built-in demo model.{understood} {_REAL_MODEL}"
    if not texts:
        return how_to_go_on
    repeated = "\n".join(_clipped(text) for text in texts)
    return f"You said: {repeated}\n\n{how_to_go_on}"


def _listed(phrases: Sequence[str]) -> str:
    *first, last = phrases
    return f"{', '.join(first)} and {last}" if first else last


def not_on_offer(wish: Wish) -> str:
    """Return the answer to a request whose tool is not available."""
    return f"This needs the tool `{wish.tool}`, which is not available to me here."


def told(tool: str, arguments: str, result: ToolResult | None) -> str:
    """Describe a call's outcome in a sentence or two, without making it sound better than it is."""
    what = _what(tool, arguments)
    if result is None:
        return f"No outcome of {what} was recorded; I do not know whether it ran."
    text = _clipped(_unfenced(result.text).strip())
    match result.status:
        case ResultStatus.OK:
            return _told_success(tool, arguments, text)
        case ResultStatus.ERROR:
            return f"I tried {what}, and it failed: {text}"
        case ResultStatus.DENIED:
            return f"I did not run {what}, because it was denied. {text}"
        case ResultStatus.CANCELLED:
            return f"I did not finish {what}, because it was cancelled. {text}"
        case ResultStatus.SKIPPED:
            return f"I did not run {what}; it was skipped. {text}"
        case ResultStatus.UNKNOWN:
            return f"I do not know whether {what} took effect. {text}"


def _unfenced(text: str) -> str:
    """Return a tool's output without its fence, below the hub's note on the call if there is one."""
    note, _, output = text.partition("\n")
    plain = unfence(output)
    return f"{note}\n{plain}" if plain != output else unfence(text)


def _told_success(tool: str, arguments: str, text: str) -> str:
    match tool:
        case "time":
            return f"It is {text}."
        case "memory_write" | "write_file" | "ask_user" | "routine_create":
            return text
        case "memory_search":
            return f"This is what I remember:\n\n{text}" if text.startswith("- ") else text
        case "shell":
            return f"I ran {_argument(arguments, 'command')}. Result:\n\n{_block(text)}"
        case "http":
            return f"I fetched {_argument(arguments, 'url')}. Response:\n\n{_block(text)}"
        case "read_file":
            return f"I read {_argument(arguments, 'path')}:\n\n{_block(text)}"
        case _:
            what = _what(tool, arguments)
            return f"I used {what}. It returned:\n\n{_block(text)}" if text else f"I used {what}."


def _what(tool: str, arguments: str) -> str:
    """Return a description of a call for people."""
    match tool:
        case "shell":
            return _argument(arguments, "command")
        case "ask_user":
            return f"my question {_argument(arguments, 'question')}"
        case _:
            return f"the tool `{tool}`"


def _argument(arguments: str, name: str) -> str:
    """Return one of a call's arguments on one line, as code."""
    try:
        value = as_text(as_object(json.loads(arguments)).get(name))
    except (ValueError, RecursionError):
        value = ""
    value = " ".join(_clipped(value).split())
    ticks = "`" * (_longest_run(value) + 1)
    return f"{ticks} {value} {ticks}" if len(ticks) > 1 else f"`{value}`"


def _block(text: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _clipped(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT_CHARS else f"{text[:TEXT_LIMIT_CHARS]}…"


ORIGIN = Origin("demo", "demo")
WORDS_PER_DELTA = 12


class DemoModel:
    """A Model without a provider."""

    def __init__(self, name: str = "demo") -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        return self._name

    @property
    def abilities(self) -> ModelAbilities:
        return ModelAbilities()

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        # Never raises.
        reply = answer(request)
        for piece in _pieces(reply.text):
            yield ReplyDelta(piece)
        yield reply


def answer(request: ModelRequest) -> ModelReply:
    """Return the reply to a conversation. Pure.

    Each unanswered request that maps to an available tool becomes a call. Once no calls are left,
    the reply reports the tools' results and answers the remaining requests in words.
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
    """Yield answers to requests that no call covers."""
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
    """The end of a conversation: earlier requests, the outcomes of their calls, and later requests."""

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
                pass  # text the model wrote along with the calls
            case AssistantSaid() | ToolCalled() | ToolResult():
                break
            case _:
                pass  # a note of the hub or a summary makes no request
    outcomes = [(call, results.get(call.call_id)) for call in calls]
    if asked:  # who stopped a call and goes on to something else knows that it did not finish
        outcomes = [
            (call, result)
            for call, result in outcomes
            if result is None or result.status is not ResultStatus.CANCELLED
        ]
    return _Tail(asked_before, outcomes, asked)


def _pieces(text: str) -> Iterator[str]:
    words = text.split(" ")
    for start in range(0, len(words), WORDS_PER_DELTA):
        piece = " ".join(words[start : start + WORDS_PER_DELTA])
        if start + WORDS_PER_DELTA < len(words):
            piece += " "
        if piece:
            yield piece


def _usage(request: ModelRequest, text: str) -> Usage:
    """Return the estimated tokens, so that usage is not zero."""
    heard = sum(map(said_tokens, request.conversation))
    return Usage(text_tokens(request.system) + heard, text_tokens(text))


# Plain requests that map to a routine, as the demo model understands them.

NAME_CHARS = 40

_DAYS: Mapping[str, str] = {
    "day": "*",
    "weekday": "1-5",
    "monday": "1",
    "tuesday": "2",
    "wednesday": "3",
    "thursday": "4",
    "friday": "5",
    "saturday": "6",
    "sunday": "0",
}
_AT = re.compile(
    rf"every\s+(?P<day>{'|'.join(_DAYS)})\s+at\s+(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d))?:\s*(?P<prompt>.+)",
    re.IGNORECASE | re.DOTALL,
)
_WHEN = re.compile(r"when someone says\s(?P<pattern>.+?):\s(?P<prompt>.+)", re.IGNORECASE | re.DOTALL)
_NAMED = re.compile(r"routine\s+(?P<name>[^:\n]{1,40}):\s*(?P<prompt>.+)", re.IGNORECASE | re.DOTALL)


def wanted_routine(text: str) -> Mapping[str, str] | None:
    """Return the arguments for `routine_create` that a request maps to, or None if there are none."""
    if found := _AT.fullmatch(text):
        schedule = f"{int(found['minute'] or 0)} {int(found['hour'])} * * {_DAYS[found['day'].lower()]}"
        return _routine(found["prompt"], kind="cron", schedule=schedule)
    if found := _WHEN.fullmatch(text):
        return _routine(found["prompt"].strip(), kind="event", pattern=found["pattern"].strip())
    if found := _NAMED.fullmatch(text):
        return {"name": found["name"].strip(), "prompt": found["prompt"], "kind": "manual"}
    return None


def _routine(prompt: str, **trigger: str) -> Mapping[str, str]:
    return {"name": " ".join(prompt.split())[:NAME_CHARS].strip(), "prompt": prompt, **trigger}
