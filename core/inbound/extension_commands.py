"""The chat command `/extensions`: the person's MCP servers, turning those on and off that they added,
and signing in to them."""

from collections.abc import Callable, Mapping, Sequence

from core.extension import Extension, ExtensionChange
from core.lazy import dataclass
from core.store.accept import Verdict, refused
from core.store.effects import UseExtensions
from core.users import Principal, Role

USAGE = "Type /extensions alone, or /extensions enable, disable, remove or auth and a name."
NONE = "You have no extensions. Ask for one here, or run: hubbub extensions add"
LINK_COMES = "I'll send you the link to sign in to {name} in private."
AUTH = "auth"
NOT_FOR_GUESTS = "Guests have no extensions."
_DONE = {
    ExtensionChange.ENABLE: "{name} is enabled.",
    ExtensionChange.DISABLE: "{name} is disabled. Jobs that run now lose its tools, too.",
    ExtensionChange.REMOVE: "{name} is removed.",
}


@dataclass(frozen=True, slots=True)
class ServerShown:
    """A connected MCP server as its people see it. `configured`: it is the operator's."""

    state: str
    configured: bool


ServersOf = Callable[[Principal], Mapping[str, ServerShown]]
"""Function that returns the connected servers whose tools a person has, by name."""


def no_servers(_: Principal) -> Mapping[str, ServerShown]:
    """Return none, for hubs that connect none."""
    return {}


def extensions(rest: str, principal: Principal, servers: ServersOf) -> Verdict:
    """Handle `/extensions` and what follows it."""
    if principal.role is Role.GUEST:
        return refused("no extensions for guests", NOT_FOR_GUESTS)
    connected = servers(principal)
    words = rest.lower().split()
    if not words:
        return Verdict("command: /extensions", (UseExtensions(None, lambda own, _: listing(own, connected)),))
    if len(words) != 2 or words[0] not in {AUTH, *ExtensionChange}:
        return refused("/extensions: wrong arguments", USAGE)
    if words[0] == AUTH:
        return _sign_in(words[1], connected)
    change, name = ExtensionChange(words[0]), words[1]
    if name in connected and connected[name].configured:
        return refused("extension of the operator", f"{name} stands in the configuration; change it there.")

    def said(_: Sequence[Extension], found: bool) -> str:
        return _DONE[change].format(name=name) if found else f"You have no extension named {name[:80]}."

    return Verdict("command: /extensions", (UseExtensions((name, change), said),))


def _sign_in(name: str, connected: Mapping[str, ServerShown]) -> Verdict:
    if name not in connected:
        return refused("no such extension", f"You have no extension named {name[:80]} that is enabled.")

    def said(_: Sequence[Extension], __: bool) -> str:
        return LINK_COMES.format(name=name)

    return Verdict("command: /extensions", (UseExtensions(None, said, name),))


def listing(own: Sequence[Extension], connected: Mapping[str, ServerShown]) -> str:
    """Describe a person's own extensions, and the operator's servers that they have."""
    lines = [_line(one, connected.get(one.name)) for one in own]
    names = {one.name for one in own}
    lines += [
        f"{name} (set by the operator): {server.state}"
        for name, server in sorted(connected.items())
        if server.configured and name not in names
    ]
    return "\n".join([*lines, "", USAGE]) if lines else NONE


def _line(one: Extension, server: ServerShown | None) -> str:
    if server is not None and server.configured:
        state = "not used: the operator has a server of this name"
    elif not one.enabled:
        state = "disabled"
    else:
        state = "connecting" if server is None else server.state
    return f"{one.name}: {state}\n    {one.shown}"
