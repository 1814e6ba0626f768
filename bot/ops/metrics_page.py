"""The counts as Prometheus reads them. Imported when somebody first asks for `/metrics`."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.ops.metrics import NEW_JOB, Gauges, Metrics
from channels.manager import Phase
from core.job import EDGES, JobState

_NO_JOB_CHANGES: Mapping[tuple[str, ...], float] = {
    (NEW_JOB, JobState.PENDING.value): 0,
    **{(before.value, state.value): 0 for before, after in EDGES.items() for state in sorted(after)},
}
"""All changes there are, so that each has a count from the start."""


def page(metrics: Metrics, jobs: Mapping[JobState, int] | None) -> bytes:
    """Return all metrics in Prometheus's text format. `jobs`: their number by state, if known."""
    registry = CollectorRegistry()
    registry.register(_Counts(metrics, jobs))
    return generate_latest(registry)


class _Counts(Collector):
    def __init__(self, metrics: Metrics, jobs: Mapping[JobState, int] | None) -> None:
        self._metrics = metrics
        self._jobs = jobs

    def collect(self) -> Iterable[Metric]:
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
        changes = {**_NO_JOB_CHANGES, **metrics.job_changes}
        yield _counted("job_changes", "Changes of jobs' states.", changes, "before", "state")
        if metrics.gauges is not None:
            yield from _seen(metrics.gauges)
        if self._jobs is not None:
            yield _by_state(self._jobs)


def _single(counts: Mapping[str, float]) -> Mapping[tuple[str, ...], float]:
    return {(label,): count for label, count in counts.items()}


def _counted(
    name: str, told: str, counts: Mapping[tuple[str, ...], float], *labels: str
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"hubbub_{name}", told, labels=labels)
    for values, count in counts.items():
        family.add_metric(list(values), count)
    return family


def _seen(gauges: Gauges) -> Sequence[GaugeMetricFamily]:
    phases = GaugeMetricFamily(
        "hubbub_channel_phase", "1 for the current phase of a channel.", labels=["channel", "phase"]
    )
    for name, state in gauges.states().items():
        for phase in Phase:
            phases.add_metric([name, phase.value], float(state.phase is phase))
    waiting = GaugeMetricFamily("hubbub_sends_waiting", "Messages waiting to be sent.", labels=["channel"])
    for name, count in gauges.waiting().items():
        waiting.add_metric([name], count)
    return [
        phases,
        waiting,
        GaugeMetricFamily("hubbub_turns_running", "Turns running or about to run.", gauges.running()),
        GaugeMetricFamily("hubbub_streams_open", "Open event streams.", gauges.streams()),
        GaugeMetricFamily("hubbub_jobs_running", "Jobs running or about to run.", gauges.jobs()),
    ]


def _by_state(jobs: Mapping[JobState, int]) -> GaugeMetricFamily:
    states = GaugeMetricFamily("hubbub_jobs", "Stored jobs by state.", labels=["state"])
    for state in JobState:
        states.add_metric([state.value], jobs.get(state, 0))
    return states
