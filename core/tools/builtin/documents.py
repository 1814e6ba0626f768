"""`memory_read` and `memory_tree`: what a person keeps under a path, and where; see also `memory_write`."""

import re
from collections.abc import Sequence
from typing import Annotated, Protocol

from core.errors import InvalidArguments, ToolFailed
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool

MOST_LISTED = 500
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+){0,7}")
_PATH_LIMIT_CHARS = 200


class Kept(Protocol):
    """A document."""

    @property
    def text(self) -> str:
        """What was kept."""
        ...


class Place(Protocol):
    """Where a document is."""

    @property
    def path(self) -> str:
        """Its path."""
        ...

    @property
    def size_chars(self) -> int:
        """How long it is."""
        ...


class Documents(Protocol):
    """Where documents are kept (the part of `core.store.base.Store` these tools need)."""

    async def document(self, user_id: str, path: str) -> Kept | None:
        """What a person keeps under a path."""
        ...

    async def documents(self, user_id: str, folder: str, limit: int) -> Sequence[Place]:
        """What a person keeps at or below a path."""
        ...


def document_path(path: str) -> str:
    """A path as documents are kept under. Raises InvalidArguments; `..` is no name here."""
    clean = path.strip().strip("/")
    dots = any(set(name) == {"."} for name in clean.split("/"))
    if len(clean) > _PATH_LIMIT_CHARS or dots or not _PATH.fullmatch(clean):
        raise InvalidArguments("path: write names with / between them: projects/garden")
    return clean


def document_tools(kept: Documents) -> tuple[Tool, Tool]:
    """The two. A person reaches only their own documents."""
    return _read_tool(kept), _tree_tool(kept)


def _read_tool(kept: Documents) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def memory_read(call: CallContext, path: Annotated[str, "such as projects/garden"]) -> str:
        """Read a document kept for the person you are talking to."""
        wanted = document_path(path)
        found = await kept.document(call.principal.user_id, wanted)
        if found is None:
            raise ToolFailed(f"Nothing is kept under {wanted}.")
        return found.text

    return memory_read


def _tree_tool(kept: Documents) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def memory_tree(
        call: CallContext, path: Annotated[str, "only at or below this path; left out: all"] = ""
    ) -> str:
        """List the documents kept for the person you are talking to."""
        folder = document_path(path) if path.strip("/ ") else ""
        found = await kept.documents(call.principal.user_id, folder, MOST_LISTED)
        return "\n".join(f"{one.path}  {one.size_chars}" for one in found) or "There are no documents here."

    return memory_tree
