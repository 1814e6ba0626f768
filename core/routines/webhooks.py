"""Webhook deliveries: from a request to a claimed run, or to the reason there is none.

The answer is sent after the claim is committed, so that a sender who reads "accepted" may forget the
delivery.
"""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.clock import SECOND_US, Clock
from core.errors import VaultError
from core.ids import Ids
from core.off_loop import json_off_loop, off_loop
from core.routine import Webhook, WebhookInput, claim_key, kept
from core.routine_json import input_to_json
from core.routines.events import passes, value_of
from core.routines.registry import WebhookEntry
from core.routines.signatures import Headers, Unproven, delivery_id, event_of, is_signed, unproven
from core.safety.leaks import LeakDetector
from core.store.routine_port import RoutineRuns
from core.store.routine_rows import ClaimRefusal, NewRun

logger = logging.getLogger(__name__)

FULL_RETRY_S = 60
EVENT = "@event"
"""Name of the filter for the sender's word for the event."""


# --- outcome ------------------------------------------------------------------------------------------


class Refusal(StrEnum):
    """The reason nothing was claimed although the request arrived."""

    NO_DOOR = "no routine has a webhook at this path"
    NO_SECRET = "this webhook's secret can't be read; see the hub's log"  # noqa: S105 - a sentence
    UNPROVEN = "unproven"
    MALFORMED = "the body is not JSON"
    PAUSED = "the routine is paused"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class Taken:
    """A delivery with a claimed run; `repeated`: it had been claimed before."""

    run_id: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """A valid delivery that fires nothing. `why`: the reason."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A delivery that claims nothing. `retry_after_s`: time until a retry, if that may help."""

    why: Refusal
    message: str
    retry_after_s: int | None = None


Outcome = Taken | Ignored | Refused


# --- one delivery ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proven:
    """A request signed by someone who knows the secret of the webhook at its path."""

    entry: WebhookEntry
    headers: Headers
    body: bytes


class Webhooks:
    """Receiver of deliveries. `entry_at` finds a webhook by its path, `secret` a secret of the vault by its
    name (raises VaultError), `fired` is called with claimed runs. Raises StoreUnavailable."""

    def __init__(
        self,
        runs: RoutineRuns,
        entry_at: Callable[[str], WebhookEntry | None],
        secret: Callable[[str], Awaitable[str]],
        fired: Callable[[Sequence[str]], None],
        clock: Clock,
        ids: Ids,
        leaks: LeakDetector | None = None,
    ) -> None:
        self._leaks = leaks or LeakDetector()
        self._runs = runs
        self._entry_at = entry_at
        self._secret = secret
        self._fired = fired
        self._clock = clock
        self._ids = ids

    def opens(self, path: str) -> bool:
        """Return whether there is a webhook at that path."""
        return self._entry_at(path) is not None

    def unsigned(self, path: str, headers: Headers) -> Refused | None:
        """Return the refusal of a request whose headers alone show that it is not signed; else None."""
        entry = self._entry_at(path)
        if entry is None or is_signed(entry.trigger.signature, headers):
            return None
        return Refused(Refusal.UNPROVEN, Unproven.MISSING.value)

    async def prove(self, path: str, headers: Headers, body: bytes) -> Proven | Refused:
        """Return the request as signed by someone who knows the secret, or the refusal. Nothing is stored
        yet."""
        entry = self._entry_at(path)
        if entry is None:
            return _refused(Refusal.NO_DOOR)
        return await self._proof(entry, headers, body) or Proven(entry, headers, body)

    async def deliver(self, proven: Proven) -> Outcome:
        """Carry out a signed request."""
        entry, headers, body = proven.entry, proven.headers, proven.body
        try:
            payload = await json_off_loop(body)
        except (ValueError, RecursionError):
            return _refused(Refusal.MALFORMED)
        event = event_of(entry.trigger.signature, headers, payload)
        if not _concerns(entry.trigger, payload, event):
            return Ignored("the routine's filters do not match this request")
        known_by = delivery_id(entry.trigger.signature, headers, body, payload)
        # Before anything of it is stored.
        told = await off_loop(len(body), lambda: self._leaks.redacted(_told(entry.trigger, payload)))
        return await self._claim(entry, WebhookInput(known_by, kept(told), event), told)

    async def _proof(self, entry: WebhookEntry, headers: Headers, body: bytes) -> Refused | None:
        trigger = entry.trigger
        try:
            secret = await self._secret(trigger.secret_name or "")
        except VaultError as error:
            logger.error("webhook.secret_unavailable path=%s error=%s", trigger.path, error)  # noqa: TRY400 - no defect
            return _refused(Refusal.NO_SECRET)
        found = unproven(trigger.signature, secret, headers, body, self._clock.now() / SECOND_US)
        match found:
            case None:
                return None
            case Unproven():
                return Refused(Refusal.UNPROVEN, found.value)

    async def _claim(self, entry: WebhookEntry, fired_by: WebhookInput, told: str) -> Outcome:
        now = self._clock.now()
        run = NewRun(
            id=self._ids.row_id(),
            routine_id=entry.routine_id,
            key=claim_key(fired_by),
            kind="webhook",
            input=input_to_json(fired_by),
            due_at=now,
            content_hash=hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest(),
        )
        claim = await self._runs.claim_run(run)
        if claim.run_id is not None:
            logger.info(
                "webhook.accepted path=%s delivery=%r duplicate=%s",
                entry.trigger.path,
                fired_by.delivery_id,
                claim.repeated,
            )
            if not claim.repeated:
                self._fired([entry.routine_id])
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


def _concerns(trigger: Webhook, payload: Any, event: str) -> bool:
    wanted = [value for name, value in trigger.filters if name == EVENT]
    others = tuple(pair for pair in trigger.filters if pair[0] != EVENT)
    return all(value.casefold() == event.casefold() for value in wanted) and passes(others, payload)


def _told(trigger: Webhook, payload: Any) -> str:
    """Return the part of the payload that the model sees."""
    shown = {name: value_of(payload, name) for name in trigger.fields} if trigger.fields else payload
    return json.dumps(shown, ensure_ascii=False)
