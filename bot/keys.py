"""The hub's own key: made at the first start, kept beside the database, readable by its user only."""

import os
import secrets
from pathlib import Path

from bot.errors import StartError, needed_to_start

KEY_NAME = "hub.key"
KEY_BYTES = 32


def hub_key(data_dir: Path) -> bytes:
    """The key that binds consent to exact arguments; whoever asks holds the directory's lock.

    Raises StartError if the file is damaged or cannot be used.
    """
    path = data_dir / KEY_NAME
    with needed_to_start(path, "make it readable for the user the hub runs as"):
        if not path.exists():
            write_for_its_user(path, secrets.token_hex(KEY_BYTES))
        return _read(path)


def write_for_its_user(path: Path, text: str) -> None:
    """Put a file in place of what was there, whole or not at all, readable by nobody else."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _read(path: Path) -> bytes:
    try:
        key = bytes.fromhex(path.read_text().strip())
    except ValueError as error:
        raise StartError(f"{path} is not a key; restore it from a backup, or remove it") from error
    if len(key) != KEY_BYTES:
        raise StartError(f"{path} is not a whole key; restore it from a backup, or remove it")
    return key
