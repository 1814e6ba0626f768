"""Webhook deliveries: from a request to a claimed run, or to the reason there is none.

The answer is sent after the claim is committed, so that a sender who reads "accepted" may forget the
delivery.
"""

import base64
import binascii
import hashlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, assert_never, cast

from core.clock import SECOND_US, Clock
from core.errors import VaultError
from core.ids import Ids
from core.lazy import dataclass
from core.off_loop import json_off_loop, off_loop
from core.routine import Signature, Webhook, WebhookInput, kept
from core.routines.triggers import WebhookEntry, passes, value_of
from core.safety.leaks import LeakDetector
from core.store.routine_rows import ClaimRefusal, NewRun
from core.store.unattended_port import RoutineRuns

# Authentication of deliveries: signatures, as their senders document them.
#
# - `standard`: Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body.
# - `github`: HMAC-SHA256 over the body in `X-Hub-Signature-256`
#   (https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries).
# - `gitlab`: a signing token makes it the same as `standard`; a secret token is sent as it is in
#   `X-Gitlab-Token` (https://docs.gitlab.com/user/project/integrations/webhooks/).
# - `stripe`: HMAC-SHA256 over time and body in `Stripe-Signature` (https://docs.stripe.com/webhooks).
#
# Every comparison takes constant time. Only a valid signature learns that it is too early or too late.

WINDOW_S = 300
"""Maximum age of a signed time, in seconds: five minutes, as Standard Webhooks and Stripe advise."""
LONGEST_ID = 200
_ENCODED_KEY = "whsec_"

Headers = Mapping[str, str]
"""Headers by lower-case name."""


class Unproven(StrEnum):
    """The reason a delivery is not authenticated."""

    MISSING = "the request has no signature of the kind this webhook requires"
    WRONG = "the signature does not match; check that both sides use the same secret"
    STALE = "the signed timestamp is more than five minutes off; check the sender's clock"


# --- proof ----------------------------------------------------------------------------------------------


_CARRIERS: Mapping[Signature, tuple[tuple[str, ...], ...]] = {
    Signature.STANDARD: (("webhook-id", "webhook-timestamp", "webhook-signature"),),
    Signature.GITHUB: (("x-hub-signature-256",),),
    Signature.GITLAB: (("webhook-id", "webhook-timestamp", "webhook-signature"), ("x-gitlab-token",)),
    Signature.STRIPE: (("stripe-signature",),),
}
"""The headers that carry a signature of each kind, for each of its forms."""


def is_signed(signature: Signature, headers: Headers) -> bool:
    """Return whether the headers carry a signature of that kind at all, right or wrong."""
    return any(all(headers.get(name) for name in names) for names in _CARRIERS[signature])


def unproven(
    signature: Signature, secret: str, headers: Headers, body: bytes, now_s: float
) -> Unproven | None:
    """Return None if someone who knows the secret signed this, recently where the signature covers the
    time."""
    match signature:
        case Signature.STANDARD:
            return _standard(secret, headers, body, now_s)
        case Signature.GITHUB:
            given = headers.get("x-hub-signature-256")
            if given is None:
                return Unproven.MISSING
            expected = f"sha256={_mac(secret.encode(), body).hex()}"
            return None if _same(given, expected) else Unproven.WRONG
        case Signature.GITLAB:
            if "webhook-signature" in headers:
                return _standard(secret, headers, body, now_s)
            token = headers.get("x-gitlab-token")
            if token is None:
                return Unproven.MISSING
            return None if _same(token, secret) else Unproven.WRONG
        case Signature.STRIPE:
            return _stripe(secret, headers, body, now_s)
        case _:
            assert_never(signature)


def _standard(secret: str, headers: Headers, body: bytes, now_s: float) -> Unproven | None:
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    delivery_id, at, given = (headers.get(name, "") for name in names)
    if not (delivery_id and at and given):
        return Unproven.MISSING
    mac = _mac(_standard_key(secret), f"{delivery_id}.{at}.".encode() + body)
    expected = f"v1,{base64.b64encode(mac).decode()}"
    # Several, while the sender rotates its secret.
    if not _any_same(given.split(" "), expected):
        return Unproven.WRONG
    return _lately(at, now_s)


def _standard_key(secret: str) -> bytes:
    """Return the key in the Standard Webhooks encoding, decoded; any other text as it is."""
    if secret.startswith(_ENCODED_KEY):
        try:
            return base64.b64decode(secret.removeprefix(_ENCODED_KEY), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def _stripe(secret: str, headers: Headers, body: bytes, now_s: float) -> Unproven | None:
    parts = [part.partition("=") for part in headers.get("stripe-signature", "").split(",")]
    at = next((value for name, _, value in parts if name.strip() == "t"), "")
    given = [value for name, _, value in parts if name.strip() == "v1"]
    if not at or not given:
        return Unproven.MISSING
    if not _any_same(given, _mac(secret.encode(), f"{at}.".encode() + body).hex()):
        return Unproven.WRONG
    return _lately(at, now_s)


def _lately(at: str, now_s: float) -> Unproven | None:
    digits = at.isascii() and at.isdecimal() and len(at) < 20
    return None if digits and abs(now_s - int(at)) <= WINDOW_S else Unproven.STALE


def _mac(key: bytes, signed: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256")


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _any_same(given: list[str], expected: str) -> bool:
    """Compare all of them, so that the time does not depend on which one is right."""
    return any([_same(one.strip(), expected) for one in given[:10]])


# --- identity -----------------------------------------------------------------------------------------


def delivery_id(signature: Signature, headers: Headers, body: bytes, payload: Any) -> str:
    """Return the id of the delivery, so that it fires once however often it arrives: a signed id, else the
    signed
    content. Anyone who sends a delivery again could change an unsigned id."""
    match signature:
        case Signature.STANDARD:
            found = headers.get("webhook-id", "")
        case Signature.GITHUB:
            found = ""
        case Signature.GITLAB:
            found = headers.get("webhook-id") or headers.get("idempotency-key", "")
        case Signature.STRIPE:
            found = _field(payload, "id")
        case _:
            assert_never(signature)
    if found and len(found) <= LONGEST_ID and found.isprintable():
        return found
    return f"sha256-{hashlib.sha256(found.encode('utf-8', 'surrogatepass') or body).hexdigest()}"


def event_of(signature: Signature, headers: Headers, payload: Any) -> str:
    """Return the event in the sender's word for it; "" where it has none."""
    match signature:
        case Signature.GITHUB:
            found = headers.get("x-github-event", "")
        case Signature.GITLAB:
            found = headers.get("x-gitlab-event", "")
        case Signature.STANDARD | Signature.STRIPE:
            found = _field(payload, "type")
        case _:
            assert_never(signature)
    return found[:LONGEST_ID]


def _field(payload: Any, name: str) -> str:
    found = cast("dict[str, Any]", payload).get(name) if isinstance(payload, dict) else None
    return found if isinstance(found, str) else ""


# Deliveries.

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
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        run_id, now = self._ids.row_id(), self._clock.now()
        run = NewRun.fired(fired_by, run_id, entry.routine_id, now, content_hash=digest)
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
