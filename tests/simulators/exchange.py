"""One request and its answer, as the log sees them: cut, held, slow or unanswered where a fault says so."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from tests.simulators.faults import Fault


class Exchange(Protocol):
    """The record of one request; the log's page says what each ``outcome`` means."""

    outcome: str
    status: int | None


async def play_fault(
    request: web.BaseRequest, record: Exchange, fault: Fault, changed: Callable[[], None]
) -> bool:
    """Plays a fault that concerns the connection; False if there is nothing to answer any more."""
    if fault.kind == "slow":
        await asyncio.sleep(fault.delay_s)
        return True
    if fault.kind == "hold":
        released = fault.released
        record.outcome = "held"
        changed()
        await released.wait()
        record.outcome = "pending"
        if fault.then == "answer":
            return True
    if fault.kind == "silent":
        record.outcome = "silent"
        changed()
        await fault.released.wait()
    elif request.transport is not None:
        record.outcome = "dropped"
    if request.transport is not None:
        request.transport.abort()
    return False


async def send_answer(request: web.BaseRequest, record: Exchange, response: web.Response) -> web.Response:
    """Writes the answer at once, so that the log knows whether it went out."""
    record.status = record.status or response.status
    try:
        await response.prepare(request)
        await response.write_eof()
    except ConnectionError:
        record.outcome = "gone"
        return response
    connected = request.transport is not None and not request.transport.is_closing()
    record.outcome = "answered" if connected else "gone"
    return response
