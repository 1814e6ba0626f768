"""Brings one chosen reply to its client, or fails to, exactly as the fault says."""

import asyncio
import email.utils
import json
import socket
import struct
import time
from dataclasses import replace

from aiohttp import web

from tests.simulators.model.faults import (
    CutArguments,
    Drop,
    EmptyBody,
    EndEarly,
    Fault,
    Hold,
    HttpError,
    MalformedEvent,
    StreamError,
)
from tests.simulators.model.holds import Holds
from tests.simulators.model.journal import Exchange, Journal
from tests.simulators.model.replies import Reply
from tests.simulators.model.wire import Prompt, Wire

JSON_TYPE = "application/json"
STREAM_TYPE = "text/event-stream; charset=utf-8"
GATEWAY_TITLES = {502: "502 Bad Gateway", 504: "504 Gateway Time-out"}
GATEWAY_PAGE = (
    "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n"
    "<hr><center>gateway</center>\r\n</body>\r\n</html>\r\n"
)


class ConnectionCut(Exception):
    """The connection was closed on purpose: there is nobody left to answer."""


class Delivery:
    """One answer on its way out. Marks the exchange with what became of it."""

    def __init__(
        self, request: web.BaseRequest, exchange: Exchange, journal: Journal, holds: Holds, wire: Wire
    ) -> None:
        self._request = request
        self._exchange = exchange
        self._journal = journal
        self._holds = holds
        self._wire = wire

    async def deliver(self, reply: Reply, prompt: Prompt, fault: Fault | None) -> web.StreamResponse:
        """Send the reply, or its fault. Raises ConnectionCut when a fault closed the connection."""
        match fault:
            case HttpError():
                return await self._send_error(fault)
            case Drop(at="before_headers"):
                self._cut(fault)
            case Hold(at="before_headers"):
                await self._hold(fault)
            case CutArguments():
                reply = _with_cut_arguments(reply, fault.keep_chars)
        parts = self._parts(reply, prompt, fault)
        if isinstance(fault, Drop | Hold) and fault.at == "in_headers":
            await self._send_broken_headers(parts, fault)
        return await self._send(parts, reply, fault)

    def _parts(self, reply: Reply, prompt: Prompt, fault: Fault | None) -> list[bytes]:
        """The answer in the pieces it is written in, defects included."""
        if isinstance(fault, EmptyBody):
            return []
        if not prompt.stream:
            return _broken_body(self._wire, self._wire.body(reply, prompt), fault)
        events = _broken_events(self._wire, self._wire.events(reply, prompt), fault)
        if reply.segment_bytes < 1:
            return events
        whole = b"".join(events)
        return [whole[i : i + reply.segment_bytes] for i in range(0, len(whole), reply.segment_bytes)]

    async def _send(self, parts: list[bytes], reply: Reply, fault: Fault | None) -> web.StreamResponse:
        streaming = self._exchange.stream
        response = web.StreamResponse(headers=self._headers(STREAM_TYPE if streaming else JSON_TYPE))
        if not streaming:
            response.content_length = sum(map(len, parts))
        interruption = fault if isinstance(fault, Drop | Hold) else None
        self._exchange.status = 200
        await response.prepare(self._request)
        if interruption is not None and interruption.at == "after_headers":
            await self._interrupt(interruption)
        stop_before = -1
        if interruption is not None and interruption.at == "mid_stream":
            stop_before = min(interruption.after_events, len(parts) - 1)
        for i, part in enumerate(parts):
            if i and reply.delay_s > 0:
                await asyncio.sleep(reply.delay_s)
            if i == stop_before and interruption is not None:
                await self._interrupt(interruption)
            if i == len(parts) - 1:
                self._journal.mark(self._exchange, "answered" if _is_whole(fault) else "failed")
            await response.write(part)
            self._exchange.events_sent += 1
        if not parts:
            self._journal.mark(self._exchange, "failed")
        await response.write_eof()
        return response

    async def _send_error(self, error: HttpError) -> web.StreamResponse:
        headers = self._headers(JSON_TYPE)
        if error.body is not None:
            body = error.body
        elif error.status in GATEWAY_TITLES:
            headers["Content-Type"] = "text/html"
            body = GATEWAY_PAGE.format(GATEWAY_TITLES[error.status])
        else:
            failure = self._wire.http_error(error.status, error.code)
            body = json.dumps(self._wire.with_request_id(failure, f"req_{self._exchange.number}"))
        if error.retry_after_s is not None:
            headers["Retry-After"] = (
                str(error.retry_after_s)
                if error.retry_after_form == "seconds"
                else email.utils.formatdate(time.time() + error.retry_after_s, usegmt=True)
            )
        self._journal.mark(self._exchange, "failed", error.status)
        return web.Response(status=error.status, body=body.encode(), headers=headers)

    async def _send_broken_headers(self, parts: list[bytes], fault: Drop | Hold) -> None:
        """Start the headers and stop; a hold that ends sends the rest and closes."""
        transport = self._request.transport
        if transport is None:
            raise ConnectionCut
        content_type = STREAM_TYPE if self._exchange.stream else JSON_TYPE
        transport.write(f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n".encode())
        await self._interrupt(fault)
        transport.write(b"Connection: close\r\n\r\n" + b"".join(parts))
        self._exchange.events_sent = len(parts)
        self._journal.mark(self._exchange, "answered", 200)
        transport.close()
        raise ConnectionCut

    async def _interrupt(self, fault: Drop | Hold) -> None:
        if isinstance(fault, Drop):
            self._cut(fault)
        else:
            await self._hold(fault)

    async def _hold(self, hold: Hold) -> None:
        self._journal.mark(self._exchange, "held")
        await self._holds.wait(self._exchange.number, hold.gate, hold.at_most_s)
        self._journal.mark(self._exchange, "open")

    def _cut(self, drop: Drop) -> None:
        self._journal.mark(self._exchange, "dropped")
        transport = self._request.transport
        if transport is not None and drop.reset:
            # A zero linger time makes the kernel answer with RST instead of FIN (socket(7)).
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        elif transport is not None:
            transport.close()
        raise ConnectionCut

    def _headers(self, content_type: str) -> dict[str, str]:
        return {"Content-Type": content_type, self._wire.request_id_header: f"req_{self._exchange.number}"}


def _is_whole(fault: Fault | None) -> bool:
    """Return whether the client gets the reply as scripted, sooner or later."""
    return fault is None or isinstance(fault, Hold)


def _with_cut_arguments(reply: Reply, keep_chars: int) -> Reply:
    calls = tuple(
        replace(
            call,
            arguments=(call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments))[
                :keep_chars
            ],
        )
        for call in reply.calls
    )
    return replace(reply, calls=calls, finish="length")


def _broken_events(wire: Wire, events: list[bytes], fault: Fault | None) -> list[bytes]:
    match fault:
        case MalformedEvent(after_events=after):
            after = min(after, len(events) - 1)
            return [*events[:after], wire.malformed_event, *events[after:]]
        case EndEarly(after_events=after):
            return events[: len(events) - 1 if after is None else min(after, len(events) - 1)]
        case StreamError(after_events=after):
            return [*events[: min(after, len(events) - 1)], wire.error_event(fault)]
        case _:
            return events


def _broken_body(wire: Wire, body: bytes, fault: Fault | None) -> list[bytes]:
    half = len(body) // 2
    match fault:
        case MalformedEvent() | EndEarly():
            return [body[:half]]
        case StreamError():
            return [json.dumps(wire.failure(fault)).encode()]
        case Drop(at="mid_stream") | Hold(at="mid_stream"):
            return [body[:half], body[half:]]
        case _:
            return [body]
