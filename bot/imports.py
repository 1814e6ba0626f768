"""Imports that leave out what a library would load along for features the hub does not use."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import cast


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


HTTPX_COMMAND_LINE = "httpx._main"
"""With click, rich and pygments: a fifth of a second and 8 MB."""
PASSPORT_CRYPTOGRAPHY = "cryptography"
"""python-telegram-bot decrypts Telegram Passport data with it: 8 MB."""
