"""Files: uploads announced and arrived, and what a client sees of them.

https://docs.slack.dev/messaging/working-with-files.
"""

import mimetypes
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(slots=True)
class File:
    """A file; ``content`` is None until it has been uploaded. ``padding_bytes`` zeros follow the content."""

    id: str
    name: str
    title: str
    user_id: str
    created: int
    declared_bytes: int
    media_type: str
    secret: str
    content: bytes | None = None
    padding_bytes: int = 0
    completed: bool = False
    deleted: bool = False
    channels: list[str] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        """How much a download brings."""
        return len(self.content or b"") + self.padding_bytes

    def read(self) -> bytes:
        """The whole content."""
        return (self.content or b"") + b"\0" * self.padding_bytes

    def to_json(self, base_url: str, team_id: str) -> Json:
        """The file object; ``base_url`` is where the simulator serves files. Of a deleted file only that."""
        if self.deleted:
            return {"id": self.id, "mode": "tombstone"}
        kind = self.name.rpartition(".")[2].lower() if "." in self.name else "text"
        private = f"{base_url}/files-pri/{team_id}-{self.id}"
        return {
            "id": self.id,
            "created": self.created,
            "timestamp": self.created,
            "name": self.name,
            "title": self.title,
            "mimetype": self.media_type,
            "filetype": kind,
            "pretty_type": kind.upper(),
            "user": self.user_id,
            "user_team": team_id,
            "editable": False,
            "size": self.size_bytes,
            "mode": "hosted",
            "is_external": False,
            "is_public": False,
            "public_url_shared": False,
            "url_private": f"{private}/{self.name}",
            "url_private_download": f"{private}/download/{self.name}",
            "permalink": f"{base_url}/files/{self.user_id}/{self.id}/{self.name}",
            "channels": self.channels,
            "has_rich_preview": False,
            "file_access": "visible",
        }


def media_type_of(name: str) -> str:
    """The type a file's name suggests."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"
