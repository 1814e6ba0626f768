"""Edits of a call's arguments before approval.

An edit is read and judged like a model's request: coerced, validated, rated again. It is prepared outside the
transaction that takes it, on the call as it was then; that transaction takes it only if the gate still
asks about the
very same call.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from core.consent import card_texts
from core.consent.cards import as_before, changed_by, fields_of, looks_like_a_form
from core.consent.rules import ApprovalRules
from core.errors import InvalidArguments, ToolNotFound
from core.gates import Gate, GateKind, GateState, Options
from core.messages import EditForm, MessageRef
from core.store.effects import EditedCall, EditRefused
from core.store.port import Store
from core.store.rows import CallRow, CallState
from core.tools.pipeline import CallPipeline, NeedsPerson
from core.users import Principal

_FIELD = re.compile(r"[A-Za-z_][\w.]*")


class CallEditor:
    """Editor of calls that wait for approval."""

    def __init__(self, store: Store, pipeline: CallPipeline, approvals: ApprovalRules) -> None:
        self._store = store
        self._pipeline = pipeline
        self._approvals = approvals

    async def form(self, gate_id: str) -> EditForm | EditRefused | None:
        """Return the editable arguments of the gate's call; None where no call with arguments waits."""
        glance = await self._store.feed.gate_glance(gate_id)
        if glance is not None and glance.gate.calls:
            return EditRefused(card_texts.EDIT_ONE_BY_ONE)
        if glance is None or not _has_arguments(glance.gate):
            return None
        if self._pipeline.sensitive(glance.gate.tool or ""):
            return EditRefused(card_texts.NOT_SHOWN)
        return EditForm(fields_of(_arguments(glance.arguments)), glance.gate.first_choice)

    async def read_reply(self, channel: str, ref: MessageRef, text: str) -> EditedCall | EditRefused | None:
        """Return the edit in a text reply to a card; None if the reply is not about arguments.

        A card counts as it was first sent, although it is updated: the version a replying person saw
        cannot be known.
        """
        shown = await self._store.gates.gate_shown_as(channel, ref)
        if shown is None:
            return None
        gate_id, first_choice = shown
        edit = await self.prepare(gate_id, text)
        if edit is None or first_choice == await self._first_choice(gate_id):
            return edit
        return EditRefused(card_texts.REPLY_OUTDATED, outdated=True)

    async def _first_choice(self, gate_id: str) -> int | None:
        glance = await self._store.feed.gate_glance(gate_id)
        return None if glance is None else glance.gate.first_choice

    async def prepare(self, gate_id: str, form: str) -> EditedCall | EditRefused | None:
        """Prepare the gate's call with these arguments: all of them as a JSON object, or `name: value`
        lines that change some. Return None if no call with arguments waits, or the text holds no
        arguments."""
        glance = await self._store.feed.gate_glance(gate_id)
        if glance is None or glance.gate.state is GateState.CLOSED:
            return None
        gate = glance.gate
        if gate.calls:
            return self._of_several(gate, form)
        requester = await self._store.people.user(gate.requester_id)
        if not _has_arguments(gate) or requester is None:
            return None
        before = _arguments(glance.arguments)
        try:
            given = self._given(gate, form, before)
            if given is None:
                return None
            call = self._call(gate, as_before(given, before))
        except InvalidArguments as error:
            return _refused(error)
        standing = await self._store.consents.standing(requester.user_id, gate.thread_id)
        try:
            asked = self._pipeline.prepare_edit(call, requester, gate.thread_id, standing)
        except ToolNotFound as error:
            return EditRefused(str(error))
        except InvalidArguments as error:
            return _refused(error)
        return asked if isinstance(asked, EditRefused) else self._edited(gate, call, asked, requester)

    def editable(self, gate: Gate) -> bool:
        """Return whether its call's arguments can be edited on its card."""
        shown = bool(gate.detail) and not self._pipeline.sensitive(gate.tool or "")
        return shown and _has_arguments(gate)

    def _of_several(self, gate: Gate, form: str) -> EditRefused | None:
        """Refuse an edit if it is unclear which of several calls it is for."""
        names = {name for call in gate.calls for name in self._pipeline.argument_names(call.tool)}
        meant = form.lstrip().startswith("{") or changed_by(form, {}, names) is not None
        return EditRefused(card_texts.EDIT_ONE_BY_ONE) if meant else None

    def _given(self, gate: Gate, form: str, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if form.lstrip().startswith("{"):
            return _object(form)
        names = {*before, *self._pipeline.argument_names(gate.tool or "")}
        changed = changed_by(form, before, names)
        if changed is None and not looks_like_a_form(form):
            raise InvalidArguments("They are not JSON.")
        return changed

    def _call(self, gate: Gate, arguments: dict[str, Any]) -> CallRow:
        text = json.dumps(arguments, ensure_ascii=False)
        return CallRow(
            call_id=gate.call_id or "",
            turn_id=gate.turn_id,
            seq=0,
            tool=gate.tool or "",
            arguments=text,
            state=CallState.WAITING,
            effect=self._pipeline.effect_of(gate.tool or ""),
        )

    def _edited(
        self, gate: Gate, call: CallRow, asked: NeedsPerson, requester: Principal
    ) -> EditedCall | EditRefused:
        """Return the edited call, under the gate's own rule; refuse it if the edited call needs another
        rule."""
        rule = gate.rule
        now = self._approvals.of(asked.tool.name, asked.ask, requester).vote
        if replace(now, escalated=rule.escalated) != rule:
            return EditRefused(card_texts.EDIT_NEEDS_OTHERS)
        shown = gate.offer.options if isinstance(gate.offer, Options) else ()
        changed = replace(
            gate,
            title=card_texts.approval_title(asked.action, asked.ask.reason),
            detail=asked.detail,
            offer=Options(asked.ask.options(rule.quorum)),
            binding=asked.binding,
            pattern=asked.ask.pattern,
            first_choice=gate.first_choice + len(shown),
        )
        return EditedCall(changed, gate.binding, call.arguments)


def _has_arguments(gate: Gate) -> bool:
    return gate.kind is GateKind.APPROVAL and gate.state is GateState.OPEN and gate.call_id is not None


def _arguments(text: str | None) -> Mapping[str, Any]:
    """Return the arguments as the model gave them; none if they cannot be read."""
    try:
        return _object(text or "{}")
    except InvalidArguments:
        return {}


def _object(form: str) -> dict[str, Any]:
    try:
        arguments: Any = json.loads(form)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments("They are not JSON.") from error
    if not isinstance(arguments, dict):
        raise InvalidArguments("They are not a JSON object.")
    return cast("dict[str, Any]", arguments)


def _refused(error: InvalidArguments) -> EditRefused:
    """Return the refusal. The sentence names its argument first, see tools.coercion."""
    field = str(error).partition(":")[0]
    return EditRefused(str(error), field if _FIELD.fullmatch(field) else None)
