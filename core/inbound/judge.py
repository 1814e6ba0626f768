"""Judges inbound events by the rules, inside the transaction that accepts the event.

Control (stop, answers, status, new) takes effect immediately and never waits behind a turn.
Everything else becomes input of its thread.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from core import texts
from core.consent import card_texts
from core.consent.presses import Decisions, may_decide
from core.gates import Answer, Chose, Gate, GateKind, Option, Replies, Wrote
from core.inbound import checkpoint_commands, thread_commands
from core.inbound.commands import (
    Command,
    approve_pairing,
    claimed,
    command,
    interrupt,
    invite,
    link,
    pause,
    runs,
    stop,
    timezone,
)
from core.inbound.credentials import CredentialCapture
from core.inbound.rules import Adopt, Create, Existing, InboundRules, Succeed
from core.inbound.submission import (
    AboutJob,
    AnswerGate,
    Approvals,
    ApprovePairing,
    BareAnswer,
    Branch,
    Delete,
    Extensions,
    Grants,
    Invite,
    Link,
    Pause,
    Rewinding,
    Search,
    Status,
    Stop,
    Submission,
    Threading,
    Threads,
    ThreadSetting,
    Timezone,
    UserInput,
    UseThread,
    code_of,
    submission_of,
)
from core.lazy import LazyModule, dataclass
from core.messages import (
    ChoiceAnswer,
    EditForm,
    InboundEvent,
    InboundMessage,
    Moved,
    Unreadable,
    WhileBusy,
    plain,
)
from core.people.pairing import TOO_MANY_MESSAGES, StrangerRules
from core.store.accept import AcceptView, Admission, Admitted, Stranger, TurnedAway, Verdict, refused
from core.store.accounts import RATE_WINDOW_US
from core.store.conversations import parse_search
from core.store.effects import (
    EditedCall,
    EditRefused,
    Effect,
    QueueInput,
    RebindThread,
    Say,
    SayAtTimes,
    SettleMenu,
)
from core.store.rows import GateView
from core.users import Identity

if TYPE_CHECKING:
    from core.inbound import extension_commands, routines_and_jobs
    from core.routine import Match
else:
    routines_and_jobs = LazyModule("core.inbound.routines_and_jobs")
    extension_commands = LazyModule("core.inbound.extension_commands")


# Texts that answer a gate: the conditions for an answer, and its content.
#
# A text is judged once, inside the transaction that accepts it. It answers only the one gate that
# is open in its thread, only if its author may decide that gate, and only if it was written after
# the card or replies to it. Otherwise it permanently counts as ordinary text.

_WORDS = frozenset({Option.APPROVE, Option.DENY, Option.ALWAYS})
_ANSWERED = frozenset({GateKind.QUESTION, GateKind.AUTH})


@dataclass(frozen=True, slots=True)
class Replied:
    """A question and the answer that a text gives to it."""

    on: GateView
    answer: Answer


def decided_by_word(event: InboundMessage, word: BareAnswer, view: AcceptView) -> GateView | None:
    """Return the gate that `yes`, `no` or `always` decides.

    A word never approves a request that changed after it was written."""
    on = _asked_before(event, view)
    if word.option not in _WORDS or on is None or not on.gate.takes(Option.APPROVE):
        return None
    return on if word.option is Option.DENY or on.gate.was_asked_at(event.sent_at) else None


def replied_by_text(event: InboundMessage, view: AcceptView) -> Replied | None:
    """Return the question that a text answers, if it accepts free text. A message with files is no
    answer."""
    if event.attachments or not event.text.strip():
        return None
    on = _asked_before(event, view)
    if on is None or not on.gate.takes(Wrote(event.text)):
        return None
    return Replied(on, reply_in_words(on.gate, event.text))


def reply_in_words(gate: Gate, text: str) -> Chose | Wrote:
    """Return the question's own answer if the text matches it, else the text itself."""
    said = text.strip()
    labels = gate.offer.labels if isinstance(gate.offer, Replies) else ()
    for index, label in enumerate(labels):
        if label.casefold() == said.casefold():
            return Chose(index, label)
    return Wrote(said)


def notice_while_asked(view: AcceptView) -> tuple[Effect, ...]:
    """Return one notice for the first text that queues up behind an open gate."""
    if view.waiting or not view.open_gates:
        return ()
    gate = view.open_gates[0].gate
    if gate.kind in _ANSWERED:
        return (Say(plain(card_texts.waits_for_answer(gate.title))),)
    by_word = gate.id if gate.takes(Option.APPROVE) else None
    return (Say(plain(card_texts.waits_for_decision(gate.title, by_word))),)


def why_undecided(view: AcceptView) -> str:
    """Return the reply to an `/approve` or `/deny` that decided nothing."""
    waiting = [on.gate for on in view.open_gates]
    if not waiting:
        return card_texts.NOTHING_WAITS
    if any(gate.kind in _ANSWERED for gate in waiting):
        return card_texts.ANSWER_THE_QUESTION
    if any(gate.takes(Option.APPROVE) for gate in waiting):
        return card_texts.SAY_WHICH
    return card_texts.PRESS_A_BUTTON


def _asked_before(event: InboundMessage, view: AcceptView) -> GateView | None:
    """Return the gate whose card the event replies to, else the only one open here.

    The writer must be allowed to decide it. Without a reply, its card must have been shown before the
    event."""
    if view.replied is not None:
        return view.replied if may_decide(view.replied, view.principal) is None else None
    if len(view.open_gates) != 1:
        return None
    on = view.open_gates[0]
    if may_decide(on, view.principal) is not None:
        return None
    for card in view.cards:
        if card.gate_id != on.gate.id:
            continue
        if event.order_key > card.order_key or (event.reply_to is not None and event.reply_to in card.refs):
            return on
    return None


ALBUM_WAIT_US = 700_000
"""The wait for more parts of an album. Platforms deliver parts separately, at most a few hundred
milliseconds apart."""
EDITED_UNKNOWN = "ignored: an edit of a message that never arrived"


class EventJudge:
    """A judge of one event; see store.accept.Judge. It is pure except for the ids and time given to it."""

    def __init__(
        self,
        rules: InboundRules,
        event: InboundEvent,
        now: int,
        edit: EditedCall | EditRefused | EditForm | None = None,
        matches: "Sequence[Match]" = (),
        capture: CredentialCapture | None = None,
    ) -> None:
        self._rules = rules
        self._capture = capture or CredentialCapture(None)
        self._matches = matches
        self._now = now
        self._event = event
        self._decisions = Decisions(rules.ids, now, edit)
        self._submission = submission_of(event)

    @property
    def gate_id(self) -> str | None:
        """The id of the gate that is pressed, or named by a command such as `/approve ID`."""
        if isinstance(self._event, ChoiceAnswer):
            return self._event.gate_id
        return self._submission.gate_id if isinstance(self._submission, AnswerGate) else None

    @property
    def routine_ids(self) -> Sequence[str]:
        """The ids of matching routines. Only input fires routines, not commands or answers."""
        if not self._matches or not isinstance(self._submission, UserInput):
            return ()
        return tuple(match.routine_id for match in self._matches)

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        """Identify the sender and decide whether they may speak."""
        if isinstance(event, Unreadable | Moved):
            return TurnedAway("failed: unreadable")  # no one speaks
        rules, code = self._rules, code_of(event, self._submission)
        admission = rules.access.admit(event, identity, rules.ids, redeems=code is not None)
        if admission is None:
            strangers = StrangerRules(rules.access, rules.ids, event, code)
            return Stranger(strangers.meet, redeems=code is not None)
        if not isinstance(admission, Admitted):
            return admission
        queued = isinstance(event, InboundMessage) and self._interrupts(event)
        return self._wanting(replace(admission, wants_queue=True) if queued else admission, event)

    def _wanting(self, admitted: Admitted, event: InboundEvent) -> Admitted:
        """Say what of the state the event is judged on."""
        match self._submission:
            case ApprovePairing() as claim:
                return replace(admitted, claims=claimed(claim, admitted.principal, self._rules.access))
            case Search(wanted):
                return replace(admitted, search=parse_search(wanted))
            case Approvals() | Grants() | Status() | ThreadSetting() | Timezone():
                return replace(admitted, wants_status=True)
            case Branch(number):
                return replace(admitted, wants_turn=number or 0)
            case Threads():
                return replace(admitted, wants_threads="")
            case UseThread(wanted):
                return replace(admitted, wants_threads=wanted)
            case Delete():
                return replace(admitted, wants_deletion=True)
            case _ if isinstance(self._submission, Rewinding) or getattr(event, "instead_of", None):
                return replace(admitted, wants_turn=0)
            case _:
                return admitted

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        """Decide on an admitted event."""
        match event:
            case ChoiceAnswer():
                return self._press(event, view)
            case InboundMessage():
                return self._message(event, view)
            case Unreadable() | Moved():
                return Verdict("failed: unreadable")
            case _:
                assert_never(event)

    def _message(self, event: InboundMessage, view: AcceptView) -> Verdict:
        """Judge a message, checking first whether it may be a requested credential."""
        if event.menu_id is not None:
            return self._spoken(event, event.menu_id, view)
        if view.asked is None:
            return self._ordinary(event, view)
        confided = self._capture.message(event, self._submission, view)
        if confided is not None:
            return confided
        return self._capture.beside(self._ordinary(event, view), event, self._submission, view)

    def _spoken(self, event: InboundMessage, menu_id: str, view: AcceptView) -> Verdict:
        """Judge the words of a pressed choice, which are said once and are never a credential."""
        if self._over_limit(view):
            return Verdict(TOO_MANY_MESSAGES, answer=texts.TOO_MANY_PRESSES, counts=False, noise=True)
        if view.menu_answer is not None:
            return Verdict("ignored: said before", answer=view.menu_answer, plain=True)
        verdict = self._text(event, self._submission, view)
        if verdict.outcome.startswith("refused"):
            return verdict
        said = texts.spoken(event.sender.name, event.text)
        settle = SettleMenu(menu_id, said)
        return replace(verdict, effects=(*verdict.effects, settle), answer=said, plain=True)

    def _ordinary(self, event: InboundMessage, view: AcceptView) -> Verdict:
        if event.edits is not None:
            return Verdict(EDITED_UNKNOWN)
        if event.not_understood is not None:
            word = texts.NOT_UNDERSTOOD.format(kind=event.not_understood)
            return self._too_fast(event, view) or refused(f"not understood: {event.not_understood}", word)
        return self._too_fast(event, view) or self._text(event, self._submission, view)

    def _press(self, event: ChoiceAnswer, view: AcceptView) -> Verdict:
        if self._over_limit(view):
            return Verdict(TOO_MANY_MESSAGES, answer=texts.TOO_MANY_PRESSES, counts=False, noise=True)
        if event.form is not None and (confided := self._capture.form(event, view)) is not None:
            return confided
        if view.job is not None:
            rules = self._rules
            return routines_and_jobs.job_pressed(
                event, view.job, rules.jobs, view.principal, rules.ids, self._now
            )
        if view.list_menu is not None:
            return thread_commands.pressed_in_list(event, view.list_menu, view)
        if view.menu is None:
            return self._decisions.press(event, view)
        return routines_and_jobs.pressed(event, view.menu, view.principal, self._rules.ids, self._now)

    def _text(self, event: InboundMessage, submission: Submission, view: AcceptView) -> Verdict:
        match submission:
            case UserInput() | BareAnswer(command=False) if view.job is not None:
                return routines_and_jobs.replied(event, view.job, self._rules.jobs, view.principal)
            case UserInput():
                return self._input(event, view)
            case BareAnswer():
                return self._bare_answer(event, submission, view)
            case AnswerGate(_, option):
                return self._decisions.named(view, option, event.sent_at)
            case Stop():
                return stop(view)
            case ApprovePairing(command=False) if view.claims is None:
                return self._input(event, view)
            case ApprovePairing():
                return approve_pairing(submission, view, self._rules.access, self._rules.ids)
            case Link(code):
                return link(event, code, view, self._rules.ids, self._now)
            case Pause(paused):
                return pause(view, paused=paused)
            case _:
                return self._command(event, submission, view)

    def _command(
        self,
        event: InboundMessage,
        submission: Command | Rewinding | Threading | Timezone | AboutJob | Extensions | Invite,
        view: AcceptView,
    ) -> Verdict:
        rules = self._rules
        if isinstance(submission, Timezone):
            return timezone(submission.wanted, view, rules.timezone)
        if isinstance(submission, Extensions):
            return extension_commands.extensions(submission.rest, view.principal, rules.servers)
        if isinstance(submission, AboutJob):
            name, rest = submission.name, submission.rest
            return routines_and_jobs.command(name, rest, event.key, rules.jobs, view.principal)
        if isinstance(submission, Threading):
            return thread_commands.choose(submission, view, rules.ids, event.scope, direct=event.direct)
        if isinstance(submission, Invite):
            return invite(event, submission.name, view, rules.console, rules.ids, self._now)
        if isinstance(submission, Rewinding):
            return checkpoint_commands.rewind(submission, view, rules.ids)
        policy, ids = rules.effective_policy, rules.ids
        return command(submission, view, policy, ids, self._now, rules.models, rules.skills, rules.configured)

    def _input(self, event: InboundMessage, view: AcceptView) -> Verdict:
        about_gate = self._replied(event, view) if event.while_busy is None else None
        if about_gate is not None:
            return about_gate
        too_large = [file for file in event.attachments if file.out_of_reach]
        if too_large and len(too_large) == len(event.attachments) and not event.text.strip():
            return refused("file too large", texts.files_too_large(too_large))
        interruption = interrupt(event, view) if self._interrupts(event) else ()
        if view.waiting >= self._rules.max_waiting and not interruption:
            return refused("too many messages queued", texts.too_many_waiting(self._rules.max_waiting))
        fired: tuple[Effect, ...] = ()
        if view.routines:
            found = routines_and_jobs.fired_by(self._matches, view, event.direct, self._rules.ids, self._now)
            if found.consumed_by:
                return found.alone()
            fired = found.effects
        before: tuple[Effect, ...] = ()
        if event.instead_of is not None:
            undoing = checkpoint_commands.before_input(event.instead_of, view)
            if isinstance(undoing, Verdict):
                return undoing
            before = undoing
        said = (Say(plain(texts.files_too_large(too_large))),) if too_large else ()
        noticed = () if interruption else notice_while_asked(view)
        effects = (*before, *interruption, *self._queued(event, view), *said, *noticed, *fired)
        return Verdict("waiting", effects)

    def _queued(self, event: InboundMessage, view: AcceptView) -> tuple[Effect, ...]:
        turn_id = self._rules.ids.row_id()
        wait_us = ALBUM_WAIT_US if event.album is not None else 0
        steers = self._wish(event) is WhileBusy.STEER
        match self._rules.sessions.resolve(view):
            case Existing(thread):
                queue = QueueInput(thread.id, turn_id, wait_us=wait_us, steers=steers)
            case Adopt(thread_id):
                queue = QueueInput(thread_id, turn_id, adopt=True, wait_us=wait_us, steers=steers)
            case Create(thread_id):
                queue = QueueInput(thread_id, turn_id, wait_us=wait_us, steers=steers)
            case Succeed(thread_id):
                queue = QueueInput(thread_id, turn_id, wait_us=wait_us, steers=steers)
                return (RebindThread(thread_id), queue, Say(plain(checkpoint_commands.CLOSED_BEFORE)))
        return (queue,)

    def _wish(self, event: InboundMessage) -> WhileBusy:
        return event.while_busy or self._rules.while_busy

    def _interrupts(self, event: InboundMessage) -> bool:
        return isinstance(self._submission, UserInput) and self._wish(event) is WhileBusy.INTERRUPT

    def _replied(self, event: InboundMessage, view: AcceptView) -> Verdict | None:
        """Apply a text that edits a waiting call or answers a question. Returns None if it does neither."""
        if view.replied is not None:
            edited = self._decisions.replied(view.replied, view)
            if edited is not None:
                return edited
        replied = replied_by_text(event, view)
        if replied is None:
            return None
        return self._decisions.vote(replied.on, view, replied.answer, by_text=True)

    def _bare_answer(self, event: InboundMessage, answer: BareAnswer, view: AcceptView) -> Verdict:
        gate = decided_by_word(event, answer, view)
        if gate is not None:
            return self._decisions.vote(gate, view, answer.option, by_text=True)
        if answer.command:
            return refused("nothing to answer", why_undecided(view))
        return self._input(event, view)

    def _over_limit(self, view: AcceptView) -> bool:
        limit = self._rules.access.sender_per_minute
        return bool(limit) and view.recent >= limit

    def _too_fast(self, event: InboundMessage, view: AcceptView) -> Verdict | None:
        if not self._over_limit(view):
            return None
        if isinstance(self._submission, Stop) and runs(view):
            return None  # work that was started can always be stopped
        said: tuple[Effect, ...] = ()
        if event.direct:
            said = (SayAtTimes(plain(texts.TOO_MANY_MESSAGES), TOO_MANY_MESSAGES, RATE_WINDOW_US),)
        return Verdict(TOO_MANY_MESSAGES, said, counts=False)
