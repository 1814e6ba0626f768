"""Rows of prompts as values. Each list of columns stands beside the function that reads it."""

from collections.abc import Sequence
from itertools import groupby

from core.prompts import Offer, Option, Options, Prompt, PromptKind, PromptState, Replies, Vote, VoteRule
from core.store.asked_codec import asked_from_json
from core.store.codec import answer_from_text, strings_from_json
from core.store.rows import PromptView
from core.store.sqlite.mapping import ACTIVE_TURN, THREAD, thread_of
from core.store.sqlite.transaction import Row
from core.users import Role

PROMPT = (
    "p.id, p.kind, p.thread_id, p.turn_id, p.call_id, p.requester_id, p.title, p.detail, p.options,"
    " p.approvers, p.quorum, p.not_requester, p.binding, p.created_at, p.expires_at, p.tool, p.pattern,"
    " p.state, p.outcome, p.outcome_text, p.labels, p.free_text, p.escalate_to, p.escalated, p.remind_at,"
    " p.escalate_at, p.calls, p.secret, p.first_choice, p.changed_at"
)
_PROMPT_COLUMNS, _THREAD_COLUMNS = 30, 11


def prompt_of(row: Row) -> Prompt:
    """From the columns `PROMPT`."""
    return Prompt(
        id=row[0],
        kind=PromptKind(row[1]),
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
        state=PromptState(row[17]),
        outcome=None if row[18] is None else answer_from_text(row[18]),
        outcome_text=row[19],
        remind_at=row[24],
        escalate_at=row[25],
        calls=() if row[26] is None else asked_from_json(row[26]),
        first_choice=row[28],
        changed_at=row[29],
    )


def _offer_of(options: str, labels: str | None, secret: str | None, *, free_text: bool) -> Offer:
    if labels is None:
        return Options(tuple(Option(option) for option in options.split()))
    return Replies(strings_from_json(labels), free_text, secret)


PROMPT_VIEW = f"{PROMPT}, {THREAD}, v.user_id, v.name, v.option, v.at, vu.role"
PROMPT_VIEW_FROM = (
    f"prompts p JOIN threads t ON t.id = p.thread_id {ACTIVE_TURN} LEFT JOIN votes v ON v.prompt_id = p.id"
    " LEFT JOIN users vu ON vu.id = v.user_id"
)


def prompt_views_of(rows: Sequence[Row]) -> tuple[PromptView, ...]:
    """From the columns `PROMPT_VIEW`, one row for each vote, the rows of a prompt side by side."""
    return tuple(_prompt_view_of(list(group)) for _, group in groupby(rows, key=lambda row: row[0]))


def _prompt_view_of(rows: Sequence[Row]) -> PromptView:
    thread_at, votes_at = _PROMPT_COLUMNS, _PROMPT_COLUMNS + _THREAD_COLUMNS
    cast = (row[votes_at : votes_at + 5] for row in rows if row[votes_at] is not None)
    votes = tuple(
        Vote(user_id, name, answer_from_text(answer), at, Role(role))
        for user_id, name, answer, at, role in cast
    )
    return PromptView(prompt_of(rows[0]), votes, thread_of(rows[0][thread_at:votes_at]))
