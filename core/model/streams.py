"""Leaving a stream in the middle without leaving its connection open."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class closing(Generic[T]):
    """Close the stream when the block is left, however that happens.

    A generator that is merely dropped goes on holding its connection until the garbage collector finds it.
    Not contextlib's `aclosing`: not every stream is a generator.
    """

    __slots__ = ("_stream",)

    def __init__(self, stream: AsyncIterator[T]) -> None:
        self._stream = stream

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        stream: object = self._stream
        if isinstance(stream, AsyncGenerator):
            await cast("AsyncGenerator[T, Any]", stream).aclose()
