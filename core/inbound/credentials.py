"""Removal of credentials from messages before anything of the message is stored.

If the owner wrote the credential, it is sealed in the vault in the transaction that accepts the
message. Other people have no vault, so their credentials are not stored at all.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from core import texts
from core.clock import SECOND_US
from core.consent import card_texts
from core.consent.cards import settled_card
from core.consent.presses import expired, may_decide
from core.errors import HubError
from core.gates import Answer, Gate, GateKind, GateState, Option, Replies, Wrote
from core.ids import Ids, code_name, server_in
from core.inbound.submission import (
    ApprovePairing,
    BareAnswer,
    Stop,
    Submission,
    UnknownCommand,
    UserInput,
    command_name,
)
from core.lazy import dataclass
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, plain
from core.off_loop import off_loop
from core.safety.leaks import Leak, LeakDetector, replaced
from core.store.accept import ASKED_FOR, AcceptView, Admission, AskedCredentials, Judge, Verdict
from core.store.effects import (
    CloseGate,
    Effect,
    ForgetCredentials,
    Say,
    SetSecrets,
    TakeAwayMessage,
    TakeCode,
)
from core.store.facets import SealedSecret
from core.store.rows import GateView
from core.users import Identity, Role

# The hub's messages about credentials that it requested.

IN_DOUBT = (
    "I was about to ask you for a credential and can't tell whether this was it, so I did not store your "
    "message. Please send it again."
)
ELSEWHERE = (
    "I am waiting for a credential and can't tell whether this was it: you replied to another message "
    "or edited an earlier one. I did not store it. Send the credential as a new message, or press "
    "Cancel on the card that asks for it."
)
WHICH = (
    "I am waiting for more than one credential and can't tell which one this was, so I did not store your "
    "message. Reply to the card that asks for it, or send it in that conversation."
)
IN_PRIVATE = (
    "I am waiting for a credential in our private conversation. In case this was it, I did not store your "
    "message. Answer or cancel there, then send this again."
)
NO_LONGER_WAITED_FOR = (
    "I asked you for a credential earlier and am no longer waiting for it. In case this was it, I did not "
    "store your message. If I was meant to read it, send it again."
)
UNUSABLE = "I can't store that as a credential. Send it as text of at most 8 kB."
TOO_LATE = (
    "I asked you for a credential, and this message came too late. I did not store it. If it was meant for "
    "something else, please send it again."
)
CODE_TOO_LATE = (
    "I asked you for a code, and this message came too late. I did not store it. Press “I have a code” on "
    "the card, then send it again."
)
NOT_KEPT = "The vault could not store it, so I discarded it. The operator can find the reason in the log."
DELETE_YOUR_MESSAGE = "I don't have permission to delete your message here. Please delete it."


def still_waited_for(name: str) -> str:
    """Return the text sent after a command while a request is open."""
    return (
        f"I am still waiting for {_in_words(name)}: your next message goes into the vault. "
        "To stop this, press Cancel on its card."
    )


def ended(name: str) -> str:
    """Return the text sent when a person stops the turn that asked."""
    return f"I am no longer waiting for {_in_words(name)}. Do not send it."


def kept(name: str) -> str:
    """Return the confirmation for the sender and for the card."""
    server = server_in(name)
    return f"Stored in the vault as {name}." if server is None else card_texts.signed_in(server)


def in_its_place(name: str) -> str:
    """Return the text that replaces the credential in the journal and for the model."""
    return f"[stored in the vault as {name}]"


def _in_words(name: str) -> str:
    server = server_in(name)
    return f"the credential “{name}”" if server is None else f"what signs you in to {server}"


# Requested credentials: the person's next message goes into the vault, and nowhere else.
#
# The message is judged as written, inside the transaction that accepts it. The request applies to a
# person on a channel, in any of their conversations. It ends with the credential, with Cancel on
# the card, or with a withheld text that is answered by saying that the request is over. Commands
# stay commands, but only their name is stored. Any other text is taken as the credential, or
# withheld if in doubt: a message that must be written again is better than a password in the
# journal.

WAITS_US = 300 * SECOND_US
"""The longest time after the question in which a text is taken as the credential."""
VALUE_LIMIT_BYTES = 8 * 1024
"""The limit on one value, the same as the vault's."""

Seal = Callable[[str, str], SealedSecret]
"""Seals a value under a name. It may take as long as writing a file, and raises HubError on failure."""

logger = logging.getLogger(__name__)


class CredentialCapture:
    """A judge of events that may contain a requested credential.

    `written`: the original event, if something has been removed from it since."""

    def __init__(self, seal: Seal | None, written: InboundMessage | ChoiceAnswer | None = None) -> None:
        self._seal = seal
        self._written = written

    def message(self, event: InboundMessage, submission: Submission, view: AcceptView) -> Verdict | None:
        """Return the verdict on a message, or None if it does not concern a requested credential."""
        asked = view.asked
        if asked is None or _is_command(submission):
            return None
        if asked.joins_withheld:
            return _withheld("part of the same message", UNUSABLE)
        requests = tuple(one for one in asked.requests if not _was_before(event, one, asked))
        if asked.replied is not None and _takes_code(asked.replied.gate) and asked.replied not in requests:
            requests = (*requests, asked.replied)
        if not requests and asked.replied is None:
            return None  # certainly written before the question was shown
        waiting = tuple(one for one in requests if one.gate.state is GateState.OPEN)
        replied = asked.replied
        if not waiting or (replied is not None and replied not in waiting):
            verdict = _withheld("no longer expected", NO_LONGER_WAITED_FOR)
        else:
            verdict = self._answered(event, view, waiting, asked)
        over = ForgetCredentials(tuple(one.gate.id for one in requests if one not in waiting))
        return replace(verdict, effects=(over, *verdict.effects))

    def _answered(
        self,
        event: InboundMessage,
        view: AcceptView,
        waiting: tuple[GateView, ...],
        asked: AskedCredentials,
    ) -> Verdict:
        """Judge a text that follows an open request."""
        on = asked.replied or _in_thread(waiting, view) or (waiting[0] if len(waiting) == 1 else None)
        if event.edits is not None or (asked.replied is None and view.replied is not None):
            return _withheld("in doubt", ELSEWHERE)
        if not event.direct:
            return _withheld("not in private", IN_PRIVATE)
        if on is None:
            return _withheld("in doubt", WHICH)
        written = self._written if isinstance(self._written, InboundMessage) else event
        if not _is_late(on.gate, written.sent_at, view) and _in_doubt(event, on, asked):
            return _withheld("in doubt", IN_DOUBT)
        return self._given(on.gate, written.text, written.sent_at, view)

    def beside(
        self, verdict: Verdict, event: InboundMessage, submission: Submission, view: AcceptView
    ) -> Verdict:
        """Add to a command's verdict while a credential is awaited.

        Only the command's name is stored, and the person is informed of how their next text will be
        used."""
        name = command_name(event.text)
        if view.asked is None or verdict.withheld or name is None or not _is_command(submission):
            return verdict
        open_ = [one for one in view.asked.requests if one.gate.state is GateState.OPEN]
        lines = [_told_of(one, submission, view) for one in open_] if event.direct else []
        said = (Say(plain("\n".join(lines))),) if lines else ()
        return replace(verdict, kept_as=name, effects=(*verdict.effects, *said))

    def form(self, event: ChoiceAnswer, view: AcceptView) -> Verdict | None:
        """Return the verdict on text entered on the card, or None if it is no requested credential."""
        on = view.gate
        if on is None or _name_in(on.gate) is None or may_decide(on, view.principal) is not None:
            return None
        written = self._written if isinstance(self._written, ChoiceAnswer) else event
        verdict = self._given(on.gate, written.form or "", written.sent_at, view)
        said = [effect for effect in verdict.effects if isinstance(effect, Say)]
        words = "".join(block.text for effect in said for block in effect.message.blocks)
        kept = tuple(e for e in verdict.effects if not isinstance(e, Say | TakeAwayMessage))
        closed = any(isinstance(effect, SetSecrets | TakeCode) for effect in kept)
        outcome = f"answer: {on.gate.id}" if closed else verdict.outcome
        return replace(verdict, outcome=outcome, effects=kept, answer=words or None)

    def _given(self, gate: Gate, text: str, sent_at: int, view: AcceptView) -> Verdict:
        value, name = text.strip(), _name_in(gate) or ""
        late = _is_late(gate, sent_at, view)
        if _takes_code(gate):
            return self._code(gate, value, late=late)
        if late:
            closes = _close(gate, Option.SKIP, card_texts.EXPIRED_QUESTION)
            return _withheld("too late", TOO_LATE, closes)
        if not value or len(value.encode(errors="replace")) > VALUE_LIMIT_BYTES:
            return _withheld("unusable", UNUSABLE)
        may = view.principal.role is Role.OWNER or gate.kind is GateKind.AUTH
        sealed = self._sealed(name, value) if may else None
        if sealed is None:
            return _withheld("not stored", NOT_KEPT)
        told = kept(name)
        closes = _close(gate, Wrote(in_its_place(name)), told)
        return _withheld(f"stored for {gate.id}", told, SetSecrets((sealed,)), closes)

    def _code(self, gate: Gate, value: str, *, late: bool) -> Verdict:
        """Take the answer to a sign-in, which is not judged here: that takes a request."""
        if late:
            return _withheld("too late", CODE_TOO_LATE, ForgetCredentials((gate.id,)))
        sealed = self._sealed(code_name(gate.id), value) if 0 < len(value) <= VALUE_LIMIT_BYTES else None
        if sealed is None:
            return _withheld("unusable", UNUSABLE)
        return _withheld(f"code for {gate.id}", card_texts.SIGNING_IN, TakeCode(gate.id, sealed))

    def _sealed(self, name: str, value: str) -> SealedSecret | None:
        if self._seal is None:
            return None
        try:
            return self._seal(name, value)
        except HubError as error:
            logger.warning("vault.store_failed source=request error=%s", error)
            return None


def _is_command(submission: Submission) -> bool:
    if isinstance(submission, BareAnswer | ApprovePairing):
        return submission.command
    return not isinstance(submission, UserInput | UnknownCommand)


def _was_before(event: InboundMessage, request: GateView, asked: AskedCredentials) -> bool:
    """Return whether the text was certainly written before the request was shown.

    It must come earlier in the same conversation by the platform's order and by its clock. For other
    conversations and for edits this cannot be determined."""
    if event.address != request.thread.address or event.reply_to is not None or event.edits is not None:
        return False
    shown = [card.order_key for card in asked.cards if card.gate_id == request.gate.id]
    return bool(shown) and event.order_key <= min(shown) and event.sent_at <= request.gate.created_at


def _in_doubt(event: InboundMessage, request: GateView, asked: AskedCredentials) -> bool:
    """Return whether the text may have been written before its author saw the request."""
    shown = [card.order_key for card in asked.cards if card.gate_id == request.gate.id]
    if event.address != request.thread.address:
        return not shown or event.sent_at < request.gate.created_at
    return not shown or (event.order_key <= max(shown) and event.reply_to is None)


def _in_thread(waiting: tuple[GateView, ...], view: AcceptView) -> GateView | None:
    here = None if view.thread is None else view.thread.id
    return next((one for one in waiting if one.gate.thread_id == here), None)


def _is_late(gate: Gate, sent_at: int, view: AcceptView) -> bool:
    asked_at = gate.created_at if gate.link is None else gate.changed_at or sent_at
    return sent_at - asked_at > WAITS_US or expired(gate, view.now)


def _takes_code(gate: Gate) -> bool:
    """Return whether what a person sends is a code of a sign-in, and not the credential itself."""
    return gate.state is GateState.OPEN and gate.link is not None


def _told_of(request: GateView, submission: Submission, view: AcceptView) -> str:
    name = _name_in(request.gate) or ""
    here = view.thread is not None and view.thread.id == request.gate.thread_id
    ends = here and isinstance(submission, Stop)
    return ended(name) if ends else still_waited_for(name)


def _name_in(gate: Gate) -> str | None:
    """Return the secret name for which an open gate requests a credential, or None if it requests none."""
    open_ = gate.state is GateState.OPEN
    return gate.offer.secret if open_ and isinstance(gate.offer, Replies) else None


def _close(gate: Gate, outcome: Answer, text: str) -> CloseGate:
    return CloseGate(gate.id, outcome, text, settled_card(gate, text))


def _withheld(what: str, told: str, *effects: Effect) -> Verdict:
    """Return a verdict that stores nothing of the message and removes it where the platform allows that."""
    away = TakeAwayMessage(DELETE_YOUR_MESSAGE)
    return Verdict(f"{ASKED_FOR}{what}", (*effects, Say(plain(told)), away), withheld=True)


MAX_KEPT = 5
"""The limit for one message. More credentials than this are no accident."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An event without its credentials, and the sealed credentials. `written`: the original event."""

    event: InboundEvent
    written: InboundMessage | ChoiceAnswer
    sealed: tuple[SealedSecret, ...] = ()


class InboundCredentials:
    """A remover of credentials from people's events."""

    def __init__(self, leaks: LeakDetector, seal: Seal | None, ids: Ids) -> None:
        self._leaks = leaks
        self._seal = seal
        self._capture = CredentialCapture(seal)
        self._ids = ids

    def capture(self, taken: Taken | None) -> CredentialCapture:
        """Return the judge of requested credentials for this event."""
        return self._capture if taken is None else CredentialCapture(self._seal, taken.written)

    async def take_out(self, event: InboundEvent) -> Taken | None:
        """Return the event as it may be stored, or None if there is nothing to remove, as is nearly always
        the case."""
        match event:
            case InboundMessage(text=text):
                leaks = await off_loop(len(text), lambda: self._leaks.find(text))
                if not leaks:
                    return None
                clean = replace(event, text=replaced(text, leaks, _mark))
                sealed = await self._sealed(text, leaks) if event.edits is None else ()
                return Taken(clean, event, sealed)
            case ChoiceAnswer(form=str() as form):
                leaks = await off_loop(len(form), lambda: self._leaks.find(form))
                clean = replace(event, form=replaced(form, leaks, _mark))
                return Taken(clean, event) if leaks else None
            case _:
                return None

    async def _sealed(self, text: str, leaks: Sequence[Leak]) -> tuple[SealedSecret, ...]:
        seal = self._seal
        if seal is None:
            return ()
        named = [
            (f"{leak.kind}-{self._ids.code().lower()}", text[leak.start : leak.end])
            for leak in leaks[:MAX_KEPT]
            if leak.kind != "known"  # it is the hub's own and stays where the configuration has it
        ]
        try:
            return await asyncio.to_thread(lambda: tuple(seal(name, value) for name, value in named))
        except HubError as error:
            logger.warning("vault.store_failed source=message error=%s", error)
            return ()


class CredentialJudge:
    """A wrapper of `judge` for events from which credentials were removed.

    The owner's credentials are stored, and the sender is notified."""

    def __init__(self, judge: Judge, taken: Taken) -> None:
        self._judge = judge
        self._taken = taken

    @property
    def gate_id(self) -> str | None:
        return self._judge.gate_id

    @property
    def routine_ids(self) -> Sequence[str]:
        return self._judge.routine_ids

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        return self._judge.admit(event, identity)

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        verdict = self._judge.decide(event, view)
        if verdict.withheld:
            return verdict  # it was requested, and stored as such
        kept = self._taken.sealed if view.principal.role is Role.OWNER else ()
        told = Say(plain(texts.credential_taken([secret.name for secret in kept])))
        keep = (SetSecrets(kept),) if kept else ()
        return replace(verdict, effects=(*verdict.effects, *keep, told))


def _mark(leak: Leak) -> str:
    return f"[{leak.kind} removed]"
