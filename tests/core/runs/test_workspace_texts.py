"""The workspace's own texts for prompts: read when they change, through the guard, within their limits."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.runs.workspace_texts import DOCUMENT_LIMIT_CHARS, MAX_SKILLS, Document, PromptTexts, WorkspaceTexts
from core.safety.leaks import LeakDetector
from core.tool import Workspace

SECRET = "hunter2-hunter2"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work" / "skills" / "deploy").mkdir(parents=True)
    (tmp_path / "closed").mkdir()
    return tmp_path / "work"


@pytest.fixture
def texts(root: Path) -> WorkspaceTexts:
    workspace = Workspace(root, root.parent / "outputs", (root.parent / "closed",))
    return WorkspaceTexts(workspace, LeakDetector([SECRET]), ["deploy"])


class Opened:
    """The names that were opened, each with its thread. An audit hook stays for good, so it is shut."""

    def __init__(self) -> None:
        self.open = True
        self.seen: list[tuple[str, int]] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.open and event == "open" and isinstance(arguments[0], str):
            self.seen.append((os.path.basename(arguments[0]), threading.get_ident()))

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.seen}


@pytest.fixture
def opened() -> Iterator[Opened]:
    found = Opened()
    yield found
    found.open = False


def written(root: Path, path: str, text: str) -> None:
    (root / path).write_text(text, encoding="utf-8")


async def test_files_are_read_in_a_thread_and_again_only_after_a_change(
    root: Path, texts: WorkspaceTexts, opened: Opened
) -> None:
    written(root, "SOUL.md", "Be kind.")
    written(root, "skills/deploy/SKILL.md", "Ship it.")
    opened.seen.clear()
    first = await texts.current()
    assert first.documents == (Document("SOUL.md", "Be kind."),)
    assert [(skill.name, skill.text, skill.trusted) for skill in first.skills] == [
        ("deploy", "Ship it.", True)
    ]
    threads = {thread for name, thread in opened.seen if name in {"SOUL.md", "SKILL.md"}}
    assert threads
    assert threading.get_ident() not in threads
    opened.seen.clear()
    for _ in range(3):
        assert await texts.current() is first
        assert texts.latest() is first
    assert not opened.names, "an unchanged workspace costs no open file"


@pytest.mark.parametrize("change", ["text", "gone", "new document", "new skill", "skill's file", "no folder"])
async def test_every_change_is_seen(root: Path, texts: WorkspaceTexts, change: str) -> None:
    written(root, "SOUL.md", "Be kind.")
    (root / "skills" / "empty").mkdir()
    before = await texts.current()
    if change == "text":
        written(root, "SOUL.md", "Be cold.")  # of the same length
    elif change == "gone":
        (root / "SOUL.md").unlink()
    elif change == "new document":
        written(root, "USER.md", "Ann.")
    elif change == "new skill":
        (root / "skills" / "new").mkdir()
        written(root, "skills/new/SKILL.md", "x")
    elif change == "skill's file":
        written(root, "skills/empty/SKILL.md", "x")
    else:
        written(root, "skills/deploy/SKILL.md", "x")
        await texts.current()
        (root / "skills").rename(root / "other")
        assert (await texts.current()).skills == ()
        return
    assert await texts.current() != before


async def test_nothing_from_outside_the_workspace_is_read(root: Path, texts: WorkspaceTexts) -> None:
    written(root.parent, "outside.md", "Obey.")
    written(root.parent, "closed/hub.md", "Obey.")
    (root / "SOUL.md").symlink_to("../outside.md")
    (root / "AGENTS.md").hardlink_to(root.parent / "closed" / "hub.md")
    (root / "USER.md").mkdir()
    (root / "skills" / "out").symlink_to("../..")
    written(root.parent, "SKILL.md", "Obey.")
    os.mkfifo(root / "skills" / "deploy" / "SKILL.md")
    assert await texts.current() == PromptTexts()


async def test_texts_have_limits_and_no_credentials(root: Path, texts: WorkspaceTexts) -> None:
    written(root, "USER.md", f"The password is {SECRET}.\x1b[2J\n" + "x" * 100_000)
    written(root, "skills/deploy/SKILL.md", "x" * 12_001)
    for number in range(MAX_SKILLS):
        (root / "skills" / f"a{number:03}").mkdir()
        written(root, f"skills/a{number:03}/SKILL.md", "x")
    for name in ("no name", "ünseen", ".hidden", "x" * 41):
        (root / "skills" / name).mkdir()
        written(root, f"skills/{name}/SKILL.md", "x")
    (document,) = (await texts.current()).documents
    assert document.text.startswith("The password is [")
    assert SECRET not in document.text
    assert "\x1b" not in document.text
    assert DOCUMENT_LIMIT_CHARS < len(document.text) < DOCUMENT_LIMIT_CHARS + 100
    assert [skill.name for skill in texts.latest().skills] == [
        f"a{number:03}" for number in range(MAX_SKILLS)
    ]
    (root / "skills" / "a000" / "SKILL.md").write_text("x" * 12_001)
    assert texts.latest().skills[0].problem == "it is longer than 12000 characters"
