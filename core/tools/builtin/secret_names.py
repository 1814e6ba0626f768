"""`secret_list` and `secret_delete`: what the vault holds, by name. No tool ever sees a value."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from core.errors import ToolFailed
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool


class Named(Protocol):
    """A secret as it is kept."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


class Secrets(Protocol):
    """Where secrets are kept (the part of `core.store.base.Store` these tools need)."""

    async def secrets(self) -> Sequence[Named]:
        """All of them."""
        ...

    async def drop_secret(self, name: str) -> bool:
        """Forget one; False if there is none of that name."""
        ...


def secret_name_tools(kept: Secrets) -> tuple[Tool, Tool]:
    """The two."""
    return _list_tool(kept), _delete_tool(kept)


def _list_tool(kept: Secrets) -> Tool:
    @tool(requirement=Requirement.ASK, effect=Effect.NONE, data=Data.SHARED)
    async def secret_list(call: CallContext) -> str:  # noqa: ARG001 — every tool gets its call
        """List the names of the secrets in the vault; their values are shown to nobody."""
        return "\n".join(secret.name for secret in await kept.secrets()) or "The vault is empty."

    return secret_list


def _delete_tool(kept: Secrets) -> Tool:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.SHARED)
    async def secret_delete(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        name: Annotated[str, "what secret_list names"],
    ) -> str:
        """Forget a secret, for good."""
        if not await kept.drop_secret(name):
            raise ToolFailed(f"There is no secret called {name[:80]!r}.")
        return f"{name} is forgotten."

    return secret_delete
