"""Database rows as values. Each list of columns is next to the function that reads it."""

from collections.abc import Collection, Sequence
from itertools import groupby

from core.events import Verbosity
from core.gates import (
    Asked,
    Gate,
    GateKind,
    GateState,
    Grant,
    GrantScope,
    Offer,
    Option,
    Options,
    Replies,
    ToolSetting,
    Vote,
    VoteRule,
)
from core.messages import Address, Sender
from core.ports import OutboxRow, SendState
from core.store.accounts import PairingRequest, RequestState
from core.store.codecs import (
    answer_from_text,
    asked_from_json,
    message_from_json,
    refs_from_json,
    said_from_columns,
    strings_from_json,
)
from core.store.facets import SealedSecret, ToolSettingRow
from core.store.rows import CallRow, CallState, Execution, GateView, ThreadRow, TurnState
from core.store.units import Row
from core.tool import Effect, ProcessInfo
from core.transcript import Entry
from core.users import (
    NO_PREFERENCES,
    UNCHOSEN,
    UNSET,
    ModelChoice,
    Preferences,
    Principal,
    Role,
    Thinking,
    ThreadSettings,
)

ACTIVE = "('running', 'waiting')"
"""The states of a thread's active turn, spelled as in the index: otherwise SQLite does not use it."""

RUNNING = f"state IN {ACTIVE} AND state = 'running'"
"""The condition on a run that is in hand: the wider one is that of the index."""

ALL = 1 << 62
"""A limit no listing reaches, a position after every entry."""
SPENT_SINCE = "CASE WHEN ? > running_since THEN ? - running_since ELSE 0 END"
"""The microseconds a turn ran until then (given twice); 0 if it did not run."""

THREAD = (
    "t.id, t.owner_id, t.channel, t.scope, t.address, t.title, t.created_at, t.last_active_at,"
    " a.id, a.state, t.verbosity, t.model, t.thinking, t.closed_at"
)
THREAD_COLUMNS = 14
ACTIVE_TURN = f"LEFT JOIN runs a ON a.thread_id = t.id AND a.state IN {ACTIVE}"


def marks(values: Collection[object]) -> str:
    """Return a list of parameters for `IN`. An empty one matches nothing."""
    return f"({', '.join('?' * len(values)) or 'NULL'})"


def same(column: str, value: object | None) -> str:
    """Return the condition that a column has a value; the value is a parameter unless it is None."""
    return f"{column} IS NULL" if value is None else f"{column} = ?"


_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def like(text: str) -> str:
    r"""Return a LIKE pattern (with `ESCAPE '\'`) for texts that contain this one."""
    return f"%{text.translate(_LITERAL)}%"


def contains(column: str) -> str:
    """Return the condition that a text contains that of a `like` parameter, in small or capital letters."""
    return f"lower({column}) LIKE lower(?) ESCAPE '\\'"


def not_held(table: str) -> str:
    """Return the condition that no hub with a lease has a row of that table, or alias, in hand."""
    return f"({table}.fence IS NULL OR {table}.fence NOT IN (SELECT l.fence FROM leases l))"  # noqa: S608


def holds(column: str) -> str:
    """Return the condition that a text contains the parameter, letter by letter."""
    return f"replace({column}, ?, '') <> {column}"


def thread_of(row: Row) -> ThreadRow:
    """Return a thread from the columns `THREAD`."""
    return ThreadRow(
        id=row[0],
        owner_id=row[1],
        channel=row[2],
        scope=row[3],
        address=Address(row[4]),
        title=row[5],
        created_at=row[6],
        last_active_at=row[7],
        active_turn_id=row[8],
        active_turn_state=None if row[9] is None else TurnState(row[9]),
        settings=_settings_of(*row[10:13]),
        closed_at=row[13],
    )


def _settings_of(verbosity: str | None, model: str | None, thinking: str | None) -> ThreadSettings:
    if verbosity is None and model is None and thinking is None:  # nearly every thread
        return UNSET
    shown = Verbosity.OFF if verbosity is None else Verbosity(verbosity)
    return ThreadSettings(shown, _choice_of(model, thinking))


def _choice_of(model: str | None, thinking: str | None) -> ModelChoice:
    if model is None and thinking is None:
        return UNCHOSEN
    return ModelChoice(model, None if thinking is None else Thinking(thinking))


PREFERENCES = "u.timezone, u.model, u.thinking"


def preferences_of(row: Row) -> Preferences:
    """Return a person's preferences from the columns `PREFERENCES`."""
    timezone, model, thinking = row
    if timezone is None and model is None and thinking is None:
        return NO_PREFERENCES
    return Preferences(timezone, _choice_of(model, thinking))


PRINCIPAL = "u.id, u.role, u.name"


def principal_of(row: Row) -> Principal:
    """Return a principal from the columns `PRINCIPAL`."""
    return Principal(row[0], Role(row[1]), row[2])


REQUEST = (
    "r.id, r.code, r.channel, r.platform_user_id, r.name, r.username, r.address, r.created_at, r.expires_at,"
    " r.state, r.closed_at"
)


def request_of(row: Row) -> PairingRequest:
    """Return a pairing request from the columns `REQUEST`."""
    return PairingRequest(
        id=row[0],
        code=row[1],
        channel=row[2],
        sender=Sender(row[3], row[4], row[5]),
        address=Address(row[6]),
        created_at=row[7],
        expires_at=row[8],
        state=RequestState(row[9]),
        closed_at=row[10],
    )


ENTRY = "e.seq, e.turn_id, e.at, e.kind, e.text, e.call_id, e.name, e.extra"
ENTRY_COLUMNS = 8
LIVE = (
    "(e.undone IS NULL AND (e.kind <> 'summary' OR NOT EXISTS (SELECT 1 FROM entries covered"
    " WHERE covered.thread_id = e.thread_id AND covered.undone > e.seq"
    " AND covered.seq <= CAST(e.extra AS INTEGER))))"
)
"""The condition that an entry `e` is part of the conversation. Every reader uses it.

A summary is live as long as everything it covers is: an undo leaves no mark on it, and a redo of what
it covers makes it live again."""


NEWEST_MODELS = (
    "(SELECT r.models FROM runs r WHERE r.thread_id = t.id AND r.models IS NOT NULL"
    " ORDER BY r.number DESC LIMIT 1)"
)
"""The models of the newest run of a thread `t` that called any."""


def entry_of(row: Row) -> Entry:
    """Return an entry from the columns `ENTRY`, and then `LIVE` if entries that are not live are read too."""
    undone = len(row) > ENTRY_COLUMNS and not row[ENTRY_COLUMNS]
    return Entry(row[0], row[1], row[2], said_from_columns(*row[3:ENTRY_COLUMNS]), undone=undone)


CALL = (
    "c.id, c.turn_id, c.seq, c.tool, coalesce(c.edited, e.text), c.state, c.effect, c.binding, c.gate_id,"
    " c.answer, c.answered_by, c.pid, c.process_group, c.started_ticks, c.edited_by, c.host"
)
CALL_COLUMNS = 16
CALL_FROM = "calls c JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq"


def call_of(row: Row) -> CallRow:
    """Return a call from the columns `CALL`."""
    return CallRow(
        call_id=row[0],
        turn_id=row[1],
        seq=row[2],
        tool=row[3],
        arguments=row[4],
        state=CallState(row[5]),
        effect=Effect(row[6]),
        binding=row[7],
        gate_id=row[8],
        answer=None if row[9] is None else answer_from_text(row[9]),
        answered_by=row[10],
        process=None if row[11] is None else ProcessInfo(row[11], row[12], row[13], row[15] or ""),
        edited_by=row[14],
    )


EXECUTION = (
    "c.seq, c.id, c.turn_id, c.tool, c.state, c.status, c.round, tn.principal_id, e.at, c.started_at,"
    " c.ended_at"
)


def execution_of(row: Row) -> Execution:
    """Return an execution from the columns `EXECUTION`."""
    return Execution(row[0], row[1], row[2], row[3], CallState(row[4]), *row[5:11])


GRANT = "id, user_id, tool, pattern, scope, thread_id, granted_by, created_at, expires_at"


def grant_of(row: Row) -> Grant:
    """Return a grant from the columns `GRANT`."""
    return Grant(row[0], row[1], row[2], row[3], GrantScope(row[4]), row[5], row[6], row[7], row[8])


TOOL_SETTING = "user_id, tool, setting, changed_at"


def tool_setting_of(row: Row) -> ToolSettingRow:
    """Return a tool setting from the columns `TOOL_SETTING`."""
    return ToolSettingRow(row[0], row[1], ToolSetting(row[2]), row[3])


SEALED = "name, key_id, sealed, changed_at"


def secret_of(row: Row) -> SealedSecret:
    """Return a secret from the columns `SEALED`."""
    return SealedSecret(row[0], row[1], row[2], row[3])


OUTBOX = (
    "id, channel, address, message, state, nonce, refs, edit_of, not_before, attempts, repeats, replaces,"
    " marks, paced"
)


def outbox_of(row: Row) -> OutboxRow:
    """Return an outbox row from the columns `OUTBOX`."""
    return OutboxRow(
        id=row[0],
        channel=row[1],
        address=Address(row[2]),
        message=message_from_json(row[3]),
        state=SendState(row[4]),
        nonce=row[5],
        refs=refs_from_json(row[6]),
        edit_of=row[7],
        not_before=row[8],
        attempts=row[9],
        repeats=row[10],
        replaces=row[11],
        marks=bool(row[12]),
        paced=bool(row[13]),
    )


# Rows of gates as values. Each list of columns is next to the function that reads it.

GATE = (
    "g.id, g.kind, g.thread_id, g.turn_id, g.call_id, g.requester_id, g.title, g.detail, g.options,"
    " g.approvers, g.quorum, g.not_requester, g.binding, g.created_at, g.expires_at, g.tool, g.pattern,"
    " g.state, g.outcome, g.outcome_text, g.labels, g.free_text, g.escalate_to, g.escalated, g.remind_at,"
    " g.escalate_at, g.calls, g.secret, g.first_choice, g.changed_at, g.link"
)
_GATE_COLUMNS = 31


def gate_of(row: Row) -> Gate:
    """Return a gate from the columns `GATE`."""
    return Gate(
        id=row[0],
        kind=GateKind(row[1]),
        thread_id=row[2],
        turn_id=row[3],
        call_id=row[4],
        requester_id=row[5],
        title=row[6],
        detail=row[7],
        offer=_offer_of(row[8], row[20], row[27], free_text=bool(row[21])),
        rule=VoteRule(
            strings_from_json(row[9]), row[10], bool(row[11]), strings_from_json(row[22]), bool(row[23])
        ),
        binding=row[12],
        created_at=row[13],
        expires_at=row[14],
        tool=row[15],
        pattern=row[16],
        state=GateState(row[17]),
        outcome=None if row[18] is None else answer_from_text(row[18]),
        outcome_text=row[19],
        remind_at=row[24],
        escalate_at=row[25],
        calls=() if row[26] is None else asked_from_json(row[26]),
        first_choice=row[28],
        changed_at=row[29],
        link=row[30],
    )


def _offer_of(options: str, labels: str | None, secret: str | None, *, free_text: bool) -> Offer:
    if labels is None:
        return Options(tuple(Option(option) for option in options.split()))
    return Replies(strings_from_json(labels), free_text, secret)


GATE_VIEW = f"{GATE}, {THREAD}, v.user_id, v.name, v.option, v.at, vu.role"
GATE_VIEW_FROM = (
    f"gates g JOIN threads t ON t.id = g.thread_id {ACTIVE_TURN} LEFT JOIN votes v ON v.gate_id = g.id"
    " LEFT JOIN users vu ON vu.id = v.user_id"
)


ASKED = "g.title, g.calls, g.tool, g.outcome_text, coalesce(g.closed_at, g.created_at), u.id, u.name"
"""The columns that `asked_of` reads; `u` is who decided."""


def asked_of(row: Row) -> Asked:
    """Return a request for approval as `why` tells it."""
    title, calls, tool, *rest = row
    each = () if calls is None else asked_from_json(calls)
    told = tuple(f"{call.tool} {call.detail.partition(chr(10))[0]}".rstrip() for call in each)
    return Asked(title.partition("\n")[0], told, tool or "", *rest)


def gate_views_of(rows: Sequence[Row]) -> tuple[GateView, ...]:
    """Return gates from the columns `GATE_VIEW`: one row per vote, the rows of a gate in sequence."""
    return tuple(_gate_view_of(list(group)) for _, group in groupby(rows, key=lambda row: row[0]))


def _gate_view_of(rows: Sequence[Row]) -> GateView:
    thread_at, votes_at = _GATE_COLUMNS, _GATE_COLUMNS + THREAD_COLUMNS
    cast = (row[votes_at : votes_at + 5] for row in rows if row[votes_at] is not None)
    votes = tuple(
        Vote(user_id, name, answer_from_text(answer), at, Role(role))
        for user_id, name, answer, at, role in cast
    )
    return GateView(gate_of(rows[0]), votes, thread_of(rows[0][thread_at:votes_at]))
