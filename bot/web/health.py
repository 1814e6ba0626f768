"""`/healthz` (the process lives), `/readyz` (it takes messages, and each channel's state), `/metrics`."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.live import MEDIA_TYPE, NEW_JOB, Gauges, Metrics
from bot.web.auth import AccessRules
from channels.manager import ChannelManager, Phase
from channels.webchat import WEB
from core.clock import SECOND_US
from core.inbound.hub import Hub
from core.lazy import LazyModule, dataclass
from core.store.port import Store

if TYPE_CHECKING:
    import prometheus_client
    from prometheus_client import core as families
    from prometheus_client.registry import Collector

    from core import job
    from core.tools.mcp.server import McpServers
else:
    prometheus_client = LazyModule("prometheus_client")
    families = LazyModule("prometheus_client.core")
    job = LazyModule("core.job")


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """One channel's state and, in words, why; `since` is an ISO time. `unreachable`: how many conversations
    took no message the last time, by the platform's reason; which they are is not everybody's to know."""

    state: str
    reason: str | None
    since: str
    unreachable: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """One MCP server's state and why, since an ISO time; how many of its tools are on offer, and why others
    are not. What others are called is the server's own text, and not everybody's to read."""

    state: str
    reason: str | None
    since: str
    tools: int
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Readiness:
    """True if events are taken: the store takes writes and a platform, if there are any, is past its start.
    A channel that fails doesn't make the hub unready."""

    ready: bool
    hub: str
    store: str
    channels: dict[str, ChannelHealth]
    mcp: dict[str, ServerHealth]


def metrics_routes(metrics: Metrics, gate: AccessRules) -> list[Route]:
    """Return the route `/metrics`, for Prometheus."""

    async def shown(request: Request) -> Response:
        refusal = gate.refusal_of_host(request.headers)
        if refusal is not None:
            return refusal
        return Response(page(metrics, await metrics.job_states()), media_type=MEDIA_TYPE)

    return [Route("/metrics", shown)]


def health_routes(readiness: Callable[[], Awaitable[Readiness]], gate: AccessRules) -> list[Route]:
    """Return the two health endpoints; `/readyz` answers 503 while the hub is not ready."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        refusal = gate.refusal_of_host(request.headers)
        if refusal is not None:
            return refusal
        state = await readiness()
        page = asdict(state)
        for server in page["mcp"].values():
            server["refused"] = len(server["refused"])
        return JSONResponse(page, status_code=200 if state.ready else 503)

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


# Whether the hub can do its work: what `/readyz` tells.

STORE_PROBE_S = 1.0


async def readiness_of(
    store: Store, hub: Hub, manager: ChannelManager, servers: "McpServers | None" = None
) -> Readiness:
    """Return the state of everything, soon, whatever the store does."""
    healthy = await _takes_writes(store)
    unreachable = manager.unreachable()
    channels = {
        name: ChannelHealth(
            state.phase.value,
            state.reason,
            _iso(state.since),
            dict(Counter(one.reason for one in unreachable[name].values())),
        )
        for name, state in manager.states().items()
    }
    platforms = [state.phase for name, state in manager.states().items() if name != WEB]
    all_starting = bool(platforms) and all(phase is Phase.STARTING for phase in platforms)
    return Readiness(
        ready=hub.is_open and healthy and not all_starting,
        hub="open" if hub.is_open else "shut",
        store="ok" if healthy else "writes fail: no message is accepted until they succeed",
        channels=channels,
        mcp={} if servers is None else _mcp(servers),
    )


def _mcp(servers: "McpServers") -> dict[str, ServerHealth]:
    return {
        name: ServerHealth(state.phase.value, state.reason, _iso(state.since), state.tools, state.refused)
        for name, state in servers.states().items()
    }


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at // SECOND_US, UTC).isoformat()


async def _takes_writes(store: Store) -> bool:
    """Return whether the store takes writes; one that is still trying does not. Answers soon."""
    try:
        async with asyncio.timeout(STORE_PROBE_S):
            return await store.healthy()
    except TimeoutError:
        return False


# The counts as Prometheus reads them.


def page(metrics: Metrics, jobs: "Mapping[job.JobState, int] | None") -> bytes:
    """Return all metrics in Prometheus's text format. `jobs`: their number by state, if known."""
    registry = prometheus_client.CollectorRegistry()
    registry.register(cast("Collector", _Counts(metrics, jobs)))
    return prometheus_client.generate_latest(registry)


class _Counts:
    """A Collector of Prometheus's library, which is of no use before somebody looks."""

    def __init__(self, metrics: Metrics, jobs: "Mapping[job.JobState, int] | None") -> None:
        self._metrics = metrics
        self._jobs = jobs

    def collect(self) -> "Iterable[families.Metric]":
        metrics = self._metrics
        yield _counted(
            "events_accepted", "Inbound events accepted.", metrics.events_accepted, "channel", "outcome"
        )
        yield _counted(
            "turns", "Turns started (including restarts) and ended.", _single(metrics.turns), "state"
        )
        yield _counted("sends", "Outbound messages by result.", metrics.sends, "channel", "state")
        yield _counted("model_calls", "Model calls by result.", metrics.model_calls, "model", "state")
        yield _counted(
            "model_tokens", "Tokens as the providers counted them.", metrics.model_tokens, "model", "kind"
        )
        cost, seconds = _single(metrics.model_cost_usd), _single(metrics.model_seconds)
        yield _counted("model_cost_usd", "Cost of model calls at the known prices.", cost, "model")
        yield _counted("model_seconds", "Time spent in model calls.", seconds, "model")
        changes = {**_no_job_changes(), **metrics.job_changes}
        yield _counted("job_changes", "Changes of jobs' states.", changes, "before", "state")
        if metrics.gauges is not None:
            yield from _seen(metrics.gauges)
        if self._jobs is not None:
            yield _by_state(self._jobs)


def _single(counts: Mapping[str, float]) -> Mapping[tuple[str, ...], float]:
    return {(label,): count for label, count in counts.items()}


def _counted(
    name: str, told: str, counts: Mapping[tuple[str, ...], float], *labels: str
) -> "families.CounterMetricFamily":
    family = families.CounterMetricFamily(f"hubbub_{name}", told, labels=labels)
    for values, count in counts.items():
        family.add_metric(list(values), count)
    return family


def _seen(gauges: Gauges) -> "Sequence[families.GaugeMetricFamily]":
    phases = families.GaugeMetricFamily(
        "hubbub_channel_phase", "1 for the current phase of a channel.", labels=["channel", "phase"]
    )
    for name, state in gauges.states().items():
        for phase in Phase:
            phases.add_metric([name, phase.value], float(state.phase is phase))
    waiting = families.GaugeMetricFamily(
        "hubbub_sends_waiting", "Messages waiting to be sent.", labels=["channel"]
    )
    for name, count in gauges.waiting().items():
        waiting.add_metric([name], count)
    return [
        phases,
        waiting,
        families.GaugeMetricFamily(
            "hubbub_turns_running", "Turns running or about to run.", gauges.running()
        ),
        families.GaugeMetricFamily("hubbub_streams_open", "Open event streams.", gauges.streams()),
        families.GaugeMetricFamily("hubbub_jobs_running", "Jobs running or about to run.", gauges.jobs()),
    ]


def _by_state(jobs: "Mapping[job.JobState, int]") -> "families.GaugeMetricFamily":
    states = families.GaugeMetricFamily("hubbub_jobs", "Stored jobs by state.", labels=["state"])
    for state in job.JobState:
        states.add_metric([state.value], jobs.get(state, 0))
    return states


def _no_job_changes() -> Mapping[tuple[str, ...], float]:
    """Return all changes there are, so that each has a count from the start."""
    changes = [(before.value, state.value) for before, after in job.EDGES.items() for state in sorted(after)]
    return dict.fromkeys([(NEW_JOB, job.JobState.PENDING.value), *changes], 0)
