"""Make the pictures of docs/first-ten-minutes.md: python -m tests.before_after [B1 B2 …]

Each scene is played twice and drawn from what runs: by the product as the newcomer met it, checked out
beside this one, and by today's.
"""

import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from playwright.async_api import Browser

from tests.before_after import console_scenes, terminal_scenes
from tests.before_after.drawing import small, still
from tests.before_after.stage import Stage
from tests.browser.chromium import chromium
from tests.tree import ROOT

PLACE = ROOT / "docs" / "img" / "first-ten-minutes"
NEWCOMERS = "c083c321"
"""The product that the newcomer met, of 22 November. It shows every defect but B13, a message that is there
twice only while a platform is slow."""

Scene = Callable[[Stage], Awaitable[bytes | str]]


def scenes() -> dict[str, Scene]:
    """Every defect that can be seen, by its number."""
    found: dict[str, Scene] = {}
    for module in (console_scenes, terminal_scenes):
        found |= {name.upper(): one for name, one in vars(module).items() if name[1:].isdigit()}
    return dict(sorted(found.items(), key=lambda item: int(item[0][1:])))


@contextlib.contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """The product of a commit, in a directory of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        tree = Path(place) / "tree"
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            _install_what_it_needed(tree)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _install_what_it_needed(tree: Path) -> None:
    """Install the packages that only this state needs, into it; the others are today's."""
    pinned = re.findall(r"(?m)^([\w.-]+)(==[^\\\n]+)", (tree / "requirements" / "runtime.txt").read_text())
    here = {re.sub(r"[_.]", "-", one.name.lower()) for one in distributions()}
    missing = [name + version for name, version in pinned if name.lower() not in here]
    if missing:
        words = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tree), *missing)
        subprocess.run([sys.executable, *words], check=True)


async def draw(browser: Browser, name: str, scene: Scene, tree: Path, *, today: bool) -> None:
    """Play a scene and write its picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        seen = await scene(Stage(tree, Path(directory), browser, today))
    moment = "after" if today else "before"
    stem = f"{name.lower()}-{moment}"
    if isinstance(seen, bytes):
        (PLACE / f"{stem}.png").write_bytes(small(seen))
    else:
        (PLACE / f"{stem}.svg").write_text(still(seen, f"{name}, {moment}: {scene.__doc__}"))


async def main(*names: str) -> None:
    """Write the pictures of these defects, or of all."""
    PLACE.mkdir(parents=True, exist_ok=True)
    chosen = {name: scene for name, scene in scenes().items() if not names or name in names}
    async with chromium() as browser:
        with tree_of(NEWCOMERS) as tree:
            for name, scene in chosen.items():
                await draw(browser, name, scene, tree, today=False)
        for name, scene in chosen.items():
            await draw(browser, name, scene, ROOT, today=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
