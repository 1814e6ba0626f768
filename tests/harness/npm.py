"""Programs from npm, installed by a lock of ours into pytest's cache, once per lock."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.plugins.groups import node_of_the_environment, required_groups

INSTALL_LIMIT_S = 100
AGENTS_LOCK = Path(__file__).parents[1] / "bot" / "models" / "npm" / "package-lock.json"


def install_agents(config: pytest.Config) -> Path:
    """Return the folder with the pinned agent CLIs, installed by Node from the lock of the tests."""
    node = node_of_the_environment()
    npm = [str(node), str(node.parents[1] / "lib/node_modules/npm/bin/npm-cli.js")] if node else []
    return install(config, AGENTS_LOCK, "cli", npm=npm)


def install(
    config: pytest.Config, lock: Path, group: str, files: Sequence[str] = (), npm: Sequence[str] = ("npm",)
) -> Path:
    """Return the folder where the programs lie, with copies of `files` from beside the lock.

    Skips the test if npm fails; fails it if its group is required."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"hubbub-npm-{group}-{digest}"  # where pytest keeps no cache
    if (cache := getattr(config, "cache", None)) is not None:
        folder = cache.mkdir(f"npm-{group}-{digest}")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)  # two workers may want them at one time
        for name in ("package.json", "package-lock.json", *files):
            shutil.copy(lock.parent / name, folder / name)
        failure = _installed(folder, npm)
    if failure:
        give_up = pytest.fail if group in required_groups(os.environ) else pytest.skip
        give_up(f"{group}: npm failed: {failure}")
    return folder


def _installed(folder: Path, npm: Sequence[str]) -> str:
    """Return what kept npm from it; "" once they are there."""
    if (folder / "node_modules" / ".package-lock.json").exists():
        return ""
    command = (*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False
        )
        failure = done.stderr[-500:] if done.returncode else ""
    except subprocess.TimeoutExpired:
        failure = f"it took more than {INSTALL_LIMIT_S} s"
    if failure:
        shutil.rmtree(folder / "node_modules", ignore_errors=True)
    return failure
