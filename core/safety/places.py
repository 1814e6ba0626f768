"""Where paths that a program is given may lie: in the workspace, links followed, never where it is closed."""

import os
import posixpath

from core.errors import ToolDenied, ToolError, ToolFailed
from core.safety.credential_names import names_credentials
from core.safety.paths import PathGuard
from core.safety.written_places import WrittenPlace, written_place

MAX_IN_TREE = 5_000
"""Entries of a directory, at all depths, that are looked at before a program may read all of it."""


class Places:
    """Judges paths that are relative to a directory of the workspace. Each method returns what speaks against
    the path, None if nothing does."""

    def __init__(self, guard: PathGuard, directory: str) -> None:
        self.guard = guard
        self.directory = directory

    def at(self, path: str) -> str:
        """Return the path from the workspace on."""
        return posixpath.join(self.directory, path)

    def name(self, path: str) -> str:
        """Return it as the workspace names it. Raises ToolDenied."""
        return self.guard.name(self.at(path))

    def path(self, path: str) -> str | None:
        """Judge a name: of a file or directory that is there, or of nothing."""
        if not path or path[0] == "-" or ".." in path.split("/"):
            return f"{path or 'an empty path'} does not name its place plainly"
        try:
            with self.guard.listing(self.at(path)):
                return None
        except ToolDenied as denied:
            return f"{path}: {denied.reason}"
        except ToolFailed:
            return self.file(path)

    def file(self, path: str) -> str | None:
        """Judge a file that is read; `-` is standard input."""
        if path == "-":
            return None
        if not path or path[0] == "-" or ".." in path.split("/"):
            return f"{path or 'an empty path'} does not name its place plainly"
        try:
            with self.guard.reading(self.at(path)):
                return None
        except ToolDenied as denied:
            return f"{path}: {denied.reason}"
        except ToolFailed:  # nothing there, or a directory: a program says so by itself
            return None

    def present(self, path: str) -> str | None:
        """Judge a file that has to be there."""
        if (reason := self.file(path)) is not None:
            return reason
        try:
            with self.guard.reading(self.at(path)):
                return None
        except ToolError:
            return f"{path} is no file that is there"

    def single(self, path: str) -> str | None:
        """Judge one file that is read, and no directory, of which some programs read every file."""
        return f"{path} is a directory" if self.folder(path) is None else self.file(path)

    def folder(self, path: str) -> str | None:
        """Judge a directory that has to be there."""
        try:
            with self.guard.listing(self.at(path)):
                return self.path(path)
        except ToolError:
            return f"{path} is no directory that is there"

    def visible(self, path: str) -> str | None:
        """Judge a name that is not hidden, nor below a hidden directory."""
        if any(part.startswith(".") for part in path.split("/") if part != "."):
            return f"{path} may be a file that programs obey"
        return self.path(path)

    def fresh(self, path: str) -> str | None:
        """Judge a name that nothing has yet, and that no program runs by itself."""
        if (reason := self.visible(path)) is not None:
            return reason
        if written_place(self.name(path)) is WrittenPlace.RUN_UNSEEN:
            return f"programs may run {path} by themselves"
        try:
            with self.guard.place(self.at(path)) as place:
                os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
        except ToolError:
            return None
        return f"{path} is there already"

    def document(self, path: str) -> str | None:
        """Judge the name of a document, which no program obeys."""
        if (reason := self.visible(path)) is not None:
            return reason
        return None if written_place(self.name(path)) is WrittenPlace.DOCUMENT else f"{path} is no document"

    def written(self, path: str, *, replaced: bool = False) -> str | None:
        """Judge a file that is made or written to: never a hidden one, nor a program. `replaced`: what it
        holds would be lost."""
        if (reason := self.visible(path)) is not None:
            return reason
        if written_place(self.guard.name(self.at(path))) is WrittenPlace.RUN_UNSEEN:
            return f"programs may run {path} by themselves"
        try:
            with self.guard.reading(self.at(path)) as file:
                found = os.fstat(file.fileno())
        except ToolError:
            return None
        if found.st_mode & 0o111:
            return f"{path} is a program"
        if found.st_nlink > 1:
            return f"{path} has a second name elsewhere"
        return f"{path} would be replaced" if replaced and found.st_size else None

    def tree(self, path: str) -> str | None:
        """Judge a directory that is read whole: nothing in it may be closed."""
        if (reason := self.path(path)) is not None:
            return reason
        waiting, looked_at = [path], 0
        while waiting:
            folder = waiting.pop()
            try:
                with self.guard.listing(self.at(folder)) as descriptor, os.scandir(descriptor) as entries:
                    found = list(entries)
                    looked_at += len(found)
                    if looked_at > MAX_IN_TREE:
                        return f"{path} holds too much to be looked through"
                    for entry in found:
                        if (reason := self._entry(entry, folder)) is not None:
                            return reason
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(posixpath.join(folder, entry.name))
            except ToolDenied as denied:
                return f"{path} holds what is closed: {denied.reason}"
            except ToolFailed:
                continue
        return None

    def _entry(self, entry: "os.DirEntry[str]", folder: str) -> str | None:
        if names_credentials(entry.name, posixpath.basename(folder)):
            return f"{folder} holds {entry.name}, which is named like credentials"
        if entry.is_symlink():
            return self.path(posixpath.join(folder, entry.name))
        if entry.is_file(follow_symlinks=False):
            self.guard.admit(entry.stat(follow_symlinks=False), ".")
        return None
