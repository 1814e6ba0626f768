"""How the hub does, as the API and `--json` show it: one shape for both."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelView:
    """One channel's named state, and why; `since` is an ISO time."""

    state: str
    reason: str | None
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """One MCP server's state (`connecting`, `ready`, `failed`), and why; `since` is an ISO time. `tools`: how
    many of its tools are on offer; `refused`: by its own names, why others are not."""

    state: str
    reason: str | None
    since: str
    tools: int
    refused: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """The hub at a glance. `approvals` and `pairing_requests`: how many wait for a person."""

    version: str
    ready: bool
    hub: str
    store: str
    channels: dict[str, ChannelView]
    mcp: dict[str, ServerView]
    approvals: int
    pairing_requests: int
