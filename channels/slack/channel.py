"""A Slack bot as a channel (https://docs.slack.dev), receiving by Socket Mode or signed HTTP requests."""

import asyncio
import logging
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import aiohttp

from channels.channel import HeldConversations, Look, Payload, Route, downloaded
from channels.slack import outbound
from channels.slack.addresses import (
    ParsedAddress,
    ParsedRef,
    address_of,
    is_person,
    order_key_of,
    parse_address,
    parse_ref,
    ref_of,
    ts_of,
)
from channels.slack.client import METADATA_TYPE, Declined, SlackClient, in_thread
from channels.slack.events import COMMANDS, EVENTS, INTERACTIVITY, HttpReceiver, SocketReceiver
from channels.slack.handler import CatchUp, EventHandler
from channels.slack.inbound import Account
from channels.slack.outbound import FILE, Streams, Upload
from core.clock import SECOND_US, Clock
from core.errors import InboxUnavailable, MessageRejected, Unavailable
from core.messages import Address, Attachment, Message, MessageRef, plain
from core.ports import Inbox, PostContext, Posted

# Files to and from Slack, which are not sent through the Web API's methods.

FILE_TIMEOUT_S: Final = 120.0


INTERVAL_S = 1.2
"""Source: docs.slack.dev/apis/web-api/rate-limits: 50 changes of messages a minute (tier 3)."""


class Files:
    """The files that one bot sends and downloads. Every method raises only ChannelError."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client

    async def upload(self, channel: str, thread_ts: str | None, name: str, content: bytes) -> str:
        """Upload a file to a conversation and return its id."""
        asked = await self._client.look("files.getUploadURLExternal", filename=name, length=len(content))
        url, file_id = self._client.read(lambda: (str(asked["upload_url"]), str(asked["file_id"])))
        try:
            async with self._client.session.post(
                url, data=content, timeout=aiohttp.ClientTimeout(total=FILE_TIMEOUT_S)
            ) as answer:
                if answer.status != 200:
                    raise MessageRejected(f"Slack rejected the file (HTTP {answer.status})")
        except (aiohttp.ClientError, TimeoutError) as error:
            # The file is not visible yet: Slack drops uploads that are never completed.
            raise Unavailable(f"could not upload the file ({type(error).__name__})") from error
        await self._client.call(
            "files.completeUploadExternal",
            files=[{"id": file_id, "title": name}],
            channel_id=channel,
            **in_thread(thread_ts),
        )
        return file_id

    async def delete(self, file_id: str) -> bool:
        """Delete a file (files.delete). Returns False if Slack does not allow it."""
        try:
            await self._client.call("files.delete", file=file_id)
        except MessageRejected:
            return False
        return True

    async def download(self, url: str, limit_bytes: int) -> bytes:
        """Download a received file, which Slack provides only with the bot's token."""
        timeout = aiohttp.ClientTimeout(total=FILE_TIMEOUT_S)
        request = self._client.session.get(
            url, headers=self._client.authorization, timeout=timeout, allow_redirects=False
        )
        return await downloaded(request, limit_bytes, "Slack")


# Posting a rendered part as a message or a file, and finding one that may be shown already.

UPLOAD_LIMIT_BYTES = 50 * 1024 * 1024
"""The limit on uploads, which the hub holds in memory. Slack itself accepts a gigabyte."""

LOOK_BACK_S = 24 * 3600
LOOK_BACK_MESSAGES = 200
CONVERSATIONS_KEPT = 2_000

ReadFile = Callable[[str, int], Awaitable[bytes]]
"""Reads a file in the workspace, up to a limit in bytes. Raises ValueError with a message for people."""


class Delivery:
    """A sender of posts. `read_file` reads files to send; None disables files."""

    def __init__(self, client: SlackClient, files: Files, read_file: ReadFile | None, clock: Clock) -> None:
        self._client = client
        self._files = files
        self._read_file = read_file
        self._clock = clock
        self._direct: OrderedDict[str, str] = OrderedDict()

    async def post(self, to: Address, payload: Payload, nonce: str, *, repeated: bool) -> Posted:
        """Show one part. A repeated message that is already shown is not posted again. Raises
        ChannelError."""
        upload = payload.get(FILE)
        if isinstance(upload, Upload):
            return await self._upload(to, upload)
        if repeated and (found := await self.find(to, nonce)) is not None:
            return found
        target = parse_address(to)  # Slack also accepts a person's id here
        sent = await self._client.post(target.channel, target.thread_ts, payload, nonce)
        return Posted(ref_of(sent.channel, sent.ts), order_key_of(sent.ts))

    async def find(self, to: Address, nonce: str) -> Posted | None:
        """Return the message with this nonce from the newest ones there, or None. Raises ChannelError."""
        target = await self._opened(to)
        for message in reversed(await self._recent(target)):
            if _nonce(message) == nonce:
                return _posted(target.channel, message)
        return None

    async def find_unmarked(self, to: Address, account: Account, around: PostContext) -> Posted | None:
        """Return our newest message without a nonce that is unknown here and newer than all earlier known
        messages.

        Such a message was growing. Raises ChannelError."""
        since = max((ts_of(known.order_key) for known in around.earlier), default=None)
        target = await self._opened(to)
        for message in reversed(await self._recent(target)):
            if since is None or str(message["ts"]) <= since:
                return None
            found = _posted(target.channel, message)
            is_ours = message.get("user") == account.user_id and "files" not in message
            if is_ours and _nonce(message) is None and found.ref not in around.shown:
                return found
        return None

    async def _opened(self, to: Address) -> ParsedAddress:
        """Return the parsed address. A person's private conversation is opened or looked up."""
        target = parse_address(to)
        if not is_person(target.channel):
            return target
        if (known := self._direct.get(target.channel)) is None:
            known = self._direct[target.channel] = await self._client.open_direct(target.channel)
            if len(self._direct) > CONVERSATIONS_KEPT:
                self._direct.popitem(last=False)
        return ParsedAddress(known, target.thread_ts)

    async def _recent(self, target: ParsedAddress) -> Sequence[Mapping[str, Any]]:
        oldest = f"{max(self._clock.now() // SECOND_US - LOOK_BACK_S, 0)}.000000"
        return await self._client.history(
            target.channel, oldest=oldest, thread_ts=target.thread_ts, limit=LOOK_BACK_MESSAGES, metadata=True
        )

    async def _upload(self, to: Address, upload: Upload) -> Posted:
        if self._read_file is None:
            raise MessageRejected("sending files is not available here")
        try:
            content = await self._read_file(upload.path, UPLOAD_LIMIT_BYTES)
        except ValueError as error:
            raise MessageRejected(f"{upload.name} can't be sent: {error}") from error
        target = await self._opened(to)
        file_id = await self._files.upload(target.channel, target.thread_ts, upload.name, content)
        now = self._clock.now()
        # Slack does not report the ts of a shown file, so the current time stands for it.
        return Posted(
            ref_of(target.channel, file_id), order_key_of(f"{now // SECOND_US}.{now % SECOND_US:06d}")
        )


def _posted(channel: str, message: Mapping[str, Any]) -> Posted:
    ts = str(message["ts"])
    return Posted(ref_of(channel, ts), order_key_of(ts))


def _nonce(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping):
        return None
    marked = cast("Mapping[str, Any]", metadata)
    if marked.get("event_type") != METADATA_TYPE:
        return None
    payload = marked.get("event_payload")
    return str(cast("Mapping[str, Any]", payload).get("nonce")) if isinstance(payload, Mapping) else None


logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Socket:
    """The settings for receiving by Socket Mode."""

    app_token: str


@dataclass(frozen=True, slots=True)
class Http:
    """The settings for receiving by HTTP."""

    signing_secret: str


class SlackChannel:
    """The Slack channel; its messages can grow. `read_file`: reads files to be sent."""

    def __init__(
        self,
        name: str,
        bot_token: str,
        receiving: Socket | Http,
        api_base_url: str,
        clock: Clock,
        *,
        read_file: ReadFile | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._name = name
        self._clock = clock
        self._client = SlackClient(bot_token, api_base_url, tls)
        self._files = Files(self._client)
        self._delivery = Delivery(self._client, self._files, read_file, clock)
        self._streams = Streams(self._client)
        self._account: Account | None = None
        self._socket: SocketReceiver | None = None
        self._http: HttpReceiver | None = None
        match receiving:
            case Socket(app_token):
                self._socket = SocketReceiver(name, app_token)
            case Http(signing_secret):
                self._http = HttpReceiver(name, signing_secret, clock)

    @property
    def name(self) -> str:
        return self._name

    # --- receiving ---------------------------------------------------------------------------------------

    def routes(self, inbox: Inbox) -> Sequence[Route]:  # noqa: ARG002 - requests are taken while it runs
        http = self._http
        if http is None:
            return ()
        return (
            Route("POST", EVENTS, http.receive),
            Route("POST", INTERACTIVITY, http.receive),
            Route("POST", COMMANDS, http.receive),
        )

    async def check(self) -> None:
        """Check the bot's token, and the app's if there is one."""
        await self._client.account()
        if self._socket is not None:
            await self._socket.check(self._client.web)

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        account = self._account = await self._client.account()
        self._streams.team_id = account.team_id
        reader = EventHandler(self._client, self._name, account, inbox, self._clock, self._streams.heard)
        catch_up = CatchUp(self._client, reader, self._name, self._clock)
        seen = await inbox.last_seen(self._name)
        held = reader.hold()
        try:
            async with asyncio.TaskGroup() as tasks:

                def missed_something() -> None:
                    tasks.create_task(
                        self._once_more(inbox, catch_up, reader.hold()), name=f"catch-up of {self._name}"
                    )

                tasks.create_task(catch_up.run(seen, held), name=f"catch-up of {self._name}")
                if self._socket is not None:
                    await self._socket.run(self._client.web, reader, connected, missed_something)
                elif self._http is not None:
                    await self._http.run(reader, connected)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            await reader.close()

    async def _once_more(self, inbox: Inbox, catch_up: CatchUp, held: HeldConversations) -> None:
        try:
            await catch_up.run(await inbox.last_seen(self._name), held)
        except InboxUnavailable as error:
            logger.warning("catch_up.interrupted channel=%s error=%s", self._name, error)
        finally:
            held.release_all()

    # --- sending -----------------------------------------------------------------------------------------

    def render(self, message: Message) -> tuple[Payload, ...]:
        return outbound.render(message)

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        # A message that may already have been taken is looked for by its nonce.
        return await self._delivery.post(to, payload, nonce, repeated=repeated)

    async def open_thread(self, at: Address, title: str, nonce: str) -> Address | None:
        # A Slack thread is what is written below a message; this posts one with the title.
        channel = address_of(parse_address(at).channel)
        posted = await self.post(channel, self.render(plain(title))[0], nonce=nonce, repeated=True)
        spot = parse_ref(posted.ref)
        return address_of(spot.channel, spot.ts)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        spot = parse_ref(ref)
        if outbound.FILE in payload or spot.is_file:
            raise MessageRejected(
                "a text message can't be edited into a file, nor a file into a text message"
            )
        await self._changing(spot, lambda: self._client.update(spot.channel, spot.ts, payload))

    async def retract(self, ref: MessageRef) -> bool:
        spot = parse_ref(ref)
        if spot.is_file:
            return await self._files.delete(spot.ts)
        return await self._changing(spot, lambda: self._client.delete(spot.channel, spot.ts))

    async def _changing(self, spot: ParsedRef, change: Callable[[], Awaitable[T]]) -> T:
        """Change a message. One that still grows, perhaps from an earlier process, is stopped first."""
        if not self._streams.is_open(spot):
            try:
                return await change()
            except Declined as error:
                logger.info("slack.stream_still_open channel=%s message=%s error=%s", self._name, spot, error)
        await self._streams.end(spot)
        return await change()

    # --- live messages --------------------------------------------------------------------------------

    async def begin(self, to: Address, said: Message, nonce: str) -> Posted | None:
        sent = await self._streams.begin(parse_address(to), said, nonce)
        return None if sent is None else Posted(ref_of(sent.channel, sent.ts), order_key_of(sent.ts))

    async def grow(self, ref: MessageRef, said: Message) -> bool:
        return await self._streams.grow(parse_ref(ref), said)

    async def typing(self, to: Address) -> None:
        # Slack shows none for bots outside its assistant view.
        pass

    async def acknowledge(self, ref: MessageRef) -> None:
        # Reactions need a permission that the app does not ask for.
        del ref

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        # The nonce in the message's metadata identifies it; a message that grows has none.
        around, found = await look(), await self._delivery.find(to, nonce)
        if found is None and parse_address(to).thread_ts is not None:
            account = self._account or await self._client.account()
            found = await self._delivery.find_unmarked(to, account, around)
        if found is not None and found.ref not in around.shown:
            await self.edit(found.ref, payload)
        return found

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        return await self._files.download(attachment.handle, limit_bytes)

    def interval_s(self, to: Address) -> float:
        del to
        return INTERVAL_S

    def direct(self, platform_user_id: str) -> Address:
        # A message to a person's id opens the conversation with them.
        return address_of(platform_user_id)

    async def close(self) -> None:
        await self._client.close()
