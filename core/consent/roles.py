"""The tools of each role."""

from enum import StrEnum

from core.lazy import dataclass
from core.tool import Data
from core.users import Role

MEMBER_TOOLS = ("time", "json", "ask_user", "memory_*")
GUEST_TOOLS = ("time", "json", "ask_user")


class Access(StrEnum):
    """A role's access to a tool."""

    ALLOWED = "allowed"
    ASK_OWNER = "ask_owner"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RolePolicy:
    """The lists of `[roles]`. An entry is a tool's name, or a prefix of names followed by `*`.

    The owner has every tool. `member_asks_owner`: a member's call of another tool is put to an
    owner instead of refused. A guest never reaches shared data, even through a listed tool.
    """

    member: tuple[str, ...] = MEMBER_TOOLS
    guest: tuple[str, ...] = GUEST_TOOLS
    member_asks_owner: bool = False

    def access(self, role: Role, tool: str, data: Data) -> Access:
        """Return the access of `role` to the tool called `tool`, which reaches `data`."""
        if role is Role.OWNER:
            return Access.ALLOWED
        if role is Role.MEMBER:
            if _listed(tool, self.member):
                return Access.ALLOWED
            return Access.ASK_OWNER if self.member_asks_owner else Access.REFUSED
        return Access.ALLOWED if data is not Data.SHARED and _listed(tool, self.guest) else Access.REFUSED


def _listed(tool: str, entries: tuple[str, ...]) -> bool:
    return any(tool.startswith(entry[:-1]) if entry.endswith("*") else tool == entry for entry in entries)
