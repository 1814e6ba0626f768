"""The copy of a project for a container, and what is taken back from one that is hostile."""

import os
from pathlib import Path

import pytest

from core.safety.paths import PathGuard
from core.sandbox.project import (
    Changes,
    ChangesRefused,
    ProjectRefused,
    changes_between,
    changes_from_json,
    copy_project,
    diff_of,
    remove_tree,
    take_over,
    used_bytes,
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
        copy_project(source or self.project, self.copy, self.base, limit, self.guard, None)

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


def test_what_a_container_changed_is_found_shown_and_made_once_it_is_accepted(world: World) -> None:
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


def test_nothing_hostile_comes_back(world: World, tmp_path: Path) -> None:
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
