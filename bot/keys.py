"""The hub's own key: made at the first start, kept beside the database, readable by its user only."""

import os
import secrets
from pathlib import Path

from bot.errors import StartError

KEY_NAME = "hub.key"
KEY_BYTES = 32


def hub_key(data_dir: Path) -> bytes:
    """The key that binds consent to exact arguments. Raises StartError if the file is damaged."""
    path = data_dir / KEY_NAME
    try:
        # O_EXCL: of two starts at once, one makes the key and both read the same.
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    with os.fdopen(fd, "w") as file:
        file.write(secrets.token_hex(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    return _read(path)


def _read(path: Path) -> bytes:
    try:
        key = bytes.fromhex(path.read_text().strip())
    except ValueError as error:
        raise StartError(f"{path} is not a key; restore it from a backup, or remove it") from error
    if len(key) != KEY_BYTES:
        raise StartError(f"{path} is not a whole key; restore it from a backup, or remove it")
    return key
