"""What the demo model understands, and the sentences it answers with."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from core.model.reading import as_object, as_text
from core.safety.fencing import unfence
from core.transcript import ResultStatus, ToolResult

TEXT_LIMIT_CHARS = 1500
"""How much of a person's text or of a tool's output is repeated."""

PREPARED = frozenset({"http", "write_file", "read_file", "ask_user", "routine_create"})
"""Asked for only where the tool is on offer; without it the request is words like any other."""

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
"""How to ask for each tool, in the order they are explained."""

_REAL_MODEL = (
    "To talk to a real model, add an [[models]] entry with its provider, model and api_key to hubbub.toml "
    "and start the hub again."
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that amounts to one tool call."""

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
    """The tool call a request in plain words amounts to; None if it is none of those understood."""
    for pattern, tool, fixed in _PATTERNS:
        if found := pattern.fullmatch(text.strip()):
            said = {name: (value or "").strip() for name, value in found.groupdict().items()}
            return Wish(tool, {**fixed, **said})
    if (asked := _ASK.fullmatch(text.strip())) is not None:
        return _question(asked["asked"])
    from core.model.demo_routines import wanted_routine  # a hub with a real model never needs it

    routine = wanted_routine(text.strip())
    return None if routine is None else Wish("routine_create", routine)


def _question(asked: str) -> Wish | None:
    """`QUESTION | ANSWER | ANSWER`; without answers any words will do."""
    question, *choices = (part.strip() for part in asked.split("|"))
    choices = [choice for choice in choices if choice]
    if not question:
        return None
    return Wish("ask_user", {"question": question, "choices": choices} if choices else {"question": question})


def introduction(texts: Sequence[str], offered: Collection[str]) -> str:
    """The answer to what was not understood; it names what can be asked for with the tools on offer."""
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
    """The answer to a request whose tool may not be used."""
    return f"I would need the tool `{wish.tool}` for this, and it is not on offer to me here."


def told(tool: str, arguments: str, result: ToolResult | None) -> str:
    """What a call came to, in a sentence or two and without making anything better than it is."""
    what = _what(tool, arguments)
    if result is None:
        return f"There is no recorded outcome of {what}; I do not know whether it was run."
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
    """What a tool returned, below the hub's note on the call if there is one."""
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
            return f"I ran {_argument(arguments, 'command')}. It ended with:\n\n{_block(text)}"
        case "http":
            return f"I fetched {_argument(arguments, 'url')}. The answer:\n\n{_block(text)}"
        case "read_file":
            return f"I read {_argument(arguments, 'path')}:\n\n{_block(text)}"
        case _:
            what = _what(tool, arguments)
            return f"I used {what}. It returned:\n\n{_block(text)}" if text else f"I used {what}."


def _what(tool: str, arguments: str) -> str:
    """A call as a person would name it."""
    match tool:
        case "shell":
            return _argument(arguments, "command")
        case "ask_user":
            return f"my question {_argument(arguments, 'question')}"
        case _:
            return f"the tool `{tool}`"


def _argument(arguments: str, name: str) -> str:
    """One of a call's arguments, on one line, as code."""
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
