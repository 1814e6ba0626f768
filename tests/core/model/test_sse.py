"""Server-sent events: any cut, any line ending, the parts of the format that do not matter here."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ModelReplyInvalid
from core.model.provider_data import EVENT_LIMIT_BYTES, SseParser
from tests.core.model.support import recorded


def events(*chunks: bytes) -> list[str]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize(
    "stream, expected",
    [
        pytest.param(b"data: a\n\ndata: b\n\n", ["a", "b"], id="two events"),
        pytest.param(b"data:a\r\n\r\ndata:  b\r\n\r\n", ["a", " b"], id="CR LF; only one space is dropped"),
        pytest.param(b"data: a\r\rdata: b\r\r.", ["a", "b"], id="CR alone"),
        pytest.param(b"data: a\ndata: b\n\n", ["a\nb"], id="data in several lines"),
        pytest.param(b": ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", ["a"], id="comments, other fields"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", ["a"], id="byte order mark"),
        pytest.param(b"data: a\n\ndata: b\n", ["a"], id="the end comes inside an event"),
        pytest.param(b"data\ndata: \n\n\n", [""], id="empty data"),
        pytest.param(b"data: \xff\n\n", ["�"], id="not UTF-8"),
    ],
)
def test_a_stream_is_split_into_its_events(stream: bytes, expected: list[str]) -> None:
    assert events(stream) == expected


LINES = st.sampled_from(
    [b"data: {}", "data: ü🚀部".encode(), b"data:", b": c", b"event: e", b"", b"", b"\xef\xbb\xbfdata: x"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(0, 200)))
def test_network_chunking_does_not_change_the_events(
    lines: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(line + end for line, end in lines) + b"\n"
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in itertools.pairwise(places)]
    assert events(*chunks) == events(stream)


def test_a_recorded_stream_is_read_byte_by_byte() -> None:
    stream = recorded("text.sse")
    assert events(*(bytes([byte]) for byte in stream)) == events(stream)
    assert events(stream)[-1] == "[DONE]"


@pytest.mark.parametrize("chunk", [b"data: " + b"x" * 65536, b"data: " + b"x" * 65536 + b"\n"])
def test_an_event_that_never_ends_is_refused(chunk: bytes) -> None:
    parser = SseParser()
    with pytest.raises(ModelReplyInvalid):
        for _ in range(EVENT_LIMIT_BYTES // 65536 + 1):
            parser.feed(chunk)
