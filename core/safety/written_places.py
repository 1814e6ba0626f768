"""Files a standing grant may cover: documents and data, which no program runs by itself.

Programs run files that were never named to them: hooks of a repository, configuration of editors, shells
and build
tools, modules next to a script, tests. No list of them is complete. So the rule is positive: a grant
covers a file
whose kind is read and not run, in a place that is not hidden.
"""

import re
from enum import Enum, auto

DOCUMENT_KINDS = frozenset(
    {"md", "markdown", "rst", "txt", "text", "adoc", "org", "tex", "bib", "csv", "tsv", "log", "jsonl"}
    | {"ndjson", "srt", "vtt", "diff", "patch"}
)
"""Endings of files that are read and not run."""
_INSTRUCTIONS = re.compile(r"(?:cmakelists|requirements|constraints)|(?:heartbeat|agents|claude|skill)\.")
"""Documents by their kind that builders, installers, or models working here follow."""
_CACHES = frozenset({"__pycache__", "node_modules", "site-packages", "bin", "sbin", "venv", "env"})
"""Folders without a dot whose files are run without being named."""


class WrittenPlace(Enum):
    """The use others may make of a written file."""

    DOCUMENT = auto()
    """It is read; a grant may cover it."""
    ORDINARY = auto()
    """It may be run by who names it, or what it belongs to; each change is asked about."""
    RUN_UNSEEN = auto()
    """Programs may run it by themselves; each change needs approval, whatever the settings."""


def written_place(name: str) -> WrittenPlace:
    """Return how a file of the workspace may be used; `name`: its path from there, `..` worked off."""
    *folders, last = name.casefold().split("/")
    if any(_is_hidden(folder) or folder in _CACHES for folder in folders) or _is_hidden(last):
        return WrittenPlace.RUN_UNSEEN
    stem, dot, kind = last.rpartition(".")
    if not (dot and stem) or kind not in DOCUMENT_KINDS or _INSTRUCTIONS.match(last):
        return WrittenPlace.ORDINARY
    return WrittenPlace.DOCUMENT


def _is_hidden(name: str) -> bool:
    return name.startswith(".")
