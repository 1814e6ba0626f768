"""What `hubbub.toml` can say of MCP servers, whose tools the hub offers."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from bot.setting_types import Name, Seconds, Section, Url, User

NAME_CHARS = 24
"""Names of its tools begin with it, and are 64 characters at most."""
_TOOL = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")


def _server_name(text: str) -> str:
    if len(text) > NAME_CHARS:
        raise ValueError(f"is too long for a server; use {NAME_CHARS} characters at most")
    return text


def _tool_name(text: str) -> str:
    if not _TOOL.fullmatch(text):
        raise ValueError("is not a tool's name; write it as `/tools` does, without the server's name and __")
    return text


def _command(argv: tuple[str, ...]) -> tuple[str, ...]:
    if argv and not argv[0].strip():
        raise ValueError("does not begin with a program; name one")
    if any("\0" in one for one in argv):
        raise ValueError("holds a NUL character; take it out")
    return argv


def _variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError("is not a variable's name; use letters, digits and _")
    return text


def _header(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", text):
        raise ValueError("is not a header's name; use letters, digits and -")
    return text


ServerName = Annotated[Name, AfterValidator(_server_name)]
ServerTool = Annotated[str, AfterValidator(_tool_name)]
Asks = Literal["never", "ask", "always_ask"]


class McpTool(Section):
    """One tool of a server."""

    requirement: Asks | None = Field(default=None, examples=["never"])
    effect: Literal["none", "idempotent", "effect"] = "effect"
    timeout_s: Seconds | None = Field(default=None, examples=[120.0])


class McpServer(Section):
    """One server: a command to start, or an address. `users` empty: the owner."""

    command: Annotated[tuple[str, ...], AfterValidator(_command)] = Field(
        default=(), examples=[["github-mcp-server", "stdio"]]
    )
    url: Url | None = Field(default=None, examples=["https://mcp.example/mcp"])
    users: tuple[User, ...] = Field(default=(), examples=[["owner"]])
    env: Mapping[Annotated[str, AfterValidator(_variable)], SecretStr] = Field(
        default={}, examples=[{"GITHUB_PERSONAL_ACCESS_TOKEN": "env:GITHUB_TOKEN"}]
    )
    headers: Mapping[Annotated[str, AfterValidator(_header)], SecretStr] = Field(
        default={}, examples=[{"Authorization": "env:MCP_AUTHORIZATION"}]
    )
    only: tuple[ServerTool, ...] = Field(default=(), examples=[["get_issue", "add_comment"]])
    requirement: Asks = "ask"
    timeout_s: Seconds | None = Field(default=None, examples=[60.0])
    connect_timeout_s: Seconds = 10
    tools: Mapping[ServerTool, McpTool] = Field(default={})
