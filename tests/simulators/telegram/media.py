"""Files as they appear in messages: photo, document, voice."""

from typing import Any

from tests.simulators.telegram.files import FileStore, StoredFile

Json = dict[str, Any]
_IMAGE_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"RIFF", b"BM")


def is_image(content: bytes) -> bool:
    """Return whether the platform would take it as a photo, by its first bytes."""
    return content.startswith(_IMAGE_STARTS)


def photo(files: FileStore, content: bytes, *, size_bytes: int | None = None) -> Json:
    """A photo in two sizes, smallest first; the last is the file itself."""
    small = files.add("photos", content[:90], name="thumb.jpg", media_type="image/jpeg")
    large = files.add("photos", content, name="photo.jpg", media_type="image/jpeg", size_bytes=size_bytes)
    return {
        "photo": [
            reference(small) | {"width": 90, "height": 67},
            reference(large) | {"width": 1280, "height": 960},
        ]
    }


def document(
    files: FileStore, content: bytes, *, name: str, media_type: str, size_bytes: int | None = None
) -> Json:
    """Any file with its name and media type."""
    stored = files.add("documents", content, name=name, media_type=media_type, size_bytes=size_bytes)
    return document_of(stored)


def document_of(stored: StoredFile) -> Json:
    """A message's ``document`` for a file the platform already has."""
    return {"document": reference(stored) | {"file_name": stored.name, "mime_type": stored.media_type}}


def voice(files: FileStore, content: bytes, *, duration_s: int, size_bytes: int | None = None) -> Json:
    """A voice note."""
    stored = files.add("voice", content, media_type="audio/ogg", size_bytes=size_bytes)
    return {"voice": reference(stored) | {"duration": duration_s, "mime_type": "audio/ogg"}}


def reference(stored: StoredFile) -> Json:
    """The fields every file object has."""
    return {
        "file_id": stored.file_id,
        "file_unique_id": stored.unique_id,
        "file_size": stored.size_bytes,
    }
