"""Strangers: refused with an occasional explanation, counted, given a pairing code, or linked to a
user."""

from core.audit_chain import AuditKind
from core.messages import ChoiceAnswer, InboundMessage, Sender
from core.store.accept import Accepted, AccountLinked, PairingOffered, Stranger, TurnedAway
from core.store.accounts import CODE_LIFE_US, RATE_WINDOW_US, StrangerView
from core.store.rows import Draft
from core.store.sql import audit, pairing, people
from core.store.sql.inbox import NewEvent, in_reply, record
from core.store.sql.outbox import Cause, enqueue
from core.store.units import Transaction
from core.users import Identity, Via

Person = InboundMessage | ChoiceAnswer
"""An event sent by a person."""


def meet(
    tx: Transaction, event: Person, known: Identity | None, stranger: Stranger, *, send_now: bool
) -> Accepted:
    """Carry out the decision on a stranger. `known`: the identity the account was once bound to."""
    met = stranger.meet(_view(tx, event, redeems=stranger.redeems))
    match met:
        case TurnedAway():
            return turn_away(tx, event, met, counted=True, send_now=send_now)
        case PairingOffered(outcome, request, answer):
            pairing.keep_request(tx, request)
            event_id = record(tx, NewEvent(event, outcome, counted=True))
            draft = Draft(event.channel, event.address, answer, tx.ids.row_id())
            rows = enqueue(tx, in_reply(event, (draft,)), Cause(event_id=event_id), send_now=send_now)
            return Accepted(outcome, None, duplicate=False, outbox=rows)
        case AccountLinked():
            return _join(tx, event, known, met, send_now=send_now)


def turn_away(
    tx: Transaction, event: Person, refusal: TurnedAway, *, counted: bool = False, send_now: bool
) -> Accepted:
    """Record a refusal, and explain it if it is time to."""
    if refusal.noise:
        count_noise(tx, event, refusal.outcome)
        return Accepted(refusal.outcome, refusal.word, duplicate=False)
    if refusal.wrong_code:
        pairing.note_wrong_code(tx, pairing.guesser_of(event.channel, event.sender))
    event_id = record(tx, NewEvent(event, refusal.outcome, refusal.word, counted=counted))
    rows = ()
    if refusal.answer is not None and may_tell(
        tx, event.channel, event.sender, refusal.outcome, refusal.again_after_us
    ):
        draft = Draft(event.channel, event.address, refusal.answer, tx.ids.row_id())
        rows = enqueue(tx, in_reply(event, (draft,)), Cause(event_id=event_id), send_now=send_now)
    return Accepted(refusal.outcome, refusal.word, duplicate=False, outbox=rows)


def may_tell(tx: Transaction, channel: str, sender: Sender, reason: str, again_after_us: int | None) -> bool:
    """Return True if it is time to explain the refusal to the sender, and record that as done."""
    now = tx.clock.now()
    told = _told_at(tx, channel, sender).get(reason)
    # A time in the future was written before the clock was set back.
    if told is not None and told <= now and (again_after_us is None or now - told < again_after_us):
        return False
    tx.run(
        "INSERT INTO refusals (channel, platform_user_id, outcome, answered_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (channel, platform_user_id, outcome) DO UPDATE SET answered_at = excluded.answered_at",
        channel,
        sender.platform_user_id,
        reason,
        now,
    )
    return True


def recent(tx: Transaction, event: Person) -> int:
    """Return how many events of the sender counted within RATE_WINDOW_US."""
    now = tx.clock.now()
    row = tx.one(
        "SELECT count(*) FROM inbox WHERE counted = 1 AND channel = ? AND platform_user_id = ?"
        " AND received_at > ? AND received_at <= ?",
        event.channel,
        event.sender.platform_user_id,
        now - RATE_WINDOW_US,
        now,
    )
    return 0 if row is None else row[0]


def _view(tx: Transaction, event: Person, *, redeems: bool) -> StrangerView:
    now = tx.clock.now()
    told_here = tx.one(
        "SELECT count(*) FROM refusals WHERE channel = ? AND answered_at > ? AND answered_at <= ?",
        event.channel,
        now - CODE_LIFE_US,
        now,
    )
    return StrangerView(
        now=now,
        recent=recent(tx, event),
        own=pairing.newest_request(tx, event.channel, event.sender.platform_user_id),
        open_here=pairing.open_requests(tx, event.channel),
        told_at=_told_at(tx, event.channel, event.sender),
        told_here=0 if told_here is None else told_here[0],
        offers=pairing.link_offers(tx) if redeems else (),
        wrong=pairing.wrong_codes(tx, pairing.guesser_of(event.channel, event.sender)),
    )


def _told_at(tx: Transaction, channel: str, sender: Sender) -> dict[str, int]:
    rows = tx.all(
        "SELECT outcome, answered_at FROM refusals WHERE channel = ? AND platform_user_id = ?",
        channel,
        sender.platform_user_id,
    )
    return {row[0]: row[1] for row in rows}


def _join(
    tx: Transaction, event: Person, known: Identity | None, join: AccountLinked, *, send_now: bool
) -> Accepted:
    offer = join.offer
    pairing.use_offer(tx, offer)
    pairing.withdraw_request(tx, event.channel, event.sender.platform_user_id)
    people.bind_identity(tx, event.channel, event.sender, known, offer.user, Via.LINKED, offer.root)
    account, user_id = f"{event.channel}:{event.sender.platform_user_id}", offer.user.user_id
    audit.record(tx, AuditKind.LINKED, account, actor=user_id, user=user_id)
    event_id = record(tx, NewEvent(event, join.outcome, user_id=offer.user.user_id))
    cause = Cause(event_id=event_id)
    answer = Draft(event.channel, event.address, join.answer, tx.ids.row_id())
    notice = Draft(offer.channel, offer.address, join.notice, tx.ids.row_id())
    rows = (
        *enqueue(tx, in_reply(event, (answer,)), cause, send_now=send_now),
        *enqueue(tx, (notice,), cause),
    )
    return Accepted(join.outcome, None, duplicate=False, outbox=rows)


def count_noise(tx: Transaction, event: Person, reason: str) -> None:
    """Count an event that is not stored."""
    now = tx.clock.now()
    tx.run(
        "INSERT INTO noise (channel, address, platform_user_id, reason, seen, first_at, last_at)"
        " VALUES (?, ?, ?, ?, 1, ?, ?) ON CONFLICT (channel, address, platform_user_id, reason)"
        " DO UPDATE SET seen = noise.seen + 1, last_at = excluded.last_at",
        event.channel,
        event.address,
        event.sender.platform_user_id,
        reason,
        now,
        now,
    )
