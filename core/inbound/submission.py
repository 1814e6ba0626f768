"""What a person's text means: a command, an answer to a waiting prompt, or input for the assistant."""

import re
from dataclasses import dataclass

from core.gates import Option
from core.ids import GATE_ID_LENGTH, is_code, normalise_code, normalise_gate_id


@dataclass(frozen=True, slots=True)
class UserInput:
    """Text for the assistant, exactly as written."""

    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """`/start`, with the deep link's code if there was one."""

    code: str


@dataclass(frozen=True, slots=True)
class NewThread:
    """`/new`."""


@dataclass(frozen=True, slots=True)
class Stop:
    """`/stop`."""


@dataclass(frozen=True, slots=True)
class Status:
    """`/status`."""


@dataclass(frozen=True, slots=True)
class Halt:
    """`/pause` stops all tools, `/resume` lets them go on."""

    halted: bool


@dataclass(frozen=True, slots=True)
class Help:
    """`/help`."""


@dataclass(frozen=True, slots=True)
class AnswerGate:
    """`/approve ID`, `/approve ID always`, `/approve ID session`, `/deny ID`."""

    gate_id: str
    option: Option


@dataclass(frozen=True, slots=True)
class LetPersonIn:
    """`/approve CHANNEL CODE`: the stranger with that code becomes a member.

    `command`: written with a slash; without one it is meant so only by an owner who names a channel.
    """

    text: str
    channel: str
    code: str
    command: bool


@dataclass(frozen=True, slots=True)
class Link:
    """`/link` asks for a code for another account, `/link CODE` brings it from there."""

    code: str


@dataclass(frozen=True, slots=True)
class Approvals:
    """`/approvals`, and what is to hold; see conversation.standing_orders."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grants:
    """`/grants`, and what is to be done with them."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BareAnswer:
    """`yes`, `no`, `always`…: an answer if exactly one prompt waits here, otherwise plain text.

    `command`: written as a command, so never meant for the assistant.
    """

    text: str
    option: Option
    command: bool


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Something that looks like a command and is none, or is none with what stands behind it."""

    name: str


Submission = (
    UserInput
    | Start
    | NewThread
    | Stop
    | Status
    | Help
    | Halt
    | Approvals
    | Grants
    | AnswerGate
    | BareAnswer
    | LetPersonIn
    | Link
    | UnknownCommand
)

_WORDS = {
    "yes": Option.APPROVE,
    "approve": Option.APPROVE,
    "no": Option.DENY,
    "deny": Option.DENY,
    "always": Option.ALWAYS,
}
_FOR_GOOD = {"always": Option.ALWAYS, "session": Option.SESSION}
_COMMAND = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:@\w+)?(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


def command_name(text: str) -> str | None:
    """Return the command that a text is written as, without what stands after it; None if it is none."""
    command = _COMMAND.fullmatch(text.strip())
    return None if command is None else f"/{command.group(1).lower()}"


def parse_submission(text: str) -> Submission:
    """Classify a message's text; case and surrounding space of commands and answers do not matter."""
    trimmed = text.strip()
    word = _WORDS.get(trimmed.lower())
    if word is not None:
        return BareAnswer(text, word, command=False)
    verb, *words = trimmed.split(maxsplit=3) or [""]
    if verb.lower() == "approve" and (claim := _let_person_in(text, words, command=False)) is not None:
        return claim
    command = _COMMAND.fullmatch(trimmed)
    if command is None:
        return UserInput(text)
    return _parse_command(text, command.group(1).lower(), (command.group(2) or "").strip())


def _parse_command(text: str, name: str, rest: str) -> Submission:
    if name in {"approve", "deny", "always", "yes", "no"}:
        return _parse_answer(text, name, rest.split())
    if name == "start":
        return Start(rest)
    if name == "approvals":
        return Approvals(tuple(rest.lower().split()))
    if name == "grants":
        return Grants(tuple(rest.lower().split()))
    if name in {"stop", "interrupt"}:
        return Stop()  # whatever stands behind it: who writes this wants it to end
    if name == "link":
        return Link(normalise_code(rest))
    simple: dict[str, Submission] = {
        "new": NewThread(),
        "status": Status(),
        "help": Help(),
        "pause": Halt(halted=True),
        "resume": Halt(halted=False),
    }
    return simple.get(name, UnknownCommand(name)) if not rest else UnknownCommand(name)


def _parse_answer(text: str, name: str, words: list[str]) -> Submission:
    option = _WORDS[name]
    if not words:
        return BareAnswer(text, option, command=True)
    claim = _let_person_in(text, words, command=True) if name == "approve" else None
    if claim is not None:
        return claim
    gate_id = normalise_gate_id(words[0])
    if len(gate_id) != GATE_ID_LENGTH:
        return UnknownCommand(name)
    if len(words) == 1:
        return AnswerGate(gate_id, option)
    for_good = _FOR_GOOD.get(words[1].lower()) if len(words) == 2 else None
    if for_good is not None and option is Option.APPROVE:
        return AnswerGate(gate_id, for_good)
    return UnknownCommand(name)


def _let_person_in(text: str, words: list[str], *, command: bool) -> LetPersonIn | None:
    if len(words) != 2 or not is_code(code := normalise_code(words[1])):
        return None
    return LetPersonIn(text, words[0].lower(), code, command)
