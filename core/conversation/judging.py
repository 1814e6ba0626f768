"""The rules an inbound event is judged by, inside the transaction that accepts it.

Control (stop, answers, status, new) takes effect right here and never waits behind a turn; everything
else becomes input of its thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from core import texts
from core.consent.laws import ConsentLaws
from core.conversation.access import Access
from core.conversation.answering import decided_by_word, notice_while_asked, replied_by_text, why_undecided
from core.conversation.commands import command, halt, runs, stop
from core.conversation.confiding import Confiding
from core.conversation.deciding import Decisions
from core.conversation.letting_in import claimed, code_of, let_in, link
from core.conversation.sessions import Adopt, Create, Existing, SessionManager
from core.conversation.strangers import TOO_MANY_MESSAGES, StrangerRules
from core.conversation.submission import (
    AnswerPrompt,
    Approvals,
    BareAnswer,
    Grants,
    Halt,
    LetPersonIn,
    Link,
    Status,
    Stop,
    Submission,
    UserInput,
    parse_submission,
)
from core.conversation.verdicts import refused
from core.ids import Ids
from core.messages import ChoiceAnswer, EditForm, InboundEvent, InboundMessage, Moved, Unreadable, plain
from core.store.accept import (
    AcceptView,
    Admission,
    Admitted,
    Stranger,
    TurnedAway,
    Verdict,
)
from core.store.effects import (
    EditedCall,
    EditRefused,
    Effect,
    QueueInput,
    Say,
    SayAtTimes,
)
from core.store.pairing import RATE_WINDOW_US
from core.users import Identity

if TYPE_CHECKING:
    from core.routine_run import Match

ALBUM_WAIT_US = 700_000
"""Platforms deliver the parts of an album one by one, a few hundred milliseconds apart at most."""
EDITED_UNKNOWN = "ignored: edited, and the message itself never came"


@dataclass(frozen=True, slots=True)
class HouseRules:
    """What every event is judged with. `max_waiting`: inputs that may wait in one thread; `laws`: what
    people's own settings may not go beyond."""

    access: Access
    sessions: SessionManager
    ids: Ids
    max_waiting: int
    laws: ConsentLaws


class EventJudge:
    """Judges one event; see store.accept.Judge. Pure but for the ids and the time it is given."""

    def __init__(
        self,
        rules: HouseRules,
        event: InboundEvent,
        now: int,
        edit: EditedCall | EditRefused | EditForm | None = None,
        matches: "Sequence[Match]" = (),
        confiding: Confiding | None = None,
    ) -> None:
        self._rules = rules
        self._confiding = confiding or Confiding(None)
        self._matches = matches
        self._now = now
        self._event = event
        self._decisions = Decisions(rules.ids, now, edit)
        self._submission = parse_submission(event.text if isinstance(event, InboundMessage) else "")

    @property
    def prompt_id(self) -> str | None:
        """The prompt that is pressed, or named by `/approve ID` and its like."""
        if isinstance(self._event, ChoiceAnswer):
            return self._event.prompt_id
        return self._submission.prompt_id if isinstance(self._submission, AnswerPrompt) else None

    @property
    def routine_ids(self) -> Sequence[str]:
        """Only what is input fires routines: no command, no answer."""
        if not self._matches or not isinstance(self._submission, UserInput):
            return ()
        return tuple(match.routine_id for match in self._matches)

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        """Who is speaking, and may they?"""
        if isinstance(event, Unreadable | Moved):
            return TurnedAway("failed: unreadable")  # nobody speaks
        rules, code = self._rules, code_of(event, self._submission)
        admission = rules.access.admit(event, identity, rules.ids, redeems=code is not None)
        if admission is None:
            strangers = StrangerRules(rules.access, rules.ids, event, code)
            return Stranger(strangers.meet, redeems=code is not None)
        submission = self._submission
        if isinstance(admission, Admitted) and isinstance(submission, LetPersonIn):
            return replace(admission, claims=claimed(submission, admission.principal, rules.access))
        if isinstance(admission, Admitted) and isinstance(submission, Approvals | Grants | Status):
            return replace(admission, surveys=True)
        return admission

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        """What follows from an admitted event."""
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
        """Judge what a person wrote: first of all, whether it may be a credential they were asked for."""
        if view.asked is None:
            return self._ordinary(event, view)
        confided = self._confiding.message(event, self._submission, view)
        if confided is not None:
            return confided
        return self._confiding.beside(self._ordinary(event, view), event, self._submission, view)

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
        if event.form is not None:
            confided = self._confiding.form(event, view)
            if confided is not None:
                return confided
        if view.menu is None:
            return self._decisions.press(event, view)
        from core.conversation.routine_rules import pressed  # most presses are on prompts

        return pressed(event, view.menu, view.principal, self._rules.ids, self._now)

    def _text(self, event: InboundMessage, submission: Submission, view: AcceptView) -> Verdict:
        match submission:
            case UserInput():
                return self._input(event, view)
            case BareAnswer():
                return self._bare_answer(event, submission, view)
            case AnswerPrompt(_, option):
                return self._decisions.named(view, option, event.sent_at)
            case Stop():
                return stop(view)
            case LetPersonIn(command=False) if view.claims is None:
                return self._input(event, view)
            case LetPersonIn():
                return let_in(submission, view, self._rules.access, self._rules.ids)
            case Link(code):
                return link(event, code, view, self._rules.ids, self._now)
            case Halt(halted):
                return halt(view, halted=halted)
            case _:
                return command(submission, view, self._rules.laws, self._rules.ids, self._now)

    def _input(self, event: InboundMessage, view: AcceptView) -> Verdict:
        about_prompt = self._replied(event, view)
        if about_prompt is not None:
            return about_prompt
        too_large = [file for file in event.attachments if file.out_of_reach]
        if too_large and len(too_large) == len(event.attachments) and not event.text.strip():
            return refused("file too large", texts.files_too_large(too_large))
        if view.waiting >= self._rules.max_waiting:
            return refused("too many messages waiting", texts.too_many_waiting(self._rules.max_waiting))
        fired: tuple[Effect, ...] = ()
        if view.routines:
            from core.conversation.routine_rules import fired_by  # most messages fire none

            found = fired_by(self._matches, view, event.direct, self._rules.ids, self._now)
            if found.consumed_by:
                return found.alone()
            fired = found.effects
        turn_id = self._rules.ids.row_id()
        wait_us = ALBUM_WAIT_US if event.album is not None else 0
        match self._rules.sessions.resolve(view):
            case Existing(thread):
                queue = QueueInput(thread.id, turn_id, wait_us=wait_us)
            case Adopt(thread_id):
                queue = QueueInput(thread_id, turn_id, adopt=True, wait_us=wait_us)
            case Create(thread_id):
                queue = QueueInput(thread_id, turn_id, wait_us=wait_us)
        said = (Say(plain(texts.files_too_large(too_large))),) if too_large else ()
        return Verdict("waiting", (queue, *said, *notice_while_asked(view), *fired))

    def _replied(self, event: InboundMessage, view: AcceptView) -> Verdict | None:
        """The text changes a waiting call, or answers a question; None if it does neither."""
        if view.replied is not None:
            edited = self._decisions.replied(view.replied, view)
            if edited is not None:
                return edited
        replied = replied_by_text(event, view)
        if replied is None:
            return None
        return self._decisions.vote(replied.on, view, replied.answer, by_text=True)

    def _bare_answer(self, event: InboundMessage, answer: BareAnswer, view: AcceptView) -> Verdict:
        prompt = decided_by_word(event, answer, view)
        if prompt is not None:
            return self._decisions.vote(prompt, view, answer.option, by_text=True)
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
            return None  # what was set going can always be stopped
        said: tuple[Effect, ...] = ()
        if event.direct:
            said = (SayAtTimes(plain(texts.TOO_MANY_MESSAGES), TOO_MANY_MESSAGES, RATE_WINDOW_US),)
        return Verdict(TOO_MANY_MESSAGES, said, counts=False)
