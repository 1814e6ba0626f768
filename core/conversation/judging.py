"""The rules an inbound event is judged by, inside the transaction that accepts it.

Control (stop, answers, status, new) takes effect right here and never waits behind a turn; everything
else becomes input of its thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from core import texts
from core.clock import SECOND_US
from core.consent.laws import ConsentLaws
from core.conversation.access import Access
from core.conversation.answering import decided_by_word, notice_while_asked, replied_by_text
from core.conversation.confiding import Confiding
from core.conversation.deciding import Decisions
from core.conversation.pairing import Claim, ClaimRules
from core.conversation.sessions import Adopt, Create, Existing, SessionManager
from core.conversation.standing_orders import approvals, grants, progress
from core.conversation.strangers import TOO_MANY_MESSAGES, StrangerRules
from core.conversation.submission import (
    AnswerPrompt,
    Approvals,
    BareAnswer,
    Grants,
    Halt,
    Help,
    LetPersonIn,
    Link,
    NewThread,
    Start,
    Status,
    Stop,
    Submission,
    UnknownCommand,
    UserInput,
    parse_submission,
)
from core.ids import Ids, is_code, normalise_code
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Moved, Unreadable, plain
from core.prompts import (
    PromptKind,
)
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
    EditForm,
    EditRefused,
    Effect,
    HaltTools,
    NoteWrongCode,
    OfferLink,
    QueueInput,
    RebindThread,
    Say,
    SayAtTimes,
    StopThread,
)
from core.store.pairing import CODE_LIFE_US, RATE_WINDOW_US, ClaimRefused, LetIn, TurnDown
from core.store.rows import TurnState
from core.users import Identity, Principal, Role

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
        self._confiding = confiding
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
        rules, code = self._rules, self._code(event)
        admission = rules.access.admit(event, identity, rules.ids, redeems=code is not None)
        if admission is None:
            strangers = StrangerRules(rules.access, rules.ids, event, code)
            return Stranger(strangers.meet, redeems=code is not None)
        submission = self._submission
        if isinstance(admission, Admitted) and isinstance(submission, LetPersonIn):
            return replace(admission, claims=self._claimed(submission, admission.principal))
        if isinstance(admission, Admitted) and isinstance(submission, Approvals | Grants | Status):
            return replace(admission, surveys=True)
        return admission

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        """What follows from an admitted event."""
        match event:
            case ChoiceAnswer():
                return self._press(event, view)
            case InboundMessage(edits=str()):
                return Verdict(EDITED_UNKNOWN)
            case InboundMessage():
                if view.open_prompts and (confided := self._confided(event, view)) is not None:
                    return confided
                return self._too_fast(event, view) or self._text(event, self._submission, view)
            case Unreadable() | Moved():
                return Verdict("failed: unreadable")
            case _:
                assert_never(event)

    def _confided(self, event: InboundMessage, view: AcceptView) -> Verdict | None:
        return None if self._confiding is None else self._confiding.message(event, self._submission, view)

    def _press(self, event: ChoiceAnswer, view: AcceptView) -> Verdict:
        if event.form is not None and self._confiding is not None:
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
                return self._decisions.named(view, option)
            case Stop():
                return _stop(view)
            case LetPersonIn():
                return self._let_in(event, submission, view)
            case Link(code):
                return self._link(event, code, view)
            case Halt(halted):
                return _halt(view, halted=halted)
            case _:
                return self._command(submission, view)

    def _command(
        self,
        submission: NewThread | Status | Approvals | Grants | Start | Help | UnknownCommand,
        view: AcceptView,
    ) -> Verdict:
        match submission:
            case Approvals(words):
                return approvals(words, view, self._rules.laws)
            case Grants(words):
                return grants(words, view)
            case NewThread():
                effects = (RebindThread(self._rules.ids.row_id()), Say(plain(texts.NEW_THREAD)))
                return Verdict("command: /new", effects)
            case Status():
                return Verdict("command: /status", (Say(plain(self._status(view))),))
            case Start(code) if is_code(normalise_code(code)):
                return _refused("known already", texts.KNOWN_ALREADY)
            case Start():
                return Verdict("command: /start", (Say(plain(texts.WELCOME)),))
            case Help():
                return Verdict("command: /help", (Say(plain(texts.help_text())),))
            case UnknownCommand(name):
                return _not_a_command(name)
            case _:
                assert_never(submission)

    def _input(self, event: InboundMessage, view: AcceptView) -> Verdict:
        if view.replied is not None and (edited := self._decisions.replied(view.replied, view)) is not None:
            return edited
        replied = replied_by_text(event, view)
        if replied is not None:
            return self._decisions.vote(replied.on, view, replied.answer, by_text=True)
        too_large = [file for file in event.attachments if file.out_of_reach]
        if too_large and len(too_large) == len(event.attachments) and not event.text.strip():
            return _refused("file too large", texts.files_too_large(too_large))
        if view.waiting >= self._rules.max_waiting:
            return _refused("too many messages waiting", texts.too_many_waiting(self._rules.max_waiting))
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

    def _bare_answer(self, event: InboundMessage, answer: BareAnswer, view: AcceptView) -> Verdict:
        prompt = decided_by_word(event, answer, view)
        if prompt is not None:
            return self._decisions.vote(prompt, view, answer.option, by_text=True)
        if answer.command:
            asked = any(on.prompt.kind is PromptKind.QUESTION for on in view.open_prompts)
            return _refused("nothing to answer", texts.ANSWER_THE_QUESTION if asked else texts.NOTHING_WAITS)
        return self._input(event, view)

    # --- letting others in, and other accounts of one's own ----------------------------------------------

    def _code(self, event: InboundMessage | ChoiceAnswer) -> str | None:
        """The code that somebody brings, from another account of theirs. In a group it is for all to see."""
        if not event.direct:
            return None
        match self._submission:
            case Link(code) if code:
                return code
            case Start(code) if is_code(normalise_code(code)):
                return normalise_code(code)
            case _:
                return None

    def _claimed(self, submission: LetPersonIn, principal: Principal) -> str | None:
        """The channel whose requests an owner decides about."""
        known = submission.channel in self._rules.access.channels
        return submission.channel if known and principal.role is Role.OWNER else None

    def _let_in(self, event: InboundMessage, submission: LetPersonIn, view: AcceptView) -> Verdict:
        if view.claims is None:
            if not submission.command:
                return self._input(event, view)
            if view.principal.role is not Role.OWNER:
                return _refused("only the owner lets people in", texts.ONLY_OWNER_LETS_IN)
            return _refused("unknown channel", texts.unknown_channel(submission.channel))
        claim = Claim(submission.code, view.principal)
        decision = ClaimRules(self._rules.access, self._rules.ids).judge(claim, view.claims)
        match decision:
            case LetIn(request, principal):
                word = texts.let_in(request.sender.name, principal.role)
                return Verdict("command: /approve", (decision, Say(plain(word))))
            case ClaimRefused(reason, word, wrong_code):
                return _refused(reason, word, *((NoteWrongCode(),) if wrong_code else ()))
            case TurnDown():
                raise TypeError("nobody is turned down by a message")
            case _:
                assert_never(decision)

    def _link(self, event: InboundMessage, code: str, view: AcceptView) -> Verdict:
        if not event.direct:
            return _refused("codes are for private conversations", texts.CODES_IN_PRIVATE)
        if code:
            return _refused("known already", texts.KNOWN_ALREADY)
        if view.principal.role is Role.GUEST:
            return _refused("guests cannot link", texts.GUESTS_CANNOT_LINK)
        offer = OfferLink(self._rules.ids.code(), self._now + CODE_LIFE_US)
        return Verdict("command: /link", (offer, Say(plain(texts.link_code(offer.code)))))

    def _too_fast(self, event: InboundMessage, view: AcceptView) -> Verdict | None:
        limit = self._rules.access.sender_per_minute
        if not limit or view.recent < limit:
            return None
        if isinstance(self._submission, Stop) and _runs(view):
            return None  # what was set going can always be stopped
        said: tuple[Effect, ...] = ()
        if event.direct:
            said = (SayAtTimes(plain(texts.TOO_MANY_MESSAGES), TOO_MANY_MESSAGES, RATE_WINDOW_US),)
        return Verdict(TOO_MANY_MESSAGES, said, counts=False)

    # --- looking -----------------------------------------------------------------------------------------

    def _status(self, view: AcceptView) -> str:
        titles = [open_prompt.prompt.title for open_prompt in view.open_prompts]
        state = view.thread.active_turn_state if view.thread is not None else None
        if state is TurnState.RUNNING and view.running_since is not None:
            running_s = max(0, self._now - view.running_since) // SECOND_US
            used = progress(view, self._rules.laws)
            return texts.status(texts.STATUS_RUNNING, running_s, view.waiting, titles, used)
        word = texts.STATUS_WAITING if state is TurnState.WAITING else texts.STATUS_IDLE
        return texts.status(word, None, view.waiting, titles)


def _refused(reason: str, word: str, *effects: Effect) -> Verdict:
    return Verdict(f"refused: {reason}", (*effects, Say(plain(word))))


def _not_a_command(name: str) -> Verdict:
    from core.conversation.command_texts import usage  # most commands are written as they should be

    how = usage(name)
    if how is None:
        return _refused("unknown command", texts.unknown_command(name))
    return _refused(f"/{name} is not written so", how)


def _halt(view: AcceptView, *, halted: bool) -> Verdict:
    """All tools of everybody, at once."""
    if view.principal.role is not Role.OWNER:
        return _refused("only the owner stops tools", texts.ONLY_OWNER_HALTS)
    word = texts.TOOLS_HALTED if halted else texts.TOOLS_RESUMED
    return Verdict(f"command: /{'pause' if halted else 'resume'}", (HaltTools(halted), Say(plain(word))))


def _stop(view: AcceptView) -> Verdict:
    if not _runs(view):
        return Verdict("command: /stop", (Say(plain(texts.NOTHING_TO_STOP)),))
    said = Say(plain(texts.stopped(view.waiting)))
    return Verdict("command: /stop", (StopThread(texts.STOPPED_CARD), said))


def _runs(view: AcceptView) -> bool:
    """Whether there is anything to stop here."""
    return view.waiting > 0 or (view.thread is not None and view.thread.active_turn_id is not None)
