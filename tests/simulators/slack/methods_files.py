"""Files in three steps: https://docs.slack.dev/messaging/working-with-files#uploading_files."""

from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.content import normalized, request_blocks
from tests.simulators.slack.errors import SlackError, missing
from tests.simulators.slack.files import File, media_type_of
from tests.simulators.slack.registry import Call, method
from tests.simulators.slack.world import Channel

Json = dict[str, Any]


@method("files.getUploadURLExternal", scope="files:write", tier=4)
def get_upload_url(call: Call) -> Json:
    name = call.params.required("filename")
    size_bytes = call.params.integer("length", 0)
    if size_bytes <= 0:
        raise missing("length")
    if size_bytes > limits.MAX_FILE_BYTES:
        raise SlackError("file_upload_size_restricted")
    if call.params.text("snippet_type") and size_bytes > limits.MAX_SNIPPET_BYTES:
        raise SlackError("snippet_too_large")
    if len(call.params.text("alt_txt")) > limits.MAX_ALT_TXT_CHARS:
        raise SlackError("alt_txt_too_large")
    file = File(
        id=call.sim.ids.object("F"),
        name=name,
        title=name,
        user_id=call.app.user.id,
        created=call.sim.now(),
        declared_bytes=size_bytes,
        media_type=media_type_of(name),
        secret=call.sim.ids.secret(),
    )
    call.sim.world.files[file.id] = file
    return {"ok": True, "upload_url": f"{call.sim.url}/upload/v1/{file.secret}", "file_id": file.id}


@method("files.completeUploadExternal", scope="files:write", tier=4)
def complete_upload(call: Call) -> Json:
    listed = call.params.json("files", "invalid_arguments")
    if not isinstance(listed, list) or not listed:
        raise missing("files")
    files = [_uploaded(call, entry) for entry in listed]
    channels = _channels(call)
    thread_ts = call.params.ts("thread_ts", "invalid_thread_ts")
    for channel in channels:
        if thread_ts and channel.living(thread_ts) is None:
            raise SlackError("thread_not_found")
    blocks = None if call.params.text("initial_comment") else request_blocks(call.params, call.sim.ids)
    for file, entry in zip(files, listed, strict=True):
        file.completed = True
        file.title = str(entry.get("title") or file.name)
        file.channels += [channel.id for channel in channels]
    shown = [call.sim.file_json(file.id) for file in files]
    for channel in channels:
        body: Json = {
            "text": normalized(call.params.text("initial_comment")),
            "files": shown,
            "upload": False,
        }
        if blocks:
            body["blocks"] = blocks
        message = call.sim.post(
            channel,
            call.app.user.id,
            {"subtype": "file_share", **body},
            thread_ts=thread_ts or None,
            app=call.app,
            request=call.record.number,
        )
        call.touched(message)
    return {"ok": True, "files": shown}


def _uploaded(call: Call, entry: Any) -> File:
    name = entry.get("id") if isinstance(entry, dict) else None
    file = call.sim.world.files.get(str(name))
    if file is None or file.content is None or file.completed or file.user_id != call.app.user.id:
        raise SlackError("file_not_found")
    return file


def _channels(call: Call) -> list[Channel]:
    names = call.params.text("channels").split(",") if call.params.text("channels") else []
    if call.params.text("channel_id"):
        names = [call.params.text("channel_id")]
    if len(names) > limits.MAX_SHARE_CHANNELS:
        raise SlackError("channels_limit_exceeded")
    found: list[Channel] = []
    for name in names:
        channel = call.sim.world.channels.get(name.strip())
        if channel is None:
            raise SlackError("channel_not_found")
        call.record.channel = channel.id
        found.append(call.joined(channel))
    return found


@method("files.delete", scope="files:write", tier=3)
def delete_file(call: Call) -> Json:
    """https://docs.slack.dev/reference/methods/files.delete: what showed it says that it is gone."""
    file = call.sim.world.files.get(call.params.required("file"))
    if file is None or not file.completed:
        raise SlackError("file_not_found")
    if file.deleted:
        raise SlackError("file_deleted")
    if file.user_id != call.app.user.id:
        raise SlackError("cant_delete_file")
    file.deleted = True
    for channel in file.channels:
        for message in call.sim.world.channels[channel].messages.values():
            shown = message.body.get("files", [])
            message.body["files"] = [
                call.sim.file_json(file.id) if one["id"] == file.id else one for one in shown
            ]
    call.sim.changed()
    return {"ok": True}


@method("files.info", scope="files:read", tier=4)
def file_info(call: Call) -> Json:
    name = call.params.required("file")
    file = call.sim.world.files.get(name)
    if file is None or not file.completed:
        raise SlackError("file_not_found")
    if file.deleted:
        raise SlackError("file_deleted")
    return {
        "ok": True,
        "file": call.sim.file_json(name),
        "comments": [],
        "response_metadata": {"next_cursor": ""},
    }
