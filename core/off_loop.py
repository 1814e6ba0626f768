"""Text processing that keeps long texts off the event loop.

A short text is processed at once: handing it to a thread would take longer. A long one would
block the loop for everyone, and a long JSON text also from a thread: Python's parser in C keeps the
interpreter to itself until it has made the last value.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from functools import partial
from json import decoder, encoder, scanner
from typing import Any, TypeVar, cast

ON_LOOP_CHARS = 4096
"""Maximum length of texts that are processed on the event loop."""
AT_ONCE_CHARS = 128 * 1024
"""Maximum length of JSON texts that are parsed without a break: some 20 ms at most, whatever they hold."""
MAX_VALUES = 250_000
"""Maximum number of values in a longer JSON text: garbage collection looks through them without a break."""

_Scan = Callable[[str, int], tuple[Any, int]]
T = TypeVar("T")


class TooManyValues(ValueError):
    """A long JSON text has more values than its reader takes."""


def json_encoder(
    *, ensure_ascii: bool = True, separators: tuple[str, str] = (", ", ": "), sort_keys: bool = False
) -> Callable[[Any], str]:
    """Return what `json.JSONEncoder` has as `encode` with these options, which makes an encoder in C anew for
    every value. Values must not contain themselves."""
    like = json.JSONEncoder(
        ensure_ascii=ensure_ascii, separators=separators, sort_keys=sort_keys, check_circular=False
    )
    in_c: Any = encoder
    if in_c.c_make_encoder is None:
        return like.encode
    escaped = in_c.encode_basestring_ascii if ensure_ascii else in_c.encode_basestring
    item, key = separators
    pieces = in_c.c_make_encoder(None, like.default, escaped, None, key, item, sort_keys, False, True)
    joined = "".join

    def encode(value: Any) -> str:
        return joined(pieces(value, 0))

    return encode


async def off_loop(chars: int, work: Callable[[], T]) -> T:
    """Return the result of `work` on a text of `chars` characters: here if it is short, else in a
    thread."""
    return work() if chars <= ON_LOOP_CHARS else await asyncio.to_thread(work)


async def json_off_loop(text: str | bytes) -> Any:
    """Return the value of a JSON text, as `json_with_breaks` does."""
    return await off_loop(len(text), partial(json_with_breaks, text))


def json_with_breaks(
    text: str | bytes,
    *,
    most_values: float = MAX_VALUES,
    parse_constant: Callable[[str], object] | None = None,
) -> Any:
    """Return the value of a JSON text. While a long one is parsed, other threads run.

    Raises ValueError, TooManyValues for a long text of more than `most_values` values, and RecursionError if
    it is nested too deeply."""
    if len(text) <= AT_ONCE_CHARS:
        return json.loads(text, parse_constant=parse_constant)
    return json.loads(text, cls=_WithBreaks, most_values=most_values, parse_constant=parse_constant)


class _WithBreaks(json.JSONDecoder):
    """Python's parser written in Python, which takes some ten times as long. Strings are still read in C: a
    megabyte of them takes a millisecond."""

    def __init__(self, most_values: float, parse_constant: Callable[[str], object] | None = None) -> None:
        super().__init__(parse_constant=parse_constant)
        self._left = most_values
        self.parse_array = self._array
        self.parse_object = self._object
        self.scan_once = cast("Any", scanner).py_make_scanner(self)

    def _array(self, at: tuple[str, int], scan: _Scan) -> Any:
        return cast("Any", decoder).JSONArray(at, self._counting(scan))

    def _object(self, at: tuple[str, int], strict: bool, scan: _Scan, *more: Any) -> Any:
        return cast("Any", decoder).JSONObject(at, strict, self._counting(scan), *more)

    def _counting(self, scan: _Scan) -> _Scan:
        def one(text: str, at: int) -> tuple[Any, int]:
            self._left -= 1
            if self._left < 0:
                raise TooManyValues("there are too many values")
            return scan(text, at)

        return one


class ValueCount:
    """The count of the values in JSON texts that come in pieces: of their commas and opening brackets
    outside strings. It is for texts that a library parses on the event loop. No string goes past a line
    end, so none that begins before a text hides any of it."""

    def __init__(self) -> None:
        self._in_string = False
        self._held = b""

    def add(self, piece: bytes) -> int:
        """Return the number of values that a piece begins."""
        piece = self._held + piece
        whole = piece.rstrip(b"\\")  # the next piece may begin with what is escaped
        self._held = piece[len(whole) :]
        found, in_string = 0, False
        for line in whole.replace(b"\\\\", b"").replace(b'\\"', b"").replace(b"\r", b"\n").split(b"\n"):
            parts = line.split(b'"')
            outside = b"".join(parts[self._in_string :: 2])
            found += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
            in_string = self._in_string != (len(parts) % 2 == 0)
            self._in_string = False
        self._in_string = in_string
        return found


# Work that outlasts a cancellation, and cancellations with details. Not in core.errors, which processes
# without an event loop load too.


AGAIN_AFTER_S = 5.0
"""How long work has to end before it is cancelled again: longer than a farewell to a server."""


class LeftRunning(asyncio.CancelledError):
    """The caller was cancelled, and its tool could not be stopped: it may still take effect."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"{tool} could not be stopped")
        self.tool = tool


async def finish(work: Coroutine[Any, Any, T], name: str) -> T:
    """Run work in a task of that name, to its end. Cancellations of the caller do not cut it short; the last
    one is raised afterwards."""
    task = asyncio.create_task(work, name=name)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


async def end_with_caller(work: Coroutine[Any, Any, T], name: str) -> T:
    """Run work in a task of that name, and end it with the caller. It is cancelled until it ends: a library's
    own scope inside may take one cancellation for its own, and go on."""
    task = asyncio.create_task(work, name=name)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task}, timeout=AGAIN_AFTER_S)
        if not task.cancelled():
            task.exception()  # its caller is gone
        raise
