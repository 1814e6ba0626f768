"""Arguments of a request: query string, form, multipart or JSON, all read the same way.

https://docs.slack.dev/apis/web-api/#methods: nested values come as objects (JSON bodies) or as JSON text (all
others); a JSON body needs the token in the ``Authorization`` header.
"""

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web

from tests.simulators.slack.errors import SlackError, invalid_arguments, missing

Json = dict[str, Any]
_TRUE = {"true", "1"}
_TS = re.compile(r"\d{1,12}(\.\d{1,6})?")


class Params:
    """Typed access to a request's arguments; refuses with the platform's words."""

    def __init__(self, values: Json) -> None:
        self.values = values

    def has(self, name: str) -> bool:
        """Return whether the argument was given."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """The value as text; empty if absent."""
        value = self.values.get(name)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict | list):
            raise invalid_arguments(f"must provide a string [json-pointer:/{name}]")
        return value if isinstance(value, str) else str(value)

    def required(self, name: str) -> str:
        """The value as text. Raises ``SlackError`` if it is absent or empty."""
        value = self.text(name)
        if not value:
            raise missing(name)
        return value

    def integer(self, name: str, default: int) -> int:
        """The value as a whole number; the default if absent."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            raise invalid_arguments(f"must be an integer [json-pointer:/{name}]") from None

    def flag(self, name: str, default: bool = False) -> bool:
        """The value as true or false."""
        value = self.values.get(name)
        if value is None:
            return default
        return value if isinstance(value, bool) else str(value).strip().lower() in _TRUE

    def ts(self, name: str, error: str) -> str:
        """A timestamp, or empty. Raises ``SlackError`` ``error`` for something else."""
        value = self.text(name)
        if value and not _TS.fullmatch(value):
            raise SlackError(error)
        return value

    def json(self, name: str, error: str) -> Any:
        """The value as JSON; None if absent or empty. Raises ``SlackError`` ``error`` for broken JSON."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise SlackError(error) from None

    def logged(self) -> Json:
        """Return what the log keeps: JSON text decoded, no token."""
        return {name: _decoded(value) for name, value in self.values.items() if name != "token"}


def _decoded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


async def read_params(request: web.BaseRequest) -> tuple[Params, str | None]:
    """The arguments and a warning about the request's form (or None). Raises ``SlackError``."""
    values: Json = dict(request.query) if request.query_string else {}
    if not request.body_exists:
        return Params(values), None
    kind = request.content_type
    if kind == "multipart/form-data":
        values.update(await _multipart(request))
        return Params(values), None
    body = await request.read()
    if kind == "application/json":
        values.update(_json_object(body))
        return Params(values), None if request.charset else "missing_charset"
    if kind == "application/x-www-form-urlencoded":
        try:
            values.update(parse_qsl(body.decode(), keep_blank_values=True))
        except UnicodeDecodeError:
            raise SlackError("invalid_form_data") from None
        return Params(values), None
    if body:
        raise SlackError("invalid_post_type")
    return Params(values), None


def _json_object(body: bytes) -> Json:
    if not body:
        return {}
    try:
        parsed = json.loads(body)
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(parsed, dict):
        raise SlackError("json_not_object")
    return parsed


async def _multipart(request: web.BaseRequest) -> Json:
    values: Json = {}
    async for part in await request.multipart():
        if isinstance(part, BodyPartReader) and part.name is not None:
            content = bytes(await part.read(decode=False))
            values[part.name] = content.decode("utf-8", "replace")
    return values
