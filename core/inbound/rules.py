"""The rules for inbound events, as the configuration sets them."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from core.consent.rules import EffectivePolicy
from core.ids import Ids
from core.inbound.commands import ModelsOf, SkillsOf, no_models, no_skills
from core.inbound.extension_commands import ServersOf, no_servers
from core.lazy import dataclass
from core.messages import WhileBusy
from core.people.access import NO_CONSOLE, Access, Console
from core.store.accept import AcceptView
from core.store.rows import ThreadRow


@dataclass(frozen=True, slots=True)
class Existing:
    """A thread to which the key already leads."""

    thread: ThreadRow


@dataclass(frozen=True, slots=True)
class Adopt:
    """The person's own thread with this id, which has no key yet and now gets one."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class Create:
    """A new thread with this id."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class Succeed:
    """A new thread with this id: the one to which the key leads was closed."""

    thread_id: str


Resolution = Existing | Adopt | Create | Succeed


class SessionManager:
    """A resolver of thread keys. All state is in the store, so keys still work after a restart."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def resolve(self, view: AcceptView) -> Resolution:
        """Resolve by exact key, then by a UUID that is the person's own unmapped thread, else a new thread.

        An unused UUID becomes the new thread's id. Another person's thread is never reached: the key
        contains the user, and a UUID already in use leads to a fresh id.
        """
        if view.thread is not None and view.thread.closed_at is not None:
            return Succeed(self._ids.row_id())
        if view.thread is not None:
            return Existing(view.thread)
        candidate = view.candidate
        if candidate is None or candidate.mapped:
            return Create(self._ids.row_id())
        if candidate.own:
            return Adopt(candidate.thread_id)
        if candidate.taken:
            return Create(self._ids.row_id())
        return Create(candidate.thread_id)


# What messages are judged by.


if TYPE_CHECKING:
    from core.jobs.service import JobDispatcher


@dataclass(frozen=True, slots=True)
class InboundRules:
    """The rules for judging events.

    `max_waiting`: the limit on inputs that wait in one thread.
    `effective_policy`: the admin policy that people's settings must stay within.
    `timezone`: the hub's, for people who chose none.
    `models`: what `/status` says of a running turn's models.
    `skills`: what `/skills` lists. `configured`: what `/model` lists, see `thread_setting`.
    `jobs`: the maker of jobs; None where there are none.
    `while_busy`: of messages that say nothing else. `servers`: what `/extensions` shows.
    `console`: what `/invite` invites to."""

    access: Access
    sessions: SessionManager
    ids: Ids
    max_waiting: int
    effective_policy: EffectivePolicy
    timezone: str = "UTC"
    models: ModelsOf = no_models
    skills: SkillsOf = no_skills
    configured: Mapping[str, str] = field(default_factory=dict[str, str])
    jobs: "JobDispatcher | None" = None
    while_busy: WhileBusy = WhileBusy.QUEUE
    servers: ServersOf = no_servers
    console: Console = NO_CONSOLE
