"""Messages that grow while people watch: https://docs.slack.dev/reference/methods/chat.startStream.

A stream takes either ``markdown_text`` or ``chunks``; the first of them that comes decides. After some
minutes the platform closes it by itself; what it says stays, and can be updated.
"""

from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.blocks import checked_blocks
from tests.simulators.slack.content import markdown_text, normalized, request_blocks, request_metadata
from tests.simulators.slack.errors import SlackError
from tests.simulators.slack.methods_chat import own_message
from tests.simulators.slack.registry import Call, method
from tests.simulators.slack.world import IM, Message

Json = dict[str, Any]
UNDECIDED, MARKDOWN, CHUNKS = "undecided", "markdown_text", "chunks"


@method("chat.startStream", scope="chat:write", tier=2)
def start(call: Call) -> Json:
    kinds = call.sim.stream_kinds
    if kinds is not None and not kinds:
        raise SlackError("unknown_method")
    channel = call.open_channel()
    if kinds is not None and channel.kind not in kinds:
        raise SlackError("channel_type_not_supported")
    thread_ts = call.params.required("thread_ts")
    if channel.living(thread_ts) is None:
        raise SlackError("invalid_thread_ts")
    if channel.kind != IM:
        for name in ("recipient_team_id", "recipient_user_id"):
            if not call.params.text(name):
                raise SlackError(f"missing_{name}")
        if call.params.text("recipient_user_id") not in call.sim.world.users:
            raise SlackError("user_not_found")
    mode, text, extra = _growth(call)
    body: Json = {"text": normalized(text), "blocks": _markdown(call, text) + extra}
    message = call.sim.post(
        channel,
        call.app.user.id,
        body,
        thread_ts=thread_ts,
        app=call.app,
        stream=mode,
        request=call.record.number,
    )
    call.touched(message)
    return {"ok": True, "channel": channel.id, "ts": message.ts}


@method("chat.appendStream", scope="chat:write", tier=4)
def append(call: Call) -> Json:
    message = _streaming(call)
    if not call.params.text("markdown_text") and not call.params.has("chunks"):
        raise SlackError("markdown_text_or_chunks_required")
    _grow(call, message)
    return {"ok": True, "channel": message.channel.id, "ts": message.ts}


@method("chat.stopStream", scope="chat:write", tier=2)
def stop(call: Call) -> Json:
    message = _streaming(call)
    closing = request_blocks(call.params, call.sim.ids) or []
    metadata = request_metadata(call.params)
    _grow(call, message)
    message.stream = None
    body = message.body | {"blocks": message.blocks + closing}
    call.sim.change(message, body, metadata=metadata, mark=False)
    return {
        "ok": True,
        "channel": message.channel.id,
        "ts": message.ts,
        "message": message.to_json(metadata="all"),
    }


def _streaming(call: Call) -> Message:
    message = own_message(call, "message_not_owned_by_app")
    if not call.sim.grows(message):
        raise SlackError("message_not_in_streaming_state")
    return message


def _growth(call: Call) -> tuple[str, str, list[Json]]:
    """The mode a request speaks, the text it adds and the blocks it adds."""
    given = call.params.text("markdown_text")
    chunks = call.params.json("chunks", "invalid_chunks")
    if given and chunks:
        raise SlackError("cannot_provide_both_markdown_text_and_chunks")
    if given:
        return MARKDOWN, markdown_text(call.params), []
    if not chunks:
        return UNDECIDED, "", []
    if not isinstance(chunks, list):
        raise SlackError("invalid_chunks")
    text = ""
    blocks: list[Json] = []
    for chunk in chunks:
        added, shown = _chunk(call, chunk)
        text += added
        blocks += shown
    if len(text) > limits.MAX_MARKDOWN_TEXT_CHARS:
        raise SlackError("msg_too_long")
    return CHUNKS, text, blocks


def _chunk(call: Call, chunk: Any) -> tuple[str, list[Json]]:
    match chunk:
        case {"type": "markdown_text", "text": str(text)}:
            return text, []
        case {"type": "task_update", "id": str(name), "title": str(title), "status": str(status)}:
            return "", [{"type": "task_card", "task_id": name, "title": title, "status": status}]
        case {"type": "plan_update", "title": str(title)}:
            return "", [{"type": "plan", "title": title}]
        case {"type": "blocks", "blocks": list(blocks)}:
            return "", checked_blocks(blocks, call.sim.ids)
    raise SlackError("invalid_chunks")


def _grow(call: Call, message: Message) -> None:
    mode, text, extra = _growth(call)
    if UNDECIDED not in {mode, message.stream} and mode != message.stream:
        raise SlackError("streaming_mode_mismatch")
    if mode != UNDECIDED:
        message.stream = mode
    whole = _streamed(message) + text
    others = [block for block in message.blocks if block["type"] != "markdown"]
    cards = {block["task_id"] for block in extra if block["type"] == "task_card"}
    others = [block for block in others if block.get("task_id") not in cards]
    message.history.append(message.body)
    message.body = message.body | {
        "text": normalized(whole),
        "blocks": _markdown(call, whole) + others + extra,
    }
    call.touched(message)


def _streamed(message: Message) -> str:
    return "".join(block["text"] for block in message.blocks if block["type"] == "markdown")


def _markdown(call: Call, text: str) -> list[Json]:
    """The streamed text as one block, however long it has grown."""
    return [{"type": "markdown", "text": text, "block_id": call.sim.ids.short()}] if text else []
