"""A request's body: JSON, or multipart with ``payload_json`` and ``files[n]``.

https://docs.discord.com/developers/reference#uploading-files.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

from tests.simulators.discord import limits
from tests.simulators.discord.errors import ApiError, invalid, too_large

Json = dict[str, Any]
_FILE = re.compile(r"files\[(\d+)\]")
MAX_BODY_BYTES = limits.MAX_REQUEST_BYTES + 1024 * 1024
"""Read this far, so that the refusal can be sent; the platform's limit is 25 MiB."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file sent in a multipart body."""

    name: str
    media_type: str | None
    content: bytes = field(repr=False)


@dataclass(slots=True)
class Body:
    """``values`` is what the JSON said (an object or a list); ``files`` by their number."""

    values: Any = field(default_factory=dict)
    files: dict[int, Upload] = field(default_factory=dict)

    def logged(self) -> Any:
        """Return what the log keeps: values, and files by name and size."""
        if not self.files:
            return self.values
        sizes = {f"files[{n}]": {"file": u.name, "size_bytes": len(u.content)} for n, u in self.files.items()}
        return self.values | sizes if isinstance(self.values, dict) else sizes


async def read_body(request: web.BaseRequest) -> Body:
    """Reads it. Raises ``ApiError`` 50109 for bad JSON, 50035 for a wrong type, 40005 for too much."""
    if not request.body_exists:
        return Body()
    if (request.content_length or 0) > limits.MAX_REQUEST_BYTES:
        raise too_large()
    kind = request.content_type
    if kind == "multipart/form-data":
        return await _read_multipart(request)
    raw = await request.read()
    if not raw:
        return Body()
    if kind != "application/json":
        message = f"Expected \"Content-Type\" header to be one of {{'application/json'}}, got {kind}."
        raise invalid((), "CONTENT_TYPE_INVALID", message)
    return Body(_parsed(raw))


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        raise ApiError(400, 50109, "The request body contains invalid JSON.") from None


async def _read_multipart(request: web.BaseRequest) -> Body:
    values: Json = {}
    files: dict[int, Upload] = {}
    total_bytes = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        content = bytes(await part.read(decode=False))
        total_bytes += len(content)
        if total_bytes > limits.MAX_REQUEST_BYTES:
            raise too_large()
        if numbered := _FILE.fullmatch(part.name):
            name = part.filename or "unknown"
            files[int(numbered[1])] = Upload(name, part.headers.get("Content-Type"), content)
        elif part.name == "payload_json":
            values |= _parsed(content)
        else:
            values[part.name] = content.decode("utf-8", "replace")
    return Body(values, files)
