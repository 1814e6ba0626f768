"""`secret_list`, `secret_delete`, `tool_auth`: what the vault holds, by name. No tool ever sees a value."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from core.errors import InvalidArguments, ToolDenied, ToolFailed
from core.ids import is_secret_name
from core.prompts import Replies
from core.safety.fencing import sanitise
from core.tool import Arguments, CallContext, Data, Effect, Question, Requirement, Tool
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

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        """Forget one; False if there is none of that name."""
        ...


def secret_name_tools(kept: Secrets) -> tuple[Tool, Tool, Tool]:
    """The three."""
    return _list_tool(kept), _delete_tool(kept), _auth_tool()


def _list_tool(kept: Secrets) -> Tool:
    @tool(requirement=Requirement.ASK, effect=Effect.NONE, data=Data.SHARED)
    async def secret_list(call: CallContext) -> str:  # noqa: ARG001 — every tool gets its call
        """List the names of the secrets in the vault; their values are shown to nobody."""
        return "\n".join(secret.name for secret in await kept.secrets()) or "The vault is empty."

    return secret_list


def _delete_tool(kept: Secrets) -> Tool:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.SHARED)
    async def secret_delete(
        call: CallContext,
        name: Annotated[str, "what secret_list names"],
    ) -> str:
        """Forget a secret, for good."""
        if not await kept.drop_secret(name, by=call.principal.user_id):
            raise ToolFailed(f"There is no secret called {name[:80]!r}.")
        return f"{name} is forgotten."

    return secret_delete


def _auth_tool() -> Tool:
    """Its calls wait in the store as prompts; it is run only where nobody can be asked."""

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.SHARED, asks=_credential_of)
    async def tool_auth(
        call: CallContext,
        name: Annotated[str, "what it is kept as, like github-token"],
        purpose: Annotated[str, "what it is for", Field(min_length=1, max_length=300)],
    ) -> str:
        """Ask the person for a credential. It goes into the vault; you learn only that it is there."""
        del call, name, purpose
        raise ToolDenied("There is nobody here who could be asked.")

    return tool_auth


def _credential_of(arguments: Arguments) -> Question:
    """What validated arguments ask for. Raises InvalidArguments."""
    name = arguments["name"]
    if not is_secret_name(name):
        raise InvalidArguments("name: use letters and digits, within it also _ . and -; at most 64")
    purpose = " ".join(sanitise(arguments["purpose"]).split())
    if not purpose:
        raise InvalidArguments("purpose: there is nothing in it to be read")
    replies = Replies(("Cancel",), free_text=True, secret=name)
    return Question(f"Please send me the credential “{name}”: {purpose}", replies)
