"""Replies of the model as values, independent of the wire they leave on, and their JSON form."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

Value = TypeVar("Value")

CHARS_PER_TOKEN = 4
"""The simulator's tokeniser: every started group of four characters is one token."""

FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "model_context_window_exceeded")


def tokens_in(text: str) -> int:
    """The number of tokens this simulator counts in `text`."""
    return -(-len(text) // CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. `arguments` as a `str` leaves exactly as given, which is how broken JSON is scripted."""

    name: str
    arguments: dict[str, Any] | str
    id: str | None = None
    """The call's id on the wire; None lets the simulator mint one."""
    said: str = ""
    """Text directly before the call, on the Anthropic wire only."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token numbers reported instead of the counted ones."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model.

    `finish` is the OpenAI word, translated for other wires; None means "tool_calls" when there are calls and
    "stop" otherwise. A stream carries `chunk_chars` characters of text (or of arguments) per event, with
    `delay_s` between events; `segment_bytes` > 0 re-cuts the stream into pieces of that many bytes, across
    event and character boundaries, the way a network may.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    thinking: str = ""
    """Reasoning shown before the answer; only the Anthropic wire has a place for it."""
    finish: str | None = None
    chunk_chars: int = 16
    delay_s: float = 0.0
    segment_bytes: int = 0
    usage: Usage | None = None

    def __post_init__(self) -> None:
        if self.chunk_chars < 1:
            raise ValueError("chunk_chars must be at least 1")
        if self.finish is not None and self.finish not in FINISH_REASONS:
            raise ValueError(f"finish must be one of {', '.join(FINISH_REASONS)}")

    @property
    def finish_reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")


def text(content: str, **options: Any) -> Reply:
    """A plain text answer; `options` are further fields of `Reply`."""
    return Reply(text=content, **options)


def tools(*calls: ToolCall, **options: Any) -> Reply:
    """One or several parallel tool calls; `options` are further fields of `Reply`."""
    return Reply(calls=calls, **options)


def reply_from_json(data: Any) -> Reply:
    """Build a `Reply` from its JSON form: an object of its fields, or a bare string for plain text.

    Raises ValueError naming the field that does not fit.
    """
    if isinstance(data, str):
        return Reply(text=data)
    given = dict(_object(data, "reply"))
    calls = given.pop("calls", ())
    if not isinstance(calls, list | tuple):
        raise ValueError("reply.calls must be an array")  # noqa: TRY004 - the caller sent data, not code
    given["calls"] = tuple(build(ToolCall, call, "reply.calls") for call in calls)
    if given.get("usage") is not None:
        given["usage"] = build(Usage, given["usage"], "reply.usage")
    return build(Reply, given, "reply")


def build(kind: type[Value], data: Any, where: str) -> Value:
    """Make a dataclass from a JSON object of its fields; ValueError for unknown or missing ones."""
    given = _object(data, where)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(given) - known):
        raise ValueError(f"{where}: unknown field {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _object(data: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where} must be an object")  # noqa: TRY004 - the caller sent data, not code
    return data
