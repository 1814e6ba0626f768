"""Extensions as values: MCP servers that people add while the hub runs. Each belongs to one person.

The operator's own servers stand in the configuration (`[mcp.NAME]`) and are none of these.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

from core.errors import HubError
from core.ids import is_secret_name
from core.lazy import dataclass
from core.tool import Requirement

NAME_CHARS = 24
"""A tool's name begins with its server's and has to fit a model's protocol."""
MAX_OF_ONE_PERSON = 20
"""Each one's tools are sent with every request, and each command is a process."""
COMMAND_CHARS = 1_000
"""Limit of a command as it is shown: an approval card must show the whole of it."""
URL_CHARS = 500
SEPARATOR = "__"
"""Stands between a server's name and its tool's. No server's own name has it."""

_NAME = re.compile(r"[a-z][a-z0-9-]*(?:_[a-z0-9-]+)*")
_URL = re.compile(r"https?://[^\s/?#]+(?:/\S*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9-]+")


class ExtensionRefused(HubError):
    """Error for an extension that can't be added, or isn't the person's; the text says why."""


@dataclass(frozen=True, slots=True)
class Extension:
    """An MCP server of one person: a command to start, or an address.

    `secrets`: the names of vault secrets, by the environment variable of the command or the header of the
    address that each is given in. `requirement`: of its tools. `enabled`: it is connected, and its owner's
    runs have its tools. `changed_at`: microseconds UTC.
    """

    name: str
    owner_id: str
    command: tuple[str, ...] = ()
    url: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    requirement: Requirement = Requirement.ASK
    enabled: bool = True
    changed_at: int = 0

    @property
    def shown(self) -> str:
        """The whole command, quoted as for a shell, or the address."""
        return shlex.join(self.command) if self.command else self.url or ""

    @property
    def people_sign_in(self) -> bool:
        """Whether its owner may sign in to it: a given credential is not overridden."""
        return self.url is not None and "authorization" not in {name.lower() for name in self.secrets}

    def same_server(self, other: "Extension") -> bool:
        """Return whether both are connected to in the same way, for the same person."""
        return self.owner_id == other.owner_id and definition_to_json(self) == definition_to_json(other)


class ExtensionChange(StrEnum):
    """A change of an extension that is there."""

    ENABLE = "enable"
    DISABLE = "disable"
    REMOVE = "remove"


def checked(extension: Extension) -> Extension:
    """Return the extension if it can be added. Raises ExtensionRefused."""
    if not _NAME.fullmatch(extension.name) or len(extension.name) > NAME_CHARS:
        raise ExtensionRefused(
            f"An extension's name has at most {NAME_CHARS} lowercase letters, digits, - and single _,"
            " and starts with a letter."
        )
    if bool(extension.command) == (extension.url is not None):
        raise ExtensionRefused("An extension needs either a command or an address.")
    if extension.command and not extension.command[0].strip():
        raise ExtensionRefused("The command does not start with a program.")
    shown = extension.shown
    if len(shown) > (COMMAND_CHARS if extension.command else URL_CHARS):
        raise ExtensionRefused("That is too long to be shown whole. Put it into a script and name that.")
    if not shown.isprintable():
        raise ExtensionRefused("That contains characters that can't be seen.")
    if extension.url is not None and not _URL.fullmatch(extension.url):
        raise ExtensionRefused("The address must begin with https:// or http://.")
    _check_secrets(extension)
    return extension


def _check_secrets(extension: Extension) -> None:
    allowed, what = (_VARIABLE, "variable") if extension.command else (_HEADER, "header")
    for name, secret in extension.secrets.items():
        if not allowed.fullmatch(name):
            raise ExtensionRefused(f"{name[:80]!r} can't be the name of a {what}.")
        if not is_secret_name(secret):
            raise ExtensionRefused(f"{secret[:80]!r} can't be the name of a secret in the vault.")


def definition_to_json(extension: Extension) -> str:
    """Return how it is connected to, as stored: without its name, its owner and its state."""
    return json.dumps(
        {
            "command": list(extension.command),
            "url": extension.url,
            "secrets": dict(extension.secrets),
            "requirement": extension.requirement.value,
        },
        sort_keys=True,
    )


def extension_of(name: str, owner_id: str, definition: str, *, enabled: bool, changed_at: int) -> Extension:
    """Read the output of `definition_to_json`."""
    page: Mapping[str, Any] = json.loads(definition)
    return Extension(
        name=name,
        owner_id=owner_id,
        command=tuple(page["command"]),
        url=page["url"],
        secrets=page["secrets"],
        requirement=Requirement(page["requirement"]),
        enabled=enabled,
        changed_at=changed_at,
    )


def is_of_server(tool: str) -> bool:
    """Return whether a tool's name is one that only an MCP server's tool can have."""
    return SEPARATOR in tool


class Extensions(Protocol):
    """The units for the extensions that people have added."""

    async def extensions(self) -> Sequence[Extension]:
        """Return everybody's extensions, by name."""
        ...

    async def put_extension(self, extension: Extension, by: str) -> None:
        """Add an extension, or replace its owner's of that name. `by`: a user's id. Raises
        ExtensionRefused."""
        ...

    async def change_extension(self, name: str, owner_id: str, to: ExtensionChange, by: str) -> bool:
        """Enable, disable or remove an extension of a person. Return False if they have none of that
        name."""
        ...
