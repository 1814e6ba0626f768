"""However much comes, what is kept is bounded, and what is missing is said."""

from hypothesis import given
from hypothesis import strategies as st

from core.safety.fencing import HeadAndTail, head_and_tail


def collect(limit_bytes: int, chunks: list[bytes]) -> str:
    collector = HeadAndTail(limit_bytes)
    for chunk in chunks:
        collector.add(chunk)
    return collector.text()


def test_a_short_stream_is_kept_whole() -> None:
    assert collect(10, [b"hello", b"", b"world"]) == "helloworld"


def test_of_a_long_stream_beginning_and_end_are_kept() -> None:
    assert collect(6, [b"abcdef", b"gh"]) == "abc\n[… 2 bytes omitted …]\nfgh"


def test_broken_characters_do_not_hurt() -> None:
    assert collect(100, ["é".encode()[:1], b"x"]) == "\ufffdx"
    assert collect(100, ["é".encode()[:1], "é".encode()[1:]]) == "é"


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(2, 50))
def test_chunking_of_a_stream_does_not_change_the_redaction(chunks: list[bytes], limit: int) -> None:
    assert collect(limit, chunks) == collect(limit, [b"".join(chunks)])


@given(st.lists(st.text("ab", max_size=40).map(str.encode), max_size=30), st.integers(2, 50))
def test_nothing_is_invented_and_nothing_vanishes_silently(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks).decode()
    text = collect(limit, chunks)
    if len(whole) <= limit:
        assert text == whole
        return
    head, notice, tail = text.partition("\n[… ")[0], text.split("… ")[1], text.rpartition("…]\n")[2]
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head) + len(tail) == limit
    assert notice.startswith(f"{len(whole) - limit} bytes")


@given(st.text("ab\n", max_size=200), st.integers(3, 100))
def test_a_long_text_keeps_its_beginning_and_end(text: str, limit: int) -> None:
    shown, dropped = head_and_tail(text, limit)
    assert dropped == max(0, len(text) - limit)
    if not dropped:
        assert shown == text
        return
    head, tail = shown.split(f"\n[… {dropped} characters omitted …]\n")
    assert text == head + text[len(head) : len(text) - len(tail)] + tail
    assert len(head) + len(tail) == limit
    assert len(head) >= len(tail)
