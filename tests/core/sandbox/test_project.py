"""The copy of a project for a container, and what is taken back from one that is hostile."""

import os
import subprocess
from pathlib import Path

import pytest

from core.safety.paths import PathGuard
from core.sandbox.disk import DiskLimit, remove_tree, used_bytes
from core.sandbox.project import (
    Changes,
    ChangesRefused,
    ProjectRefused,
    changes_between,
    changes_from_json,
    copy_project,
    diff_of,
    take_over,
)

MB = 1_000_000


class World:
    """A workspace with a project, and the places of a container's copy."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "workspace" / "app"
        self.data = root / "workspace" / "data"
        self.copy, self.base = root / "c" / "project", root / "c" / "base"
        for directory in (self.project / "src", self.data):
            directory.mkdir(parents=True)
        (self.project / "src" / "a.py").write_text("one\ntwo\n")
        (self.project / "b.txt").write_text("b\n")
        (self.data / "hub.db").write_text("secret")
        self.guard = PathGuard(root / "workspace", [self.data])

    def copied(self, source: Path | None = None, limit: int = MB) -> None:
        copy_project(source or self.project, self.copy, self.base, DiskLimit(limit), self.guard, None)

    def changes(self) -> Changes:
        return changes_between(self.base, self.copy)

    def take(self, changes: Changes) -> None:
        take_over(changes_from_json(changes.to_json()), self.copy, self.project, self.guard)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def names(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_a_copy_has_no_repository_no_secret_and_nothing_of_the_hubs(world: World, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (world.project / ".git").mkdir()
    (world.project / ".git" / "config").write_text("x")
    (world.project / ".env").write_text("KEY=1")
    (world.project / "out").symlink_to(tmp_path / "outside")
    (world.project / "hub").hardlink_to(world.data / "hub.db")
    os.mkfifo(world.project / "pipe")
    world.copied()
    assert names(world.copy) == {"src/a.py", "b.txt", "out"}
    assert os.path.islink(world.copy / "out"), "a link is copied as a link, and what it leads to is not"
    assert names(world.base) == {"src/a.py", "b.txt"}
    world.copied(world.project.parent)
    assert not any(name.startswith("data") for name in names(world.copy))
    with pytest.raises(ProjectRefused, match="more than 0 MB"):
        world.copied(limit=3)
    (world.project.parent / "link").symlink_to("/etc")
    with pytest.raises(ProjectRefused, match="can't be copied"):
        world.copied(world.project.parent / "link")


def git(directory: Path, *words: str) -> str:
    blank = {"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1"}
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *author, *words], cwd=directory, env=blank, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_copy_has_the_history_of_its_repository_and_neither_its_settings_nor_its_hooks(
    world: World, tmp_path: Path
) -> None:
    git(world.project, "init", "--quiet", "--initial-branch=main")
    git(world.project, "remote", "add", "origin", "https://me:hunter2@example.org/app.git")
    git(world.project, "config", "core.fsmonitor", f"touch {tmp_path}/run")
    hook = world.project / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    git(world.project, "add", ".")
    git(world.project, "commit", "--quiet", "--message=First")
    git(world.project, "gc", "--quiet")
    (world.project / "b.txt").write_text("c\n")
    git(world.project, "commit", "--quiet", "--all", "--message=Second: hunter2 is not in it")
    (world.project / ".git" / "FETCH_HEAD").write_text("https://me:hunter2@example.org/app.git")
    (world.project / "src" / "a.py").write_text("three\n")
    (tmp_path / "run").unlink(missing_ok=True)
    world.copied()
    assert not (tmp_path / "run").exists(), "nothing of the repository was run"
    assert git(world.copy, "log", "--format=%s").splitlines()[1] == "First"
    assert "-one" in git(world.copy, "diff")
    assert "+c" in git(world.copy, "show", "HEAD", "--", "b.txt")
    assert git(world.copy, "remote") == ""
    kept = [path for path in (world.copy / ".git").rglob("*") if path.is_file()]
    assert {path.relative_to(world.copy / ".git").parts[0] for path in kept} <= {
        *("HEAD", "config", "index", "objects", "packed-refs", "refs")
    }
    assert not any(b"example.org/app" in path.read_bytes() for path in kept)
    git(world.copy, "commit", "--quiet", "--all", "--message=Inside")
    (world.copy / ".git" / "hooks").mkdir()
    (world.copy / ".git" / "hooks" / "post-merge").write_text("touch /tmp/x")
    assert [one.path for one in world.changes().files] == [], "what it did to its history is not taken over"
    (world.project / ".git" / "objects" / "info" / "alternates").write_text("/elsewhere/objects\n")
    world.copied()
    assert not (world.copy / ".git").exists()


def test_changes_of_a_container_are_found_shown_and_applied_once_they_are_accepted(world: World) -> None:
    world.copied()
    (world.copy / "src" / "a.py").write_text("one\n2\n")
    (world.copy / "b.txt").unlink()
    (world.copy / "new").mkdir()
    (world.copy / "new" / "run.sh").write_text("#!/bin/sh\n")
    (world.copy / "new" / "run.sh").chmod(0o4755)
    (world.copy / "data.bin").write_bytes(b"\0\1")
    changes = world.changes()
    assert [(file.word, file.path) for file in changes.files] == [
        ("deleted", "b.txt"), ("added", "data.bin"), ("added", "new/run.sh"), ("changed", "src/a.py")
    ]  # fmt: skip
    diff = diff_of(changes, world.base, world.copy)
    assert "--- a/src/a.py\n+++ b/src/a.py\n" in diff
    assert "-two\n+2\n" in diff
    assert "added data.bin (not shown" in diff
    for _ in range(2):  # also after a crash in between
        world.take(changes)
        assert names(world.project) == {"src/a.py", "data.bin", "new/run.sh"}
        assert (world.project / "src" / "a.py").read_text() == "one\n2\n"
        assert (world.project / "new" / "run.sh").stat().st_mode & 0o7777 == 0o755


def test_changes_are_refused_whole_if_a_file_is_another_than_it_was(world: World) -> None:
    world.copied()
    (world.copy / "src" / "a.py").write_text("mine\n")
    (world.copy / "b.txt").write_text("mine\n")
    changes = world.changes()
    (world.project / "src" / "a.py").write_text("yours\n")
    with pytest.raises(ChangesRefused, match=r"src/a\.py has changed in the project"):
        world.take(changes)
    assert (world.project / "b.txt").read_text() == "b\n"
    (world.project / "src" / "a.py").write_text("one\ntwo\n")
    (world.copy / "b.txt").write_text("swapped after it was shown\n")
    with pytest.raises(ChangesRefused, match=r"b\.txt is not what was accepted"):
        world.take(changes)
    assert (world.project / "src" / "a.py").read_text() == "one\ntwo\n"
    (world.copy / "b.txt").write_text("mine\n")
    world.take(changes)
    assert (world.project / "b.txt").read_text() == "mine\n"


def test_the_digest_binds_the_changes_and_the_files_as_they_were(world: World) -> None:
    world.copied()
    (world.copy / "b.txt").write_text("x\n")
    first = world.changes().digest
    (world.base / "b.txt").write_text("another\n")
    assert world.changes().digest != first
    (world.copy / "b.txt").write_text("y\n")
    assert len({first, world.changes().digest}) == 2


def test_hostile_files_are_not_copied_back(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    world.copied()
    hostile = {
        "link": lambda path: path.symlink_to(tmp_path / "secret"),
        "pipe": os.mkfifo,
        "line\nbreak": lambda path: path.write_text("x"),
        ".env": lambda path: path.write_text("x"),
        "back\\slash": lambda path: path.write_text("x"),
    }
    for name, make in hostile.items():
        make(world.copy / name)
    (Path(os.fsdecode(os.fsencode(world.copy) + b"/\xff"))).write_text("x")
    for hooks in (world.copy / ".git" / "hooks", world.copy / "src" / ".git" / "hooks"):
        hooks.mkdir(parents=True)
        (hooks / "post-checkout").write_text("#!/bin/sh\ntouch /tmp/caught\n")
    (world.copy / "src" / "a.py").unlink()
    (world.copy / "src" / "a.py").symlink_to(tmp_path / "secret")
    changes = world.changes()
    assert changes.files == ()
    assert len(changes.left_out) == 6, "all but the new link, which is none of the project's files"
    assert "secret" not in diff_of(changes, world.base, world.copy)
    # A directory that became a link: what was in it is gone, and nothing behind the link is read.
    remove_tree(world.copy / "src")
    (world.copy / "src").symlink_to(tmp_path)
    assert [(file.word, file.path) for file in world.changes().files] == [("deleted", "src/a.py")]


def test_a_copy_is_measured_and_removed_whatever_its_modes(world: World) -> None:
    world.copied()
    (world.copy / "large").write_bytes(b"x" * MB)
    assert used_bytes(world.copy) >= MB
    (world.copy / "src").chmod(0)
    remove_tree(world.copy.parent)
    assert not world.copy.parent.exists()
