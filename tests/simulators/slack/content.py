"""Text, blocks and metadata of a request as the platform stores them: escaped, measured, checked."""

import json
import re
from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.blocks import checked_blocks
from tests.simulators.slack.errors import SlackError
from tests.simulators.slack.ids import Ids
from tests.simulators.slack.params import Params

Json = dict[str, Any]
TRUNCATED = (
    "[WARN] Your message was truncated but still posted. The `text` field accepts up to 40,000 characters."
)
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt);)")
_CONTROL = re.compile(r"<[^<>\n]*>")


def message_content(params: Params, ids: Ids) -> tuple[Json, list[str]]:
    """``text``, ``blocks`` and so on of a new message, and warnings about it.

    Raises ``SlackError`` for nothing to show and for everything the platform refuses.
    """
    text = params.text("text")
    warnings: list[str] = []
    if params.text("markdown_text"):
        if text or params.has("blocks"):
            raise SlackError("markdown_text_conflict")
        return markdown_content(params, ids), warnings
    if len(text) > limits.MAX_TEXT_CHARS:
        text = text[: limits.MAX_TEXT_CHARS]
        warnings.append("message_truncated")
    body: Json = {"text": normalized(text)}
    blocks = request_blocks(params, ids)
    if blocks:
        body["blocks"] = blocks
    attachments = params.json("attachments", "invalid_attachments")
    if attachments:
        if len(attachments) > limits.MAX_ATTACHMENTS:
            raise SlackError("too_many_attachments")
        body["attachments"] = attachments
    if not text and not blocks and not attachments:
        raise SlackError("no_text")
    return body, warnings


def request_blocks(params: Params, ids: Ids) -> list[Json] | None:
    """The ``blocks`` of a request; None if it has none. Raises ``SlackError``."""
    value = params.json("blocks", "invalid_blocks_format")
    return None if value is None else checked_blocks(value, ids)


def markdown_content(params: Params, ids: Ids) -> Json:
    """``markdown_text`` as the platform shows it: a markdown block. Raises ``SlackError``."""
    text = markdown_text(params)
    return {"text": normalized(text), "blocks": checked_blocks([{"type": "markdown", "text": text}], ids)}


def markdown_text(params: Params) -> str:
    """The argument of that name. Raises ``SlackError`` if it is too long."""
    text = params.text("markdown_text")
    if len(text) > limits.MAX_MARKDOWN_TEXT_CHARS:
        raise SlackError("msg_too_long")
    return text


def normalized(text: str) -> str:
    """Text as it is stored: ``&``, ``<`` and ``>`` escaped where they are no markup, no NUL."""
    parts: list[str] = []
    end = 0
    for match in _CONTROL.finditer(text):
        parts += [_escaped(text[end : match.start()]), match.group()]
        end = match.end()
    return "".join([*parts, _escaped(text[end:])]).replace("\0", "")


def _escaped(text: str) -> str:
    return _BARE_AMPERSAND.sub("&amp;", text).replace("<", "&lt;").replace(">", "&gt;")


def request_metadata(params: Params) -> Json | None:
    """The message metadata of a request: None if there is none, empty to take it away.

    https://docs.slack.dev/messaging/message-metadata. Raises ``SlackError``.
    """
    value = params.json("metadata", "invalid_metadata_format")
    if value is None or value == {}:
        return value
    if not isinstance(value, dict):
        raise SlackError("invalid_metadata_format")
    if value.keys() - {"event_type", "event_payload", "entities"}:
        raise SlackError("invalid_metadata_schema")
    kind, payload = value.get("event_type"), value.get("event_payload")
    if not isinstance(kind, str) or not 0 < len(kind) <= limits.MAX_METADATA_TYPE_CHARS:
        raise SlackError("invalid_metadata_schema")
    if not isinstance(payload, dict):
        raise SlackError("invalid_metadata_schema")
    if len(json.dumps(value).encode()) > limits.MAX_METADATA_BYTES:
        raise SlackError("metadata_too_large")
    return value


def with_warnings(answer: Json, warnings: list[str]) -> Json:
    """An answer that tells its client what was wrong with the request though it was taken."""
    if not warnings:
        return answer
    metadata: Json = {"warnings": warnings}
    if "message_truncated" in warnings:
        metadata["messages"] = [TRUNCATED]
    return answer | {"warning": ",".join(warnings), "response_metadata": metadata}
