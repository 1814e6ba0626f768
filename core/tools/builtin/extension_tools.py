"""`tool_install` and `tool_remove`, for the person's extensions, and `sign_in`. No unattended run has the
first two (core.consent.rules.AUTONOMOUS_DENYLIST), and an owner approves each addition, with all of it in
sight."""

from collections.abc import Callable, Sequence
from typing import Annotated, Protocol

from pydantic import Field

from core.errors import SignInRequired, ToolDenied, ToolFailed
from core.extension import Extension, ExtensionRefused, checked
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Risk, Tool, Workspace
from core.tools.definition import tool
from core.tools.sign_in import SignIns
from core.users import Principal


class ExtensionInstaller(Protocol):
    """Operations on a person's extensions, whose outcome they return in words."""

    async def install(self, extension: Extension, by: Principal) -> str:
        """Add an extension, or replace the person's of that name, and connect it. Raises
        ExtensionRefused."""
        ...

    async def remove(self, name: str, by: Principal) -> str:
        """Remove an extension of the person. Raises ExtensionRefused."""
        ...


def extension_tools(installer: Callable[[], ExtensionInstaller]) -> Sequence[Tool]:
    """Return the tools. The first one used calls `installer`."""

    @tool(
        requirement=Requirement.ALWAYS_ASK,
        effect=Effect.IDEMPOTENT,
        data=Data.OWN,
        rate=_rate_installation,
        timeout_s=60,
    )
    async def tool_install(
        call: CallContext,
        name: Annotated[str, "a short name, which the names of its tools will begin with"],
        command: Annotated[list[str] | None, "the program to start, and its arguments"] = None,
        url: Annotated[str | None, "or the address of a server that is reached by HTTP"] = None,
    ) -> str:
        """Add an MCP server, whose tools the person then has. Adding one again under the same name replaces
        it."""
        try:
            wanted = checked(_extension(name, command, url, call.principal.user_id))
            return await installer().install(wanted, call.principal)
        except ExtensionRefused as error:
            raise ToolFailed(str(error)) from error

    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def tool_remove(
        call: CallContext, name: Annotated[str, "the extension's name", Field(max_length=80)]
    ) -> str:
        """Remove an MCP server that was added, and its tools with it."""
        try:
            return await installer().remove(name, call.principal)
        except ExtensionRefused as error:
            raise ToolFailed(str(error)) from error

    return tool_install, tool_remove


def _rate_installation(arguments: Arguments, workspace: Workspace) -> Risk:
    """Rate an addition: an owner must approve it, and what can't be added or shown whole is blocked."""
    del workspace
    blocked: str | None = None
    try:
        checked(_extension(arguments["name"], arguments.get("command"), arguments.get("url"), ""))
    except ExtensionRefused as error:
        blocked = str(error)
    starts = arguments.get("command") is not None
    what = (
        "starts this command on the hub's machine"
        if starts
        else "gives this server what its tools are called with"
    )
    return Risk(Requirement.ALWAYS_ASK, blocked=blocked, reason=f"It {what}.", by_owner=True)


def _extension(name: str, command: Sequence[str] | None, url: str | None, owner_id: str) -> Extension:
    return Extension(name, owner_id, tuple(command or ()), url)


def sign_in_tools(sign_ins: SignIns) -> Sequence[Tool]:
    """Return the tool with which a person signs in when they ask for it; nothing while there is no server to
    sign in to. A server whose tools are not known yet can be reached in no other way.

    It gets tokens from a server of tools, which the hub then renews and revokes; `tool_auth` asks for a
    secret that the person has and names."""
    if not sign_ins.has_servers:
        return ()

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.SHARED)
    async def sign_in(call: CallContext, server: Annotated[str, "the server's name"]) -> str:
        """Let the person sign in to a server of tools. You never see what they sign in with."""
        user_id = call.principal.user_id
        if not sign_ins.is_for(server, user_id):
            raise ToolDenied(
                f"there is no server of that name to sign in to; there is {sign_ins.names(user_id)}"
            )
        if await sign_ins.bearer(server, user_id) is None:
            raise SignInRequired(server)
        return f"Signed in to {server}."

    return (sign_in,)
