"""`time`: what time it is, and where."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core.clock import Clock
from core.errors import InvalidArguments
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_tool(clock: Clock, default_timezone: str = "UTC") -> Tool:
    """The tool on a clock. `default_timezone`: an IANA name, used where the model names none."""

    @tool(name="time", requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def time(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        timezone: Annotated[
            str | None, "IANA name such as Europe/Paris; left out: the hub's own timezone"
        ] = None,
    ) -> str:
        """Tell the current date and time, with weekday and time zone."""
        name = timezone or default_timezone
        try:
            zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise InvalidArguments(
                f"timezone: {name[:60]!r} is not an IANA time zone; write it like Europe/Paris"
            ) from None
        now = (_EPOCH + timedelta(microseconds=clock.now())).astimezone(zone)
        return f"{now:%A}, {now.isoformat(sep=' ', timespec='seconds')} ({name})"

    return time
