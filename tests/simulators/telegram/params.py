"""Parameters of a request: query string, form, multipart or JSON, all read the same way.

https://core.telegram.org/bots/api#making-requests. Values may come typed (JSON) or as text (everything else);
nested objects may come as objects or as JSON text.
"""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web

from tests.simulators.telegram.errors import ApiError, bad_request
from tests.simulators.telegram.limits import MAX_UPLOAD_BYTES

Json = dict[str, Any]
_TRUE = {"true", "yes", "1"}
MAX_BODY_BYTES = 10 * MAX_UPLOAD_BYTES + 1024 * 1024  # ten files of an album and the form around them


@dataclass(frozen=True, slots=True)
class Upload:
    """A file sent in a multipart body."""

    name: str
    media_type: str
    content: bytes


class Params:
    """Typed access to a request's parameters; refuses with the platform's words."""

    def __init__(self, values: Json, files: dict[str, Upload] | None = None) -> None:
        self.values = values
        self.files = files or {}

    def text(self, name: str) -> str:
        """The value as text; empty if absent."""
        value = self.values.get(name)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else str(value)

    def integer(self, name: str, default: int = 0) -> int:
        """The value as a whole number; the default if absent or no number (as the platform does)."""
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            return default

    def flag(self, name: str) -> bool:
        """The value as true or false; absent is false."""
        value = self.values.get(name)
        return value if isinstance(value, bool) else str(value).strip().lower() in _TRUE

    def json(self, name: str, what: str) -> Any:
        """The value as JSON; None if absent or empty. ``what`` names it in the refusal."""
        value = self.values.get(name)
        if isinstance(value, str):
            if not value:
                return None
            try:
                return json.loads(value)
            except ValueError:
                raise bad_request(f"can't parse {what} JSON object") from None
        return value

    def json_or_none(self, name: str) -> Any:
        """The value as JSON; None if absent or unreadable (the platform ignores unreadable entities)."""
        try:
            return self.json(name, name)
        except ApiError:
            return None

    def chat_id(self, name: str = "chat_id") -> int | str:
        """A chat's id or ``@username``."""
        text = self.text(name)
        if not text:
            raise bad_request("chat_id is empty")
        if text.startswith("@"):
            return text
        try:
            return int(text)
        except ValueError:
            raise bad_request("chat not found") from None

    def logged(self) -> Json:
        """Return what the log keeps: values, JSON text decoded, files by name and size."""
        values = {name: _decoded(value) for name, value in self.values.items()}
        for field, upload in self.files.items():
            values[field] = {
                "file": upload.name,
                "media_type": upload.media_type,
                "size_bytes": len(upload.content),
            }
        return values


def _decoded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):  # text that begins like JSON
            return value
    return value


async def read_params(request: web.BaseRequest) -> Params:
    """Reads the query string and the body. Raises ``ApiError`` for a body that can't be read."""
    values: Json = dict(request.query) if request.query_string else {}
    if not request.body_exists:
        return Params(values)
    content_type = request.content_type
    if content_type == "multipart/form-data":
        try:
            return await _read_multipart(request, values)
        except ValueError:
            raise bad_request("can't parse multipart body") from None
    body = await request.read()
    if content_type == "application/json":
        if body:
            values.update(_read_json(body))
    elif content_type == "application/x-www-form-urlencoded":
        try:
            values.update(parse_qsl(body.decode(), keep_blank_values=True))
        except UnicodeDecodeError:
            raise bad_request("strings must be encoded in UTF-8") from None
    return Params(values)


def _read_json(body: bytes) -> Json:
    try:
        parsed = json.loads(body)
    except ValueError:
        raise bad_request("can't parse JSON object") from None
    if not isinstance(parsed, dict):
        raise bad_request("can't parse JSON object: expected an Object")
    return parsed


async def _read_multipart(request: web.BaseRequest, values: Json) -> Params:
    files: dict[str, Upload] = {}
    total_bytes = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        content = bytes(await part.read(decode=False))
        total_bytes += len(content)
        if total_bytes > MAX_BODY_BYTES:
            raise ApiError(413, "Request Entity Too Large")
        if part.filename is not None:
            media_type = part.headers.get("Content-Type", "application/octet-stream")
            files[part.name] = Upload(part.filename, media_type, content)
        else:
            values[part.name] = content.decode("utf-8", "surrogateescape")
    return Params(values, files)
