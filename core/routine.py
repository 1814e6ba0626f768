"""What a routine is: something that fires it, something it does, what holds it back, and whom it tells.

A `Definition` is what a person writes and may change. What its runs left behind is kept apart from it
(`core.routine_run`), so that an edit during a run and the end of that run never overwrite one another.

Times are microseconds UTC, money is micro-USD.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from core.messages import Address


class Downtime(StrEnum):
    """What becomes of slots that passed while the hub was down or the routine could not run."""

    SKIP = "skip"
    ONE_CATCH_UP = "one_catch_up"
    ALL = "all"


class OnMatch(StrEnum):
    """Whether a message that fired a routine also goes to the chat."""

    ALSO_CHAT = "also_chat"
    CONSUME = "consume"


class Signature(StrEnum):
    """How callers of a webhook prove who they are; `STANDARD` is Standard Webhooks: HMAC-SHA256 over id, time
    and body."""

    STANDARD = "standard"
    GITHUB = "github"
    GITLAB = "gitlab"
    STRIPE = "stripe"


# --- triggers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cron:
    """By the clock of `timezone` (an IANA name). `catch_up_limit` bounds `Downtime.ALL`; every run starts up
    to `jitter_s` after its slot, each routine by an amount of its own."""

    schedule: str
    timezone: str = "UTC"
    downtime: Downtime = Downtime.ONE_CATCH_UP
    catch_up_limit: int = 10
    jitter_s: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """By a message whose text the pattern is found in. Filters: channel name, the sender's id or user name on
    that channel (both without regard to case), the hub's thread id; None lets all through."""

    pattern: str
    ignore_case: bool = False
    channel: str | None = None
    sender: str | None = None
    thread_id: str | None = None
    on_match: OnMatch = OnMatch.ALSO_CHAT


Filters = tuple[tuple[str, str], ...]
"""Names of fields of the payload (`a.b` within others) and what each must be, as text, whatever the case."""


@dataclass(frozen=True, slots=True)
class SystemEvent:
    """By an event of the hub, of a tool or of a caller of the API."""

    source: str
    event_type: str
    filters: Filters = ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """By `POST /api/webhooks/{path}`. `secret_name` names a secret of the vault; without one nobody is let
    in. `filters` and `fields`: dotted names of the payload's fields; the filter `@event` asks for what the
    sender calls the event. `fields` reach the model; none named: the whole payload."""

    path: str
    secret_name: str | None = None
    signature: Signature = Signature.STANDARD
    filters: Filters = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manual:
    """By a person alone, which every routine can be."""


Trigger = Cron | Event | SystemEvent | Webhook | Manual


# --- actions --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lightweight:
    """One question to the model, with files of the workspace; with tools only where `use_tools` says so, and
    then those of `allowed_tools` alone, in at most `max_tool_rounds` rounds. `grants`: which of their calls
    may run that always need a person's word, each a tool's name, a space and a pattern (as in
    core.consent.grants): `shell git *`. `max_tokens` caps what one reply may cost."""

    prompt: str
    context_paths: tuple[str, ...] = ()
    max_tokens: int = 4096
    use_tools: bool = False
    max_tool_rounds: int = 3
    allowed_tools: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FullJob:
    """A job of its own; `description` is what it is to do."""

    title: str
    description: str
    max_iterations: int = 25


Action = Lightweight | FullJob


# --- limits and notices ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guardrails:
    """What a routine may not exceed. `cooldown_s` counts from the end of the last run; inputs that are the
    same within `dedup_window_s` fire once; `rerun_interrupted`: a run that the hub's end broke off goes on
    after its last recorded step. `daily_…`: what all runs of a day may use together (tokens read and written;
    money by the prices of `[[models]]`)."""

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
    """From `start_minute` until before `end_minute` of the owner's day, over midnight where it ends earlier
    than it starts; never, where both are the same."""

    start_minute: int
    end_minute: int

    def cover(self, minute_of_day: int) -> bool:
        """Whether that minute of the owner's day is quiet."""
        if self.start_minute <= self.end_minute:
            return self.start_minute <= minute_of_day < self.end_minute
        return minute_of_day >= self.start_minute or minute_of_day < self.end_minute


@dataclass(frozen=True, slots=True)
class Notify:
    """Where results go and which. Without a channel: where the owner is heard most; `address` and `thread_id`
    name a place on that channel; `own_thread`: a thread for this routine, where the platform has threads."""

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
    """All that a person says of a routine."""

    name: str
    trigger: Trigger
    action: Action
    description: str = ""
    guardrails: Guardrails = field(default_factory=Guardrails)
    notify: Notify = field(default_factory=Notify)
    enabled: bool = True
