"""What `hubbub doctor` says about MCP servers: as the running hub sees them, else whether they could begin.

No server is started or reached for it: that is not without effects.
"""

import importlib.util
import shutil
from collections.abc import Iterator, Mapping

from bot.config import Loaded
from bot.findings import Finding, broken, fine, warning
from bot.status_views import ServerView
from core.tools.builtin.shell import safe_environment

LIBRARY = "mcp"


def servers_running(servers: Mapping[str, ServerView]) -> Iterator[Finding]:
    """Each as the hub sees it."""
    for name, server in servers.items():
        what = f"mcp {name}"
        if server.state != "ready":
            reason = server.reason or "no reason given"
            fix = "see to the server; `hubbub logs` has what it wrote to its standard error"
            yield broken(what, f"{server.state}: {reason}", fix)
        elif server.refused:
            first, why = next(iter(server.refused.items()))
            not_offered = f"{server.tools} tools are offered, some not: {first}: {why}"
            yield warning(what, not_offered, "choose in `only`, or mend the server")
        else:
            yield fine(what, f"ready since {server.since}; {server.tools} tools are offered")


def servers_configured(loaded: Loaded) -> Iterator[Finding]:
    """Whether what they need is there."""
    if not loaded.config.mcp:
        return
    if importlib.util.find_spec(LIBRARY) is None:
        yield broken("mcp", "the SDK is not installed: no server is reached", "pip install 'hubbub[mcp]'")
        return
    path = safe_environment(loaded.environment)["PATH"]
    for name, server in loaded.config.mcp.items():
        what = f"mcp {name}"
        if server.url is not None:
            yield fine(what, "is reached when the hub runs")
        elif shutil.which(server.command[0], path=path) is None:
            fix = "install it, or name it by its whole path"
            yield broken(what, f"there is no program {server.command[0]} on PATH", fix)
        else:
            yield fine(what, "its program is there; it is started when the hub runs")
