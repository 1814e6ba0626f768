"""Routines: a trigger, an action, guardrails, and notices.

A `Definition` is what a person writes and may change. What its runs left behind is kept apart from it, so
that an edit during a run and the end of that run never overwrite one another.

Times are microseconds UTC, money is micro-USD.

A one-time schedule is written in full, `at 2026-12-01 09:00` by the wall clock of its time zone, or `at
2026-12-01 08:00:30 UTC`; what people write otherwise is brought to that form when it is saved: `in 20 m`,
`at 09:00` (the next time the clock reads that), a time with an offset.
"""

import re
from dataclasses import field
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import assert_never

from core.lazy import dataclass
from core.messages import Address

MAX_LISTED = 20
"""Limit of a definition's lists: files, tools, grants, filters, fields."""


class Downtime(StrEnum):
    """The handling of slots that passed while the hub was down or the routine could not run."""

    SKIP = "skip"
    ONE_CATCH_UP = "one_catch_up"
    ALL = "all"


class OnMatch(StrEnum):
    """The destination of a message that fired a routine: also the chat, or the routine alone."""

    ALSO_CHAT = "also_chat"
    CONSUME = "consume"


class Signature(StrEnum):
    """The signature scheme of a webhook; `STANDARD` is Standard Webhooks: HMAC-SHA256 over id, time and
    body."""

    STANDARD = "standard"
    GITHUB = "github"
    GITLAB = "gitlab"
    STRIPE = "stripe"


# --- triggers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cron:
    """A schedule in `timezone` (an IANA name). `catch_up_limit` bounds `Downtime.ALL`; every run starts up to
    `jitter_s` after its slot, each routine by its own amount."""

    schedule: str
    timezone: str = "UTC"
    downtime: Downtime = Downtime.ONE_CATCH_UP
    catch_up_limit: int = 10
    jitter_s: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """Trigger by a message that contains a match of the pattern. Filters: channel name, the sender's
    id or user name on that channel (both ignoring case), the hub's thread id; None accepts all."""

    pattern: str
    ignore_case: bool = False
    channel: str | None = None
    sender: str | None = None
    thread_id: str | None = None
    on_match: OnMatch = OnMatch.ALSO_CHAT


Filters = tuple[tuple[str, str], ...]
"""Names of payload fields (`a.b` for nested ones) and their required values, as text, ignoring
case."""


@dataclass(frozen=True, slots=True)
class SystemEvent:
    """Trigger by an event of the hub, of a tool or of an API caller."""

    source: str
    event_type: str
    filters: Filters = ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """Trigger by `POST /api/webhooks/{path}`. `secret_name` names a secret of the vault; without one no
    delivery is
    accepted. `filters` and `fields`: dotted names of the payload's fields; the filter `@event` tests the
    sender's
    word for the event. `fields` reach the model; none: the whole payload."""

    path: str
    secret_name: str | None = None
    signature: Signature = Signature.STANDARD
    filters: Filters = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manual:
    """Trigger by a person alone, which is possible for every routine."""


Trigger = Cron | Event | SystemEvent | Webhook | Manual


# --- actions --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lightweight:
    """One question to the model, with files of the workspace. It has tools only with `use_tools`:
    those in `allowed_tools`, for at most `max_tool_rounds` rounds.

    `grants`: calls that may run although they always need approval, or their tool is not in the scope, each a
    tool's name, a space and a pattern (as in core.consent.decide): `shell git *`. Kept byte for byte.
    `max_tokens` limits one reply."""

    prompt: str
    context_paths: tuple[str, ...] = ()
    max_tokens: int = 4096
    use_tools: bool = False
    max_tool_rounds: int = 3
    allowed_tools: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FullJob:
    """A separate job; `description`: its task. `allowed_tools`: its tools besides the ones that need no
    approval; `grants`: as of Lightweight. `sandbox`: the directory of the workspace that it works on a copy
    of, in a container; None: it works on the host. `mode`: the agent CLI that does it there; None for the
    hub's own worker. `image`: of the container; None for the configured one."""

    title: str
    description: str
    max_iterations: int = 25
    allowed_tools: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    sandbox: str | None = None
    mode: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Reminder:
    """A text that is sent as it is; no model is called."""

    text: str


Action = Lightweight | FullJob | Reminder


# --- limits and notices ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guardrails:
    """Limits of a routine. `cooldown_s` counts from the end of the last run; equal inputs within
    `dedup_window_s` fire
    once; `rerun_interrupted`: an interrupted run resumes after its last recorded step. `daily_…`: limits
    over all runs
    of a day (tokens read and written; money by the prices of `[[models]]`)."""

    cooldown_s: int = 300
    max_concurrent: int = 1
    dedup_window_s: int | None = None
    daily_runs: int | None = None
    daily_tokens: int | None = None
    daily_budget_micro_usd: int | None = None
    timeout_s: int = 300
    pause_after_failures: int = 5
    rerun_interrupted: bool = False


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Quiet time from `start_minute` until before `end_minute` of the owner's day. It spans midnight
    if the end is earlier than the start; equal values mean none."""

    start_minute: int
    end_minute: int

    def cover(self, minute_of_day: int) -> bool:
        """Return whether that minute of the owner's day is quiet."""
        if self.start_minute <= self.end_minute:
            return self.start_minute <= minute_of_day < self.end_minute
        return minute_of_day >= self.start_minute or minute_of_day < self.end_minute


@dataclass(frozen=True, slots=True)
class Notify:
    """The results that are sent, and their address. Without a channel: where the owner writes most; `address`
    and
    `thread_id` name an address on that channel; `own_thread`: a thread for this routine, where the
    platform has threads."""

    channel: str | None = None
    address: Address | None = None
    thread_id: str | None = None
    own_thread: bool = False
    on_success: bool = False
    on_failure: bool = True
    on_attention: bool = True
    quiet_hours: QuietHours | None = None


# --- the routine ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """The part of a routine that a person writes."""

    name: str
    trigger: Trigger
    action: Action
    description: str = ""
    guardrails: Guardrails = field(default_factory=Guardrails)
    notify: Notify = field(default_factory=Notify)
    enabled: bool = True


# Runs of a routine: their inputs, outcomes and accumulated record.
#
# Times are microseconds UTC, money is micro-USD.

MAX_INPUT_CHARACTERS = 16_000
"""Limit of the text that a run keeps of its input: a long message fits, a large payload does not."""
_CUT = "\n[… cut here]"


class RunStatus(StrEnum):
    """The status of a run. `WAITING`: for a free place; `OK`: nothing to report; `ATTENTION`: a result
    to read; `INTERRUPTED`: the hub ended during the run; `SKIPPED`: it waited, and was no longer
    wanted."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    ATTENTION = "attention"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    SKIPPED = "skipped"

    @property
    def over(self) -> bool:
        """Return whether this is an end."""
        return self not in (RunStatus.WAITING, RunStatus.RUNNING)


# --- inputs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlotInput:
    """A slot of the schedule, and the number of earlier slots skipped for it."""

    slot_at: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class MessageInput:
    """A message: its event key, channel and sender, its text, and the pattern's groups (None for a
    group without a match; named ones also by name)."""

    event_key: str
    channel: str
    sender: str
    text: str
    groups: tuple[str | None, ...] = ()
    named_groups: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class SystemInput:
    """An event by its id; `payload` is JSON text."""

    event_id: str
    source: str
    event_type: str
    payload: str = "{}"


@dataclass(frozen=True, slots=True)
class WebhookInput:
    """A delivery by its sender's id; `event`: the sender's word for the event, "" if none; `payload`:
    the requested fields, as JSON text."""

    delivery_id: str
    payload: str = "{}"
    event: str = ""


@dataclass(frozen=True, slots=True)
class ManualInput:
    """A person's request; `request_id` makes a repeated one harmless."""

    request_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Match:
    """A message that contains a match of a routine's pattern. `thread_id`: the only thread it counts
    in; `consumes`: the message goes to the routine alone. `content_hash` ignores differences in
    white space."""

    routine_id: str
    found: MessageInput
    content_hash: str
    consumes: bool = False
    thread_id: str | None = None


RunInput = SlotInput | MessageInput | SystemInput | WebhookInput | ManualInput


def claim_key(fired_by: RunInput) -> str:
    """Return the key under which an input fires a routine only once: unique together with the routine's
    id."""
    match fired_by:
        case SlotInput():
            return f"slot:{fired_by.slot_at}"
        case MessageInput():
            return message_key(fired_by.event_key)
        case SystemInput():
            return f"event:{fired_by.event_id}"
        case WebhookInput():
            return f"delivery:{fired_by.delivery_id}"
        case ManualInput():
            return f"manual:{fired_by.request_id}"
        case _:
            assert_never(fired_by)


def message_key(event_key: str) -> str:
    """Return the key under which a message fires a routine."""
    return f"message:{event_key}"


def kept(text: str) -> str:
    """Return the text as a run keeps it: whole, or its beginning and a note that it was cut."""
    if len(text) <= MAX_INPUT_CHARACTERS:
        return text
    return text[: MAX_INPUT_CHARACTERS - len(_CUT)] + _CUT


# --- outcomes -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Progress:
    """The record of a routine's runs. `paused_because`: why the hub itself paused it, "" if it did not;
    `tested_as`: the
    fingerprint of the behavior that last succeeded (`core.routines.definitions`); `done`: its one time has
    come."""

    next_fire_at: int | None = None
    last_run_at: int | None = None
    last_status: RunStatus | None = None
    running: int = 0
    run_count: int = 0
    consecutive_failures: int = 0
    paused_because: str = ""
    tested_as: str | None = None
    done: bool = False


MAX_AHEAD = timedelta(days=50 * 366)
FORMS = "'at 2026-12-01 09:00', 'at 09:00', 'in 20 m', 'in 2 hours' or 'in 3 d'"
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_IN = re.compile(
    r"in (\d{1,7}) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)", re.ASCII | re.IGNORECASE
)
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Once:
    """One slot. `reading`: what the wall clock shows then, or UTC if `exact`."""

    reading: datetime
    exact: bool


def is_once(text: str) -> bool:
    """Return whether a schedule is of this kind, well written or not."""
    return text.strip().lower().startswith(("at ", "in "))


def read_once(text: str) -> Once | None:
    """Read the full form; None for any other."""
    found = re.fullmatch(r"at (\d{4}-\d\d-\d\d)[ t](\d\d:\d\d(?::\d\d)?)( utc|z)?", _folded(text), re.ASCII)
    if found is None:
        return None
    try:
        return Once(datetime.fromisoformat(f"{found[1]} {found[2]}"), exact=found[3] is not None)
    except ValueError:
        return None


def in_full(text: str, now: datetime, zone: tzinfo) -> str:
    """Return the full form of a one-time schedule as people write it; any other text as it is. `zone`: of
    times without an offset."""
    said = _folded(text)
    if found := _IN.fullmatch(said):
        ahead = timedelta(seconds=int(found[1]) * _UNITS_S[found[2][0]])
        return _exact(now + ahead) if ahead <= MAX_AHEAD else text
    if not said.startswith("at "):
        return text
    if found := _TIME.fullmatch(said.removeprefix("at ")):
        local, at = now.astimezone(zone), time(int(found[1]), int(found[2]))
        reading = datetime.combine(local.date(), at)
        if reading.replace(tzinfo=zone).astimezone(UTC) <= now:
            reading += timedelta(days=1)
        return f"at {reading:%Y-%m-%d %H:%M}"
    try:
        moment = datetime.fromisoformat(said.removeprefix("at ").upper())
    except ValueError:
        return text
    return text if moment.tzinfo is None else _exact(moment.astimezone(UTC))


def _exact(moment: datetime) -> str:
    return f"at {moment:%Y-%m-%d %H:%M:%S} UTC"


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
