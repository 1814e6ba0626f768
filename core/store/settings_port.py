"""The store's units for changes of the configuration file that wait for approval: part of Gates."""

from collections.abc import Sequence
from typing import Protocol

from core.gates import Gate
from core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of the configuration file that people approve. `id`: its gate's.

    `before`, `after`: SHA-256 of the file's text, which the approval is bound to. `wanted`: what changes, as
    JSON text without any secret. `approved`: it is to be written now."""

    id: str
    before: str
    after: str
    wanted: str
    approved: bool = False


class SettingsChanges(Protocol):
    """The units for changes of the configuration file. One waits for approval at a time."""

    async def note_settings(self, keys: Sequence[str], by: str, gate_id: str | None = None) -> None:
        """Record in the audit the keys of the configuration file that a person changes. `gate_id`: of the
        approval, if it needed one."""
        ...

    async def ask_settings(self, change: SettingsChange, gate: Gate) -> bool:
        """Open the gate of a change. Return False, and store nothing, if another change waits."""
        ...

    async def settings_changes(self) -> Sequence[SettingsChange]:
        """Return the changes that wait for approval or to be written."""
        ...

    async def end_settings(self, change_id: str, problem: str | None = None) -> None:
        """Forget an approved change that was written, or (`problem`, which the audit records) can't be."""
        ...
