"""The meaning of a provider's refusal: golden bodies as servers really send them."""

import json
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import (
    ContextOverflow,
    ModelAuthRejected,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelUnavailable,
)
from core.model.provider_http import model_error, read_error, read_error_body, retry_after_s, without_key
from tests.core.model.support import NOW_US, TestClock, recorded

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


def error_of(status: int, body: Any, retry_after: float | None = None) -> ModelError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return model_error(read_error_body(status, raw), model="main", api_key=KEY, retry_after_s=retry_after)


def openai(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


ERRORS = [json.loads(line) for line in recorded("errors.jsonl").splitlines()]


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: f"{row['status']}-{row['means']}")
def test_recorded_error_bodies_have_their_errors(row: dict[str, Any]) -> None:
    status = row["status"]
    error = error_of(status, row["text"].encode() if "text" in row else row["json"])
    assert type(error).__name__ == row["means"], str(error)
    assert getattr(error, "fault", None) == row.get("fault")
    assert str(error).startswith("model main: ")
    assert str(status) in str(error)
    assert "<" not in str(error), "a gateway's page is nothing an operator can read"


@pytest.mark.parametrize(
    "body, kind",
    [
        ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, ModelUnavailable),
        ({"error": {"message": "oops", "code": "429"}}, ModelRateLimited),
        ({"error": {"message": "bad", "code": 400}}, ModelRejected),
        ({"error": {"message": "bad", "type": "invalid_request_error"}}, ModelRejected),
        ({"error": {"message": "no", "code": "invalid_api_key"}}, ModelAuthRejected),
        ({"error": {"message": "prompt is too long"}}, ContextOverflow),
        ({"error": "?"}, ModelUnavailable),
        ({"object": "error", "message": "?", "code": 40303}, ModelUnavailable),
    ],
)
def test_errors_inside_a_stream_are_recognized(body: Any, kind: type[ModelError]) -> None:
    assert type(model_error(read_error(body), model="main")) is kind


@pytest.mark.parametrize(
    "message",
    [
        f"Incorrect API key provided: {KEY}. See the site.",
        f"key {KEY[:12]}... is wrong",
        "Incorrect API key provided: sk-proj-********6789.",
        "Incorrect API key provided: sk-p*********6789.",
        f"https://x.example/?key={KEY}",
        f"{'x' * 290}{KEY}",
    ],
)
def test_no_part_of_the_key_is_ever_repeated(message: str) -> None:
    text = str(error_of(401, openai(message)))
    assert KEY[:9] not in text
    assert KEY[-4:] not in text
    assert len(text) < 400


def test_a_short_key_is_taken_out_as_a_word_only() -> None:
    assert without_key("key none, nonesuch", "none") == "key [key], nonesuch"
    assert without_key("nothing to hide", "") == "nothing to hide"


def test_a_message_is_trimmed_to_one_readable_line() -> None:
    text = str(error_of(400, openai("first\nsecond\x1b[31m\t" + "long " * 500)))
    assert text.isprintable()
    assert text.startswith("model main: 400 Bad Request: first second")
    assert len(text) < 400


@pytest.mark.parametrize(
    "value, expected",
    [
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("999999", 3600.0),
        ("-3", None),
        ("soon", None),
        ("", None),
        ("١٢", None),
        ("nan", None),
        (format_datetime(datetime.fromtimestamp(NOW_US / 1e6 + 90, UTC), usegmt=True), 90.0),
        (format_datetime(datetime.fromtimestamp(NOW_US / 1e6 - 90, UTC), usegmt=True), 0.0),
        (format_datetime(datetime.fromtimestamp(NOW_US / 1e6 + 90_000, UTC), usegmt=True), 3600.0),
    ],
)
def test_retry_after_is_read(value: str, expected: float | None) -> None:
    assert retry_after_s({"retry-after": value}, TestClock()) == expected


def test_the_requested_wait_reaches_the_caller() -> None:
    error = error_of(429, openai("slow down"), 12.0)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s == 12.0


@given(st.integers(300, 599), st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_body_is_a_model_error(status: int, body: bytes) -> None:
    error = error_of(status, body)
    assert str(error).isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail", "param", "status"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.integers(300, 599), JSON)
def test_any_json_body_is_a_model_error(status: int, body: Any) -> None:
    assert isinstance(error_of(status, body), ModelError)


@given(st.text())
def test_any_retry_after_is_ignored_or_at_most_an_hour(value: str) -> None:
    wait_s = retry_after_s({"retry-after": value}, TestClock())
    assert wait_s is None or 0 <= wait_s <= 3600
