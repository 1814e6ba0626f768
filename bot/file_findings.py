"""What `hubbub doctor` says about files: who can read what is secret, and can the hub work with them."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from bot.api_access import ACCESS_NAME
from bot.config import Loaded
from bot.config_secrets import secret_values
from bot.errors import StartError
from bot.findings import Finding, broken, fine, warning
from bot.keys import KEY_NAME
from bot.log_file import LOG_NAME
from bot.places import DATABASE_NAME
from bot.vault_keys import VAULT_KEY_NAME, VaultKeyRing
from core.errors import StoreError, VaultError
from core.store.sqlite.secrets import sealed_in

FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
PRIVATE = (KEY_NAME, VAULT_KEY_NAME, ACCESS_NAME, DATABASE_NAME, LOG_NAME)


def file_findings(loaded: Loaded) -> Iterator[Finding]:
    """On the data directory, the configuration's own files, the workspace and the vault."""
    yield from _data_dir(loaded.config.hub.data_dir)
    yield from _configuration(loaded)
    yield _workspace(loaded.config.workspace.dir)
    yield from _vault(loaded)


def _data_dir(data_dir: Path) -> Iterator[Finding]:
    """What holds secrets is for the hub's user only."""
    if not data_dir.exists():
        yield fine("files", f"{data_dir} does not exist yet; the first start makes it")
        return
    if not os.access(data_dir, os.R_OK | os.W_OK | os.X_OK):
        advice = "run this, and the hub, as the user who owns it"
        yield broken("files", f"{data_dir} cannot be written", advice)
        return
    exposed = [path for path in (data_dir, *(data_dir / name for name in PRIVATE)) if _open_to_others(path)]
    for path in exposed:
        mode = "700" if path.is_dir() else "600"
        yield broken("files", f"{path} is open to other users", f"chmod {mode} {path}")
    if not exposed:
        yield fine("files", f"{data_dir} is closed to other users")
    owner = data_dir.stat().st_uid
    if owner != os.geteuid():
        advice = "run this, and the hub, as that user: files of another one shut it out"
        yield warning("files", f"{data_dir} belongs to the user with number {owner}", advice)


def _open_to_others(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & FOR_OTHERS)
    except OSError:  # it is not there, or is said to be unusable by whoever reads it
        return False


def _configuration(loaded: Loaded) -> Iterator[Finding]:
    """Tokens may stand in the environment file, and should not in the configuration file."""
    beside = loaded.environment_file
    if beside is not None:
        if _open_to_others(beside):
            yield broken("environment file", f"{beside} is open to other users", f"chmod 600 {beside}")
        else:
            yield fine("environment file", f"{beside} is closed to other users")
    if loaded.source is None or not _open_to_others(loaded.source):
        return
    text = loaded.source.read_text(errors="replace")
    if any(secret in text for secret in secret_values(loaded.config)):
        advice = "move them to the vault: hubbub secrets set NAME, and write vault:NAME instead"
        yield warning("configuration", f"{loaded.source} holds tokens or keys and others can read it", advice)


def _workspace(workspace: Path) -> Finding:
    place = next(path for path in (workspace, *workspace.parents) if path.exists())
    if not place.is_dir():
        advice = "move that file away, or set another [workspace] dir"
        return broken("workspace", f"{place} is no directory", advice)
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        advice = f"make it writable for the hub's user: chown USER {place}"
        return broken("workspace", f"{place} cannot be written", advice)
    state = "can be used" if place == workspace else "is made at the start"
    return fine("workspace", f"{workspace} {state}")


def _vault(loaded: Loaded) -> Iterator[Finding]:
    """Secrets that the configuration does not use are not opened by a start."""
    try:
        sealed = sealed_in(loaded.database)
        if not sealed:
            return
        ring = VaultKeyRing(loaded.config.hub.data_dir, loaded.environment)
        keys = ring.keys()
    except (StoreError, StartError) as error:
        yield broken("vault", str(error), "do what it says")
        return
    if keys is None:
        message = f"{len(sealed)} secrets and no key"
        yield broken("vault", message, f"restore {ring.path}, or set HUBBUB_VAULT_KEY; else set them again")
        return
    lost = 0
    for secret in sealed:
        try:
            keys.open(secret)
        except VaultError as error:
            lost += 1
            message, _, advice = str(error).partition(": ")
            yield broken("vault", message, advice)
    if not lost:
        yield fine("vault", f"{len(sealed)} secrets can be read")
