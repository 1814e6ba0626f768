"""Files people and bots put on the platform, by ``file_id``."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file. ``content`` may be shorter than ``size_bytes``: the rest is zeros made on download."""

    file_id: str
    unique_id: str
    name: str
    media_type: str
    path: str
    size_bytes: int
    content: bytes

    def read(self) -> bytes:
        """The whole content."""
        return self.content.ljust(self.size_bytes, b"\x00")


class FileStore:
    """All files of the world; ids are deterministic in order of creation."""

    def __init__(self) -> None:
        self._by_id: dict[str, StoredFile] = {}
        self._by_path: dict[str, StoredFile] = {}

    def add(
        self,
        folder: str,
        content: bytes,
        *,
        name: str = "",
        media_type: str = "",
        size_bytes: int | None = None,
    ) -> StoredFile:
        """Keeps a file; ``size_bytes`` larger than the content stands for a big file without its memory."""
        number = len(self._by_id) + 1
        digest = hashlib.sha256(f"{number}:{name}".encode() + content[:1024]).hexdigest()
        extension = (
            name.rpartition(".")[2] if "." in name else {"photos": "jpg", "voice": "oga"}.get(folder, "bin")
        )
        stored = StoredFile(
            file_id=f"F{number:06d}-{digest[:24]}",
            unique_id=f"U{digest[24:38]}",
            name=name,
            media_type=media_type,
            path=f"{folder}/file_{number}.{extension}",
            size_bytes=len(content) if size_bytes is None else size_bytes,
            content=content,
        )
        self._by_id[stored.file_id] = stored
        self._by_path[stored.path] = stored
        return stored

    def by_id(self, file_id: str) -> StoredFile | None:
        """The file of this ``file_id``, if there is one."""
        return self._by_id.get(file_id)

    def by_path(self, path: str) -> StoredFile | None:
        """The file of this ``file_path`` (as ``getFile`` names it), if there is one."""
        return self._by_path.get(path)
