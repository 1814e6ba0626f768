"""Cards: how a gate is shown while it is open, and once it is settled; the call as people see it, and its
arguments as they edit them: fields of a form, `name: value` lines, or JSON.
"""

import itertools
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from core.clock import SECOND_US
from core.consent import card_texts
from core.errors import InvalidArguments
from core.gates import AskedCall, Gate, GateKind, Option, Options, RanUnder, Replies, VoteRule
from core.ids import Ids
from core.job import JobRow
from core.lazy import LazyModule
from core.messages import Block, Choice, Code, EditForm, FormField, LinkButton, Message, Plain, plain
from core.safety.fencing import read_arguments
from core.store.container_port import CREDENTIAL
from core.store.rows import CallRow
from core.tool import Arguments, CallPlan, Tool

if TYPE_CHECKING:
    from core.safety import confusables
else:
    confusables = LazyModule("core.safety.confusables")


_LINE = re.compile(r"\s*([A-Za-z_]\w*)[ \t]*:[ \t]?(.*)")


def fields_of(arguments: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Return one field for each argument that is set, in order. Values that are not text are shown as
    JSON."""
    return tuple(FormField(name, _shown(value)) for name, value in arguments.items() if value is not None)


def lines_of(fields: Collection[FormField]) -> str:
    """Return the fields as lines that `changed_by` can read."""
    return "\n".join(f"{field.name}: {field.value}" for field in fields)


def filled_in(fields: Collection[FormField]) -> str:
    """Return the fields as text to edit and send back: as lines, or as JSON if a line could be read as
    another field."""
    lines, values = lines_of(fields), {field.name: field.value for field in fields}
    read = changed_by(lines, {}, values.keys()) or {}
    if {name: value.strip() for name, value in read.items()} == {k: v.strip() for k, v in values.items()}:
        return lines
    return json.dumps(values, ensure_ascii=False, indent=1)


def looks_like_a_form(text: str) -> bool:
    """Return True if a text may be meant as arguments: JSON, or a line that begins with a name."""
    return text.lstrip().startswith("{") or _LINE.match(text) is not None


def changed_by(text: str, arguments: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any] | None:
    """Return the arguments as changed by `name: value` lines. None if the first line names none of
    `names`.

    A line that names none continues the value before it. Values are texts; validation converts
    numbers and the like.
    """
    given: dict[str, str] = {}
    current: str | None = None
    for line in text.strip().split("\n"):
        named = _LINE.fullmatch(line)
        if named is not None and named[1] in names:
            current = str(named[1])
            given[current] = named[2]
        elif current is None:
            return None
        else:
            given[current] += f"\n{line}"
    return {**arguments, **given}


def as_before(given: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the submitted values, with the original value of each field that was left unchanged."""
    return {
        name: arguments[name] if name in arguments and value == _shown(arguments[name]) else value
        for name, value in given.items()
    }


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# A call as people see it.

_ACTIONS = {
    "shell": ("Run", "command"),
    "http": ("Request", "url"),
    "read_file": ("Read", "path"),
    "list_dir": ("List", "path"),
    "grep": ("Search for", "pattern"),
    "write_file": ("Write", "path"),
    "apply_patch": ("Edit", "path"),
    "delete_file": ("Delete", "path"),
    "send_file": ("Send", "path"),
    "save_attachment": ("Save attachment", "name"),
    "memory_write": ("Remember", "text"),
    "routine_create": ("Create routine", "name"),
    "routine_update": ("Change routine", "name"),
    "routine_delete": ("Delete routine", "name"),
    "routine_fire": ("Run routine", "name"),
    "create_job": ("Start job", "task"),
    "cancel_job": ("Cancel job", "job_id"),
    "secret_delete": ("Delete secret", "name"),
    "tool_install": ("Install extension", "name"),
    "tool_remove": ("Remove extension", "name"),
}
"""What a call of a tool does, and the argument that says to what."""
_ACTION_CHARS = 80


def action_of(tool: Tool, arguments: Arguments) -> str:
    """Return the call in a few words, such as "Run `ls`", for headlines. It may be cut; `detail_of` has all
    of it."""
    verb, name = _ACTIONS.get(tool.name, ("", ""))
    about = arguments.get(name)
    if name in tool.sensitive or not isinstance(about, str) or not about.strip():
        return f"Use `{tool.name}`"
    line, more, _ = about.strip().partition("\n")
    seen = as_seen(line[: 2 * _ACTION_CHARS]).partition("\n")[0]
    cut = more or len(line) > _ACTION_CHARS or len(seen) > _ACTION_CHARS
    return f"{verb} `{seen[:_ACTION_CHARS].rstrip()}{'…' if cut else ''}`"


def detail_of(tool: Tool, arguments: Arguments, plan: CallPlan | None = None) -> str:
    """Return the arguments as a person should see them: a single text as it is, otherwise a line each. A plan
    adds the names that wildcards in them stand for.

    Text of several lines is indented then, so that it cannot pass for another argument; invisible characters
    are named.
    """
    shown = _arguments_shown(arguments, tool.sensitive)
    return f"{shown}\nruns: {as_seen(plan.shown)}" if plan is not None and plan.shown else shown


def detail_of_call(call: CallRow, tool: Tool | None) -> str:
    """Return a journaled call's arguments in the same form, as its tool reads them; unchanged if the
    tool cannot read them or is gone."""
    try:
        given = read_arguments(call.arguments)
    except InvalidArguments:
        return "•••" if tool is not None and tool.sensitive else as_seen(call.arguments)
    try:
        arguments = given if tool is None else tool.validate(given)
    except InvalidArguments:
        arguments = given
    return _arguments_shown(arguments, frozenset() if tool is None else tool.sensitive)


def _arguments_shown(arguments: Arguments, sensitive: frozenset[str]) -> str:
    shown = {
        name: "•••" if name in sensitive else value for name, value in arguments.items() if value is not None
    }
    texts = [value for value in shown.values() if isinstance(value, str)]
    if len(shown) == 1 and len(texts) == 1:
        return as_seen(texts[0])
    lines = (
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in shown.items()
    )
    return as_seen("\n".join(line.replace("\n", "\n    ") for line in lines))


def as_seen(text: str) -> str:
    """Return the text with nothing hidden; lookalikes are named below."""
    others = confusables.look_alikes(text)
    shown = confusables.in_plain_sight(text)
    return f"{shown}\n[look-alikes: {'; '.join(others)}]" if others else shown


# Gates.

DETAIL_LIMIT_CHARS = 2_000
"""Maximum length of a card's details; longer ones lose their middle. The card must fit one message
of every platform with its buttons.

The end is shown too, because something could be hidden there."""
_BEGIN_CHARS, _END_CHARS = 1_100, 700


def open_card(gate: Gate, *, editable: bool = False) -> Message:
    """Return the card of an open gate, with one choice for each answer, in order.

    `editable`: the call's arguments can be changed on it."""
    quorum = gate.rule.quorum
    lines = [card_texts.approvals_needed(quorum)] if quorum > 1 and gate.kind is not GateKind.QUESTION else []
    lines += [granted] if (granted := always_line(gate)) else []
    lines += [typed] if (typed := typed_line(gate)) else []
    footer: tuple[Block, ...] = (Plain("\n".join(lines)),) if lines else ()
    choices = tuple(Choice(label) for label in labels(gate))
    return Message(
        blocks=(*_body(gate), *footer),
        choices=choices,
        gate_id=gate.id,
        editable=editable,
        first_choice=gate.first_choice,
        link=None if gate.link is None else LinkButton(card_texts.SIGN_IN, gate.link),
    )


def always_line(gate: Gate) -> str | None:
    """Return the line about the grant that "always" would record, or None if "always" is not offered."""
    if not (isinstance(gate.offer, Options) and Option.ALWAYS in gate.offer.options and gate.tool):
        return None
    return card_texts.always_grants(gate.tool, _in_plain_sight(gate.pattern))


def under_grant_line(ran: RanUnder) -> str:
    """Return what a grant let run, and what it covers, in words."""
    where = "everywhere" if ran.everywhere else "in this conversation"
    return f"{ran.tool} ran without asking, under a grant: {card_texts.grant_covers(ran.pattern)}, {where}"


def fitting(calls: Sequence[AskedCall]) -> int:
    """Return how many of the calls, from the first on, one card can show in full."""
    used_chars = 0
    for place, call in enumerate(calls):
        used_chars += len(_heading(place + 1, call)) + len(call.detail)
        if used_chars > DETAIL_LIMIT_CHARS:
            return place
    return len(calls)


def form_message(gate: Gate, form: EditForm) -> Message:
    """Return a message that asks for a call's arguments, for platforms without forms."""
    return Message(
        blocks=(Plain(card_texts.FILL_IN), Code(filled_in(form.fields))),
        gate_id=gate.id,
        first_choice=form.choice,
    )


def reminder(gate: Gate, now: int) -> Message:
    """Return the reminder to people who have the card and have not answered. `now`: microseconds UTC."""
    left_s = max(0, gate.expires_at - now) // SECOND_US
    asked = gate.title.partition("\n")[0]
    text = card_texts.still_waiting(
        asked, left_s, consent=gate.kind in {GateKind.APPROVAL, GateKind.SETTINGS}
    )
    return plain("\n".join(line for line in (text, typed_line(gate)) if line))


def expired_text(gate: Gate) -> str:
    """Return the outcome of a gate that expired unanswered."""
    if gate.kind is GateKind.AUTH:
        return card_texts.NOT_SIGNED_IN
    return card_texts.EXPIRED_CARD if isinstance(gate.offer, Options) else card_texts.EXPIRED_QUESTION


def in_full(gate: Gate) -> str:
    """Return all calls or details below the title, as one text."""
    parts = [f"{_heading(place, call)}\n{call.detail}" for place, call in enumerate(gate.calls, start=1)]
    return "\n\n".join(parts) or gate.detail


def labels(gate: Gate) -> tuple[str, ...]:
    """Return the labels of the gate's answers, in order."""
    match gate.offer:
        case Options(options):
            words = card_texts.JOINT_LABELS if gate.calls else card_texts.OPTION_LABELS
            return tuple(words[option] for option in options)
        case Replies(replies):
            return replies
        case _:
            assert_never(gate.offer)


def typed_line(gate: Gate) -> str:
    """Return how to answer the gate in words; empty if that is not possible."""
    match gate.offer:
        case Options(options):
            return f"or type /approve {gate.id} or /deny {gate.id}" if Option.APPROVE in options else ""
        case Replies(secret=str()):
            return card_texts.SEND_CREDENTIAL if gate.link is None else card_texts.HOW_TO_SIGN_IN
        case Replies(replies, free_text, _):
            return card_texts.answer_in_words(choices=bool(replies)) if free_text else ""
        case _:
            assert_never(gate.offer)


def settled_card(gate: Gate, outcome_text: str, asked: str | None = None) -> Message:
    """Return the same card without choices, with its outcome.

    `asked`: the call's detail before the person who decided edited it."""
    blocks = _body(gate)
    if asked is not None:
        blocks = (*blocks, *_before_the_change(asked, DETAIL_LIMIT_CHARS - len(gate.detail)))
    return Message(blocks=blocks, gate_id=gate.id, outcome=outcome_text)


def _before_the_change(asked: str, room_chars: int) -> tuple[Block, ...]:
    if len(asked) > room_chars:
        return (Plain(card_texts.WAS_ASKED_ELSEWHERE),)
    return (Plain(card_texts.WAS_ASKED), Code(asked))


def _body(gate: Gate) -> tuple[Block, ...]:
    title: tuple[Block, ...] = (Plain(gate.title),)
    if gate.calls:
        shown = (_call(place, call) for place, call in enumerate(gate.calls, start=1))
        return (*title, *itertools.chain.from_iterable(shown))
    if not gate.detail:
        return title
    return (*title, *_shortened(gate.detail))


def _in_plain_sight(pattern: str | None) -> str | None:
    if pattern is None or len(pattern) > DETAIL_LIMIT_CHARS // 10:
        return pattern and card_texts.EXACTLY_THIS

    return confusables.in_plain_sight(pattern)


def _shortened(detail: str) -> tuple[Block, ...]:
    """Return the beginning and end of details that are too long. The cut is marked outside the call's
    own text."""
    if len(detail) <= DETAIL_LIMIT_CHARS:
        return (Code(detail),)
    left_out = card_texts.left_out(len(detail) - _BEGIN_CHARS - _END_CHARS, len(detail))
    return (Code(detail[:_BEGIN_CHARS]), Plain(left_out), Code(detail[-_END_CHARS:]))


def _call(place: int, call: AskedCall) -> tuple[Block, ...]:
    heading = Plain(_heading(place, call))
    return (heading, Code(call.detail)) if call.detail else (heading,)


def _heading(place: int, call: AskedCall) -> str:
    return card_texts.joint_heading(place, call.tool, call.reason)


# Gates with fixed wording.

UNKNOWN_EXPIRES_AFTER_S = 30 * 86_400
REMINDED_BEFORE_S = 3_600
"""The time before a gate expires at which people are reminded. A short-lived gate reminds when a
quarter of its time is left."""


def reminded_at(created_at: int, expires_at: int) -> int:
    """Return when people are reminded of a gate; microseconds UTC."""
    return expires_at - min(REMINDED_BEFORE_S * SECOND_US, (expires_at - created_at) // 4)


def unknown_outcome_gate(
    call: CallRow, detail: str, thread_id: str, requester_id: str, now: int, ids: Ids
) -> Gate:
    """Return a gate about a call whose outcome was not recorded. The requester or an owner answers.

    `detail`: its arguments as an approval card shows them.
    """
    expires_at = now + UNKNOWN_EXPIRES_AFTER_S * SECOND_US
    return Gate(
        id=ids.gate_id(),
        kind=GateKind.UNKNOWN_OUTCOME,
        thread_id=thread_id,
        turn_id=call.turn_id,
        call_id=call.call_id,
        requester_id=requester_id,
        title=card_texts.unknown_title(call.tool),
        detail=detail,
        offer=Options((Option.HAPPENED, Option.RETRY, Option.SKIP)),
        rule=VoteRule(),
        binding=call.binding or "",
        created_at=now,
        expires_at=expires_at,
        remind_at=reminded_at(now, expires_at),
        tool=call.tool,
    )


def secret_gate(
    job: JobRow, name: str, calls: str, egress: Sequence[str], now: int, left_us: int, ids: Ids
) -> Gate:
    """Return a gate about a secret that a job in a container asks for; its owner answers.

    `calls`: those that the job is at, by its journal; `egress`: the hosts that it reaches."""
    to = f", and send it to {', '.join(egress)}" if egress else ""
    title = (
        f"May job {job.short_id} “{job.title}” have the secret {name}?\n"
        f"What runs in its container can read it{to}. It is for this job only, which says it is at this:"
    )
    return Gate(
        id=ids.gate_id(),
        kind=GateKind.CREDENTIAL,
        thread_id=job.thread_id or job.id,
        turn_id=job.id,
        call_id=None,
        requester_id=job.owner_id,
        title=title,
        detail=calls,
        offer=Options((Option.APPROVE, Option.DENY)),
        rule=VoteRule(approvers=(job.owner_id,)),
        binding="",
        created_at=now,
        expires_at=now + left_us,
        tool=CREDENTIAL,
        pattern=name,
    )
