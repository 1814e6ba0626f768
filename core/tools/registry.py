"""The tools of this hub, found by name and narrowed to what a person may see."""

from collections.abc import Collection, Iterable, Sequence

from core.consent.access import Access, RolePolicy
from core.errors import ToolNotFound
from core.model.base import ToolSpec
from core.tool import Tool
from core.users import Principal


class ToolRegistry:
    """Holds the tools in the order given. Raises ValueError if two names differ only in `-` and `_`."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        self._specs: dict[str, ToolSpec] = {}
        self._folded: dict[str, Tool] = {}
        for tool in tools:
            other = self._folded.setdefault(_fold(tool.name), tool)
            if other is not tool:
                raise ValueError(f"two tools are called {tool.name} and {other.name}")
            self._tools[tool.name] = tool
            self._specs[tool.name] = ToolSpec(tool.name, tool.description, tool.parameters)

    def lookup(self, name: str) -> Tool:
        """The tool a model means by `name`: exact, else `-` for `_` and the other way round.

        Raises ToolNotFound, whose message is for the model.
        """
        tool = self._tools.get(name) or self._folded.get(_fold(name))
        if tool is None:
            raise ToolNotFound(f"There is no tool called {name[:80]!r}.")
        return tool

    @property
    def names(self) -> Sequence[str]:
        """What the tools are called, in order."""
        return tuple(self._tools)

    def all(self) -> Sequence[Tool]:
        """Every tool, in order."""
        return tuple(self._tools.values())

    def visible_tools(
        self, principal: Principal, roles: RolePolicy, disabled: Collection[str] = frozenset()
    ) -> Sequence[Tool]:
        """What is on offer to a model working for `principal`.

        A hint for the model, not a protection: `consent.decide` judges every call again. Tools a member
        may ask an owner for are on offer, otherwise nothing could be asked.
        """
        return tuple(
            tool
            for tool in self._tools.values()
            if tool.name not in disabled
            and roles.access(principal.role, tool.name, tool.data) is not Access.REFUSED
        )

    def specs(
        self, principal: Principal, roles: RolePolicy, disabled: Collection[str] = frozenset()
    ) -> Sequence[ToolSpec]:
        """`visible_tools` as a model is told about them; the same objects every time."""
        return tuple(self._specs[tool.name] for tool in self.visible_tools(principal, roles, disabled))


def _fold(name: str) -> str:
    return name.replace("-", "_")
