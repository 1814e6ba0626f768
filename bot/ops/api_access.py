"""Access of commands to a running hub on the same machine: a file next to the database, for its user only."""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from bot.runtime import StartError, needed_to_start
from core.lazy_dataclass import dataclass

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
