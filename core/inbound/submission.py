"""Parsing of a person's text: a command, an answer to a waiting gate, or input for the assistant."""

import re
from dataclasses import dataclass

from core.gates import Option
from core.ids import GATE_ID_LENGTH, is_code, normalise_code, normalise_gate_id
from core.messages import ChoiceAnswer, InboundMessage


@dataclass(frozen=True, slots=True)
class UserInput:
    """A text for the assistant, exactly as written."""

    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """The command `/start`, with the deep link's code if there is one."""

    code: str


@dataclass(frozen=True, slots=True)
class NewThread:
    """The command `/new`."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The command `/stop`."""


@dataclass(frozen=True, slots=True)
class Status:
    """The command `/status`."""


@dataclass(frozen=True, slots=True)
class Pause:
    """`/pause` pauses all tools, `/unpause` lets them run again."""

    paused: bool


@dataclass(frozen=True, slots=True)
class Resume:
    """`/resume`."""


@dataclass(frozen=True, slots=True)
class Skills:
    """The command `/skills`."""


@dataclass(frozen=True, slots=True)
class Help:
    """The command `/help`."""


@dataclass(frozen=True, slots=True)
class AnswerGate:
    """The commands `/approve ID`, `/approve ID always`, `/approve ID session` and `/deny ID`."""

    gate_id: str
    option: Option


@dataclass(frozen=True, slots=True)
class ApprovePairing:
    """The command `/approve CHANNEL CODE`, which makes the stranger with that code a member.

    `command`: written with a slash. Without one, it counts only from an owner who names a channel.
    """

    text: str
    channel: str
    code: str
    command: bool


@dataclass(frozen=True, slots=True)
class Link:
    """The command `/link`: alone it requests a code for another account, with CODE it redeems one."""

    code: str


@dataclass(frozen=True, slots=True)
class Approvals:
    """The command `/approvals`, with new settings if any; see core.inbound.commands."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grants:
    """The command `/grants`, with an action on them if any."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timezone:
    """The command `/timezone`. `wanted`: the zone as typed, empty to show the present one."""

    wanted: str


@dataclass(frozen=True, slots=True)
class Verbose:
    """The command `/verbose`. `wanted`: off, on or full as typed, empty to show the present setting."""

    wanted: str


@dataclass(frozen=True, slots=True)
class BareAnswer:
    """A word such as `yes`, `no` or `always`: an answer if exactly one gate waits here, else plain text.

    `command`: written as a command, so never meant for the assistant.
    """

    text: str
    option: Option
    command: bool


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """A text that looks like a command but is unknown, or is known only with other arguments."""

    name: str


Submission = (
    UserInput
    | Start
    | NewThread
    | Stop
    | Status
    | Skills
    | Help
    | Pause
    | Resume
    | Approvals
    | Grants
    | Timezone
    | Verbose
    | AnswerGate
    | BareAnswer
    | ApprovePairing
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
    """Return the command in a text without its arguments, or None if the text is no command."""
    command = _COMMAND.fullmatch(text.strip())
    return None if command is None else f"/{command.group(1).lower()}"


def parse_submission(text: str) -> Submission:
    """Classify a message's text. Case and surrounding space of commands and answers are ignored."""
    trimmed = text.strip()
    word = _WORDS.get(trimmed.lower())
    if word is not None:
        return BareAnswer(text, word, command=False)
    verb, *words = trimmed.split(maxsplit=3) or [""]
    if verb.lower() == "approve" and (claim := _approve_pairing(text, words, command=False)) is not None:
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
    if name == "timezone":
        return Timezone(rest)
    if name == "verbose":
        return Verbose(rest.lower())
    if name in {"stop", "interrupt"}:
        return Stop()  # with any arguments: the person wants the turn to end
    if name == "link":
        return Link(normalise_code(rest))
    simple: dict[str, Submission] = {
        "new": NewThread(),
        "status": Status(),
        "skills": Skills(),
        "help": Help(),
        "pause": Pause(paused=True),
        "unpause": Pause(paused=False),
        "resume": Resume(),
    }
    return simple.get(name, UnknownCommand(name)) if not rest else UnknownCommand(name)


def _parse_answer(text: str, name: str, words: list[str]) -> Submission:
    option = _WORDS[name]
    if not words:
        return BareAnswer(text, option, command=True)
    claim = _approve_pairing(text, words, command=True) if name == "approve" else None
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


def _approve_pairing(text: str, words: list[str], *, command: bool) -> ApprovePairing | None:
    if len(words) != 2 or not is_code(code := normalise_code(words[1])):
        return None
    return ApprovePairing(text, words[0].lower(), code, command)


def code_of(event: InboundMessage | ChoiceAnswer, submission: Submission) -> str | None:
    """Return the code that a person sends from another of their accounts.

    Codes count only in private, because everyone in a group could read them."""
    if not event.direct:
        return None
    match submission:
        case Link(code) if code:
            return code
        case Start(code) if is_code(normalise_code(code)):
            return normalise_code(code)
        case _:
            return None
