"""What `hubbub.toml` can say of consent: when people are asked, and who."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from bot.setting_types import Count, Seconds, Section, Text, ToolName
from core.consent.facts import AUTONOMOUS_DENYLIST


def _approvers(text: str) -> str:
    if text not in ("requester", "owner") and not text.startswith("team:"):
        raise ValueError('must be "requester", "owner" or "team:NAME"; NAME is a section [teams.NAME]')
    return text


def _escalate_to(text: str) -> str:
    if text != "owner" and not text.startswith("team:"):
        raise ValueError('must be "owner" or "team:NAME"; NAME is a section [teams.NAME]')
    return text


def _ask_in(text: str) -> str:
    if text not in ("", "here", "direct") and not re.fullmatch(r"[^:\s]+:\S+", text):
        raise ValueError(
            'must be "here", "direct" or CHANNEL:ID; ID is a conversation\'s on that platform, such as'
            " slack:C024BE91L or telegram:-1001234567890"
        )
    return text


def _tool_pattern(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]*\*?|\*", text):
        raise ValueError("is not a tool; write its name, or the beginning of several names and *")
    return text


class Rule(Section):
    """Who is asked about some calls, and where; of several rules that fit the first counts."""

    tool: Annotated[str, AfterValidator(_tool_pattern)] = "*"
    risk: Literal["ask", "always_ask"] | None = Field(default=None, examples=["always_ask"])
    role: Literal["owner", "member", "guest"] | None = Field(default=None, examples=["member"])
    approvers: Annotated[str, AfterValidator(_approvers)] = "requester"
    quorum: Count = 1
    not_requester: bool = False
    ask_in: Annotated[str, AfterValidator(_ask_in)] = ""
    escalate_after_s: Seconds | None = Field(default=None, examples=[1800.0])
    escalate_to: Annotated[str, AfterValidator(_escalate_to)] | None = Field(default=None, examples=["owner"])


class Approvals(Section):
    """When a person is asked, and who."""

    preset: Literal["manual", "whitelist", "auto_loop", "auto"] = "auto_loop"
    whitelist: tuple[ToolName, ...] = (
        "time",
        "json",
        "echo",
        "ask_user",
        "memory_write",
        "memory_read",
        "memory_search",
        "memory_tree",
        "tool_list",
        "tool_info",
        "list_jobs",
        "job_status",
        "job_events",
        "message",
        "read_attachment",
    )
    max_rounds: Count = 5
    max_tools: Count = 20
    tool_timeout_s: Seconds = 30
    tool_timeouts: Mapping[ToolName, Seconds] = Field(default={"shell": 120})
    loop_timeout_s: Seconds = 300
    shell_per_minute: Count = 30
    shell_per_hour: Count = 300
    dangerous_tools: tuple[ToolName, ...] = ("shell", "write_file", "apply_patch", "delete_file", "http")
    dangerous_operations: tuple[Text, ...] = ("delete", "write", "execute", "modify")
    autonomous_denylist: tuple[ToolName, ...] = AUTONOMOUS_DENYLIST
    expires_after_s: Seconds = 86400
    approvers: Annotated[str, AfterValidator(_approvers)] = "requester"
    quorum: Count = 1
    rules: tuple[Rule, ...] = ()
