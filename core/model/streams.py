"""Leaving a stream in the middle without leaving its connection open."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

T = TypeVar("T")


@asynccontextmanager
async def closing(stream: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T]]:
    """Close the stream when the block is left, however that happens.

    A generator that is merely dropped goes on holding its connection until the garbage collector finds it.
    """
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            await cast("AsyncGenerator[T, Any]", stream).aclose()
