"""Credentials are found whatever surrounds them, and nothing else is taken for one."""

import base64
import itertools
import random
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.safety.leaks import REMOVED, LeakDetector, RedactedStream

B62 = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ0cF2hJ4kL6nP8rS0tU2wX4zA6"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{B62}\n{B62}\n-----END RSA PRIVATE KEY-----"
# Put together here, so that no scanner takes this file for the place of a leak.
TOKENS = {
    "api-key": "sk-" + B62[:32],
    "api-key of a project": "sk-proj-" + B62,
    "api-key with dashes": "sk-ant-api03-" + B62[:20] + "-" + B62[20:40] + "_x",
    "payment-key": "sk_" + "live_" + B62[:24],
    "repository-token": "ghp_" + B62[:36],
    "fine-grained repository token": "github_pat_" + B62[:22] + "_" + B62[:40],
    "group token": "glpat-" + B62[:20],
    "cloud-key": "AKIA" + "IOSFODNN7EXAMPLE",
    "map key": "AIza" + B62[:35],
    "workspace-token": "xoxb-" + "123456789012-1234567890123-" + B62[:24],
    "app token": "xapp-1-" + "A012345-6789-" + B62[:24],
    "bot-token": "123456789:AA" + B62[:33],
    "another bot-token": "M" + B62[:23] + "." + "GaBcDe" + "." + B62[:38],
    "mail-key": "SG." + B62[:22] + "." + B62[:43],
    "package-token": "npm_" + B62[:36],
    "model-token": "hf_" + B62[:34],
    "webhook's key": "whsec_" + B62[:32],
    "token of a vault": "hvs." + B62[:24],
    "token of a registry": "dckr_pat_" + B62[:27],
    "token of a shop": "shpat_" + B62[:32],
    "model's key": "xai-" + B62,
    "tracker's key": "lin_api_" + B62[:40],
    "signed-token": "eyJ" + B62[:20] + ".eyJ" + B62[:30] + "." + B62[:43],
}
ORDINARY = (
    "The light is right: eight knights might fight at night; sk-learn and sk-image are libraries.",
    "commit 7c662f9a1b2c3d4e5f60718293a4b5c6d7e8f901 and sha256 " + "ab12" * 16,
    "018f3c2e-7b1a-7c3d-9e4f-0123456789ab is a thread, 123456:rest is none",
    "Meet me at 10:30, bring the bearer of good news and basic equipment",
    "https://example.com/path?x=1&y=2#z and https://user@example.com/ and ftp://example.com:21/a@b",
    "SKU SK-1234, task-force, mask-wearing-is-a-good-idea-in-2026, ghp is an abbreviation",
    "-----BEGIN CERTIFICATE-----\n" + B62 + "\n-----END CERTIFICATE-----",
    "v1.234567.890 and www.example.com and a.bcdefg.h",
    "密码是什么意思？这是一个普通的句子，没有任何令牌。",
    "eyJust kidding, hf_short, npm_install, pypi-mirror, gsk_1, xoxo, AKIAVELLI",
)


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("around", ["{}", "my key: {}", '"{}",', "({})", "x={}\ny", "`{}`", "看{}吧", "{}."])
def test_a_token_is_found_in_any_surroundings(name: str, around: str) -> None:
    token = TOKENS[name]
    redacted = LeakDetector().redacted(around.format(token))
    assert token[8:-1] not in redacted
    assert REMOVED in redacted
    assert redacted.startswith(around.partition("{}")[0])


def test_the_body_of_a_private_key_is_removed_even_if_it_is_truncated() -> None:
    redacted = LeakDetector().redacted(f"here:\n{PEM}\nand more")
    assert B62 not in redacted
    assert redacted.endswith(f"{REMOVED}-----END RSA PRIVATE KEY-----\nand more")
    assert B62[:20] not in LeakDetector().redacted(PEM[: len(PEM) // 2])


@pytest.mark.parametrize("word", ["Bearer", "bearer", "Authorization: Bearer"])
def test_text_after_bearer_is_a_secret(word: str) -> None:
    assert LeakDetector().redacted(f"{word} {B62} end") == f"{word} {REMOVED} end"


def test_a_login_in_an_address_is_a_secret() -> None:
    assert LeakDetector().redacted("git clone https://me:s3cr3t!pass@example.com/x.git") == (
        f"git clone https://{REMOVED}@example.com/x.git"
    )


@pytest.mark.parametrize(
    "text",
    [
        "redis://:{}@cache:6379/0",
        "https://{}@example.com/x.git",
        "X-Api-Key: {}",
        "curl -H 'x-api-key:{}' https://example.com",
        '{{"X-Auth-Token": "{}"}}',
        "PRIVATE-TOKEN: {}",
        "https://hooks.slack.com/services/T012AB3CD/B045EF6GH/{}",
        "https://discord.com/api/webhooks/123456789012345678/{}",
    ],
)
def test_values_in_credential_positions_are_secrets(text: str) -> None:
    redacted = LeakDetector().redacted(text.format(B62))
    assert B62[:12] not in redacted
    assert REMOVED in redacted
    assert redacted.startswith(text.format(B62)[:5])


@pytest.mark.parametrize(
    "text",
    [
        "an api-key: ask the owner for it",
        "Private-Token: see the wiki page of 2026",
        "http://:8080/a@b",
        "xai-is-one",
    ],
)
def test_talk_about_credentials_is_not_a_secret(text: str) -> None:
    assert LeakDetector().redacted(text) == text


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_the_hubs_own_values_are_found_however_they_are_packed(before: bytes, behind: bytes) -> None:
    known = "hunter2/is+no?good password~"
    detector, packed = LeakDetector([known]), before + known.encode() + behind
    for text in (
        base64.b64encode(packed).decode(),
        base64.urlsafe_b64encode(packed).decode(),
        packed.hex(),
        packed.hex().upper(),
        quote(packed, safe=""),
    ):
        left = detector.redacted(text)
        assert REMOVED in left
        assert len(text) - len(left.replace(REMOVED, "")) >= len(known)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert LeakDetector().redacted(text) == text


def test_the_hubs_own_values_are_found_in_any_form() -> None:
    detector = LeakDetector(["correct horse battery", "model-key-1", "short"])
    said = "say correct horse battery, model-key-1 and short; correct horse"
    assert detector.redacted(said) == f"say {REMOVED}, {REMOVED} and short; correct horse"


def test_each_leak_is_reported_with_its_kind() -> None:
    text = f"a {TOKENS['repository-token']} b {TOKENS['api-key']}"
    assert [leak.kind for leak in LeakDetector().find(text)] == ["repository-token", "api-key"]


# --- streams ------------------------------------------------------------------------------------------------

KNOWN = "a secret, with spaces"
PIECES = st.sampled_from(
    [*TOKENS.values(), PEM, KNOWN, *ORDINARY, " ", "\n", "word ", "Bearer ", B62, "a secret, w", "sk-", "，"]
)


def told(detector: LeakDetector, text: str, cuts: list[int]) -> tuple[str, str]:
    """Return what is told of a stream before it is over, and all of it."""
    stream = RedactedStream(detector)
    borders = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    before = "".join(stream.add(text[a:b]) for a, b in itertools.pairwise(borders))
    everything = before + stream.rest()
    assert stream.told_chars == len(everything)
    return before, everything


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(st.integers(0, 900), max_size=12))
def test_a_stream_is_redacted_like_the_whole_text(text: str, cuts: list[int]) -> None:
    detector = LeakDetector([KNOWN])
    before, everything = told(detector, text, cuts)
    assert everything == detector.redacted(text)
    assert everything.startswith(before)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_no_part_of_a_token_leaks_letter_by_letter(text: str) -> None:
    detector = LeakDetector([KNOWN])
    before, everything = told(detector, text, list(range(len(text))))
    assert everything == detector.redacted(text)
    assert everything.startswith(before)


@pytest.mark.parametrize("words", ["Bearer ", "Authorization: Basic ", "X-Api-Key: ", "PRIVATE-TOKEN: '"])
def test_secrets_late_in_a_long_stream_are_found(words: str) -> None:
    begun, text = "word " * 200 + words, "word " * 200 + words + B62
    before, everything = told(LeakDetector(), text, [len(begun)])
    assert before.rstrip("'") == begun.rstrip("'")
    assert everything == LeakDetector().redacted(text) == begun + REMOVED


@pytest.mark.parametrize("begun", ["-----BEGIN PRIVATE KEY-----\n", "an ordinary text: "])
def test_a_long_stream_is_searched_only_a_few_times(begun: str) -> None:
    """Counted, not measured: a key that doesn't end is searched when it has grown by a quarter."""
    stream, searched = RedactedStream(LeakDetector()), 0
    pieces = [begun, *(f"{B62}\n" for _ in range(800))]
    for piece in pieces:
        searched += stream.look_chars(piece)
        stream.add(piece)
    assert searched <= 8 * sum(map(len, pieces))


def test_ordinary_words_are_streamed_as_soon_as_they_end() -> None:
    stream = RedactedStream(LeakDetector())
    assert [stream.add(piece) for piece in ("Hel", "lo wor", "ld. 你", "好")] == [
        "",
        "Hello ",
        "world. 你",
        "好",
    ]


def test_streaming_takes_time_linear_in_the_length() -> None:
    words = random.Random(7).choices(["light ", "sk-short ", "x" * 50 + " ", "\n"], k=20_000)
    words.insert(10_000, f"{TOKENS['api-key']} ")
    stream = RedactedStream(LeakDetector())
    everything = "".join([*(stream.add(word) for word in words), stream.rest()])
    assert everything == LeakDetector().redacted("".join(words))
