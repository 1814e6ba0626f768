"""The notice of tools that fail again and again, which unattended runs go without until a reset."""

from core import texts
from core.runs.registry import TellOwner
from core.store.facets import ToolFailures

LOOK_EVERY_S = 60.0


class FailingTools:
    """Tells the owner once of each tool that is left out, also if the hub was killed before it could."""

    def __init__(self, failures: ToolFailures, tell_owner: TellOwner) -> None:
        self._failures = failures
        self._tell_owner = tell_owner
        self._told: set[str] = set()

    async def look(self) -> None:
        """Tell of the tools that are left out since the last look. Raises StoreUnavailable."""
        for failing in await self._failures.failing_tools():
            once = f"tool:{failing.tool}:{failing.left_out_at}"
            if failing.left_out_at is None or once in self._told:
                continue
            await self._tell_owner(texts.tool_left_out(failing.tool, failing.failures, failing.error), once)
            self._told.add(once)
