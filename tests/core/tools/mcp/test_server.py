"""One server's life: connected in the background, tried again, its list followed, its calls bounded."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.errors import SignInRequired, ToolFailed
from core.tool import Arguments, ProcessInfo, Tool
from core.tools.mcp.catalog import Listed, Terms
from core.tools.mcp.connection import Credentials, NotCalled, Reply, ServerFailed, SignInNeeded
from core.tools.mcp.server import LONGEST_PAUSE_S, McpServer, Phase
from core.users import Principal, Role
from tests.clock import ManualClock
from tests.core.tools.support import Call, run
from tests.patience import PATIENCE_S

SHAPE: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ACT = Listed("act", "Acts.", {"type": "object", "properties": {}})
OTHER = Listed("other", "Acts.", {"type": "object", "properties": {}})
SHAPED = Listed("shaped", "Acts.", {"type": "object", "properties": {}}, SHAPE)


@dataclass
class Fake:
    """Connector, connection and memory in one, as a test wants them."""

    listed: Sequence[Listed] = (ACT,)
    failures: list[str] = field(default_factory=list)
    reply: Reply | ServerFailed = field(default_factory=lambda: Reply("done"))
    kept: Sequence[Listed] = ()
    process: ProcessInfo | None = None
    opened: int = 0
    opened_for: list[str | None] = field(default_factory=list)
    asked: int = 0
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[str] = field(default_factory=list)
    running: int = 0
    most: int = 0
    gate: asyncio.Event | None = None
    door: asyncio.Event | None = None

    @contextlib.asynccontextmanager
    async def open(self, user_id: str | None = None) -> AsyncIterator["Fake"]:
        self.opened += 1
        self.opened_for.append(user_id)
        if self.door is not None:
            await self.door.wait()
        if self.failures:
            raise ServerFailed(self.failures.pop(0))
        yield self

    async def tools(self) -> Sequence[Listed]:
        self.asked += 1
        return self.listed

    async def call(self, tool: str, arguments: Arguments, idempotency_key: str) -> Reply:
        self.calls.append(tool)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.gate is not None:
                await self.gate.wait()
        finally:
            self.running -= 1
        if isinstance(self.reply, ServerFailed):
            raise self.reply
        return self.reply

    async def changed(self) -> None:
        await self.news.wait()
        self.news.clear()
        if self.lost.is_set():
            raise ServerFailed("it exited")

    def load(self) -> Sequence[Listed]:
        return self.kept

    def save(self, listed: Sequence[Listed]) -> None:
        self.kept = listed


@dataclass
class Bench:
    """A server, its surroundings, and what it offers."""

    fake: Fake
    credentials: Credentials | None = None
    clock: ManualClock = field(default_factory=ManualClock)
    offered: dict[str, Tool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        terms = Terms("srv", frozenset({"u1", "u2"}))
        self.server = McpServer(terms, self.fake, self.fake, self._take, self.clock, self.credentials)

    def _take(self, _name: str, tools: Sequence[Tool]) -> None:
        self.offered = {tool.name: tool for tool in tools}

    async def becomes(self, phase: Phase) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.server.state.phase is not phase:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def running(fake: Fake, credentials: Credentials | None = None) -> AsyncIterator[Bench]:
    bench = Bench(fake, credentials)
    task = asyncio.create_task(bench.server.run())
    try:
        yield bench
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_the_tools_of_a_server_are_offered_called_and_remembered() -> None:
    async with running(Fake()) as bench:
        await bench.becomes(Phase.READY)
        assert await run(bench.offered["srv__act"], {}) == "done"
        assert bench.server.state.tools == 1
        assert list(bench.fake.kept) == [ACT]


async def test_cached_tools_are_offered_before_the_server_is_reached() -> None:
    bench = Bench(Fake(kept=[ACT]))
    bench.server.recall()
    assert set(bench.offered) == {"srv__act"}
    assert bench.server.state.phase is Phase.CONNECTING
    waiting = asyncio.create_task(run(bench.offered["srv__act"], {}))
    await asyncio.sleep(0)
    assert not waiting.done()
    task = asyncio.create_task(bench.server.run())
    assert await waiting == "done"
    task.cancel()
    await asyncio.wait([task])


async def test_a_server_is_retried_with_longer_and_longer_pauses() -> None:
    async with running(Fake(failures=["it cannot be reached"] * 12, kept=[ACT])) as bench:
        bench.server.recall()
        pauses = []
        for _ in range(12):
            pauses.append(await bench.clock.someone_waits())
            assert bench.server.state.phase is Phase.FAILED
            assert str(bench.server.state.reason).startswith("it cannot be reached; retrying in")
            with pytest.raises(ToolFailed, match="srv is not available: it cannot be reached"):
                await run(bench.offered["srv__act"], {})
            bench.clock.advance(pauses[-1])
            async with asyncio.timeout(PATIENCE_S):
                while bench.fake.opened <= len(pauses):  # noqa: ASYNC110
                    await asyncio.sleep(0)
        assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
        await bench.becomes(Phase.READY)


@pytest.mark.parametrize("held_s, pause_s", [(60, 4), (61, 1)])
async def test_pauses_begin_anew_only_after_a_connection_that_held(held_s: int, pause_s: int) -> None:
    async with running(Fake(failures=["it cannot be reached"] * 2)) as bench:
        for tried, waits_s in enumerate((1, 2), start=1):
            assert await bench.clock.someone_waits() == waits_s
            bench.clock.advance(waits_s)
            async with asyncio.timeout(PATIENCE_S):
                while bench.fake.opened <= tried:  # noqa: ASYNC110
                    await asyncio.sleep(0)
        await bench.becomes(Phase.READY)
        bench.clock.advance(held_s)
        bench.fake.lost.set()
        bench.fake.news.set()
        await bench.becomes(Phase.FAILED)
        assert await bench.clock.someone_waits() == pause_s


async def test_a_list_that_changes_is_followed_but_not_all_the_time() -> None:
    async with running(Fake()) as bench:
        await bench.becomes(Phase.READY)
        bench.fake.listed = [OTHER]
        for _ in range(100):
            bench.fake.news.set()
        await bench.clock.someone_waits()
        assert set(bench.offered) == {"srv__other"}
        assert bench.fake.asked == 2
        bench.fake.news.set()
        await asyncio.sleep(0)
        assert bench.fake.asked == 2


async def test_a_lost_server_is_reported_as_lost_and_comes_back() -> None:
    async with running(Fake()) as bench:
        await bench.becomes(Phase.READY)
        bench.fake.lost.set()
        bench.fake.news.set()
        await bench.becomes(Phase.FAILED)
        assert str(bench.server.state.reason).startswith("it exited")
        bench.fake.lost.clear()
        await bench.clock.someone_waits()
        bench.clock.advance(1)
        await bench.becomes(Phase.READY)


async def test_a_call_made_while_it_is_reached_again_waits_for_it() -> None:
    async with running(Fake()) as bench:
        await bench.becomes(Phase.READY)
        bench.fake.door = asyncio.Event()
        bench.fake.lost.set()
        bench.fake.news.set()
        await bench.becomes(Phase.FAILED)
        bench.fake.lost.clear()
        await bench.clock.someone_waits()
        bench.clock.advance(1)
        await bench.becomes(Phase.CONNECTING)
        call = asyncio.create_task(run(bench.offered["srv__act"], {}))
        await asyncio.sleep(0)
        bench.fake.door.set()
        assert await call == "done"


async def test_an_interrupted_call_may_have_been_carried_out() -> None:
    async with running(Fake(reply=ServerFailed("it exited"))) as bench:
        await bench.becomes(Phase.READY)
        with pytest.raises(ToolFailed, match="The call may or may not have run"):
            await run(bench.offered["srv__act"], {})


async def test_a_call_that_did_not_reach_it_was_not_carried_out() -> None:
    async with running(Fake(reply=NotCalled("it exited"))) as bench:
        await bench.becomes(Phase.READY)
        with pytest.raises(ToolFailed, match=r"^The server srv is not available: it exited\.$"):
            await run(bench.offered["srv__act"], {})


async def test_a_failed_server_gives_its_reason() -> None:
    async with running(Fake(reply=Reply("no \x1b[1msuch issue", failed=True))) as bench:
        await bench.becomes(Phase.READY)
        with pytest.raises(ToolFailed, match=r"^no such issue$"):
            await run(bench.offered["srv__act"], {})


@pytest.mark.parametrize(
    "reply,shown",
    [
        (Reply("fine", structured={"a": 1}), "fine"),
        (Reply("", structured={"a": 1}), '{"a": 1}'),
        (
            Reply("odd", structured={"a": "x"}),
            "[This result does not match the schema that srv declared.]\nodd",
        ),
        (Reply("bare"), "[This result does not match the schema that srv declared.]\nbare"),
    ],
    ids=["fits", "fits-alone", "another", "none"],
)
async def test_a_result_of_a_form_other_than_declared_is_marked(reply: Reply, shown: str) -> None:
    async with running(Fake(listed=[SHAPED], reply=reply)) as bench:
        await bench.becomes(Phase.READY)
        assert await run(bench.offered["srv__shaped"], {}) == shown


async def test_the_process_of_a_server_is_recorded_before_the_call() -> None:
    process = ProcessInfo(4711, 4711, 1)
    async with running(Fake(process=process, reply=ServerFailed("gone"))) as bench:
        await bench.becomes(Phase.READY)
        call = Call()
        with pytest.raises(ToolFailed):
            await run(bench.offered["srv__act"], {}, call)
        assert call.processes == [process]


async def test_concurrent_calls_are_limited() -> None:
    fake = Fake(gate=asyncio.Event())
    async with running(fake) as bench:
        await bench.becomes(Phase.READY)
        calls = [asyncio.create_task(run(bench.offered["srv__act"], {})) for _ in range(30)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert fake.running == 8
        assert fake.gate is not None
        fake.gate.set()
        assert await asyncio.gather(*calls) == ["done"] * 30
        assert fake.most == 8


@dataclass
class SignedIn:
    """The people who are signed in at the server."""

    people: set[str]
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def bearer(self, user_id: str, refused: str = "") -> str | None:
        del refused
        return f"token of {user_id}" if user_id in self.people else None

    async def holder(self, users: Iterable[str]) -> str | None:
        return next((one for one in users if one in self.people), None)

    async def changed(self) -> None:
        await self.news.wait()


async def test_a_call_uses_the_connection_of_its_own_person() -> None:
    async with running(Fake(), SignedIn({"u1", "u2"})) as bench:
        await bench.becomes(Phase.READY)
        assert bench.fake.opened_for == ["u1"]
        for user_id in ("u1", "u2", "u3"):
            act = bench.offered["srv__act"]
            await act.run(Call(principal=Principal(user_id, Role.MEMBER, user_id)), {})
        assert bench.fake.opened_for == ["u1", "u2", "u3"]


async def test_a_refusal_that_requires_a_sign_in_has_not_run_the_call() -> None:
    async with running(Fake(reply=SignInNeeded("Bearer")), SignedIn({"u1"})) as bench:
        await bench.becomes(Phase.READY)
        with pytest.raises(SignInRequired):
            await bench.offered["srv__act"].run(Call(principal=Principal("u1", Role.OWNER, "u1")), {})
    async with running(Fake(reply=SignInNeeded("Bearer"))) as bench:
        await bench.becomes(Phase.READY)
        with pytest.raises(ToolFailed, match="not possible"):
            await run(bench.offered["srv__act"], {})


async def test_a_sign_in_ends_the_wait_for_the_next_attempt() -> None:
    people = SignedIn(set())
    async with running(Fake(failures=["nobody is signed in to it"]), people) as bench:
        await bench.becomes(Phase.FAILED)
        people.people.add("u2")
        people.news.set()
        await bench.becomes(Phase.READY)
        assert bench.fake.opened_for == [None, "u2"]
