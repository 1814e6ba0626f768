"""Signatures of webhooks: the documents' own examples, and everything that is not quite right."""

import base64
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.routine import Signature
from core.routines.webhooks import WINDOW_S, Unproven, delivery_id, event_of, unproven
from tests.webhook_senders import SECRET, Sender

NOW_S = 1_700_000_000.0
BODY = b'{"id": "evt_1", "type": "charge.failed"}'
SENDER = Sender(NOW_S)
Sign = Callable[[Sender, bytes], Mapping[str, str]]
SIGNED: dict[Signature, Sign] = {
    Signature.STANDARD: lambda sender, body: sender.standard(body, "msg_1"),
    Signature.GITHUB: lambda sender, body: sender.github(body, "guid-1"),
    Signature.GITLAB: lambda sender, body: sender.gitlab(body, "key-1"),
    Signature.STRIPE: lambda sender, body: sender.stripe(body),
}
EACH = pytest.mark.parametrize("signature", list(Signature))
UNTIMED = ("x-hub-signature-256", "x-gitlab-token")
TIMED = (Signature.STANDARD, Signature.STRIPE)


def lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def judged(
    signature: Signature, headers: Mapping[str, str], body: bytes = BODY, secret: str = SECRET
) -> Unproven | None:
    return unproven(signature, secret, lower(headers), body, NOW_S)


# --- the documents' own examples ------------------------------------------------------------------------


def test_github_documents_this_signature() -> None:
    given = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = {"x-hub-signature-256": given}
    secret = "It's a Secret to Everybody"
    assert unproven(Signature.GITHUB, secret, headers, b"Hello, World!", NOW_S) is None
    assert unproven(Signature.GITHUB, secret, headers, b"Hello, World?", NOW_S) is Unproven.WRONG


def test_standard_webhooks_documents_this_signature() -> None:
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    assert unproven(Signature.STANDARD, secret, headers, body, 1614265330.0) is None
    # A signing token of GitLab signs in the same way.
    assert unproven(Signature.GITLAB, secret, headers, body, 1614265330.0) is None
    assert unproven(Signature.STANDARD, secret, headers, body, 1614265330.0 + 301) is Unproven.STALE


def test_a_sender_that_changes_its_secret_may_sign_with_both() -> None:
    old, new = Sender(NOW_S, "old"), Sender(NOW_S)
    both = new.standard(BODY, "m") | {
        "webhook-signature": " ".join(one.standard(BODY, "m")["webhook-signature"] for one in (old, new))
    }
    assert judged(Signature.STANDARD, both) is None
    first, second = (one.stripe(BODY)["Stripe-Signature"].split(",")[2] for one in (old, new))
    assert judged(Signature.STRIPE, {"Stripe-Signature": f"t={int(NOW_S)},{first},{second}"}) is None


# --- what is not quite right ----------------------------------------------------------------------------


@EACH
def test_only_the_secret_grants_access(signature: Signature) -> None:
    sign = SIGNED[signature]
    assert judged(signature, sign(SENDER, BODY)) is None
    assert judged(signature, sign(Sender(NOW_S, "another"), BODY)) is Unproven.WRONG
    assert judged(signature, {}) is Unproven.MISSING
    for name in sign(SENDER, BODY):
        if name.lower() in {"x-github-event", "x-github-delivery", "x-gitlab-event", "idempotency-key"}:
            continue
        spoilt = dict(sign(SENDER, BODY))
        spoilt[name] = ""
        assert judged(signature, spoilt) in {Unproven.MISSING, Unproven.WRONG}, name
        spoilt[name] = f"{sign(SENDER, BODY)[name][:-1]}é"
        assert judged(signature, spoilt) is not None, name


@pytest.mark.parametrize("signature", [one for one in Signature if one is not Signature.GITLAB])
def test_another_body_needs_another_signature(signature: Signature) -> None:
    assert judged(signature, SIGNED[signature](SENDER, BODY), BODY + b" ") is Unproven.WRONG


@pytest.mark.parametrize("signature", TIMED)
@pytest.mark.parametrize(
    "away_s, found",
    [(0, None), (WINDOW_S, None), (-WINDOW_S, None), (WINDOW_S + 1, "stale"), (-WINDOW_S - 1, "stale")],
)
def test_a_signature_is_valid_for_five_minutes(signature: Signature, away_s: int, found: str | None) -> None:
    headers = SIGNED[signature](Sender(NOW_S - away_s), BODY)
    assert judged(signature, headers) is (Unproven.STALE if found else None)


@pytest.mark.parametrize("at", ["", "soon", "1e9", "-5", "٣", "9" * 30])
def test_an_invalid_timestamp_is_refused(at: str) -> None:
    signed = Sender(NOW_S).standard(BODY, "m") | {"webhook-timestamp": at}
    assert judged(Signature.STANDARD, signed) in {Unproven.MISSING, Unproven.WRONG}
    key = SECRET.encode()
    digest = base64.b64encode(hmac.digest(key, f"m.{at}.".encode() + BODY, "sha256")).decode()
    resigned = signed | {"webhook-signature": f"v1,{digest}"}
    assert judged(Signature.STANDARD, resigned) in {Unproven.MISSING, Unproven.STALE}


@given(
    st.sampled_from(list(Signature)),
    st.dictionaries(
        st.sampled_from(
            ["webhook-id", "webhook-timestamp", "webhook-signature", "stripe-signature", *UNTIMED]
        ),
        st.text(st.characters(max_codepoint=255), max_size=40)
        | st.sampled_from(["v1,", "t=1,v1=", "sha256=", "t=,v1", ",,=,"]),
    ),
    st.binary(max_size=40),
)
def test_arbitrary_requests_are_judged_and_refused(
    signature: Signature, headers: dict[str, str], body: bytes
) -> None:
    assert unproven(signature, SECRET, headers, body, NOW_S) is not None


# --- what it is -----------------------------------------------------------------------------------------


def known(signature: Signature, headers: Mapping[str, str], body: bytes = BODY) -> str:
    payload: Any = json.loads(body)
    return delivery_id(signature, lower(headers), body, payload)


def test_a_delivery_is_known_by_what_its_sender_signed() -> None:
    assert known(Signature.STANDARD, SENDER.standard(BODY, "msg_1")) == "msg_1"
    assert known(Signature.STRIPE, SENDER.stripe(BODY)) == "evt_1"
    assert known(Signature.GITLAB, SENDER.gitlab(BODY, "key-1")) == "key-1"
    # The id beside GitHub's signature is not signed: whoever brings a delivery again could change it.
    first, second = (known(Signature.GITHUB, SENDER.github(BODY, guid)) for guid in ("a", "b"))
    assert first == second
    assert first.startswith("sha256-")
    assert known(Signature.GITHUB, SENDER.github(b"{}", "a"), b"{}") != first


def test_an_invalid_id_is_replaced_by_a_digest_of_the_body() -> None:
    assert known(Signature.STRIPE, {}, b'{"id": 7}') == known(Signature.GITHUB, {}, b'{"id": 7}')
    long = known(Signature.STRIPE, {}, json.dumps({"id": "x" * 5000, "n": 1}).encode())
    assert long == known(Signature.STRIPE, {}, json.dumps({"id": "x" * 5000, "n": 2}).encode())
    assert len(long) < 100
    assert known(Signature.STRIPE, {}, b'{"id": "\\ud800"}').startswith("sha256-")


def test_the_event_is_what_the_sender_calls_it() -> None:
    payload = json.loads(BODY)
    assert event_of(Signature.GITHUB, {"x-github-event": "push"}, payload) == "push"
    assert event_of(Signature.GITLAB, {"x-gitlab-event": "Push Hook"}, payload) == "Push Hook"
    assert event_of(Signature.STRIPE, {}, payload) == "charge.failed"
    assert event_of(Signature.STANDARD, {}, []) == ""
