"""Text of a request as the platform stores it: parsed, cleaned, measured."""

from typing import Any

from tests.simulators.telegram.entities import normalize, parse_entity_list
from tests.simulators.telegram.errors import ApiError, bad_request
from tests.simulators.telegram.formatting import parse_formatted
from tests.simulators.telegram.limits import MAX_CAPTION_UTF16, MAX_PARSED_BYTES, MAX_TEXT_UTF16
from tests.simulators.telegram.params import Params
from tests.simulators.telegram.utf16 import utf16_length

Json = dict[str, Any]


def text_content(params: Params, *, too_long: str = "message is too long") -> Json:
    """``text`` (and ``entities``) of a message.

    Raises ``ApiError`` for no text, broken markup or too much text.
    """
    raw = params.text("text")
    if not raw:
        raise bad_request("message text is empty")
    text, entities = formatted(params, raw, "entities")
    if not text:
        raise bad_request("text must be non-empty")
    if utf16_length(text) > MAX_TEXT_UTF16:
        raise bad_request(too_long)
    return {"text": text, "entities": entities} if entities else {"text": text}


def caption_content(params: Params, *, too_long: str = "message caption is too long") -> Json:
    """``caption`` (and ``caption_entities``), or nothing."""
    raw = params.text("caption")
    if not raw:
        return {}
    text, entities = formatted(params, raw, "caption_entities")
    if utf16_length(text) > MAX_CAPTION_UTF16:
        raise bad_request(too_long)
    if not text:
        return {}
    return {"caption": text, "caption_entities": entities} if entities else {"caption": text}


def formatted(params: Params, raw: str, entities_name: str) -> tuple[str, list[Json]]:
    """Applies ``parse_mode`` or the given entities, then the platform's own clean-up."""
    if len(raw) > MAX_PARSED_BYTES // 4 and len(raw.encode("utf-8", "surrogatepass")) > MAX_PARSED_BYTES:
        raise bad_request("text is too long")
    parse_mode = params.text("parse_mode")
    if parse_mode and parse_mode.lower() != "none":
        try:
            text, entities = parse_formatted(raw, parse_mode)
        except ValueError as error:
            raise _parse_error(str(error)) from None
    else:
        text = raw
        entities = parse_entity_list(params.json_or_none(entities_name))
    return normalize(text, entities)


def _parse_error(reason: str) -> ApiError:
    if reason == "unsupported parse_mode":
        return bad_request(reason)
    return bad_request(f"can't parse entities: {reason}")
