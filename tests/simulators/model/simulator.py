"""The simulator itself: an HTTP server, its script, its record, and the handle tests hold."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.patience import PATIENCE_S
from tests.simulators.model import openai_errors
from tests.simulators.model.anthropic_wire import AnthropicWire
from tests.simulators.model.control import control_routes
from tests.simulators.model.delivery import ConnectionCut, Delivery
from tests.simulators.model.faults import Fault
from tests.simulators.model.holds import Holds
from tests.simulators.model.journal import Exchange, Journal
from tests.simulators.model.openai_wire import OpenAIWire
from tests.simulators.model.replies import Reply
from tests.simulators.model.script import Answer, Entry, FaultEntry, On, Script
from tests.simulators.model.wire import ApiError, Provider, Wire

BODY_LIMIT_BYTES = 64 * 1024 * 1024

Found = TypeVar("Found")


class ModelSimulator:
    """A model provider on a local port. Use as an async context manager, or `start` and `stop`.

    `stop` closes every connection; `start` after it listens on the same port again, keeping script and
    record. See the package's docstring for what can be scripted.
    """

    def __init__(
        self,
        *,
        api_key: str = "test-key",
        models: tuple[str, ...] = ("sim-1", "sim-2"),
        context_tokens: int = 128_000,
        max_output_tokens: int = 16_384,
        host: str = "127.0.0.1",
        port: int = 0,
        log_limit: int = 10_000,
    ) -> None:
        self.provider = Provider(api_key, models, context_tokens, max_output_tokens)
        self.script = Script()
        self.log = Journal(limit=log_limit)
        self.holds = Holds()
        self.host = host
        self.port = port
        self._openai = OpenAIWire(self.provider)
        self._anthropic = AnthropicWire(self.provider)
        self._runner: web.AppRunner | None = None
        self._being_answered: dict[int, Exchange] = {}

    # -------------------------------------------------------------- life

    @property
    def url(self) -> str:
        """The server's root, without a path; known once started."""
        return f"http://{self.host}:{self.port}"

    @property
    def openai_base_url(self) -> str:
        """Return what a client of OpenAI's API calls its base URL."""
        return f"{self.url}/v1"

    @property
    def anthropic_base_url(self) -> str:
        """Return what a client of Anthropic's API calls its base URL."""
        return self.url

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        app = web.Application(client_max_size=BODY_LIMIT_BYTES)
        app.router.add_post("/v1/chat/completions", self._answer_openai)
        app.router.add_post("/v1/messages", self._answer_anthropic)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_get("/v1/models/{model}", self._show_model)
        app.add_routes(control_routes(self))
        app.router.add_route("*", "/{path:.*}", self._unknown_path)
        # Cancelling handlers is how a client that went away is noticed while its request is held; the time to
        # shut down is what `stop` leaves them before their connections are closed (0 would mean no limit).
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, self.host, self.port, backlog=1024, reuse_address=True).start()
        self._runner = runner
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            for exchange in self._being_answered.values():
                self.log.mark(exchange, "dropped")
            await runner.cleanup()

    # -------------------------------------------------------------- scripting

    def enqueue(
        self, *replies: Answer | str, match: str | None = None, on: On = "any", fault: Fault | None = None
    ) -> None:
        """Add replies, each used once, by the first matching request; an undelivered one stays first."""
        for reply in replies:
            self.script.queue.append(Entry(_answer(reply), _pattern(match), on, fault))

    def rule(self, match: str, reply: Answer | str, *, on: On = "user", fault: Fault | None = None) -> None:
        """Add a standing rule over the user text; the latest added is asked first."""
        self.script.rules.append(Entry(_answer(reply), _pattern(match), on, fault))

    def fault(self, fault: Fault, *, times: int | None = 1, match: str | None = None) -> None:
        """Let the next `times` accepted requests (None: all) whose user text matches meet this fault."""
        self.script.faults.append(FaultEntry(fault, times, _pattern(match)))

    def clear_faults(self) -> None:
        self.script.faults.clear()

    def reset(self) -> None:
        """Forget script and record, and release what is held."""
        self.script.clear()
        self.log.clear()
        self.holds.release()

    def release(self, *, number: int | None = None, gate: str | None = None) -> int:
        """Let held requests go on: one, one gate's, or all. Returns how many."""
        return self.holds.release(number=number, gate=gate)

    # -------------------------------------------------------------- observing

    async def wait_for(
        self, predicate: Callable[[Journal], Found], timeout_s: float = PATIENCE_S, *, what: str = ""
    ) -> Found:
        """The predicate's value over the log as soon as it is true; TimeoutError tells what was there."""
        return await self.log.wait_for(predicate, timeout_s, what=what)

    async def wait_requests(
        self,
        count: int = 1,
        *,
        state: str | None = None,
        match: str | None = None,
        after: int = 0,
        timeout_s: float = PATIENCE_S,
    ) -> list[Exchange]:
        """At least `count` exchanges in `state`, matching `match`, later than number `after`."""

        def enough(log: Journal) -> list[Exchange] | None:
            found = log.select(state=state, match=match, after=after)
            return found if len(found) >= count else None

        found = await self.log.wait_for(
            enough, timeout_s, what=f"{count} requests {state or ''} {match or ''}"
        )
        return found or []

    # -------------------------------------------------------------- serving

    async def _answer_openai(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, self._openai)

    async def _answer_anthropic(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, self._anthropic)

    async def _answer(self, request: web.Request, wire: Wire) -> web.StreamResponse:
        raw = await request.read()
        exchange = self.log.open(wire.name, request.method, request.path, request.headers, raw)
        try:
            prompt = wire.read(request.headers, raw)
        except ApiError as error:
            return self._refuse(exchange, error, wire)
        exchange.stream = prompt.stream
        exchange.user_text = prompt.user_text
        exchange.tool_results = prompt.tool_results
        choice = self.script.choose(prompt)
        exchange.reply, exchange.fault = choice.reply, choice.fault
        exchange.counted = wire.counted(choice.reply, prompt)
        self.log.changed()
        self._being_answered[exchange.number] = exchange
        try:
            return await Delivery(request, exchange, self.log, self.holds, wire).deliver(
                choice.reply, prompt, choice.fault
            )
        except ConnectionCut:
            return web.Response()
        except (asyncio.CancelledError, ConnectionError):
            if exchange.state != "dropped":
                self.log.mark(exchange, "client_gone")
            raise
        finally:
            del self._being_answered[exchange.number]
            if exchange.state != "answered":
                self.script.undo(choice)

    async def _list_models(self, request: web.Request) -> web.Response:
        return self._describe(request, lambda wire: wire.models())

    async def _show_model(self, request: web.Request) -> web.Response:
        return self._describe(request, lambda wire: wire.model(request.match_info["model"]))

    def _describe(self, request: web.Request, describe: Callable[[Wire], Mapping[str, Any]]) -> web.Response:
        """Answer a request that asks the model nothing: authenticated and recorded, never scripted."""
        wire = self._anthropic if "anthropic-version" in request.headers else self._openai
        exchange = self.log.open(wire.name, request.method, request.path, request.headers, b"")
        try:
            wire.authenticate(request.headers)
            body = describe(wire)
        except ApiError as error:
            return self._refuse(exchange, error, wire)
        self.log.mark(exchange, "answered", 200)
        return web.json_response(body)

    def _refuse(self, exchange: Exchange, error: ApiError, wire: Wire) -> web.Response:
        self.log.mark(exchange, "refused", error.status)
        request_id = f"req_{exchange.number}"
        body = wire.with_request_id(error.body, request_id)
        return web.json_response(body, status=error.status, headers={wire.request_id_header: request_id})

    async def _unknown_path(self, request: web.Request) -> web.Response:
        raw = await request.read()
        exchange = self.log.open("-", request.method, request.path, request.headers, raw)
        error = openai_errors.refusal(f"Invalid URL ({request.method} {request.path})", status=404)
        return self._refuse(exchange, error, self._openai)


def _answer(reply: Answer | str) -> Answer:
    return Reply(text=reply) if isinstance(reply, str) else reply


def _pattern(match: str | None) -> re.Pattern[str] | None:
    return None if match is None else re.compile(match, re.DOTALL)
