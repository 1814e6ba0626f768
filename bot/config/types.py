"""Types of values in `hubbub.toml`: names, addresses, paths, secrets; and the base of every section.

Refusals raised here have the form "problem; remedy".
"""

import re
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from core.safety.network import destination

RESTART: dict[str, Any] = {"restart": True}
"""The mark of a key that is read only at a start."""
NO_USER = "is not a user ID; use the owner's or one that `hubbub users list` shows"

_IDENTITY = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_NAME = re.compile(r"[a-z][a-z0-9-]*(?:_[a-z0-9-]+)*")


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # not found; not a zone's name; a directory of zones
        raise ValueError("is not a known time zone; use an IANA name such as Europe/Berlin or UTC") from error
    return name


def _identity(text: str) -> str:
    if not _IDENTITY.fullmatch(text):
        raise ValueError("is not an account; use channel:id, such as telegram:12345")
    return text


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(
            "is not a valid name; use lowercase letters, digits, - and single _, starting with a letter"
        )
    return text


def _tool_name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,127}", text):
        raise ValueError("is not a tool name; use lowercase letters, digits, - and _")
    return text


def is_row_id(text: str) -> bool:
    """Return whether it is an id the store made, dashed or plain."""
    return re.fullmatch(r"[0-9a-fA-F]{32}", text.replace("-", "")) is not None


def _user(text: str) -> str:
    if is_row_id(text):
        return str(UUID(text.replace("-", "")))
    if not _NAME.fullmatch(text):
        raise ValueError(NO_USER)
    return text


def _url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        raise ValueError("is not a web address; use one that starts with https:// or http://")
    return text.rstrip("/")


def _url_or_nothing(text: str) -> str:
    return _url(text) if text else text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty; set a value or remove the key")
    return text


def _path(value: object) -> object:
    return Path(_not_blank(value)) if isinstance(value, str) else value


class Unopened(SecretStr):
    """A reference in place of a secret that is not needed."""

    def get_secret_value(self) -> str:
        """Raise: the reference was not resolved."""
        raise LookupError("the configuration was loaded without its secrets")


def _destination(text: str) -> str:
    destination(text)
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
Name = Annotated[str, AfterValidator(_name)]
ToolName = Annotated[str, AfterValidator(_tool_name)]
"""Of the hub's own, or SERVER__TOOL of an MCP server's."""
Url = Annotated[str, AfterValidator(_url)]
UrlOrNothing = Annotated[str, AfterValidator(_url_or_nothing)]
Zone = Annotated[str, AfterValidator(_timezone)]
"""An IANA name."""
Identity = Annotated[str, AfterValidator(_identity)]
User = Annotated[str, AfterValidator(_user)]
"""A user's id: the owner's is the name in [hub] owner, everybody else's a UUID, dashed or plain."""
Destination = Annotated[str, AfterValidator(_destination)]
"""A host name and a port: NAME:PORT."""
FilePath = Annotated[Path, BeforeValidator(_path)]
"""As written; bot.config.load makes it absolute, starting at the directory of the file that says it."""
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Limit = Annotated[int, Field(ge=0)]
"""0: no limit."""


class Section(BaseModel):
    """Frozen, closed and without conversions: TOML is typed, so a number in quotes is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
