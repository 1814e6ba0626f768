"""Where a command finds things: the configuration file, the variables, the hub's data, a running hub. The
only module that reads the environment.

The file is the path given (`--config`), else HUBBUB_CONFIG, else ./hubbub.toml if it exists, else none.
Variables may also stand in a file next to it (hubbub.env next to hubbub.toml); the process's own environment
has priority. Needs nothing that judges a configuration: that takes longer than most commands do.
"""

import asyncio
import contextlib
import json
import os
import re
import secrets
import socket
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlencode, urlsplit

from bot.runtime import ConfigError, StartError, needed_to_start
from core.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    from http import client
else:
    client = LazyModule("http.client")  # the hub itself needs none


FILE_NAME = "hubbub.toml"
DATA_DIR = "./data"
DATABASE_NAME = "hub.db"
OVERRIDE_PREFIX = "HUBBUB__"


def absolute(path: Path, base: Path) -> Path:
    """Return a path of the configuration as absolute, relative to the configuration file's directory."""
    return Path(os.path.normpath(base / path.expanduser()))


def source_of(path: Path | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    """Return the configuration file; None if there is none. `path`: the one that was asked for."""
    if path is not None:
        return path
    if environ.get("HUBBUB_CONFIG"):
        return Path(environ["HUBBUB_CONFIG"])
    return Path(FILE_NAME) if (cwd / FILE_NAME).is_file() else None


def data_dir_in(path: Path | None) -> Path | None:
    """Return the hub's data directory, for commands that need nothing else of the configuration; None if it
    takes the whole configuration to tell.

    If the file alone gives it, these commands work, at half the cost, whatever else is wrong with the
    configuration. Raises ConfigError for a file of variables that can't be read.
    """
    cwd, environ = Path.cwd(), process_environment()
    source = source_of(path, environ, cwd)
    variables = with_file(environ, environment_file(source), cwd)
    written = _written_data_dir(source, cwd)
    if written is None or any(map(_is_of_the_hub, variables)):
        return None
    return absolute(Path(written), cwd if source is None else (cwd / source).parent)


def _is_of_the_hub(variable: str) -> bool:
    """Return whether a variable overrides something of the section that names the data directory."""
    return f"{variable.lower()}__".startswith(f"{OVERRIDE_PREFIX}hub__".lower())


def _written_data_dir(source: Path | None, cwd: Path) -> str | None:
    """Return the directory as written in the file, else the default; None if it takes more than that."""
    if source is None:
        return DATA_DIR
    try:
        tree: dict[str, Any] = tomllib.loads((cwd / source).read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    hub = tree.get("hub", {})
    written = hub.get("data_dir", DATA_DIR) if isinstance(hub, dict) else None
    return (
        written if isinstance(written, str) and written.strip() and not written.startswith("env:") else None
    )


def environment_file(source: Path | None) -> Path:
    """Return the path of the environment file: `hubbub.env` next to `hubbub.toml`."""
    return Path(FILE_NAME if source is None else source).with_suffix(".env")


def process_environment() -> Mapping[str, str]:
    """Return the process's own variables, for code that makes a configuration."""
    return dict(os.environ)


# Variables in a file: `NAME=value` a line, as service managers and containers read it as well.
#
# A value may stand in single or double quotes, which are taken off and mean nothing else; nothing is
# expanded. Empty lines and lines that begin with # say nothing.

_LINE = re.compile(r"(?:export )?([A-Za-z_][A-Za-z0-9_]*)=(.*)")


def with_file(environ: Mapping[str, str], path: Path, cwd: Path) -> Mapping[str, str]:
    """Return the variables given, and those of the file that are not among them; without a file, only
    those given.

    Raises ConfigError naming the line; never shows a value.
    """
    try:
        text = (cwd / path).read_bytes().decode()
    except FileNotFoundError:
        return environ
    except OSError as error:
        raise ConfigError([f"{path}: not readable ({error.strerror}); check its permissions"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not UTF-8; save the file as UTF-8"]) from error
    return dict(_variables(path, text)) | dict(environ)


def written(variables: Mapping[str, str]) -> str:
    """Return the text of a file with these variables. Raises ValueError for a value of several lines."""
    for name, value in variables.items():
        if "\n" in value or "\r" in value:
            raise ValueError(f"the value of {name} has more than one line")
    return "".join(f"{name}={_quoted(value)}\n" for name, value in variables.items())


def _quoted(value: str) -> str:
    plain = value == value.strip() and not value.startswith(("'", '"', "#"))
    if plain:
        return value
    return f"'{value}'" if value.endswith('"') else f'"{value}"'


def _variables(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        found = _LINE.fullmatch(said)
        if found is None:
            raise ConfigError([f"{path}:{number}: not NAME=value; fix this line"])
        name, value = found.groups()
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        yield name, value


# Access to a running hub on the same machine: a file next to the database, for its user only, and requests
# with what it says.

T = TypeVar("T")

ACCESS_NAME = "api.json"
TOKEN_BYTES = 32
ANYWHERE = {"http://0.0.0.0": "http://127.0.0.1", "http://[::]": "http://[::1]"}


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The API's address and its token; valid until the hub ends. `holder`: the hub's process id, as in its
    lock file."""

    url: str
    token: str = field(repr=False)
    holder: str

    @classmethod
    def new(cls, url: str) -> "ApiAccess":
        """Return a fresh token for a hub that serves on `url`. A hub that listens on all addresses
        gets one of this machine."""
        host, _, port = url.rpartition(":")
        return cls(f"{ANYWHERE.get(host, host)}:{port}", secrets.token_urlsafe(TOKEN_BYTES), str(os.getpid()))


@contextlib.contextmanager
def published(data_dir: Path, access: ApiAccess) -> Iterator[None]:
    """Publish the file within the context. The caller holds the directory's lock.

    Raises StartError if the file cannot be written.
    """
    path = data_dir / ACCESS_NAME
    with needed_to_start(path, "make the directory writable by the hub's user"):
        unfinished = path.with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w") as file:
            json.dump({"url": access.url, "token": access.token, "pid": int(access.holder)}, file)
        unfinished.rename(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # one that stays is of no use: the token dies with the hub
            path.unlink()


def read_access(data_dir: Path) -> ApiAccess | None:
    """Return what a hub has published; None if there is nothing. A killed hub's file stays until the next one
    publishes its own.

    Raises StartError if the file belongs to another user's hub.
    """
    try:
        page = json.loads((data_dir / ACCESS_NAME).read_text())
        return ApiAccess(str(page["url"]), str(page["token"]), str(page["pid"]))
    except PermissionError as error:
        advice = "run this as the hub's user"
        raise StartError(f"can't use {data_dir / ACCESS_NAME}: {error.strerror}; {advice}") from error
    except (OSError, ValueError, KeyError, TypeError):
        return None


# Requests, as plain HTTP and past any proxy. A client of the usual kind, ready for TLS and much else, takes
# longer to load than the command that needs it.

ANSWER_LIMIT_S = 15.0
PIECE_BYTES = 65_536


class NoAnswer(Exception):
    """The hub did not answer in time, or with something that is no answer; the message says what happened."""


class Exchange:
    """One request to the running hub, sent as the context is entered; whatever waits for it ends with the
    context. All methods raise NoAnswer.

    `body`: sent as JSON; `limit_s`: the longest time without a sign of the hub.
    """

    def __init__(
        self,
        access: ApiAccess,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> None:
        where = urlsplit(access.url)
        # The name the API answers to, also where the hub listens on one of this machine's other addresses.
        self._headers = {"Host": "localhost", "Authorization": f"Bearer {access.token}"}
        if body is not None:
            self._headers["Content-Type"] = "application/json"
        self._asked = (method, f"{path}?{urlencode(query)}" if query else path)
        self._body = None if body is None else json.dumps(body).encode()
        self._connection = client.HTTPConnection(where.hostname or "", where.port, timeout=limit_s)
        self._socket: socket.socket | None = None
        self._answer: client.HTTPResponse
        # Its own: a hub in this process may need all other threads to answer.
        self._thread = ThreadPoolExecutor(1)
        self._ended = False

    async def __aenter__(self) -> Self:
        try:
            await self._step(self._send)
        except BaseException:
            self._end()
            raise
        return self

    async def __aexit__(self, *_raised: object) -> None:
        self._end()

    @property
    def status(self) -> int:
        """The answer's HTTP status."""
        return self._answer.status

    async def json(self) -> Any:
        """Return the answer."""
        text = await self._step(self._answer.read)
        try:
            return json.loads(text)
        except ValueError as error:
            raise NoAnswer(f"HTTP {self.status} without JSON") from error

    async def pieces(self, silence_s: float) -> AsyncIterator[bytes]:
        """Yield the answer as it comes, until it ends or none has come in that time."""
        if self._socket is not None:
            self._socket.settimeout(silence_s)
        while piece := await self._step(lambda: self._answer.read1(PIECE_BYTES)):
            yield piece

    def _send(self) -> None:
        self._connection.connect()
        self._socket = self._connection.sock
        if not self._ended:
            self._connection.request(*self._asked, self._body, self._headers)
            self._answer = self._connection.getresponse()

    async def _step(self, step: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, step)
        except (OSError, client.HTTPException) as error:
            raise NoAnswer(str(error) or type(error).__name__) from error

    def _end(self) -> None:
        self._ended = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread if it waits
        self._connection.close()
        self._thread.shutdown(wait=False)
