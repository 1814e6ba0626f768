"""Authentication of webhook deliveries: signatures, as their senders document them. Pure.

- `standard`: Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body.
- `github`: HMAC-SHA256 over the body in `X-Hub-Signature-256`
  (https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries).
- `gitlab`: a signing token makes it the same as `standard`; a secret token is sent as it is in
  `X-Gitlab-Token` (https://docs.gitlab.com/user/project/integrations/webhooks/).
- `stripe`: HMAC-SHA256 over time and body in `Stripe-Signature` (https://docs.stripe.com/webhooks).

Every comparison takes constant time. Only a valid signature learns that it is too early or too late.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, assert_never, cast

from core.routine import Signature

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
