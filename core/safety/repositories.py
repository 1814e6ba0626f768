"""Whether git, working in a directory, obeys nothing but the repository's own history: no hook, no program
that its configuration names, no file reached through a link.

What is looked at is what git itself would find from that directory upwards; it has to lie in the workspace.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from core.errors import ToolError
from core.safety.path_text import MAX_DEPTH
from core.safety.paths import PathGuard

MAX_CONFIG_BYTES = 64_000
MAX_INDEX_BYTES = 20_000_000
MAX_ENTRIES = 3_000
"""Of `.git`, without the objects themselves."""

_re2 = cast("Any", re2)
_SECTION = _re2.compile(r'\[(core|user|init|pull|push|color|remote|branch)(?: "[\w./-]+")?\]')
_ENTRY = _re2.compile(r"\s*([A-Za-z]+) = ([\w ./:@+*,~<>-]*)")
_URL = _re2.compile(r"\s*(?i:push)?(?i:url)\b")
_ELSEWHERE_URL = _re2.compile(r"\s*(?:push)?url = (?:(?:https|ssh)://[\w.@-]+|git@[\w.-]+:)[\w./:+~-]*")
_FETCH = _re2.compile(r"\+refs/heads/\*:refs/remotes/[\w.-]+/\*")
_COMMIT = _re2.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_KEYS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase",
             "precomposeunicode", "symlinks", "autocrlf", "eol", "abbrev", "quotepath"},
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "push": {"default", "autosetupremote", "followtags"},
    "color": {"ui", "status", "branch", "diff"},
    "remote": {"url", "fetch", "pushurl", "tagopt"},
    "branch": {"remote", "merge", "rebase", "autosetuprebase", "sort"},
}  # fmt: skip
"""All that the repository's own configuration may set."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STEPS = frozenset(
    {"pick", "reword", "edit", "squash", "fixup", "drop", "label", "reset", "merge", "noop", "break"}
)
"""Of a rebase: all that run nothing."""
_GITLINK = b"\x00\x00\xe0\x00"
_SPLIT_INDEX = b"link\x00\x00\x00"
_ELSEWHERE = frozenset({"commondir", "gitdir", "alternates", "http-alternates", "config.worktree"})


@dataclass(frozen=True, slots=True)
class Repository:
    """What git finds. `problem`: what speaks against letting it work there; None if nothing does.

    `config_digest`: of the repository's configuration. `is_local`: whether a remote may be on this machine.
    `runs_next`: whether a rebase that was begun may go on with running a command.
    """

    problem: str | None
    config_digest: str = ""
    is_local: bool = True
    runs_next: bool = True


def look_into(guard: PathGuard, directory: str) -> Repository:
    """Return what git would find, working in that directory. Never raises."""
    try:
        with contextlib.ExitStack() as held:
            home = _find(guard, directory, held)
            if home is None:
                return Repository("git finds no repository of its own in the workspace")
            config = _read("config", home, MAX_CONFIG_BYTES)
            lines = config.decode("utf-8", "replace").split("\n")
            is_local = any(_URL.match(line) and not _ELSEWHERE_URL.fullmatch(line) for line in lines)
            problem = _problem(home) or _config_problem(lines) or _entries_problem(home)
            digest = hashlib.sha256(config).hexdigest()
            return Repository(problem, digest, is_local, _runs_next(home, held))
    except (ToolError, OSError):
        return Repository("the repository can't be looked at")


def _find(guard: PathGuard, directory: str, held: contextlib.ExitStack) -> int | None:
    """The nearest `.git` from there upwards, open; none where a directory below looks like a repository."""
    top = os.fstat(held.enter_context(guard.listing(".")))
    here = held.enter_context(guard.listing(directory))
    for _ in range(MAX_DEPTH):
        names = os.listdir(here)
        if ".git" in names:
            return _hold(".git", here, held)
        if "HEAD" in names or os.path.samestat(os.fstat(here), top):
            return None
        here = _hold("..", here, held)
    return None


def _problem(home: int) -> str | None:
    names = os.listdir(home)
    head = _read("HEAD", home, MAX_CONFIG_BYTES).decode("ascii", "replace").strip()
    if not (head.startswith("ref: refs/heads/") or _COMMIT.fullmatch(head)) or not {"objects", "refs"} <= {
        *names
    }:
        return "the repository is incomplete"
    index = _read("index", home, MAX_INDEX_BYTES) if "index" in names else b""
    if _GITLINK in index or _SPLIT_INDEX in index:
        return "the repository may have others inside it"
    return None


def _runs_next(home: int, held: contextlib.ExitStack) -> bool:
    if "rebase-merge" not in os.listdir(home):
        return False
    try:
        todo = _read("git-rebase-todo", _hold("rebase-merge", home, held), MAX_CONFIG_BYTES)
    except OSError:
        return True
    steps = {line.split()[0] for line in todo.decode("utf-8", "replace").split("\n") if line.strip()}
    return any(step not in _STEPS and step[0] != "#" for step in steps)


def _config_problem(lines: Sequence[str]) -> str | None:
    section = ""
    for line in lines:
        if not line.strip() or line.lstrip()[0] in "#;":
            continue
        if (header := _SECTION.fullmatch(line)) is not None:
            section = header.group(1)
        elif (entry := _ENTRY.fullmatch(line)) is None or not _is_harmless(section, entry):
            return f"the repository's configuration says what may do harm: {line.strip()[:60]}"
    return None


def _is_harmless(section: str, entry: Any) -> bool:
    key = entry.group(1).lower()
    return key in _KEYS.get(section, ()) and (key != "fetch" or _FETCH.fullmatch(entry.group(2)) is not None)


def _entries_problem(home: int) -> str | None:
    """No hook, no link, no second name of a file. Objects themselves are not looked at."""
    waiting, looked_at = [("", home)], 0
    with contextlib.ExitStack() as held:
        while waiting:
            folder, descriptor = waiting.pop()
            for name in os.listdir(descriptor):
                looked_at += 1
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if looked_at > MAX_ENTRIES:
                    return "the repository holds too much to be looked through"
                if stat.S_ISDIR(found.st_mode):
                    if not folder.startswith("objects/") or name == "info":
                        waiting.append((f"{folder}{name}/", _hold(name, descriptor, held)))
                elif folder == "hooks/" and not name.endswith(".sample"):
                    return f"the repository has a hook, {name}"
                elif not stat.S_ISREG(found.st_mode) or name in _ELSEWHERE:
                    return f"the repository's {folder}{name} leads elsewhere"
                elif found.st_nlink > 1 and not folder.startswith("objects/"):
                    return f"the repository's {folder}{name} has a second name"
    return None


def _hold(name: str, directory: int, held: contextlib.ExitStack) -> int:
    descriptor = os.open(name, _FOLDER, dir_fd=directory)
    held.callback(os.close, descriptor)
    return descriptor


def _read(name: str, directory: int, most: int) -> bytes:
    """The file's bytes. Raises OSError, also where it is longer."""
    with open(os.open(name, _FILE, dir_fd=directory), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"{name} is too long")
    return data
