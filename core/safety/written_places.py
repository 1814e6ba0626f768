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
