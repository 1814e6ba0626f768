"""The rules Anthropic applies to `messages`, and what a script may read from them.

Messages API reference, `messages`; order of calls and results: docs, "Tool use", "Handling results"; thinking
blocks: docs, "Extended thinking", "Preserving thinking blocks". At most 100,000 messages.
"""

import base64
import hashlib
import json
import re
from typing import Any

from tests.simulators.model import anthropic_errors as errors
from tests.simulators.model.replies import tokens_in

MESSAGES_LIMIT = 100_000
TOKENS_PER_MESSAGE = 4
"""What the simulator counts for a message besides its text."""
IMAGE_TYPES = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
IMAGE_LIMIT_BYTES = 5 * 1024 * 1024
"""Of the Base64 text."""
ID_PATTERN = "^[a-zA-Z0-9_-]+$"
BLOCKS = {
    "user": ("text", "image", "document", "search_result", "tool_result"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
    "system": ("text",),
}

_ID = re.compile(ID_PATTERN)


def signature_of(thinking: str) -> str:
    """The signature a thinking block of the simulator carries; a changed block no longer fits it."""
    return base64.b64encode(hashlib.sha256(f"simulator:{thinking}".encode()).digest()).decode()


class Conversation:
    """Reads messages in order. Raises ApiError at the first one the API would not take."""

    def __init__(self, thinking: bool) -> None:
        self.tokens = 0
        self.user_texts: list[str] = []
        """The user's messages since the model last spoke to the user's own words."""
        self.tool_results: list[str] = []
        """The results the conversation ends with."""
        self._thinking = thinking
        self._open_calls: tuple[int, list[str]] = (0, [])
        self._call_ids: set[str] = set()
        self._model_spoke = False
        self._last_assistant: tuple[int, list[dict[str, Any]]] = (0, [])

    def read(self, messages: Any) -> None:
        if not isinstance(messages, list):
            raise errors.wrong_type("messages", "list")
        if not messages:
            raise errors.refusal("messages: at least one message is required")
        if len(messages) > MESSAGES_LIMIT:
            raise errors.refusal(f"messages: List should have at most {MESSAGES_LIMIT} items")
        for i, message in enumerate(messages):
            self._read_one(i, message)
        self._check_answered(*self._open_calls)
        if messages[-1]["role"] == "assistant":
            raise errors.refusal(
                "This model does not support assistant message prefill. "
                "The conversation must end with a user message."
            )
        self._check_thinking_kept()

    def _read_one(self, i: int, message: Any) -> None:
        where = f"messages.{i}"
        if not isinstance(message, dict):
            raise errors.wrong_type(where, "dictionary")
        for key in message.keys() - {"role", "content"}:
            raise errors.unexpected_field(f"{where}.{key}")
        if "role" not in message:
            raise errors.required(f"{where}.role")
        role = message["role"]
        if role not in ("user", "assistant", "system"):
            raise errors.refusal(f"{where}.role: Input should be 'user' or 'assistant'")
        if i == 0 and role == "system":
            raise errors.refusal(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
                'parameter, not "system" as an input message role.'
            )
        if i == 0 and role == "assistant":
            raise errors.refusal('messages: first message must use the "user" role')
        blocks = self._blocks(i, role, message.get("content"))
        self.tokens += TOKENS_PER_MESSAGE
        texts = [self._block(f"{where}.content.{k}", role, block) for k, block in enumerate(blocks)]
        self.tokens += sum(map(tokens_in, texts))
        self._answer_calls(i, role, blocks)
        self._remember(i, role, blocks, texts)

    def _blocks(self, i: int, role: str, content: Any) -> list[dict[str, Any]]:
        where = f"messages.{i}"
        if content is None:
            raise errors.required(f"{where}.content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}] if content else []
        if not isinstance(content, list):
            raise errors.wrong_type(f"{where}.content", "list")
        if not content:
            kind = "user messages" if role == "user" else "all messages"
            rest = "" if role == "user" else " except for the optional final assistant message"
            raise errors.refusal(f"{where}: {kind} must have non-empty content{rest}")
        for k, block in enumerate(content):
            if not isinstance(block, dict):
                raise errors.wrong_type(f"{where}.content.{k}", "dictionary")
            if block.get("type") not in BLOCKS[role]:
                found = block.get("type")
                allowed = ", ".join(f"'{name}'" for name in BLOCKS[role])
                raise errors.refusal(
                    f"{where}.content.{k}: Input tag '{found}' found using 'type' does not match any of the "
                    f"expected tags: {allowed}"
                )
        return content

    def _block(self, where: str, role: str, block: dict[str, Any]) -> str:
        """The block's text: what it says, what it calls with, what came back."""
        match block["type"]:
            case "text":
                return text_of(block, where)
            case "thinking":
                thinking, signature = (_string(block, key, where) for key in ("thinking", "signature"))
                if signature != signature_of(thinking):
                    raise errors.refusal(f"{where}: Invalid `signature` in `thinking` block")
                return thinking
            case "tool_use":
                return self._tool_use(where, block)
            case "tool_result":
                _string(block, "tool_use_id", where)
                return result_text(block.get("content"), where)
            case "image":
                check_image(where, block.get("source"))
                return ""
            case _:
                return ""

    def _tool_use(self, where: str, block: dict[str, Any]) -> str:
        call_id = _string(block, "id", where)
        if not _ID.fullmatch(call_id):
            raise errors.refusal(f"{where}.tool_use.id: String should match pattern '{ID_PATTERN}'")
        if call_id in self._call_ids:
            raise errors.refusal(f"{where}: `tool_use` ids must be unique")
        self._call_ids.add(call_id)
        name = _string(block, "name", where)
        if not isinstance(block.get("input"), dict):
            raise errors.wrong_type(f"{where}.tool_use.input", "dictionary")
        return name + json.dumps(block["input"], separators=(",", ":"))

    def _answer_calls(self, i: int, role: str, blocks: list[dict[str, Any]]) -> None:
        """The results this message begins with must be exactly those of the calls before it."""
        made_at, expected = self._open_calls
        results = [
            (k, block["tool_use_id"]) for k, block in enumerate(blocks) if block["type"] == "tool_result"
        ]
        answered: set[str] = set()
        for position, (k, call_id) in enumerate(results):
            if call_id not in expected:
                raise errors.refusal(
                    f"messages.{i}.content.{k}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{call_id}. Each `tool_result` block must have a corresponding `tool_use` block in the "
                    "previous message."
                )
            if call_id in answered:
                raise errors.refusal(
                    f"messages.{i}.content.{k}: each tool_use must have a single result. Found multiple "
                    f"`tool_result` blocks with id: {call_id}"
                )
            if k == position:  # a result behind other content comes too late
                answered.add(call_id)
        self._check_answered(made_at, [call_id for call_id in expected if call_id not in answered])
        calls = (
            [block["id"] for block in blocks if block["type"] == "tool_use"] if role == "assistant" else []
        )
        self._open_calls = (i, calls)

    def _check_answered(self, made_at: int, left: list[str]) -> None:
        if left:
            raise errors.refusal(
                f"messages.{made_at}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {', '.join(left)}. Each `tool_use` block must have a corresponding `tool_result` "
                "block in the next message."
            )

    def _remember(self, i: int, role: str, blocks: list[dict[str, Any]], texts: list[str]) -> None:
        if role == "system":
            return
        self.tool_results.clear()
        if role == "assistant":
            self._model_spoke = True
            self._last_assistant = (i, blocks)
            return
        kinds = [block["type"] for block in blocks]
        if all(kind == "tool_result" for kind in kinds):
            self.tool_results.extend(texts)
            return
        if self._model_spoke:
            self.user_texts.clear()
            self._model_spoke = False
        self.user_texts.extend(text for kind, text in zip(kinds, texts, strict=True) if kind == "text")

    def _check_thinking_kept(self) -> None:
        """While results are being returned, the turn being continued must still show its thinking."""
        i, blocks = self._last_assistant
        if not self._thinking or not self.tool_results or not blocks:
            return
        if blocks[0]["type"] not in ("thinking", "redacted_thinking"):
            raise errors.refusal(
                f"messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{blocks[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start "
                "with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
                "blocks). To avoid this requirement, disable `thinking`."
            )


def text_of(block: dict[str, Any], where: str) -> str:
    """The text of a text block, which must say something."""
    text = _string(block, "text", where)
    if not text:
        raise errors.refusal("messages: text content blocks must be non-empty")
    if not text.strip():
        raise errors.refusal("messages: text content blocks must contain non-whitespace text")
    return text


def result_text(content: Any, where: str) -> str:
    """The text of a tool's result, which may be absent, a string or blocks."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise errors.wrong_type(f"{where}.tool_result.content", "list")
    return "\n".join(text_of(block, where) for block in content if block.get("type") == "text")


def check_image(where: str, source: Any) -> None:
    """An image comes as Base64 in one of four formats (docs, "Vision")."""
    if not isinstance(source, dict) or source.get("type") != "base64":
        raise errors.refusal(f"{where}.image.source: Input should be a base64 source")
    where = f"{where}.image.source.base64"
    if source.get("media_type") not in IMAGE_TYPES:
        raise errors.refusal(f"{where}.media_type: Input should be {', '.join(IMAGE_TYPES)}")
    data, limit = source.get("data", ""), IMAGE_LIMIT_BYTES
    if len(data) > limit:
        raise errors.refusal(f"{where}: image exceeds 5 MB maximum: {len(data)} bytes > {limit} bytes")
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        content = b""
    if not content.startswith(IMAGE_TYPES[source["media_type"]]):
        raise errors.refusal(f"{where}.data: Could not process image")


def _string(block: dict[str, Any], key: str, where: str) -> str:
    kind = block["type"]
    if key not in block:
        raise errors.required(f"{where}.{kind}.{key}")
    if not isinstance(block[key], str):
        raise errors.wrong_type(f"{where}.{kind}.{key}", "string")
    return block[key]
