"""Foundations of the program: errors and exit codes, TLS, sockets, the version."""

import contextlib
import errno
import importlib
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from core.errors import HubError, StoreError
from core.lazy import LazyModule

if TYPE_CHECKING:
    import ssl
    from importlib import metadata
else:
    metadata = LazyModule("importlib.metadata")

CHANNELS_PATH = "/channels"
"""Below it the endpoints that platforms call are mounted, by the channel's name."""
LOGIN_PATH = "/login"
CALLBACK_PATH = "/oauth/callback"
"""The page to which browsers return from an authorization server."""
LISTEN_BACKLOG = 128


class Certificates:
    """One TLS context for all clients, made when the first of them needs it: loading the authorities takes
    a tenth of a second, and plain http needs none."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    def for_url(self, url: str) -> "ssl.SSLContext | None":
        """Return the TLS context for that address; None for plain HTTP."""
        if url.lower().startswith("http:"):
            return None
        if self._context is None:
            self._context = authorities()
        return self._context


def authorities() -> "ssl.SSLContext":
    """Return a new context that trusts the usual authorities; loading them takes a while."""
    with left_out(HTTPX_COMMAND_LINE):
        from core.model.provider_http import tls_context

    return tls_context()


# Errors of the program itself.

FULL = (errno.ENOSPC, errno.EDQUOT)


class ConfigError(HubError):
    """The configuration cannot be used; `problems` are whole lines, fit to be shown as they are."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class StartError(Exception):
    """The hub cannot start; the message names the problem and the remedy."""


class AdminError(HubError):
    """Nothing was changed. `code` is for programs: `not_found`, `refused`, `unavailable`, `invalid` (of
    another form than it may be) or `unusable` (a value that means nothing here); `field`: the part of what
    was asked that it is about."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.field = field


def with_advice(error: StoreError) -> str:
    """Return the store's error, with a remedy for its file if the error has none."""
    from core.store.sqlite.connection import what_to_do

    advice = what_to_do(error.__cause__)
    return str(error) if advice in str(error) else f"{error}{advice}"


@contextlib.contextmanager
def needed_to_start(what: object, advice: str) -> Iterator[None]:
    """Raise StartError if an OSError occurs in the context: `what`, a file or directory, can't be
    used.

    `advice` is for files that belong to others; a full disk has its own.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            advice = "free up space on its disk"
        raise StartError(f"can't use {what}: {error.strerror or error}; {advice}") from error


# Imports that leave out what a library would load along for features the hub does not use.


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """Make importing these modules fail within the context, as if they were not installed. Libraries
    that treat them as optional do without. Modules already loaded stay."""
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
    """Import the package within the context without one of its modules and the names it takes from
    there; later uses get them. Does nothing for a package that is already loaded."""
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


# Which version this is.

PACKAGE = "hubbub"


def version() -> str:
    """Return the program's version; "unknown" for a tree that was never installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return "unknown"


# Signals and sockets.


def ending_signals() -> Sequence[signal.Signals]:
    """Return the signals that stop the hub in good order, also a closed terminal, unless it was started to
    outlive that
    (nohup)."""
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *(() if outlives else (signal.SIGHUP,)))


def listen(host: str, port: int) -> socket.socket:
    """Return a bound, listening socket. Raises StartError with advice if the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, the protocol makes asyncio send small answers at once instead of 40 ms later.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise StartError(
            f"can't listen on {host}:{port}: {error.strerror}; "
            "stop the program that uses the port, or set another [http] port"
        ) from error
    sock.listen(LISTEN_BACKLOG)
    return sock


def url_of(sock: socket.socket) -> str:
    """Return the address of a listening socket."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# Exit codes of commands, and one sentence instead of a trace for expected failures.

OK, FAILED, USAGE = 0, 1, 2


def complain(text: str) -> None:
    """Print a line for the person who started the command."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


class CommandFailed(Exception):
    """The command could not do what it was asked to; the message says what to do. `code`: the exit code."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def ended(command: Callable[[], None]) -> int:
    """Run a command; its exit code."""
    try:
        command()
    except ConfigError as error:
        complain(str(error))
        return USAGE
    except CommandFailed as error:
        complain(str(error))
        return error.code
    except StartError as error:
        complain(f"hubbub: {error}")
        return FAILED
    except StoreError as error:
        complain(f"hubbub: {with_advice(error)}")
        return FAILED
    except OSError as error:
        if error.filename is None:  # nothing about a file, such as a reader of the output that has gone
            raise
        complain(f"hubbub: {_unusable(error)}")
        return FAILED
    return OK


def _unusable(error: OSError) -> str:
    said = f"can't use {error.filename}: {error.strerror or type(error).__name__}"
    return f"{said}; run this as the hub's user" if isinstance(error, PermissionError) else said
