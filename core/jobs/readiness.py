"""The state of containers, which decides before each full job of a routine whether it may run."""

from enum import StrEnum
from typing import Protocol


class Readiness(StrEnum):
    """The state of containers. HOST: they are turned off, so jobs run on the host; READY: on, and Docker
    answers; UNREACHABLE: on, and it does not."""

    HOST = "host"
    READY = "ready"
    UNREACHABLE = "unreachable"


UNREACHABLE_TEXT = (
    "Containers are turned on ([sandbox] enabled = true), but Docker does not answer, so no job was started. "
    "Start Docker and check it with `hubbub sandbox status`, or set [sandbox] enabled = false to run jobs on "
    "the host."
)
"""The reason a full job is refused, with the fix."""


class ContainerProbe(Protocol):
    """The look at containers before each full job."""

    async def readiness(self) -> Readiness:
        """Return their state now."""
        ...
