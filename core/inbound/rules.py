"""The rules for inbound events, as the configuration sets them."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from core.consent.rules import EffectivePolicy
from core.ids import Ids
from core.inbound.commands import ModelsOf, SkillsOf, no_models, no_skills
from core.inbound.extension_commands import ServersOf, no_servers
from core.inbound.sessions import SessionManager
from core.lazy_dataclass import dataclass
from core.messages import WhileBusy
from core.people.access import NO_CONSOLE, Access, Console

if TYPE_CHECKING:
    from core.jobs.dispatch import JobDispatcher


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
