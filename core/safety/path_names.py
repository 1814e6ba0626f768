"""Judgments on a path without looking at the disk: where it leads as text, and what it names."""

import os
import re
from collections.abc import Sequence
from enum import Enum, auto

from core.errors import ToolDenied

# Names of files that usually hold secrets; tools may not use such a file anywhere.
#
# Only the name counts, in any case: keys and certificate stores, the folders and files in which well-known
# programs
# keep logins, environment files, and the histories of shells and database clients. Examples next to the real
# thing
# (`.env.example`) don't count.

_FOLDERS = frozenset({".ssh", ".aws", ".azure", ".kube", ".docker", ".gnupg"})
_FILES = frozenset(
    {".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".vault-token"}
    | {"authorized_keys", "known_hosts"}
)
_IN_FOLDER = frozenset({(".config", "gcloud"), ("gh", "hosts.yml"), ("gh", "hosts.yaml")})
"""Pairs of folder and name: neither is suspect alone."""
_KINDS = re.compile(
    r"""\.env(?!.*\.(?:example|template|sample|dist)$).* | .*\.env
      | .*\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)
      | id_(?:rsa|dsa|ecdsa|ed25519|xmss).*
      | \.(?:\w+_)?history
    """,
    re.VERBOSE | re.DOTALL,
)


def names_credentials(name: str, folder: str = "") -> bool:
    """Return whether a file or folder called `name`, in one called `folder`, holds secrets by its name."""
    name, folder = name.casefold(), folder.casefold()
    return (
        name in _FOLDERS
        or name in _FILES
        or (folder, name) in _IN_FOLDER
        or _KINDS.fullmatch(name) is not None
    )


MAX_DEPTH = 64
"""Limit of a path's components; it also limits the directories held open at once."""
MAX_NAME_BYTES = 255
"""Limit of file systems for one name."""

OUTSIDE = "the path is outside the workspace"

_DISGUISED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that would keep a person from seeing the path on a card."""

Components = tuple[str, ...]


def components(path: str, roots: Sequence[Components]) -> Components:
    """Return the path from the workspace on, without `.` and `..`; () is the workspace itself.

    `roots`: the workspace's own absolute path in each known form. Raises ToolDenied if the path
    leads out, is disguised or names credentials.
    """
    if _UNSHOWABLE.search(path):
        raise ToolDenied("the path contains invisible characters")
    if "\\" in path or _DISGUISED.search(path):
        raise ToolDenied("the path has disguised separators; use plain /")
    parts = _resolved(below(path, roots))
    if parts and parts[0].startswith("~"):
        raise ToolDenied("~ is not the home directory here; paths start at the workspace")
    if len(parts) > MAX_DEPTH or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts):
        raise ToolDenied("the path is too long")
    for folder, name in zip(("", *parts), parts, strict=False):
        judge_name(name, folder)
    return parts


def split(path: str) -> Components:
    """Return the components, including `..`."""
    return tuple(part for part in path.split("/") if part not in ("", "."))


def below(path: str, roots: Sequence[Components]) -> Components:
    """Return the components from the workspace on, including `..`. Raises ToolDenied for an absolute
    path outside."""
    parts = split(path)
    if not path.startswith("/"):
        return parts
    for root in roots:
        if parts[: len(root)] == root:
            return parts[len(root) :]
    raise ToolDenied(OUTSIDE)


def judge_name(name: str, folder: str) -> None:
    """Raise ToolDenied for a name of secrets, in a folder of that name ("": none)."""
    if names_credentials(name, folder):
        raise ToolDenied("its name is typical of a file with credentials")


def _resolved(parts: Components) -> Components:
    way: list[str] = []
    for part in parts:
        if part != "..":
            way.append(part)
        elif not way:
            raise ToolDenied(OUTSIDE)
        else:
            way.pop()
    return tuple(way)


# Files a standing grant may cover: documents and data, which no program runs by itself.
#
# Programs run files that were never named to them: hooks of a repository, configuration of editors, shells
# and build tools, modules next to a script, tests. No list of them is complete. So the rule is positive: a
# grant covers a file whose kind is read and not run, in a place that is not hidden.


DOCUMENT_KINDS = frozenset(
    {"md", "markdown", "rst", "txt", "text", "adoc", "org", "tex", "bib", "csv", "tsv", "log", "jsonl"}
    | {"ndjson", "srt", "vtt", "diff", "patch"}
)
"""Extensions of files that are read and not run."""
_INSTRUCTIONS = re.compile(
    r"(?:cmakelists|requirements|constraints)|(?:heartbeat|agents|claude|skill|soul|user)\."
)
"""Documents by extension that builders, installers, or models in the workspace follow."""
_CACHES = frozenset({"__pycache__", "node_modules", "site-packages", "bin", "sbin", "venv", "env"})
"""Folders without a dot whose files run without being named."""


class WrittenPlace(Enum):
    """The use others may make of a written file."""

    DOCUMENT = auto()
    """A file that is read; a grant may cover it."""
    ORDINARY = auto()
    """A file that may run when it, or its project, is named; each change is asked about."""
    RUN_UNSEEN = auto()
    """Programs may run it by themselves; each change needs approval, whatever the settings."""


def written_place(name: str) -> WrittenPlace:
    """Return the use of a file of the workspace; `name`: its path from there, with `..` resolved."""
    *folders, last = name.casefold().split("/")
    if any(_is_hidden(folder) or folder in _CACHES for folder in folders) or _is_hidden(last):
        return WrittenPlace.RUN_UNSEEN
    stem, dot, kind = last.rpartition(".")
    if not (dot and stem) or kind not in DOCUMENT_KINDS or _INSTRUCTIONS.match(last):
        return WrittenPlace.ORDINARY
    return WrittenPlace.DOCUMENT


def _is_hidden(name: str) -> bool:
    return name.startswith(".")
