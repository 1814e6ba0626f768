"""Which files of the workspace a command runs, where that can be told with certainty."""

import ast
import contextlib
import json
import os
import posixpath
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from core.errors import ToolError
from core.safety.digests import file_digest
from core.safety.path_text import MAX_DEPTH
from core.safety.places import Places
from core.safety.repositories import look_into

MAX_SCRIPT_BYTES = 200_000
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""As make looks for them."""
_SHEBANGS = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/bash", "#!/usr/bin/env bash", "#!/usr/bin/env sh")
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
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unnamed(Exception):
    """What the command runs can't be named with certainty; the text says why."""


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
                    raise Unnamed(f"{operand} leads to where a configuration lies")
            return {}
        case _:
            return _interpreted(how, argv, operands, places)


def repository_obeyed(places: Places, *, remote: bool, goes_on: bool) -> Mapping[str, str]:
    """Return the repository's configuration with its digest, where git talks to its remotes. Raises Unnamed
    where the repository may make git run something."""
    found = look_into(places.guard, places.directory)
    if found.problem is not None:
        raise Unnamed(found.problem)
    if goes_on and found.runs_next:
        raise Unnamed("the rebase may go on with running a command")
    if remote and found.is_local:
        raise Unnamed("the repository has a remote on this machine")
    return {".git/config": found.config_digest} if remote else {}


def _interpreted(how: str, argv: Sequence[str], operands: Sequence[str], places: Places) -> Mapping[str, str]:
    script = argv[0] if how == "itself" else operands[0]
    text, beside = _script(script, places)
    if how == "itself" and text.partition("\n")[0].rstrip() not in _SHEBANGS:
        raise Unnamed(f"{script} is no script of sh or bash")
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
        raise Unnamed(f"make may make {used} anew")
    defined = {
        name
        for line in lines
        if line[:1] != "\t" and "=" not in line
        for name in line.partition(":")[0].split()
    }
    if missing := set(targets) - defined:
        raise Unnamed(f"{used} doesn't say how to make {min(missing)}")
    return _bound(_MAKEFILES, places)


def _package(script: str | None, places: Places) -> Mapping[str, str]:
    """The package.json of the directory, which nothing in the workspace adds to. `script`: what it has to
    define."""
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
        raise Unnamed("what the project is made of can't be told")
    for name in found:
        if any(word in _script(name, places)[0] for word in _COMPOSE_READS_MORE):
            raise Unnamed(f"{name} may read other files")
    return _bound(_COMPOSE_FILES, places)


def _judge_upwards(path: str, places: Places, obeyed: Iterable[str], *, above: Iterable[str] = ()) -> None:
    """Raise where a file of those names lies in the directory or above it in the workspace, or one of those
    that may only lie in the directory itself above it."""
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
    raise Unnamed("the directory can't be looked at")


def _bound(names: Sequence[str], places: Places) -> Mapping[str, str]:
    digests = {places.name(name): file_digest(places.guard, places.at(name)) for name in names}
    if any(len(digest) != 64 and digest != "absent" for digest in digests.values()):
        raise Unnamed("what it runs can't be read")
    return digests


def _beside(places: Places) -> Sequence[str]:
    """The names in the directory in which it runs."""
    try:
        with places.guard.listing(places.directory) as directory:
            return os.listdir(directory)
    except ToolError as error:
        raise Unnamed("the directory can't be looked at") from error


def _script(path: str, places: Places) -> tuple[str, Sequence[str]]:
    """The file's text, and the names in the directory in which it really lies."""
    if path == "-":
        raise Unnamed("it runs what it is sent")
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
        raise Unnamed(f"{path} is too long to be looked through")
    return text, beside


def _judge_imports(text: str, beside: Sequence[str]) -> None:
    """Raise unless all that is imported is Python's own, and nothing beside the script takes its place."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unnamed("the script can't be parsed") from None
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {"." * node.level + (node.module or "") for node in nodes if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in names}
    tops |= {node.id for node in nodes if isinstance(node, ast.Name) and node.id in _LOADERS}
    if foreign := sorted(tops - (sys.stdlib_module_names - _LOADERS)):
        raise Unnamed(f"the script loads {foreign[0] or 'what lies beside it'}, which isn't Python's own")
    _judge_shadows(beside)


def _judge_shadows(beside: Sequence[str]) -> None:
    if shadows := sorted(name for name in beside if name.partition(".")[0] in sys.stdlib_module_names):
        raise Unnamed(f"{shadows[0]} takes the place of a module of Python's own")
