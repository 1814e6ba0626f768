"""Gates, and the answers to them."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from bot.runtime import AdminError
from bot.views import DecisionView
from bot.web.auth import Caller
from bot.web.blocks import ApprovalPage, Page
from bot.web.endpoints import Call, Cursor, Endpoint, Limit, ShortText, cursor_of, position_of
from bot.web.items import Presenter
from bot.web.responses import Given
from channels.webchat import WEB
from core.clock import SECOND_US, Clock
from core.consent import card_texts
from core.gates import Gate, GateState, Option, Replies
from core.ids import Ids, normalise_gate_id
from core.messages import Address, ChoiceAnswer, Sender
from core.people.access import CONSOLE
from core.ports import Inbox
from core.store.effects import EditRefused
from core.store.feed import Feeds, GatesWanted
from core.tools.call_edits import CallEditor
from core.users import Role


class Resolve(Given):
    """An answer to a gate. `action`: one of the answers it offers, by its word or its index;
    `arguments`: the call's arguments, edited before the approval. An index is refused once someone
    else has changed the call; a word applies to the call as it is now."""

    request_id: ShortText
    action: Annotated[str, Field(min_length=1, max_length=20)]
    arguments: dict[str, Any] | None = None
    text: Annotated[str, Field(max_length=30_000)] | None = None


_OUTCOMES: dict[str, tuple[Option | None, ...]] = {
    "approved": (
        Option.APPROVE,
        Option.ALWAYS,
        Option.SESSION,
        Option.HAPPENED,
        Option.RETRY,
        Option.CONTINUE,
    ),
    "refused": (Option.DENY, Option.SKIP, Option.STOP, None),
}


class ApprovalsQuery(Given):
    """Open ones, the oldest first; or decided ones, the latest first. `before`: `next` of the page before;
    `query`: part of the request, of the outcome or of the requester's name; `outcome`: decided ones that
    were agreed to, or those that were not."""

    state: Annotated[str, Field(pattern="^(pending|decided)$")] = "pending"
    query: Annotated[str, Field(max_length=200)] = ""
    outcome: Literal["approved", "refused"] | None = None
    before: Cursor | None = None
    limit: Limit = 100


class ApprovalsPage(Page):
    """Open or decided gates."""

    approvals: tuple[ApprovalPage, ...]
    next: str | None


class DecisionsQuery(Given):
    """Over how many days, today included."""

    days: Annotated[int, Field(ge=1, le=366)] = 30


class DecidedPage(Page):
    """Decisions of one hour. `at`: its beginning, microseconds UTC."""

    at: int
    approved: int
    refused: int


_HOUR_US = 3600 * SECOND_US


class ApprovalsApi:
    """One method per endpoint. Answers are judged like everyone's, in the transaction that records them.

    `editing`: None where no call can be edited, as without a running hub."""

    def __init__(
        self,
        feed: Feeds,
        inbox: Inbox,
        presenter: Presenter,
        clock: Clock,
        ids: Ids,
        editing: CallEditor | None = None,
    ) -> None:
        self._feed = feed
        self._inbox = inbox
        self._presenter = presenter
        self._clock = clock
        self._ids = ids
        self._editing = editing

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        resolve = {"body": Resolve, "refusals": (404, 409, 503)}
        return [
            Endpoint("POST", "/chat/gate/resolve", self.resolve, DecisionView, **resolve),
            Endpoint("POST", "/chat/approval", self.resolve, DecisionView, **resolve),
            Endpoint("POST", "/chat/exec-approval", self.resolve, DecisionView, **resolve),
            Endpoint("GET", "/approvals", self.approvals, ApprovalsPage, ApprovalsQuery),
            Endpoint("GET", "/approvals/decisions", self.decisions, list[DecidedPage], DecisionsQuery),
        ]

    async def approvals(self, call: Call) -> ApprovalsPage:
        """Return open gates, or decided ones."""
        query: ApprovalsQuery = call.query
        person = call.caller.principal
        pending = query.state == "pending"
        wanted = GatesWanted(
            limit=query.limit + 1,
            open=pending,
            before=None if query.before is None else position_of(query.before),
            concerning=None if call.caller.is_owner else person.user_id,
            text=query.query.strip(),
            outcomes=() if query.outcome is None else _OUTCOMES[query.outcome],
        )
        found = await self._feed.gate_glances(wanted)
        page = found[: query.limit]
        last = page[-1] if len(found) > query.limit else None
        at = None if last is None else last.gate.created_at if pending else last.closed_at or 0
        return ApprovalsPage(
            approvals=tuple(self._presenter.approval(glance, person) for glance in page),
            next=None if last is None or at is None else cursor_of(at, last.gate.id),
        )

    async def decisions(self, call: Call) -> list[DecidedPage]:
        """Count decisions by the hour: all for the owner, for others those of their own requests."""
        query: DecisionsQuery = call.query
        concerning = None if call.caller.is_owner else call.caller.principal.user_id
        hours: dict[int, list[int]] = {}
        for hour, outcome, count in await self._feed.decisions(
            self._clock.now() - query.days * 24 * _HOUR_US, concerning
        ):
            for at, name in enumerate(("approved", "refused")):
                if outcome in _OUTCOMES[name]:
                    hours.setdefault(hour, [0, 0])[at] += count
        return [
            DecidedPage(at=hour * _HOUR_US, approved=approved, refused=refused)
            for hour, (approved, refused) in hours.items()
        ]

    async def resolve(self, call: Call) -> DecisionView:
        """Decide an approval request, or answer a question."""
        said: Resolve = call.body
        gate = await self._open(call.caller, normalise_gate_id(said.request_id))
        form = None if said.arguments is None else json.dumps(said.arguments)
        if isinstance(gate.offer, Replies):
            choice, form = _reply(said, gate.offer), said.text
        else:
            choice = position_of_answer(said.action, gate.offer.options, gate.first_choice)
            if form is not None:
                await self._check(gate, form)
        person = call.caller.principal
        channel = CONSOLE if person.role is Role.OWNER else WEB
        answer = ChoiceAnswer(
            key=f"api:{self._ids.row_id()}",
            channel=channel,
            address=Address(channel),
            sender=Sender(person.user_id, person.name),
            gate_id=gate.id,
            choice=choice,
            sent_at=self._clock.now(),
            form=form,
        )
        accepted = await self._inbox.accept(answer)
        if not accepted.outcome.startswith("answer: "):
            raise AdminError("refused", accepted.answer or accepted.outcome)
        return DecisionView(id=gate.id, outcome=accepted.answer or accepted.outcome)

    async def _check(self, gate: Gate, form: str) -> None:
        """Refuse arguments that are none for the call, naming the one that is wrong."""
        edit = None if self._editing is None else await self._editing.prepare(gate.id, form)
        match edit:
            case EditRefused(reason, field):
                where = "arguments" if field is None else f"arguments.{field}"
                raise AdminError("invalid", reason, where)
            case None:
                raise AdminError("refused", card_texts.NOTHING_TO_EDIT, "arguments")
            case _:
                pass

    async def _open(self, caller: Caller, gate_id: str) -> Gate:
        """Return the open gate of this id, if the caller may know of it."""
        glance = await self._feed.gate_glance(gate_id)
        user_id = caller.principal.user_id
        if glance is None or not (
            caller.is_owner or user_id == glance.gate.requester_id or user_id in glance.gate.rule.named
        ):
            raise AdminError("not_found", "no open request has this ID; list the approvals")
        if glance.gate.state is GateState.CLOSED:
            raise AdminError("refused", f"already closed: {glance.gate.outcome_text}")
        return glance.gate


def position_of_answer(action: str, offered: tuple[Option, ...], first: int) -> int:
    """Return the position of the named answer, given by word or position. Positions below `first`
    belonged to a call that was edited since."""
    if action in offered:
        return first + offered.index(Option(action))
    position = _index(action)
    if position is not None and position < first + len(offered):
        return position
    words = ", ".join(offered)
    if action in set(Option):
        raise AdminError("refused", f"{action} is not an answer to this request; use one of {words}")
    raise AdminError("invalid", f"is not an answer to this request; use one of {words}", "action")


def _reply(said: Resolve, offered: Replies) -> int:
    """Return the chosen position of a question's choices; with free text, none of them."""
    if said.text is not None:
        if not offered.free_text or not said.text.strip():
            raise AdminError("invalid", "must be one of the question's choices", "text")
        return len(offered.labels)
    index = _index(said.action)
    if index is None or index >= len(offered.labels):
        raise AdminError("invalid", "must be the position of one of the choices", "action")
    return index


def _index(action: str) -> int | None:
    return int(action) if action.isascii() and action.isdecimal() else None
