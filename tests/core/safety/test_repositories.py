"""A row for git holds only where the repository runs nothing and leads nowhere: traps are asked about."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.safety.shell.rating import Level, judge
from tests.core.safety.shell_workspace import git, make_workspace

COMMANDS = (
    "git status",
    "git diff",
    "git log -3",
    "git add -A",
    "git commit -m x",
    "git push origin main",
    "git switch -c x",
)


def config(text: str) -> Callable[[Path], None]:
    """Plant lines in the repository's configuration."""

    def plant(root: Path) -> None:
        with (root / ".git/config").open("a") as file:
            file.write(f"{text}\n")

    return plant


def linked(name: str) -> Callable[[Path], None]:
    """Put a link out of the workspace in a file's place, or where nothing was."""

    def plant(root: Path) -> None:
        path = root / name
        outside = root.parent / "outside"
        outside.mkdir(exist_ok=True)
        if path.is_dir():
            shutil.move(path, outside / "moved")
            path.symlink_to(outside / "moved")
        else:
            (outside / "file").write_bytes(path.read_bytes() if path.exists() else b"")
            path.unlink(missing_ok=True)
            path.symlink_to(outside / "file")

    return plant


def written(name: str, text: str) -> Callable[[Path], None]:
    """Plant a file."""

    def plant(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return plant


def second_name(root: Path) -> None:
    """Give the reflog a second name outside."""
    os.link(root / ".git/logs/HEAD", root.parent / "second")


def pointer(root: Path) -> None:
    """Put a file that points to the repository in its place."""
    shutil.move(root / ".git", root / "elsewhere")
    (root / ".git").write_text("gitdir: elsewhere\n")


def bare(root: Path) -> None:
    """Make the workspace itself look like a repository."""
    for name in ("HEAD", "config", "objects", "refs"):
        shutil.move(root / ".git" / name, root / name)
    shutil.rmtree(root / ".git")


def nested(root: Path) -> None:
    """Record another repository inside this one."""
    (root / "inner").mkdir()
    git(root / "inner", "init", "-q")
    git(root / "inner", "commit", "-q", "--allow-empty", "-m", "one")
    git(root, "add", "inner")


TRAPS: dict[str, Callable[[Path], None]] = {
    "fsmonitor": config("[core]\n\tfsmonitor = sh evil"),
    "pager": config("[core]\n\tpager = sh evil"),
    "editor": config("[core]\n\teditor = sh evil"),
    "ssh": config("[core]\n\tsshCommand = sh evil"),
    "hooks path": config("[core]\n\thooksPath = hooks"),
    "work tree": config("[core]\n\tworktree = /etc"),
    "attributes": config("[core]\n\tattributesFile = /etc/x"),
    "one line": config("[core] fsmonitor = evil"),
    "letters": config("[CORE]\n\tFSMonitor = evil"),
    "continued": config("[user]\n\tname = a\\\n[core]"),
    "quoted": config('[user]\n\tname = "a\\nb"'),
    "bare key": config("[core]\n\tfsmonitor"),
    "diff": config("[diff]\n\texternal = sh evil"),
    "diff driver": config('[diff "x"]\n\ttextconv = sh evil'),
    "filter": config('[filter "x"]\n\tclean = sh evil'),
    "merge driver": config('[merge "x"]\n\tdriver = sh evil'),
    "alias": config("[alias]\n\tst = !sh evil"),
    "include": config("[include]\n\tpath = ../evil"),
    "include if": config('[includeIf "gitdir:/"]\n\tpath = ../evil'),
    "gpg": config("[gpg]\n\tprogram = evil"),
    "signing": config("[commit]\n\tgpgsign = true"),
    "credentials": config("[credential]\n\thelper = !sh evil"),
    "extension": config("[extensions]\n\tworktreeConfig = true"),
    "url": config('[url "ext::sh -c evil"]\n\tinsteadOf = https://'),
    "proxy": config('[remote "origin"]\n\tproxy = http://evil'),
    "fetch": config('[remote "origin"]\n\tfetch = +refs/heads/*:refs/heads/*'),
    "receive": config('[remote "origin"]\n\treceivepack = sh evil'),
    "hook": written(".git/hooks/post-index-change", "#!/bin/sh\n"),
    "common": written(".git/commondir", "../other\n"),
    "alternates": written(".git/objects/info/alternates", "/etc\n"),
    "head": written(".git/HEAD", "nothing\n"),
    "config linked": linked(".git/config"),
    "index linked": linked(".git/index"),
    "reflog linked": linked(".git/logs/HEAD"),
    "refs linked": linked(".git/refs/heads"),
    "objects linked": linked(".git/objects"),
    "hooks linked": linked(".git/hooks"),
    "repository linked": linked(".git"),
    "second name": second_name,
    "pointer": pointer,
    "bare": bare,
    "nested": nested,
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_repository_that_may_run_something_is_asked_about(trap: str, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    guard = make_workspace(root)
    assert [line for line in COMMANDS if judge(line, guard).level is not Level.LOW] == []
    TRAPS[trap](root)
    assert [line for line in COMMANDS if judge(line, guard).level is Level.LOW] == []
    assert [line for line in COMMANDS if any(need.row for need in judge(line, guard).needs)] == []


@pytest.mark.parametrize(
    "url", ["../other", "/srv/it.git", "file:///srv/it", "ext::sh -c evil", "-oProxyCommand=evil"]
)
def test_a_push_to_a_path_on_this_machine_always_asks(url: str, tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    config(f'[remote "other"]\n\turl = {url}')(tmp_path)
    assert judge("git push other main", guard).level is Level.ALWAYS_ASK


def test_an_always_on_a_push_ends_with_another_configuration(tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    before = judge("git push origin main", guard).needs
    config('[branch "main"]\n\tremote = other')(tmp_path)
    after = judge("git push origin main", guard)
    assert (after.level, after.needs == before) == (Level.LOW, False)


def test_git_is_judged_in_the_directory_where_it_works(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    (tmp_path / "inside/deep").mkdir(parents=True)
    guard = make_workspace(tmp_path / "inside")
    assert judge("cd deep && git status", guard).level is Level.LOW
    git(tmp_path, "init", "-q", "--bare", "inside/deep/bare")
    assert judge("cd deep/bare && git log", guard).level is Level.ALWAYS_ASK
    shutil.rmtree(tmp_path / "inside/.git")
    assert judge("git status", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "todo,level",
    [
        ("pick abc1234 one\n# exec x\n\nfixup abc1235 two\n", Level.LOW),
        ("", Level.LOW),
        ("pick abc1234 one\nexec make\n", Level.ALWAYS_ASK),
        ("x make\n", Level.ALWAYS_ASK),
        ("\texec make\n", Level.ALWAYS_ASK),
        ("#" * 100_000, Level.ALWAYS_ASK),
        (None, Level.ALWAYS_ASK),
    ],
)
def test_a_rebase_is_granted_if_it_runs_nothing(todo: str | None, level: Level, tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    assert judge("git rebase --continue", guard).level is Level.LOW
    (tmp_path / ".git/rebase-merge").mkdir()
    if todo is not None:
        (tmp_path / ".git/rebase-merge/git-rebase-todo").write_text(todo)
    assert judge("git rebase --continue", guard).level is level
    assert judge("git status", guard).level is Level.LOW
