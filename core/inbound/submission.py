"""Parsing of a person's text: a command, an answer to a waiting gate, or input for the assistant."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from core.gates import Option
from core.ids import GATE_ID_LENGTH, is_code, normalise_code, normalise_gate_id
from core.lazy import dataclass
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, WhileBusy


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
    """The command `/new`. `title`: as typed, empty for one that is made from the first message."""

    title: str


@dataclass(frozen=True, slots=True)
class Threads:
    """The command `/threads`."""


@dataclass(frozen=True, slots=True)
class UseThread:
    """The command `/thread`. `wanted`: a thread's id or title, as typed."""

    wanted: str


@dataclass(frozen=True, slots=True)
class Rename:
    """The command `/rename`. `title`: as typed."""

    title: str


@dataclass(frozen=True, slots=True)
class Close:
    """The command `/close`."""


@dataclass(frozen=True, slots=True)
class Delete:
    """The command `/delete`. `confirmed`: `/delete now`, which does not ask first; None if wrong arguments
    follow."""

    confirmed: bool | None


@dataclass(frozen=True, slots=True)
class Export:
    """The command `/export`."""


Threading = NewThread | Threads | UseThread | Rename | Close | Delete | Export
"""The commands that choose, name, close, export and delete conversations."""


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
class Invite:
    """The command `/invite NAME`."""

    name: str


@dataclass(frozen=True, slots=True)
class Undo:
    """The command `/undo`. `turns`: how many turns to take back; None if that is no number from 1."""

    turns: int | None


@dataclass(frozen=True, slots=True)
class Redo:
    """The command `/redo`."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The command `/retry`."""


@dataclass(frozen=True, slots=True)
class Clear:
    """The command `/clear`."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The command `/resume`: on with an interrupted turn, or the list of checkpoints."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The command `/branch`. `number`: the last turn to take along, 0 for the newest; None if that is no
    number from 1."""

    number: int | None


@dataclass(frozen=True, slots=True)
class Compact:
    """The command `/compact`, alone or with what the summary is to keep above all."""


Rewinding = Undo | Redo | Retry | Clear | Resume | Branch | Compact
"""The commands that go back in a conversation, or on from a point of it."""


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
class Search:
    """The command `/search`. `wanted`: the words and filters as typed; see core.store.conversations."""

    wanted: str


@dataclass(frozen=True, slots=True)
class ThreadSetting:
    """One of the commands `/verbose`, `/model` and `/think`. `wanted`: the value as typed, empty to show the
    present setting."""

    name: str
    wanted: str


THREAD_SETTINGS = frozenset({"verbose", "model", "think"})


@dataclass(frozen=True, slots=True)
class BareAnswer:
    """A word such as `yes`, `no` or `always`: an answer if exactly one gate waits here, else plain text.

    `command`: written as a command, so never meant for the assistant.
    """

    text: str
    option: Option
    command: bool


@dataclass(frozen=True, slots=True)
class AboutJob:
    """The commands `/job`, `/jobs`, `/status ID`, `/cancel` and `/prompt`. `rest`: what follows `name`."""

    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class Extensions:
    """The command `/extensions`. `rest`: what follows it."""

    rest: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """A text that looks like a command but is unknown, or is known only with other arguments."""

    name: str


Submission = (
    UserInput
    | Start
    | Threading
    | Stop
    | Status
    | Skills
    | Help
    | Pause
    | Rewinding
    | Approvals
    | Grants
    | Timezone
    | ThreadSetting
    | AboutJob
    | Extensions
    | Search
    | AnswerGate
    | BareAnswer
    | ApprovePairing
    | Link
    | Invite
    | UnknownCommand
)

_WORDS = {
    "yes": Option.APPROVE,
    "approve": Option.APPROVE,
    "no": Option.DENY,
    "deny": Option.DENY,
    "always": Option.ALWAYS,
}
_OF_JOBS = frozenset({"job", "jobs", "cancel", "prompt"})
_FOR_GOOD = {"always": Option.ALWAYS, "session": Option.SESSION}
_WISHES = {wish.value: wish for wish in WhileBusy}
_COMMAND = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:@\w+)?(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


def with_wish(event: InboundMessage) -> InboundMessage:
    """Return a message without the `/queue`, `/steer` or `/interrupt` that it begins with, which becomes its
    `while_busy`. What follows is never a command or an answer. Alone, the command is left as it is."""
    command = _COMMAND.fullmatch(event.text.strip()) if "/" in event.text else None
    wish = None if command is None else _WISHES.get(command.group(1).lower())
    if command is None or wish is None or not (command.group(2) or event.attachments):
        return event
    return replace(event, text=command.group(2) or "", while_busy=wish)


def command_name(text: str) -> str | None:
    """Return the command in a text without its arguments, or None if the text is no command."""
    command = _COMMAND.fullmatch(text.strip())
    return None if command is None else f"/{command.group(1).lower()}"


def submission_of(event: InboundEvent) -> Submission:
    """Return what an event's text is. A message with a wish for the time while a turn runs is always input. A
    pressed choice is a command only if the hub wrote it: words of a model never answer a gate."""
    if not isinstance(event, InboundMessage):
        return parse_submission("")
    if event.while_busy is not None or (event.menu_id is not None and not event.text.startswith("/")):
        return UserInput(event.text)
    return parse_submission(event.text)


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
    if name in _OF_JOBS or (name == "status" and rest):
        return AboutJob(name, rest)
    if name in THREAD_SETTINGS:
        return ThreadSetting(name, rest)
    if name in _WITH_ARGUMENTS:
        return _WITH_ARGUMENTS[name](rest)
    return UnknownCommand(name) if rest else _ALONE.get(name, UnknownCommand(name))


def _number(text: str) -> int | None:
    """Return a whole number from 1, as typed; None for anything else."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    return number or None


_WITH_ARGUMENTS: Mapping[str, Callable[[str], Submission]] = {
    "start": Start,
    "approvals": lambda rest: Approvals(tuple(rest.lower().replace(",", " ").split())),
    "grants": lambda rest: Grants(tuple(rest.lower().split())),
    "timezone": Timezone,
    "extensions": Extensions,
    "search": lambda rest: Search(rest) if rest else UnknownCommand("search"),
    "stop": lambda _: Stop(),  # with any arguments: the person wants the turn to end
    "interrupt": lambda _: Stop(),
    "link": lambda rest: Link(normalise_code(rest)),
    "invite": lambda rest: Invite(_one_line(rest)),
    "undo": lambda rest: Undo(_number(rest) if rest else 1),
    "new": lambda rest: NewThread(_one_line(rest)),
    "thread": lambda rest: _use_thread(_one_line(rest)),
    "rename": lambda rest: Rename(_one_line(rest)),
    "delete": lambda rest: Delete({"": False, "now": True}.get(rest.lower())),
    "compact": lambda _: Compact(),
    "branch": lambda rest: Branch(_number(rest) if rest else 0),
}
_ALONE: Mapping[str, Submission] = {
    "threads": Threads(),
    "close": Close(),
    "export": Export(),
    "status": Status(),
    "skills": Skills(),
    "help": Help(),
    "pause": Pause(paused=True),
    "unpause": Pause(paused=False),
    "redo": Redo(),
    "retry": Retry(),
    "clear": Clear(),
    "resume": Resume(),
}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _use_thread(wanted: str) -> Submission:
    if not wanted:
        return Threads()
    return NewThread("") if wanted.lower() == "new" else UseThread(wanted)


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
