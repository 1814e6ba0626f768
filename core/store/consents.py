"""A part of Store: what people have said once and for all, and what was executed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.approvals import ApprovalSettings
from core.prompts import Grant, Standing, ToolSetting
from core.store.rows import Execution


@dataclass(frozen=True, slots=True)
class ToolSettingRow:
    """A person's own word on one tool."""

    user_id: str
    tool: str
    setting: ToolSetting
    changed_at: int


class Consents(Protocol):
    """See Store for what holds of every method. `by`: a user's id, for the audit; None: the hub itself."""

    async def grants(self, user_id: str | None) -> Sequence[Grant]:
        """Grants that have not expired, of a person or (None) of everybody."""
        ...

    async def standing(self, user_id: str, thread_id: str) -> Standing:
        """What a person has said once and for all that holds in a thread now."""
        ...

    async def set_thread_approvals(
        self, thread_id: str, settings: ApprovalSettings, *, by: str | None = None
    ) -> bool:
        """Write down how people want to be asked in a thread; False if there is none of that id."""
        ...

    async def set_person_approvals(self, user_id: str, settings: ApprovalSettings) -> bool:
        """The same for all of a person's threads that say nothing themselves."""
        ...

    async def revoke_grant(self, grant_id: str, *, by: str | None = None) -> bool:
        """Drop a grant; False if there is none."""
        ...

    async def tool_settings(self, user_id: str | None) -> Sequence[ToolSettingRow]:
        """A person's own settings, or (None) everybody's, in order of user and tool."""
        ...

    async def set_tool_setting(
        self, user_id: str, tool: str, setting: ToolSetting | None, *, by: str | None = None
    ) -> bool:
        """Write down a person's word on a tool, None: take it back; False if there is no such user."""
        ...

    async def executions(self, thread_id: str, before: int | None, limit: int) -> Sequence[Execution]:
        """The newest calls of a thread, newest first, of those at a position before that."""
        ...
