"""Modules that are imported on first use."""

from importlib import import_module
from typing import Any


class LazyModule:
    """A stand-in for a module until it is used, so that unused features do not slow down the start.

    A name is declared twice, so that linters and readers see the import:

        if TYPE_CHECKING:
            from core.store.sql import routine_definitions
        else:
            routine_definitions = LazyModule("core.store.sql.routine_definitions")
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
