"""The commands that list conversations, people, approvals and events: read from the database itself, whether
a hub runs or not, and printed as tables or JSON."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from bot.cli.conventions import database_of, print_json, print_table, printable, printable_lines, when, whole
from bot.runtime import CommandFailed
from bot.views import (
    ApprovalView,
    ConversationView,
    EntryView,
    ThreadView,
    UserView,
    conversation,
)
from core.consent.cards import under_grant_line
from core.errors import StoreError
from core.lazy import LazyModule, dataclass
from core.store.accounts import NoiseRow
from core.store.conversations import parse_search
from core.store.feed import ThreadsWanted
from core.store.rows import AuditRow, Explanation
from core.store.sqlite.offline import audit_in, open_listings

if TYPE_CHECKING:
    from bot.operator import exports
    from core.store.feed import ThreadGlance
    from core.store.rows import GateView
    from core.store.sql.store import SqlViews
else:
    exports = LazyModule("bot.operator.exports")  # of no use to a list


T = TypeVar("T")


def asked(path: Path | None, question: Callable[["SqlViews"], Awaitable[T]]) -> T:
    """Return the store's answer to a question. Raises ConfigError, or CommandFailed without a
    database."""
    database = database_of(path)

    async def ask() -> T:
        async with open_listings(database) as reader:
            return await question(reader)

    try:
        return asyncio.run(ask())
    except StoreError as error:
        raise CommandFailed(f"hubbub: {database}: {error}") from error


# --- conversations --------------------------------------------------------------------------------------


def list_threads(path: Path | None, limit: int, *, archived: bool, as_json: bool) -> None:
    """Print the most recently active threads. `archived`: archived ones as well."""
    wanted = ThreadsWanted(limit, archived=archived)

    async def listed(reader: "SqlViews") -> "tuple[Sequence[ThreadGlance], Mapping[str, str]]":
        return await reader.feed.thread_glances(wanted), await _names(reader)

    threads, names = asked(path, listed)
    found = [ThreadView.of(glance) for glance in threads]
    if as_json:
        print_json(found)
    elif found:
        columns = ("active (UTC)", whole("thread"), "owner", "channel", "state", "turns", "tokens", "title")
        rows = (
            (
                when(t.last_active_at),
                t.id,
                names.get(t.owner_id, t.owner_id),
                t.channel,
                t.state,
                str(t.turns),
                str(t.tokens),
                _titled(t),
            )
            for t in found
        )
        print_table(columns, rows)
    else:
        typer.echo("There are no conversations yet.")


def _titled(thread: ThreadView) -> str:
    return f"{thread.title} [{', '.join(thread.tags)}]" if thread.tags else thread.title


async def _names(reader: "SqlViews") -> Mapping[str, str]:
    """Return names by user id."""
    return {person.user.user_id: person.user.name for person in await reader.people.people()}


def search_threads(path: Path | None, query: str, limit: int, *, as_json: bool) -> None:
    """Print the messages that a query finds, newest first."""
    wanted = replace(parse_search(query), limit=limit)
    found = asked(path, lambda reader: reader.threads.search(wanted))
    if as_json:
        print_json(found)
    elif found:
        columns = ("said (UTC)", whole("thread"), "owner", "channel", "by", "text")
        rows = ((when(at.at), at.thread_id, at.owner, at.channel, at.kind, at.shown) for at in found)
        print_table(columns, rows)
    else:
        typer.echo("Nothing found.")


def show_thread(path: Path | None, thread_id: str, limit: int, *, as_json: bool) -> None:
    """Print the newest entries of a thread."""
    wanted = row_id(thread_id)
    found = _known(thread_id, asked(path, lambda reader: conversation(reader, wanted, limit)))
    if as_json:
        print_json(found)
        return
    thread = found.thread
    typer.echo(printable(f"{thread.id} of {thread.owner_id} on {thread.channel}, {thread.state}"))
    about = [
        _titled(thread),
        f"{thread.turns} turns",
        f"{thread.tokens} tokens",
        f"begun {when(thread.created_at)}",
        f"last active {when(thread.last_active_at)} (UTC)",
        *(["archived"] if thread.archived else []),
        *(["the session's active conversation"] if thread.active else []),
    ]
    typer.echo(printable(", ".join(filter(None, about))))
    if found.earlier:
        newest = "entry" if len(found.entries) == 1 else f"{len(found.entries)} entries"
        typer.echo(f"(only the newest {newest}; use --limit for more)")
    for entry in filter(exports.says_something, found.entries):
        typer.echo(_spoken(entry))


def export_thread(path: Path | None, thread_id: str, *, as_json: bool) -> None:
    """Print a whole thread: exact as JSON; as Markdown without characters that could steer a terminal."""
    if as_json:
        print_json(_whole(path, thread_id))
    else:
        typer.echo(exported(path, thread_id), nl=False)


def exported(path: Path | None, thread_id: str) -> str:
    """Return a whole thread as Markdown. Raises CommandFailed."""
    return printable_lines(exports.thread_markdown(_whole(path, thread_id))) + "\n"


def _whole(path: Path | None, thread_id: str) -> ConversationView:
    wanted = row_id(thread_id)
    return _known(thread_id, asked(path, lambda reader: conversation(reader, wanted, exports.WHOLE_THREAD)))


def _known(thread_id: str, found: ConversationView | None) -> ConversationView:
    if found is None:
        raise CommandFailed(
            f"No thread has the ID {printable(thread_id)}; `hubbub threads list` shows the IDs."
        )
    return found


def _spoken(entry: EntryView) -> str:
    text = printable_lines(entry.text)
    if "\n" in text:
        text = "\n    " + text.replace("\n", "\n    ")
    return f"{when(entry.at)}  {printable(exports.speaker(entry))}: {text}"


def row_id(typed: str) -> str:
    """Return a row's id as stored. Ids are UUIDs; people may leave out the dashes."""
    try:
        return str(uuid.UUID(typed.strip()))
    except ValueError:
        return typed


# --- people and consent ---------------------------------------------------------------------------------


def list_users(path: Path | None, *, as_json: bool) -> None:
    """Print every user, including those without access."""
    found = [UserView.of(person) for person in asked(path, lambda reader: reader.people.people())]
    if as_json:
        print_json(found)
    elif found:
        print_table(
            (whole("user"), "name", "role", "time zone", "model", "thinking", "accounts"),
            (_person(user) for user in found),
        )
    else:
        typer.echo("There are no users yet.")


def _person(user: UserView) -> Sequence[str]:
    accounts = ", ".join(f"{a.channel}:{a.platform_user_id} ({a.via})" for a in user.accounts)
    settings = (value or "default" for value in (user.timezone, user.model, user.thinking))
    return user.id, user.name, user.role, *settings, accounts


def list_approvals(path: Path | None, *, as_json: bool) -> None:
    """List open gates."""

    async def waiting(reader: "SqlViews") -> "tuple[Sequence[GateView], Mapping[str, str]]":
        return await reader.gates.open_gates(), await _names(reader)

    gates, names = asked(path, waiting)
    found = [ApprovalView.of(view) for view in gates]
    if as_json:
        print_json(found)
    elif found:
        columns = ("requested (UTC)", whole("id"), "by", "request", "answers", "expires (UTC)")
        print_table(columns, (_waiting(approval, names) for approval in found))
    else:
        typer.echo("No open requests.")


def _waiting(approval: ApprovalView, names: Mapping[str, str]) -> Sequence[str]:
    # A question's answers are phrases, and any words may be one; the others are single words.
    words = ("(any text)",) if approval.free_text else ()
    answers = (" / " if approval.kind == "question" else " ").join((*approval.options, *words))
    if approval.quorum > 1:
        answers += f" ({len(approval.votes)} of {approval.quorum} approved)"
    return (
        when(approval.created_at),
        approval.id,
        names.get(approval.requester_id, approval.requester_id),
        approval.title,
        answers,
        when(approval.expires_at),
    )


# `hubbub why`: what became of every message, one by one or, of noise, counted.

SAID_CHARS = 40
"""The length at which a message's text is cut in the table."""


@dataclass(frozen=True, slots=True)
class Told:
    """Events, newest first, and those only counted, the latest first; `records`: audit records of the one
    event asked for."""

    events: Sequence[Explanation]
    noise: Sequence[NoiseRow] = ()
    records: Sequence[AuditRow] = ()


def why(path: Path | None, key: str | None, limit: int, *, as_json: bool) -> None:
    """Print the outcome of one event; of the newest ones with words of a text or sender; or of the newest
    ones, and of those only counted.

    JSON: an object of `events`, `noise` and `audit`, in both cases.
    """
    if key is not None and not key.strip():
        raise CommandFailed(
            "Pass an event's key, such as tg:12345:m:7:8, or words of its text; `hubbub why` lists the newest"
            " ones."
        )
    told = asked(path, lambda reader: _told(reader, key, limit))
    if any(event.key == key for event in told.events):
        told = replace(told, records=_recorded(path, told.events))
    if key is not None and not told.events:
        raise CommandFailed(
            f"No event has the key {key}, or contains these words; `hubbub why` lists the newest ones."
        )
    if as_json:
        page = {"events": [asdict(one) for one in told.events], "noise": [asdict(n) for n in told.noise]}
        print_json({**page, "audit": [_reference(row) for row in told.records]})
        return
    if not told.events and not told.noise:
        typer.echo("No events yet.")
    if told.events:
        columns = ("when (UTC)", whole("event"), "from", "text", "outcome", "turn", "answer")
        print_table(columns, map(_explained, told.events))
    if key is not None and (decisions := [row for event in told.events for row in _decisions(event)]):
        typer.echo("What was asked of whom, and what a grant let run:")
        print_table(("when (UTC)", "call", whole("decision")), decisions)
    if told.records:
        typer.echo("Audit records (`hubbub audit export` prints the full log):")
        print_table(("record", "time (UTC)", "event", "actor", whole("subject")), map(_record, told.records))
    if told.noise:
        typer.echo("Counted only:")
        columns = ("last (UTC)", whole("chat"), whole("from"), "reason", "count")
        print_table(columns, map(_counted, told.noise))


async def _told(reader: "SqlViews", key: str | None, limit: int) -> Told:
    if key is None:
        return Told(await reader.explanations.explain_recent(limit), await reader.explanations.noise(limit))
    explanation = await reader.explanations.explain(key)
    if explanation is not None:
        return Told([explanation])
    return Told(await reader.explanations.explain_matching(key.strip(), limit))


def _recorded(path: Path | None, events: Sequence[Explanation]) -> Sequence[AuditRow]:
    with audit_in(database_of(path)) as snapshot:
        turns = dict.fromkeys(event.turn_id for event in events if event.turn_id is not None)
        return [row for turn_id in turns for row in snapshot.of_turn(turn_id)]


def _reference(row: AuditRow) -> dict[str, Any]:
    return {"record": row.name, "at": row.at, "kind": row.kind, "actor": row.actor, "subject": row.subject}


def _record(row: AuditRow) -> Sequence[str]:
    detail = json.loads(row.detail)
    said = " ".join(str(detail[name]) for name in ("tool", "status", "outcome", "answer") if detail.get(name))
    return row.name, when(row.at), row.kind, row.actor or "the hub", f"{row.subject} {said}".rstrip()


def _explained(event: Explanation) -> Sequence[str]:
    turn = event.turn_state or ""
    if event.models.selected:
        chosen = f" ({event.models.chosen})" if event.models.chosen else ""
        turn = f"{turn} by {event.models.selected}{chosen}"
    if event.turn_error:
        turn = f"{turn}: {event.turn_error}"
    failed = [f"{one.model}: {one.error}" for one in event.models.failures]
    if failed and not event.turn_error:
        turn = f"{turn}, after {'; '.join(failed)}"
    sent = ", ".join(
        f"{delivery.state}{f' ({delivery.reason})' if delivery.reason else ''}"
        for delivery in event.deliveries
    )
    outcome = "; ".join((event.outcome, *(f"routine {one}" for one in event.resting)))
    said = event.text if len(event.text) <= SAID_CHARS else f"{event.text[:SAID_CHARS]}…"
    return when(event.received_at), event.key, event.sender, said, outcome, turn, sent


def _decisions(event: Explanation) -> Iterator[Sequence[str]]:
    for one in event.approvals:
        yield when(one.at), one.title, one.outcome or "waits for an answer"
    for ran in event.under_grants:
        yield when(ran.at), ran.tool, f"{under_grant_line(ran)}; given then by {ran.by}"


def _counted(row: NoiseRow) -> Sequence[str]:
    chat = f"{row.channel} {row.address}"
    return when(row.last_at), chat, row.platform_user_id, row.reason, str(row.seen)
