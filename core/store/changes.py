"""What units changed, for those who look on: told after the commit, so that nobody needs to ask again."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Changes:
    """What one commit may have changed, and perhaps a little more.

    `threads`: ids of threads in which something new is seen; `prompts`: ids of prompts opened, changed or
    closed, each with its thread's; `people`: requests to be let in; `routines`: ids of routines that were
    made, changed or deleted; `runs`: ids of routines whose runs were queued, began or ended; `audit`: a
    record was written; `tools`: all tools were paused or let go on.
    """

    threads: frozenset[str]
    prompts: dict[str, str]
    people: bool
    routines: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    audit: bool = False
    tools: bool = False


class ChangeListener(Protocol):
    """Told of every commit that changed something to be seen."""

    def changed(self, changes: Changes) -> None:
        """Called in the event loop, after the commit. Never blocks and never fails."""
        ...


@dataclass(slots=True)
class ChangeLog:
    """Collects what the units of one commit change."""

    threads: set[str] = field(default_factory=set[str])
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    people: bool = False
    routines: set[str] = field(default_factory=set[str])
    runs: set[str] = field(default_factory=set[str])
    audit: bool = False
    tools: bool = False

    def take(self) -> Changes | None:
        """What was collected, forgetting it; None for nothing."""
        lists = self.threads or self.prompts or self.routines or self.runs
        if not (lists or self.people or self.audit or self.tools):
            return None
        taken = Changes(
            frozenset(self.threads),
            dict(self.prompts),
            self.people,
            frozenset(self.routines),
            frozenset(self.runs),
            self.audit,
            self.tools,
        )
        self.threads.clear()
        self.routines.clear()
        self.runs.clear()
        self.prompts.clear()
        self.people = self.audit = self.tools = False
        return taken
