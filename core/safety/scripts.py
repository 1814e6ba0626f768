"""Files and repositories of the workspace that a command runs or obeys, where they are certain."""

import ast
import contextlib
import hashlib
import json
import os
import posixpath
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from core.errors import ToolError
from core.lazy import dataclass
from core.safety.path_names import MAX_DEPTH
from core.safety.paths import PathGuard, file_digest
from core.safety.places import Places

# Checks that git, working in a directory, obeys nothing but the repository's own history: no hook, no program
# named in its configuration, no file reached through a link.
#
# Checked is what git itself would find from that directory upwards; it has to lie in the workspace.

MAX_CONFIG_BYTES = 64_000
MAX_INDEX_BYTES = 20_000_000
MAX_ENTRIES = 3_000
"""Limit of entries of `.git`, without the objects themselves."""

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
"""All settings that the repository's own configuration may contain."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STEPS = frozenset(
    {"pick", "reword", "edit", "squash", "fixup", "drop", "label", "reset", "merge", "noop", "break"}
)
"""Steps of a rebase that run no command."""
_GITLINK = b"\x00\x00\xe0\x00"
_SPLIT_INDEX = b"link\x00\x00\x00"
_ELSEWHERE = frozenset({"commondir", "gitdir", "alternates", "http-alternates", "config.worktree"})


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as git finds it. `problem`: the reason git may not work there; None if there is none.

    `config_digest`: of the repository's configuration. `is_local`: whether a remote may be on this machine.
    `runs_next`: whether a rebase in progress may run a command.
    """

    problem: str | None
    config_digest: str = ""
    is_local: bool = True
    runs_next: bool = True


def look_into(guard: PathGuard, directory: str) -> Repository:
    """Return the repository git would find from that directory. Never raises."""
    try:
        with contextlib.ExitStack() as held:
            home = _find(guard, directory, held)
            if home is None:
                return Repository("git would find no repository inside the workspace")
            config = _read("config", home, MAX_CONFIG_BYTES)
            lines = config.decode("utf-8", "replace").split("\n")
            is_local = any(_URL.match(line) and not _ELSEWHERE_URL.fullmatch(line) for line in lines)
            problem = _problem(home) or _config_problem(lines) or _entries_problem(home)
            digest = hashlib.sha256(config).hexdigest()
            return Repository(problem, digest, is_local, _runs_next(home, held))
    except (ToolError, OSError):
        return Repository("the repository can't be checked")


def _find(guard: PathGuard, directory: str, held: contextlib.ExitStack) -> int | None:
    """Return the nearest `.git` from there upwards, open; None if a directory on the way looks like a
    repository."""
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
        return "the repository may contain other repositories"
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
            return f"the repository's configuration has a setting that may do harm: {line.strip()[:60]}"
    return None


def _is_harmless(section: str, entry: Any) -> bool:
    key = entry.group(1).lower()
    return key in _KEYS.get(section, ()) and (key != "fetch" or _FETCH.fullmatch(entry.group(2)) is not None)


def _entries_problem(home: int) -> str | None:
    """Return a problem with hooks, links or files with several names. Objects themselves are not checked."""
    waiting, looked_at = [("", home)], 0
    with contextlib.ExitStack() as held:
        while waiting:
            folder, descriptor = waiting.pop()
            for name in os.listdir(descriptor):
                looked_at += 1
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if looked_at > MAX_ENTRIES:
                    return "the repository has too many entries to check"
                if stat.S_ISDIR(found.st_mode):
                    if not folder.startswith("objects/") or name == "info":
                        waiting.append((f"{folder}{name}/", _hold(name, descriptor, held)))
                elif folder == "hooks/" and not name.endswith(".sample"):
                    return f"the repository has a hook, {name}"
                elif not stat.S_ISREG(found.st_mode) or name in _ELSEWHERE:
                    return f"the repository's {folder}{name} points elsewhere"
                elif found.st_nlink > 1 and not folder.startswith("objects/"):
                    return f"the repository's {folder}{name} has another hard link"
    return None


def _hold(name: str, directory: int, held: contextlib.ExitStack) -> int:
    descriptor = os.open(name, _FOLDER, dir_fd=directory)
    held.callback(os.close, descriptor)
    return descriptor


def _read(name: str, directory: int, most: int) -> bytes:
    """Return the file's bytes. Raises OSError, also if it is longer than `most`."""
    with open(os.open(name, _FILE, dir_fd=directory), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"{name} is too long")
    return data


MAX_SCRIPT_BYTES = 200_000
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""Names in make's search order."""
_SHEBANGS = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/bash", "#!/usr/bin/env bash", "#!/usr/bin/env sh")
_SCRIPT_ENDINGS = (".sh", ".bash")
_READS_MORE = frozenset({"include", "-include", "sinclude", "load", "-load"})
_LOADERS = frozenset(
    {"exec", "eval", "compile", "__import__", "importlib", "runpy", "pkgutil", "site", "code"}
    | {"pdb", "bdb", "unittest", "doctest"}  # read files of the directory they run in
)


_PACKAGE_MANAGERS_OBEY = frozenset(
    {".npmrc", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpm-workspace.yaml", "package.json5", "package.yaml"}
    | {".yarnrc", ".yarnrc.yml", ".yarn", ".pnp.cjs", ".pnp.js", ".pnp.loader.mjs"}
)
_SHELLCHECK_OBEYS = frozenset({".shellcheckrc", "shellcheckrc"})
_COMPOSE_FILES = tuple(
    f"{name}.{ending}"
    for name in ("compose", "docker-compose", "compose.override", "docker-compose.override")
    for ending in ("yaml", "yml")
)
_COMPOSE_READS_MORE = (
    "include",
    "extends",
    "env_file",
    "label_file",
    "provider",
    "secrets",
    "configs",
    "<<",
    "!",
    "\\",
)


class Unnamed(Exception):
    """The reason the files a command runs can't be named with certainty."""


def files_run(how: str, argv: Sequence[str], operands: Sequence[str], places: Places) -> Mapping[str, str]:
    """Return the files with their digests, by their paths from the workspace on. Raises Unnamed."""
    match how:
        case "makefile":
            return _makefiles(operands, places)
        case "package" | "package script":
            script = (*operands, argv[1])[0] if how == "package script" else None
            return _package(script, places)
        case "compose":
            return _compose(places)
        case "module":
            _judge_shadows(_beside(places))
            return {}
        case "shellcheck":
            for operand in operands:
                _judge_upwards(posixpath.dirname(operand) or ".", places, _SHELLCHECK_OBEYS)
                if _SHELLCHECK_OBEYS & set(_script(operand, places)[1]):
                    raise Unnamed(f"{operand} is in a directory with a shellcheck configuration")
            return {}
        case _:
            return _interpreted(how, argv, operands, places)


def repository_obeyed(places: Places, *, remote: bool, goes_on: bool) -> Mapping[str, str]:
    """Return the repository's configuration with its digest, for commands that talk to its remotes.
    Raises Unnamed if the repository may make git run something."""
    found = look_into(places.guard, places.directory)
    if found.problem is not None:
        raise Unnamed(found.problem)
    if goes_on and found.runs_next:
        raise Unnamed("the rebase may run a command when it continues")
    if remote and found.is_local:
        raise Unnamed("the repository has a remote on this machine")
    return {".git/config": found.config_digest} if remote else {}


def _interpreted(how: str, argv: Sequence[str], operands: Sequence[str], places: Places) -> Mapping[str, str]:
    script = argv[0] if how == "itself" else operands[0]
    text, beside = _script(script, places)
    if how != "python" and not script.endswith(_SCRIPT_ENDINGS):  # `configure`, `gradlew`: they run a build
        raise Unnamed(f"{script} may run other files: its name doesn't end in .sh or .bash")
    if how == "itself" and text.partition("\n")[0].rstrip() not in _SHEBANGS:
        raise Unnamed(f"{script} is not a sh or bash script")
    if how == "python":
        _judge_imports(text, beside)
    return _bound((script,), places)


def _makefiles(targets: Sequence[str], places: Places) -> Mapping[str, str]:
    beside = _beside(places)
    used = next((name for name in _MAKEFILES if name in beside), "Makefile")
    lines = _script(used, places)[0].split("\n")
    if any(_READS_MORE & set(line.split()[:1]) or "$(eval" in line or "${eval" in line for line in lines):
        raise Unnamed(f"{used} reads other files")
    if any(
        name.startswith((f"{used}.", f"{used},", f"s.{used}")) or name in ("RCS", "SCCS") for name in beside
    ):
        raise Unnamed(f"make may rebuild {used} first")
    defined = {
        name
        for line in lines
        if line[:1] != "\t" and "=" not in line
        for name in line.partition(":")[0].split()
    }
    if missing := set(targets) - defined:
        raise Unnamed(f"{used} doesn't define the target {min(missing)}")
    return _bound(_MAKEFILES, places)


def _package(script: str | None, places: Places) -> Mapping[str, str]:
    """Return the directory's package.json, provided nothing in the workspace adds to it. `script`: a
    script it has to define."""
    _judge_upwards(".", places, _PACKAGE_MANAGERS_OBEY, above={"package.json"})
    try:
        read = json.loads(_script("package.json", places)[0])
    except (ValueError, RecursionError):
        raise Unnamed("package.json can't be parsed") from None
    package = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    scripts = package.get("scripts")
    defined = cast("dict[str, Any]", scripts) if isinstance(scripts, dict) else {}
    if script is not None and not isinstance(defined.get(script), str):
        raise Unnamed(f"package.json doesn't define {script}")
    return _bound(("package.json",), places)


def _compose(places: Places) -> Mapping[str, str]:
    beside = _beside(places)
    found = [name for name in _COMPOSE_FILES if name in beside]
    if not found or ".env" in beside:
        raise Unnamed("the files of the compose project can't be determined")
    for name in found:
        if any(word in _script(name, places)[0] for word in _COMPOSE_READS_MORE):
            raise Unnamed(f"{name} may read other files")
    return _bound(_COMPOSE_FILES, places)


def _judge_upwards(path: str, places: Places, obeyed: Iterable[str], *, above: Iterable[str] = ()) -> None:
    """Raise if a file named in `obeyed` lies in the directory or above it in the workspace, or one
    named in `above` lies above it."""
    names = set(obeyed)
    try:
        with contextlib.ExitStack() as held:
            top = os.fstat(held.enter_context(places.guard.listing(".")))
            here = held.enter_context(places.guard.listing(places.at(path)))
            for _ in range(MAX_DEPTH):
                if found := names & set(os.listdir(here)):
                    raise Unnamed(f"{min(found)} may make it run or read other files")
                if os.path.samestat(os.fstat(here), top):
                    return
                here = os.open("..", _FOLDER, dir_fd=here)
                held.callback(os.close, here)
                names |= set(above)
    except (ToolError, OSError):
        pass
    raise Unnamed("the directory can't be read")


def _bound(names: Sequence[str], places: Places) -> Mapping[str, str]:
    digests = {places.name(name): file_digest(places.guard, places.at(name)) for name in names}
    if any(len(digest) != 64 and digest != "absent" for digest in digests.values()):
        raise Unnamed("a file that it runs can't be read")
    return digests


def _beside(places: Places) -> Sequence[str]:
    """Return the names in the directory in which it runs."""
    try:
        with places.guard.listing(places.directory) as directory:
            return os.listdir(directory)
    except ToolError as error:
        raise Unnamed("the directory can't be read") from error


def _script(path: str, places: Places) -> tuple[str, Sequence[str]]:
    """Return the file's text, and the names in the directory in which it really lies."""
    if path == "-":
        raise Unnamed("it runs what it reads from standard input")
    if (reason := places.file(path)) is not None:
        raise Unnamed(reason)
    try:
        with places.guard.place(places.at(path)) as place:
            beside = os.listdir(place.directory)
        with places.guard.reading(places.at(path)) as file:
            read = file.read(MAX_SCRIPT_BYTES + 1)
        text = read.decode()
    except (ToolError, UnicodeDecodeError) as error:
        raise Unnamed(f"{path} can't be read as a script") from error
    if len(read) > MAX_SCRIPT_BYTES:
        raise Unnamed(f"{path} is too long to check")
    return text, beside


def _judge_imports(text: str, beside: Sequence[str]) -> None:
    """Raise unless all imports are Python's own, and nothing next to the script shadows them."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unnamed("the script can't be parsed") from None
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {"." * node.level + (node.module or "") for node in nodes if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in names}
    tops |= {node.id for node in nodes if isinstance(node, ast.Name) and node.id in _LOADERS}
    if loaders := sorted(tops & _LOADERS):
        raise Unnamed(f"the script uses {loaders[0]}, which may run other code")
    if foreign := sorted(tops - sys.stdlib_module_names):
        imported = foreign[0] or "a module of its own package"
        raise Unnamed(f"the script imports {imported}, which is not in Python's standard library")
    _judge_shadows(beside)


def _judge_shadows(beside: Sequence[str]) -> None:
    if shadows := sorted(name for name in beside if name.partition(".")[0] in sys.stdlib_module_names):
        raise Unnamed(f"{shadows[0]} shadows a module of Python's standard library")
