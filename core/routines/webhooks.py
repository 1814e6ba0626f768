"""Deliveries of webhooks: from a request to a claimed run, or to why there is none.

What is told back is told after the claim is committed, so that a sender who hears "taken" may forget it.
"""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from core.clock import SECOND_US, Clock
from core.errors import VaultError
from core.ids import Ids
from core.off_loop import off_loop
from core.routine import Webhook
from core.routine_run import WebhookInput, claim_key, kept
from core.routine_run_json import input_to_json
from core.routines.doors import Door
from core.routines.filtering import passes, value_of
from core.routines.signatures import Headers, Unproven, delivery_id, event_of, is_signed, unproven
from core.safety.leaks import LeakDetector
from core.store.routines import Claim, ClaimRefusal, NewRun

logger = logging.getLogger(__name__)

FULL_RETRY_S = 60
EVENT = "@event"
"""The name of the filter that asks for what the sender calls the event."""


# --- what becomes of a delivery -------------------------------------------------------------------------


class Refusal(StrEnum):
    """Why nothing was claimed although the request has come in."""

    NO_DOOR = "no routine has a webhook at this path"
    NO_SECRET = "this webhook's secret cannot be read; the hub's log says why"  # noqa: S105 - a sentence
    UNPROVEN = "unproven"
    MALFORMED = "the body is not JSON"
    PAUSED = "the routine is paused"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class Taken:
    """A run is claimed for the delivery; `repeated`: it had been claimed before."""

    run_id: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """A good delivery that concerns nobody: `why`."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was claimed. `retry_after_s`: when it may be brought again, where that may help."""

    why: Refusal
    message: str
    retry_after_s: int | None = None


Outcome = Taken | Ignored | Refused


# --- the way of one -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proven:
    """A request that was signed by whoever knows the secret of the webhook at its path."""

    door: Door
    headers: Headers
    body: bytes


class Runs(Protocol):
    """The store as far as a delivery concerns it."""

    async def claim_run(self, new: NewRun) -> Claim:
        """See core.store.routine_port.Routines."""
        ...


class Webhooks:
    """Takes deliveries. `door` finds a webhook by its path, `secret` a secret of the vault by its name
    (raises VaultError), `fired` is told of claimed runs. Raises StoreUnavailable."""

    def __init__(
        self,
        store: Runs,
        door: Callable[[str], Door | None],
        secret: Callable[[str], Awaitable[str]],
        fired: Callable[[Sequence[str]], None],
        clock: Clock,
        ids: Ids,
        leaks: LeakDetector | None = None,
    ) -> None:
        self._leaks = leaks or LeakDetector()
        self._store = store
        self._door = door
        self._secret = secret
        self._fired = fired
        self._clock = clock
        self._ids = ids

    def opens(self, path: str) -> bool:
        """Whether there is a webhook at that path."""
        return self._door(path) is not None

    def unsigned(self, path: str, headers: Headers) -> Refused | None:
        """Return the refusal of a request whose headers alone show that nobody signed it; else None."""
        door = self._door(path)
        if door is None or is_signed(door.trigger.signature, headers):
            return None
        return Refused(Refusal.UNPROVEN, Unproven.MISSING.value)

    async def prove(self, path: str, headers: Headers, body: bytes) -> Proven | Refused:
        """Return the request as one of who knows the secret, or why it is not. Nothing is kept of it yet."""
        door = self._door(path)
        if door is None:
            return _refused(Refusal.NO_DOOR)
        return await self._proof(door, headers, body) or Proven(door, headers, body)

    async def deliver(self, proven: Proven) -> Outcome:
        """Carry out what a signed request asks for."""
        door, headers, body = proven.door, proven.headers, proven.body
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError):
            return _refused(Refusal.MALFORMED)
        event = event_of(door.trigger.signature, headers, payload)
        if not _concerns(door.trigger, payload, event):
            return Ignored("the routine's filters let this pass")
        known_by = delivery_id(door.trigger.signature, headers, body, payload)
        # Before anything of it is kept.
        told = await off_loop(len(body), lambda: self._leaks.redacted(_told(door.trigger, payload)))
        return await self._claim(door, WebhookInput(known_by, kept(told), event), told)

    async def _proof(self, door: Door, headers: Headers, body: bytes) -> Refused | None:
        trigger = door.trigger
        try:
            secret = await self._secret(trigger.secret_name or "")
        except VaultError as error:
            logger.error("the webhook %s lets nobody in: %s", trigger.path, error)  # noqa: TRY400 - no defect
            return _refused(Refusal.NO_SECRET)
        found = unproven(trigger.signature, secret, headers, body, self._clock.now() / SECOND_US)
        match found:
            case None:
                return None
            case Unproven():
                return Refused(Refusal.UNPROVEN, found.value)

    async def _claim(self, door: Door, fired_by: WebhookInput, told: str) -> Outcome:
        now = self._clock.now()
        run = NewRun(
            id=self._ids.row_id(),
            routine_id=door.routine_id,
            key=claim_key(fired_by),
            kind="webhook",
            input=input_to_json(fired_by),
            due_at=now,
            content_hash=hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest(),
        )
        claim = await self._store.claim_run(run)
        if claim.run_id is not None:
            logger.info(
                "webhook %s: delivery %r%s", door.trigger.path, fired_by.delivery_id, _again(claim.repeated)
            )
            if not claim.repeated:
                self._fired([door.routine_id])
            return Taken(claim.run_id, claim.repeated)
        match claim.refusal:
            case ClaimRefusal.REPEATED:
                return Ignored(str(claim.refusal))
            case ClaimRefusal.PAUSED:
                return _refused(Refusal.PAUSED)
            case ClaimRefusal.COOLING_DOWN:
                return Refused(Refusal.BUSY, str(claim.refusal), -(-claim.rests_us // SECOND_US))
            case ClaimRefusal.QUEUE_FULL:
                return Refused(Refusal.BUSY, str(claim.refusal), FULL_RETRY_S)
            case ClaimRefusal.GONE | None:
                return _refused(Refusal.NO_DOOR)


def _refused(why: Refusal) -> Refused:
    return Refused(why, why.value)


def _again(repeated: bool) -> str:
    return ", which had come before" if repeated else ""


def _concerns(trigger: Webhook, payload: Any, event: str) -> bool:
    wanted = [value for name, value in trigger.filters if name == EVENT]
    others = tuple(pair for pair in trigger.filters if pair[0] != EVENT)
    return all(value.casefold() == event.casefold() for value in wanted) and passes(others, payload)


def _told(trigger: Webhook, payload: Any) -> str:
    """What the model is shown of the payload."""
    shown = {name: value_of(payload, name) for name in trigger.fields} if trigger.fields else payload
    return json.dumps(shown, ensure_ascii=False)
