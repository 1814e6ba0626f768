"""Messages of an app: https://docs.slack.dev/reference/methods?family=chat."""

from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.content import message_content, request_metadata, with_warnings
from tests.simulators.slack.errors import SlackError, missing
from tests.simulators.slack.registry import Call, method
from tests.simulators.slack.state import Ephemeral
from tests.simulators.slack.world import Channel, Message

Json = dict[str, Any]


def _target(call: Call) -> Channel:
    """Return where to post: a conversation, or a person's id for the direct conversation."""
    name = call.params.required("channel")
    person = call.sim.world.users.get(name)
    if person is not None and not person.deleted:
        channel, _ = call.sim.world.direct([call.app.user.id, person.id], call.sim.clock())
        call.record.channel = channel.id
        return channel
    return call.open_channel()


def _thread(call: Call, channel: Channel) -> str | None:
    thread_ts = call.params.ts("thread_ts", "invalid_thread_ts")
    if thread_ts and channel.living(thread_ts) is None:
        raise SlackError("thread_not_found")
    return thread_ts or None


@method("chat.postMessage", scope="chat:write")
def post_message(call: Call) -> Json:
    channel = _target(call)
    body, warnings = message_content(call.params, call.sim.ids)
    metadata = request_metadata(call.params) or None
    thread_ts = _thread(call, channel)
    if call.params.has("username"):
        body = {"subtype": "bot_message", "username": call.params.text("username"), **body}
    if thread_ts and call.params.flag("reply_broadcast"):
        body = {"subtype": "thread_broadcast", **body}
    message = call.sim.post(
        channel,
        call.app.user.id,
        body,
        thread_ts=thread_ts,
        app=call.app,
        metadata=metadata,
        request=call.record.number,
    )
    call.touched(message)
    answer = {
        "ok": True,
        "channel": channel.id,
        "ts": message.ts,
        "message": message.to_json(metadata="all"),
    }
    return with_warnings(answer, warnings)


@method("chat.postEphemeral", scope="chat:write", tier=4)
def post_ephemeral(call: Call) -> Json:
    channel = call.open_channel()
    user_id = call.params.required("user")
    body, warnings = message_content(call.params, call.sim.ids)
    if user_id not in channel.members:
        raise SlackError("user_not_in_channel")
    shown = Ephemeral(
        ts=call.sim.world.timestamps.next(call.sim.clock()),
        channel=channel.id,
        user_id=user_id,
        app_id=call.app.id,
        body=body,
        via="chat.postEphemeral",
        thread_ts=call.params.text("thread_ts") or None,
    )
    call.sim.ephemeral_messages.append(shown)
    return with_warnings({"ok": True, "message_ts": shown.ts}, warnings)


def own_message(call: Call, error: str, ts_name: str = "ts") -> Message:
    """The app's own living message an argument names. Raises ``SlackError``, ``error`` for another's."""
    channel = call.channel()
    ts = call.params.required(ts_name)
    message = channel.living(ts)
    if message is None:
        raise SlackError("message_not_found")
    if message.app_id != call.app.id:
        raise SlackError(error)
    return message


@method("chat.update", scope="chat:write")
def update(call: Call) -> Json:
    message = own_message(call, "cant_update_message")
    params = call.params
    if message.channel.archived:
        raise SlackError("is_inactive")
    if call.sim.grows(message):
        raise SlackError("streaming_state_conflict")
    if len(params.text("text")) > limits.MAX_UPDATE_TEXT_CHARS:
        raise SlackError("msg_too_long")
    content, warnings = message_content(params, call.sim.ids)
    kept = {
        name: value for name, value in message.body.items() if name not in {"text", "blocks", "attachments"}
    }
    if "blocks" not in content and not params.has("text") and "blocks" in message.body:
        content["blocks"] = message.body["blocks"]
    if "attachments" not in content and not params.has("attachments") and "attachments" in message.body:
        content["attachments"] = message.body["attachments"]
    call.sim.change(
        message, {**kept, **content}, metadata=request_metadata(params), mark="blocks" not in content
    )
    call.touched(message)
    answer = {
        "ok": True,
        "channel": message.channel.id,
        "ts": message.ts,
        "text": message.text,
        "message": message.to_json(metadata="all"),
    }
    return with_warnings(answer, warnings)


@method("chat.delete", scope="chat:write")
def delete(call: Call) -> Json:
    message = own_message(call, "cant_delete_message")
    call.sim.delete(message)
    call.touched(message)
    return {"ok": True, "channel": message.channel.id, "ts": message.ts}


@method("chat.getPermalink")
def get_permalink(call: Call) -> Json:
    channel = call.channel()
    ts = call.params.required("message_ts")
    if channel.living(ts) is None:
        raise SlackError("message_not_found")
    host = f"{call.sim.world.team_domain}.slack.com"
    link = f"https://{host}/archives/{channel.id}/p{ts.replace('.', '')}"
    return {"ok": True, "channel": channel.id, "permalink": link}


@method("reactions.add", scope="reactions:write")
def add_reaction(call: Call) -> Json:
    message, name = _reaction(call)
    users = message.reactions.setdefault(name, [])
    if call.app.user.id in users:
        raise SlackError("already_reacted")
    users.append(call.app.user.id)
    call.sim.told_of_reaction("reaction_added", message, call.app.user.id, name)
    return {"ok": True}


@method("reactions.remove", scope="reactions:write", tier=2)
def remove_reaction(call: Call) -> Json:
    message, name = _reaction(call)
    users = message.reactions.get(name, [])
    if call.app.user.id not in users:
        raise SlackError("no_reaction")
    users.remove(call.app.user.id)
    if not users:
        del message.reactions[name]
    call.sim.told_of_reaction("reaction_removed", message, call.app.user.id, name)
    return {"ok": True}


def _reaction(call: Call) -> tuple[Message, str]:
    name = call.params.text("name").strip(":")
    if not name:
        raise missing("name")
    if not all(part.isalnum() for part in name.replace("-", "_").replace("+", "_").split("_") if part):
        raise SlackError("invalid_name")
    channel = call.open_channel()
    if not call.params.text("timestamp"):
        raise SlackError("no_item_specified")
    message = channel.living(call.params.ts("timestamp", "bad_timestamp"))
    if message is None:
        raise SlackError("message_not_found")
    return call.touched(message), name
