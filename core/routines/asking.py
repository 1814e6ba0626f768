"""What the model of a lightweight run is told, and what is made of its reply. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.names import folded, quoted
from core.routine import Lightweight
from core.routine_run import (
    ManualInput,
    MessageInput,
    RunInput,
    RunStatus,
    SlotInput,
    SystemInput,
    WebhookInput,
    kept,
)
from core.safety.fencing import FENCE_RULE, fence_tool_output

NOTHING = "ROUTINE_OK"
"""A reply that is exactly this has nothing to tell."""
SILENT = (NOTHING, "HEARTBEAT_OK")
"""The second one is what lists of other heartbeats ask for."""
_AROUND = re.compile(r"[\W_]+")
_SENTINEL_LIMIT_CHARS = 60
_BARE = frozenset(_AROUND.sub("", word) for word in SILENT)
STATE = "ROUTINE_STATE:"
"""A line of a reply that begins what is to be remembered for the next run."""
STATE_LIMIT_CHARS = 8_000
FILE_LIMIT_CHARS = 32_000
PATH_LIMIT_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A run's question. `files`: context by path, None where a file could not be read and why is in
    `unreadable`; `now`: microseconds UTC; `told`: whether a reply is sent to the owner."""

    name: str
    owner: str
    action: Lightweight
    fired_by: RunInput
    files: Mapping[str, str]
    unreadable: Mapping[str, str]
    state: str
    now: int
    timezone: str
    told: bool = True


def system_text(asked: Asked, *, with_tools: bool) -> str:
    """The system prompt of a run."""
    moment = datetime.fromtimestamp(asked.now / SECOND_US, ZoneInfo(asked.timezone))
    owner, zone = quoted(asked.owner), folded(asked.timezone)
    tools = (
        "The tools on offer are all there are; one that is refused stays refused."
        if with_tools
        else "There are no tools: answer from what is given."
    )
    reply = (
        f"Your reply is sent to {owner} as it is."
        if asked.told
        else f"Your reply is kept for {owner} to look up; it is sent to nobody."
    )
    return (
        f"You carry out the routine {quoted(asked.name)} for {owner}. Nobody is there to answer questions. "
        f"It is {moment:%A, %Y-%m-%d %H:%M} ({zone}). {tools} {FENCE_RULE}\n\n"
        f"{reply} If there is nothing to tell, reply with exactly "
        f"{NOTHING}. To remember something for the next run, end the reply with a line {STATE} and what is "
        "to be remembered below it; it is not sent."
    )


def user_text(asked: Asked) -> str:
    """What the run is about: the prompt, then everything from outside, fenced."""
    parts = [asked.action.prompt]
    for path, text in asked.files.items():
        parts.append(f"# Context: {_path(path)}\n{fence_tool_output(f'file {path}', text)}")
    if asked.unreadable:
        lines = "\n".join(f"- {_path(path)}: {_path(why)}" for path, why in asked.unreadable.items())
        parts.append(f"# Context that could not be read\n{lines}")
    if asked.state:
        parts.append(f"# What you remembered\n{fence_tool_output('routine state', asked.state)}")
    parts.append(f"# What fired the routine\n{_fired_by(asked.fired_by)}")
    return "\n\n".join(parts)


def _path(text: str) -> str:
    return folded(text, PATH_LIMIT_CHARS)


def _fired_by(fired: RunInput) -> str:
    match fired:
        case SlotInput(slot_at, skipped):
            moment = datetime.fromtimestamp(slot_at / SECOND_US, ZoneInfo("UTC"))
            missed = f"; {skipped} earlier times were passed over" if skipped else ""
            return f"Its schedule: {moment:%Y-%m-%d %H:%M} UTC{missed}."
        case MessageInput():
            return f"A message.\n{fence_tool_output('message', _message(fired))}"
        case SystemInput(_, source, event_type, payload):
            return f"The event {quoted(source)} {quoted(event_type)}.\n{fence_tool_output('event', payload)}"
        case WebhookInput(_, payload, event):
            told = f"event: {event}\n\n{payload}" if event else payload
            return f"A webhook.\n{fence_tool_output('webhook', told)}"
        case ManualInput():
            return "A person asked for this run."
        case _:
            assert_never(fired)


def _message(fired: MessageInput) -> str:
    lines = [f"channel: {folded(fired.channel)}", f"from: {quoted(fired.sender)}"]
    named = {found: name for name, found in fired.named_groups}
    for number, found in enumerate(fired.groups, start=1):
        name = f" ({named[found]})" if found in named else ""
        lines.append(f"group {number}{name}: {'' if found is None else found}")
    return "\n".join([*lines, "", kept(fired.text)])


@dataclass(frozen=True, slots=True)
class Told:
    """What a reply says. `document` None: nothing was to be remembered."""

    status: RunStatus
    text: str
    document: str | None


def read_reply(text: str) -> Told | None:
    """What a reply comes to; None if it says nothing at all. Only the sentinel alone is silence, also with a
    dot, quotes or emphasis around it."""
    lines = text.strip().split("\n")
    document: str | None = None
    for at, line in enumerate(lines):
        if line.strip() == STATE:
            document = "\n".join(lines[at + 1 :]).strip()[:STATE_LIMIT_CHARS]
            lines = lines[:at]
            break
    said = "\n".join(lines).strip()
    if _is_silent(said) or (not said and document is not None):
        return Told(RunStatus.OK, "", document)
    return Told(RunStatus.ATTENTION, said, document) if said else None


def _is_silent(said: str) -> bool:
    """Whether nothing but a sentinel is said; models put it in quotes, in bold, or end it like a sentence."""
    return len(said) <= _SENTINEL_LIMIT_CHARS and _AROUND.sub("", said) in _BARE


def cut(text: str) -> str:
    """A context file as far as it is given to the model."""
    if len(text) <= FILE_LIMIT_CHARS:
        return text
    return f"{text[:FILE_LIMIT_CHARS]}\n[… the file goes on; {len(text)} characters in all]"
