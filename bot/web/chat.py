"""Speaking to the hub: messages, files for them, and the conversations they are in."""

import asyncio
import contextlib
import os
from collections.abc import Collection
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bot.operator.exports import ThreadExports
from bot.views import DecisionView, ThreadView
from bot.web.auth import Caller
from bot.web.blocks import FileLinkPage, Page
from bot.web.endpoints import Call, Endpoint
from bot.web.files import LIMIT_BYTES, EmptyUpload, FileLinks, FileUploads, TooManyUploads, file_target
from bot.web.responses import ApiError, Given, body_in_time, not_found, pieces_of
from bot.web.threads import ClientKey, thread_seen_by
from channels.webchat import WEB, WebChannel, event_key
from core.errors import IllegalChange, ToolDenied, ToolFailed
from core.ids import Ids
from core.inbound.thread_commands import NOT_FOR_GUESTS
from core.messages import THREAD_FILE, Attachment, File, MessageRef, Sender
from core.ports import Acceptance
from core.safety.paths import SentFiles
from core.store.feed import Feeds, HubSaid
from core.store.port import Store
from core.store.rows import ThreadChange
from core.users import Principal, Role

UPLOAD_LIMIT_S = 120.0
MAX_FILES = 10
ThreadId = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$")]


_SOMETHING_SAID: dict[str, Any] = {
    "anyOf": [
        {"required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}},
        {"required": ["attachments"], "properties": {"attachments": {"type": "array", "minItems": 1}}},
    ],
    "not": {
        "required": ["thread_id", "new"],
        "properties": {"thread_id": {"type": "string"}, "new": {"const": True}},
    },
}
"""Rules about several fields, as the OpenAPI document states them."""


class Send(Given):
    """A message. Without `thread_id`: to the thread the person is on; `new`: to a new one. The same
    `client_key` counts once. `instead_of`: a turn of the thread that is undone first, with all after it, as
    when a message is edited and sent again. `reply_to`: the position of a notice in the thread that the
    message is a reply to; below a job's notice it is a message to the job. `model`: the one that a new
    thread tries first."""

    model_config = ConfigDict(json_schema_extra=_SOMETHING_SAID)

    text: Annotated[str, Field(max_length=30_000)] = ""
    thread_id: ThreadId | None = None
    new: bool = False
    client_key: ClientKey | None = None
    attachments: Annotated[tuple[ThreadId, ...], Field(max_length=MAX_FILES)] = ()
    instead_of: ThreadId | None = None
    reply_to: Annotated[int, Field(ge=1, le=2**53)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Press(Given):
    """A press of a line's `menu`: the position of a label, from 0. The same `client_key` counts once."""

    menu_id: Annotated[str, Field(pattern=r"^[0-9a-z]{1,32}$")]
    choice: Annotated[int, Field(ge=0, le=100)]
    client_key: ClientKey | None = None


class Sent(Page):
    """The outcome of a message: `outcome` as in `hubbub why`; `answer`: the hub's immediate answer, if it
    started no turn; `duplicate`: it had been accepted before."""

    key: str
    outcome: str
    thread_id: str | None
    answer: str | None
    duplicate: bool


class UploadQuery(Given):
    """The file's name."""

    name: Annotated[str, Field(min_length=1, max_length=500)]


class Upload(Page):
    """A file that can be attached; its type is the request's Content-Type."""

    id: str
    name: str
    media_type: str
    size_bytes: int


class Chat:
    """One method per endpoint. `models`: the names of the configured ones."""

    def __init__(
        self,
        store: Store,
        web: WebChannel,
        uploads: FileUploads,
        ids: Ids,
        models: Collection[str],
    ) -> None:
        self._store = store
        self._models = models
        self._web = web
        self._uploads = uploads
        self._ids = ids

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("POST", "/chat/send", self.send, Sent, body=Send, status=202, refusals=(404, 409, 503)),
            Endpoint("POST", "/chat/press", self.press, Sent, body=Press, status=202, refusals=(503,)),
            Endpoint(
                "POST",
                "/uploads",
                self.upload,
                Upload,
                UploadQuery,
                status=201,
                refusals=(429,),
                raw_body=True,
            ),
        ]

    async def send(self, call: Call) -> Sent:
        """Send a message to the hub, as on any channel."""
        said: Send = call.body
        person = call.caller.principal
        if not said.text and not said.attachments:
            raise ApiError(400, "invalid", "is empty; add text or attach a file", "text")
        if said.model is not None:
            self._require_model(said.model, person, new=said.new)
        handles = [_dashed(handle) for handle in said.attachments]
        key = said.client_key or self._ids.row_id()
        sender = Sender(person.user_id, person.name)
        instead_of = None if said.instead_of is None else _dashed(said.instead_of)
        with self._uploads.taking(handles):
            files = [await self._file(person, handle) for handle in handles]
            scope = await self._scope(call.caller, said)
            reply_to = None if said.reply_to is None else await self._replied_to(scope, said.reply_to)
            accepted = await self._web.say(
                sender, key, scope, said.text, files, instead_of, reply_to, said.model
            )
        return await self._sent(event_key(person.user_id, key), accepted)

    def _require_model(self, model: str, person: Principal, *, new: bool) -> None:
        if not new:
            raise ApiError(400, "invalid", "needs new; in a thread, send /model NAME", "model")
        if person.role is Role.GUEST:
            raise ApiError(403, "forbidden", NOT_FOR_GUESTS, "model")
        if model not in self._models:
            raise ApiError(
                400, "invalid", f"no model has this name; there is {', '.join(self._models)}", "model"
            )

    async def press(self, call: Call) -> Sent:
        """Say what a button of a line offers to say. Each menu is answered once, by the thread's owner."""
        pressed: Press = call.body
        person = call.caller.principal
        key = pressed.client_key or self._ids.row_id()
        sender = Sender(person.user_id, person.name)
        accepted = await self._web.press(sender, key, pressed.menu_id, pressed.choice)
        return await self._sent(event_key(person.user_id, key), accepted)

    async def _sent(self, whole_key: str, accepted: Acceptance) -> Sent:
        answer = None
        if not accepted.outcome.startswith("turn "):
            messages = await self._store.feed.said_to(whole_key)
            answer = "\n\n".join(block.text for message in messages for block in message.blocks) or None
        return Sent(
            key=whole_key,
            outcome=accepted.outcome,
            thread_id=accepted.thread_id,
            answer=answer,
            duplicate=accepted.duplicate,
        )

    async def _scope(self, caller: Caller, said: Send) -> str | None:
        """Return the external id of the thread that is meant; a new thread uses its own as its id."""
        person = caller.principal
        if said.thread_id is not None:
            if said.new:
                raise ApiError(400, "invalid", "use either new or thread_id, not both", "new")
            return await self._taken_up(caller, said.thread_id)
        if said.new:
            return self._ids.row_id()
        active = await self._store.threads.active_thread(person.user_id)
        if active is None or active.channel != WEB or active.owner_id != person.user_id:
            return None
        await self._store.inbound.take_up_thread(person.user_id, WEB, active.id, active.id)
        return active.id

    async def _replied_to(self, thread_id: str | None, seq: int) -> MessageRef:
        """Return the notice that a message is a reply to. Raises ApiError."""
        items = () if thread_id is None else await self._store.feed.feed_before(thread_id, seq + 1, 1)
        for item in items:
            if item.seq == seq and isinstance(item.shown, HubSaid) and item.shown.refs:
                return item.shown.refs[0]
        raise ApiError(404, "not_found", "this thread has no notice at this position", "reply_to")

    async def _taken_up(self, caller: Caller, wanted: str) -> str:
        person = caller.principal
        thread = await self._store.threads.thread(_dashed(wanted))
        own = thread is not None and thread.owner_id == person.user_id
        if thread is None or not (own or caller.is_owner):
            raise not_found("no thread has this ID")
        if not own or thread.channel != WEB:
            advice = (
                f"answer there with /api/threads/{thread.id}/answer" if caller.is_owner else "write there"
            )
            raise ApiError(409, "refused", f"this thread is on {thread.channel}; {advice}", "thread_id")
        await self._store.inbound.take_up_thread(person.user_id, WEB, thread.id, thread.id)
        return thread.id

    async def _file(self, person: Principal, handle: str) -> Attachment:
        found = await self._uploads.of(person.user_id, handle)
        if found is None:
            raise ApiError(404, "not_found", "you have no file with this ID", "attachments")
        return found

    async def upload(self, call: Call) -> Upload:
        """Upload a file to attach to a message: the raw body, at most 20 MiB."""
        query: UploadQuery = call.query
        user_id, media_type = call.caller.principal.user_id, call.request.headers.get("content-type", "")
        try:
            async with (
                body_in_time(UPLOAD_LIMIT_S),
                contextlib.aclosing(pieces_of(call.request, LIMIT_BYTES)) as pieces,
            ):
                handle, kept = await self._uploads.keep(user_id, query.name, media_type, pieces)
        except TooManyUploads as error:
            raise ApiError(429, "too_many", str(error)) from error
        except EmptyUpload as error:
            raise HTTPException(400, str(error)) from error
        return Upload(id=handle, name=kept.name, media_type=kept.media_type, size_bytes=kept.size_bytes)


def _dashed(row_id: str) -> str:
    plain = row_id.replace("-", "").lower()
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


# Files that were sent in a conversation, for whoever may see it: as they were when they were sent, or not
# at all, since nobody agreed to show what they have become.

SENT_LIMIT_BYTES = 20 * 1024 * 1024
"""As much as people may attach; held in memory while it is sent."""
MEDIA_TYPE = "application/octet-stream"
"""Whatever the file says of itself: a browser is to keep it, not to show it."""
CSP = "default-src 'none'; sandbox"


class SentFileQuery(Given):
    """`seq`: of the line that it came with; `position`: among that line's files."""

    seq: Annotated[int, Field(ge=1, le=2**53)]
    position: Annotated[int, Field(ge=0, le=1000)] = 0


class FilesOfThreads:
    """One method per endpoint."""

    def __init__(self, feeds: Feeds, sent: SentFiles, links: FileLinks, exports: ThreadExports) -> None:
        self._feeds = feeds
        self._sent_files = sent
        self._links = links
        self._exports = exports

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "GET",
                "/threads/{id}/file",
                self.read,
                None,
                SentFileQuery,
                refusals=(404, 409),
                media_type=MEDIA_TYPE,
                by_link=True,
            ),
            Endpoint(
                "POST",
                "/threads/{id}/file",
                self.link,
                FileLinkPage,
                SentFileQuery,
                status=201,
                refusals=(404, 409),
            ),
        ]

    async def read(self, call: Call) -> Response:
        """Download a file sent in a conversation. Refused if the file has changed since."""
        _, file = await self._asked_for(call)
        content = await self._content(file)
        headers = {
            "content-disposition": f"attachment; filename*=utf-8''{quote(file.name, safe='')}",
            "content-security-policy": CSP,
            "cache-control": "private, no-store",
        }
        return Response(content, media_type=MEDIA_TYPE, headers=headers)

    async def link(self, call: Call) -> FileLinkPage:
        """Create a link that opens a file without a key for one minute."""
        target, file = await self._asked_for(call)
        await self._content(file, 0)  # it is still there, as it was
        return FileLinkPage(url=self._links.link(target, call.caller.key))

    async def _asked_for(self, call: Call) -> tuple[str, File]:
        """Return a file's own address and what was sent there. Raises ApiError."""
        query: SentFileQuery = call.query
        thread_id = (await thread_seen_by(self._feeds, call)).thread.id
        file = await self._sent(thread_id, query.seq, query.position)
        return file_target(thread_id, query.seq, query.position), file

    async def _sent(self, thread_id: str, seq: int, position: int) -> File:
        for item in await self._feeds.feed_before(thread_id, seq + 1, 1):
            if item.seq == seq and isinstance(item.shown, HubSaid):
                files = item.shown.message.files
                if position < len(files):
                    return files[position]
        raise not_found("no such file was sent in this thread")

    async def _content(self, file: File, limit_bytes: int = SENT_LIMIT_BYTES) -> bytes:
        if not file.path.startswith(THREAD_FILE):
            return await asyncio.to_thread(self._read, file, limit_bytes)
        if not limit_bytes:
            return b""
        try:
            return await self._exports.read(file.path.removeprefix(THREAD_FILE), limit_bytes)
        except ValueError as error:
            raise ApiError(409, "refused", str(error)) from error

    def _read(self, file: File, limit_bytes: int) -> bytes:
        try:
            with self._sent_files.reading(file.path) as opened:
                content = opened.read(limit_bytes)
                found = os.fstat(opened.fileno())
        except (ToolDenied, ToolFailed) as error:
            raise not_found(f"{file.name} no longer exists; ask for it again") from error
        if (found.st_size, found.st_mtime_ns) != (file.size_bytes, file.modified_ns):
            raise ApiError(409, "refused", f"{file.name} has changed since it was sent; ask for it again")
        if found.st_size > SENT_LIMIT_BYTES:
            raise ApiError(
                409, "refused", f"{file.name} is over {SENT_LIMIT_BYTES} bytes; it is in the workspace"
            )
        return content


# Whole conversations: titles, tags, archived, closed, open and deleted.

MAX_TITLE_CHARS = 80
MAX_TAGS = 20
Title = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS, pattern=r"^[^\n\r]+$")]
Tag = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\s,]+$")]


class ThreadChanges(Given):
    """Changes of a thread; what is null stays as it is. `tags`: all of them, each a word; `archived`: left
    out of lists; `closed`: the next message there starts a new conversation."""

    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS, pattern=r"^[^\n\r]+$")] | None = (
        None
    )
    tags: Annotated[tuple[Tag, ...], Field(max_length=MAX_TAGS)] | None = None
    archived: bool | None = None
    closed: bool | None = None


class ConversationsApi:
    """One method per endpoint."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "PATCH", "/threads/{id}", self.change, ThreadView, body=ThreadChanges, refusals=(404, 409)
            ),
            Endpoint("DELETE", "/threads/{id}", self.delete, DecisionView, refusals=(404, 409)),
        ]

    async def change(self, call: Call) -> ThreadView:
        """Rename, tag, archive, close or reopen a thread. Its person and the owner may."""
        wanted: ThreadChanges = call.body
        glance = await thread_seen_by(self._store.feed, call)
        change = ThreadChange(wanted.title, wanted.tags, wanted.archived, wanted.closed)
        try:
            await self._store.threads.change_thread(glance.thread.id, change)
        except IllegalChange as error:
            message = "something runs or waits in this thread; stop it first"
            raise ApiError(409, "refused", message, "closed") from error
        return ThreadView.of(await thread_seen_by(self._store.feed, call))

    async def delete(self, call: Call) -> DecisionView:
        """Delete a thread with all that was said in it. Its person and the owner may."""
        glance = await thread_seen_by(self._store.feed, call)
        try:
            await self._store.threads.delete_thread(glance.thread.id, call.caller.principal.user_id)
        except IllegalChange as error:
            message = "something runs, waits or is being sent in this thread; stop it first"
            raise ApiError(409, "refused", message) from error
        return DecisionView(id=glance.thread.id, outcome="deleted")
