"""Which files an "Always allow" can be given for: documents, and nothing that programs run."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.bot.cli.in_process import command
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub

RUN_UNSEEN = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".husky/pre-push",
    ".bashrc",
    ".vscode/tasks.json",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".venv/bin/notes.txt",
    "node_modules/.bin/eslint",
    "src/__pycache__/a.txt",
    "bin/notes.md",
    "sub/../.git/hooks/notes.txt",
    "linked/notes.txt",
    "link.txt",
    "run.txt",
]
ORDINARY = [
    "Makefile",
    "conftest.py",
    "package.json",
    "build.sh",
    "CMakeLists.txt",
    "requirements-dev.txt",
    "SOUL.md",
    "a",
]
DOCUMENTS = ["notes.txt", "plans/2026/march.md", "figures.csv"]


async def offered(house: Hub, path: str) -> bool:
    """Return whether the card of a write offers "always"; it is denied."""
    said = len(house.says(OWNER))
    house.telegram.user_sends_text(
        OWNER, f"please call: write_file {json.dumps({'path': path, 'content': 'x'})}"
    )
    card = await house.card(OWNER)
    await house.pressed(OWNER, card, 1)
    await house.telegram.wait_for(lambda: len(house.says(OWNER)) > said + 1, LIMIT_S)
    await house.telegram.wait_for(lambda: not house.open_cards(OWNER), LIMIT_S)
    return "Always allow would cover write_file" in card.text


async def test_always_is_offered_for_documents_alone(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        (house.workspace / ".git" / "hooks").mkdir(parents=True)
        (house.workspace / "linked").symlink_to(".git/hooks")
        (house.workspace / "link.txt").symlink_to(".git/hooks/pre-commit")
        (house.workspace / "run.txt").touch(0o755)
        found = {path: await offered(house, path) for path in (*RUN_UNSEEN, *ORDINARY, *DOCUMENTS)}
        assert found == dict.fromkeys((*RUN_UNSEEN, *ORDINARY), False) | dict.fromkeys(DOCUMENTS, True)
        assert list((house.workspace / ".git" / "hooks").iterdir()) == []


@pytest.mark.parametrize("path, asks", [(".git/hooks/pre-commit", True), ("notes.txt", False)])
async def test_no_personal_setting_covers_what_is_run_unseen(
    tmp_path: Path, path: str, *, asks: bool
) -> None:
    async with open_hub(tmp_path) as house:
        await house.stop()
        await asyncio.to_thread(command, tmp_path, "permissions", "set", "write_file", "always_allow")
        await house.start()
        house.telegram.user_sends_text(
            OWNER, f"please call: write_file {json.dumps({'path': path, 'content': 'x'})}"
        )
        if asks:
            assert "Programs may run a file written there" in (await house.card(OWNER)).text
        else:
            await house.telegram.wait_text(OWNER, "Done:")
        assert (house.workspace / path).exists() is not asks
