"""The admin policy: a file of its own, reloaded on change, so that it takes effect at once.

    disabled_tools = ["shell"]          # disabled for everyone: hidden from models, refused if called
    preset = "auto_loop"                # the loosest preset allowed
    max_rounds = 10                     # the limit; also max_tools, loop_timeout_s
    whitelist = ["time", "json"]        # the most that preset whitelist may run
    dangerous_tools = ["shell"]         # these ask in every preset, whatever people choose
    tool_timeouts = { shell = 600 }     # the longest that calls of a tool may run, in seconds
    [users.owner]                       # for one person: further disabled tools, and other limits instead
    preset = "auto"

While the file can't be read, or says anything else, all tools are disabled: doctor and log say why.
"""

import logging
import os
import re
import stat
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, ValidationError

from bot.config.types import Section, User
from core.approvals import (
    MAX_LOOP_S,
    MAX_ROUNDS,
    MAX_TOOLS,
    AdminPolicy,
    ApprovalSettings,
    NoPolicy,
    PolicySource,
    Preset,
)

logger = logging.getLogger(__name__)

LIMIT_BYTES = 32 * 1024
MAX_ENTRIES = 1000
_TOOL = re.compile(r"[a-z0-9_-]{1,128}")


def _tool_name(name: str) -> str:
    if not _TOOL.fullmatch(name):
        raise ValueError("is not a tool name; use lowercase letters, digits, _ and -")
    return name


Tool = Annotated[str, AfterValidator(_tool_name)]
ToolList = Annotated[list[Tool], Field(max_length=MAX_ENTRIES)]
PresetName = Annotated[str, StringConstraints(pattern=f"^({'|'.join(Preset)})$")]


class _Rules(Section):
    """The policy for everyone, or for one person."""

    disabled_tools: ToolList = Field(default_factory=list)
    preset: PresetName | None = None
    max_rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    max_tools: Annotated[int, Field(ge=1, le=MAX_TOOLS)] | None = None
    loop_timeout_s: Annotated[int, Field(ge=1, le=MAX_LOOP_S)] | None = None
    whitelist: ToolList | None = None
    dangerous_tools: ToolList | None = None
    tool_timeouts: (
        Annotated[dict[Tool, Annotated[float, Field(gt=0, le=MAX_LOOP_S)]], Field(max_length=MAX_ENTRIES)]
        | None
    ) = None

    @property
    def ceiling(self) -> ApprovalSettings:
        """The limits that override every user's settings."""
        preset = None if self.preset is None else Preset(self.preset)
        timeouts = self.tool_timeouts
        return ApprovalSettings(
            preset,
            self.max_rounds,
            self.max_tools,
            self.loop_timeout_s,
            None if self.whitelist is None else _either_way(self.whitelist),
            None if self.dangerous_tools is None else _either_way(self.dangerous_tools),
            None
            if timeouts is None
            else {spelt: timeouts[name] for name in timeouts for spelt in _either_way([name])},
        )


class _Page(_Rules):
    """The whole file."""

    users: Annotated[dict[User, _Rules], Field(max_length=MAX_ENTRIES, default_factory=dict)]


class PolicyFile:
    """Implements core.approvals.PolicySource. What it costs while nothing changes is one look at the file's
    times."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[tuple[int, ...], AdminPolicy] | None = None

    def current(self) -> AdminPolicy:
        seen = self._seen()
        known = self._read
        if known is not None and known[0] == seen:
            return known[1]
        policy = read_policy(self._path)
        if policy.unreadable is not None:
            logger.error("policy.unreadable path=%s error=%s", self._path, policy.unreadable)
        elif known is not None:
            logger.info("policy.changed path=%s", self._path)
        self._read = (seen, policy)
        return policy

    def _seen(self) -> tuple[int, ...]:
        try:
            at = self._path.stat()
        except OSError as error:
            return (error.errno or -1,)
        return (at.st_mtime_ns, at.st_ctime_ns, at.st_size, at.st_ino, at.st_mode, at.st_uid)


def policy_source(path: Path | None) -> PolicySource:
    """Return the reader of the configured policy file, or an empty policy without one."""
    return NoPolicy() if path is None else PolicyFile(path)


def read_policy(path: Path) -> AdminPolicy:
    """Return the policy as written. Never raises: a file that can't be read disables all tools."""
    try:
        return _policy(_Page.model_validate(tomllib.loads(_text(path))))
    except OSError as error:
        return AdminPolicy(unreadable=f"is not readable: {error.strerror or error}")
    except ValidationError as error:
        return AdminPolicy(unreadable=f"is not valid: {_first(error)}")
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, too large, open to others
        return AdminPolicy(unreadable=f"is not usable: {error}")


def _text(path: Path) -> str:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if mode & stat.S_IWOTH:
            raise ValueError("every user can write to it; run: chmod o-w")
        content = file.read(LIMIT_BYTES + 1)
    if len(content) > LIMIT_BYTES:
        raise ValueError(f"it is larger than {LIMIT_BYTES} bytes")
    return content.decode()


def _policy(page: _Page) -> AdminPolicy:
    return AdminPolicy(
        disabled=_either_way(page.disabled_tools),
        disabled_for={user: _either_way(rules.disabled_tools) for user, rules in page.users.items()},
        ceiling=page.ceiling,
        ceiling_for={user: rules.ceiling for user, rules in page.users.items()},
    )


def _either_way(names: Iterable[str]) -> frozenset[str]:
    """Return the names, each spelled with `-` and with `_`: a tool is found by either."""
    return frozenset(
        spelt for name in names for spelt in (name, name.replace("-", "_"), name.replace("_", "-"))
    )


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
