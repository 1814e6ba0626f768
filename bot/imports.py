"""Imports that leave out what a library would load along for features the hub does not use."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """Inside, importing these modules fails as if they were not installed; libraries that treat them as
    optional do without. Modules already loaded stay."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = cast("ModuleType", None)
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


@contextmanager
def put_off(package: str, module: str, *names: str) -> Iterator[None]:
    """Inside, importing the package does without one of its modules, and without the names it takes from
    there; whoever asks for one of them later gets it. Does nothing for a package that is loaded already."""
    if package in sys.modules:
        yield
        return
    whole = f"{package}.{module}"
    stand_in = sys.modules[whole] = ModuleType(whole)
    vars(stand_in).update(dict.fromkeys(names))
    try:
        yield
    finally:
        del sys.modules[whole]
        loaded = vars(sys.modules[package]) if package in sys.modules else {}
        for name in (module, *names):
            loaded.pop(name, None)

        def later(name: str) -> Any:
            if name not in names:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            found = importlib.import_module(whole)
            loaded.update({name: getattr(found, name) for name in names})
            return loaded[name]

        loaded["__getattr__"] = later


HTTPX_COMMAND_LINE = "httpx._main"
"""With click, rich and pygments: a fifth of a second and 8 MB."""
PASSPORT_CRYPTOGRAPHY = "cryptography"
"""python-telegram-bot decrypts Telegram Passport data with it: 8 MB."""
UVICORN_COMMAND_LINE = ("uvicorn", "main", "Server", "main", "run")
"""With click and multiprocessing: 1.5 MB."""
