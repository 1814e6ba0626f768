"""Imports that leave out what a library would load along for features the hub does not use."""

import importlib
import ssl
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


class _ReadLate(ssl.SSLContext):
    """Verifies by the authorities of this machine, which it reads when it is first used."""

    _is_read = False

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """See SSLContext."""
        self._read()
        return super().wrap_bio(*args, **options)

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        """See SSLContext."""
        self._read()
        return super().wrap_socket(*args, **options)

    def _read(self) -> None:
        if not self._is_read:
            self.load_default_certs()
            self._is_read = True


@contextmanager
def authorities_read_late() -> Iterator[None]:
    """Inside, a default TLS context is made without reading the authorities: that waits for its first
    connection. aiohttp makes two at its import, the hub uses its own: 40 ms and 2.5 MB."""

    def nothing(self: ssl.SSLContext) -> None:
        del self  # a context that verifies nothing needs no authorities, now or later

    makes = ssl.create_default_context
    # Its own defaults are those of a client: a certificate is required, and the host's name in it.
    ssl.create_default_context = lambda: _ReadLate(ssl.PROTOCOL_TLS_CLIENT)
    ssl.SSLContext.set_default_verify_paths = nothing
    try:
        yield
    finally:
        ssl.create_default_context = makes
        del ssl.SSLContext.set_default_verify_paths  # what it inherits is seen again


HTTPX_COMMAND_LINE = "httpx._main"
"""With click, rich and pygments: a fifth of a second and 8 MB."""
PASSPORT_CRYPTOGRAPHY = "cryptography"
"""python-telegram-bot decrypts Telegram Passport data with it: 8 MB."""
UVICORN_COMMAND_LINE = ("uvicorn", "main", "Server", "main", "run")
"""With click and multiprocessing: 1.5 MB."""
