"""A Discord bot as a channel (https://docs.discord.com/developers), receiving through the gateway."""

import asyncio
import logging
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from channels.channel import Connected, HeldConversations, Look, Payload, Route
from channels.discord import outbound
from channels.discord.addresses import (
    direct_address,
    order_key_of,
    parse_ref,
    person_of,
    ref_of,
    snowflake_at,
    snowflake_of,
)
from channels.discord.client import DiscordClient, Server
from channels.discord.gateway import Gateway
from channels.discord.handler import EventHandler, Pending
from channels.discord.inbound import OPTION, Account, Channel, Where, where_of
from channels.discord.outbound import FILE, REFERENCE, Upload
from core.clock import SECOND_US, Clock
from core.errors import AddressGone, AttachmentTooLarge, AuthRejected, ChannelError, MessageRejected
from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Inbox, PostContext, Posted, Seen

# Messages missed while the hub was not connected, read from Discord's history. Each conversation
# starts after the last message that the hub has seen.
#
# The history is limited by age and count, and read in order. Messages that also arrived live are
# recognized by their key. Only a hub that has received something before can have missed anything.
# Private conversations that never reached the hub are not found: Discord lists none to bots.

logger = logging.getLogger(__name__)

MAX_AGE_S = 3 * 24 * 3600
MAX_CONVERSATIONS = 100
MAX_MESSAGES = 500
"""The limit for one conversation. The newest messages are kept."""


class Guilds(Protocol):
    """The servers the bot is in, as the gateway reports them."""

    async def known(self) -> None:
        """Wait until every server has been reported, or until that takes too long."""
        ...

    def where(self, channel_id: str) -> Where | None:
        """Return the kind of one of the servers' channels."""
        ...

    def spoken_in(self, since: int) -> Iterable[str]:
        """Return the servers' channels and threads with messages after an id."""
        ...


class CatchUp:
    """A reader of the missed history of one bot's conversations.

    `groups`: also read servers' channels that the inbox has not seen."""

    def __init__(
        self,
        client: DiscordClient,
        reader: EventHandler,
        pending: Pending,
        guilds: Guilds,
        name: str,
        clock: Clock,
        *,
        groups: bool,
    ) -> None:
        self._client = client
        self._reader = reader
        self._pending = pending
        self._guilds = guilds
        self._name = name
        self._clock = clock
        self._groups = groups

    async def run(self, inbox: Inbox, held: HeldConversations) -> None:
        """Catch up with every conversation and release it.

        Raises ChannelError and InboxUnavailable; conversations still held then were not caught up."""
        seen = await inbox.last_seen(self._name)
        oldest = snowflake_at(self._clock.now() - MAX_AGE_S * SECOND_US)
        since = _since(seen, self._pending.before())
        for channel_id in sorted(since, key=lambda channel_id: since[channel_id], reverse=True)[
            :MAX_CONVERSATIONS
        ]:
            await self._conversation(channel_id, max(since[channel_id], oldest), held)
        if since and self._groups:
            await self._guilds.known()
            newest = max(since.values())
            others = [one for one in self._guilds.spoken_in(newest) if one not in since]
            for channel_id in others[: max(MAX_CONVERSATIONS - len(since), 0)]:
                await self._conversation(channel_id, max(newest, oldest), held)
        held.release_all()

    async def _conversation(self, channel_id: str, since: int, held: HeldConversations) -> None:
        try:
            async with self._reader.lane(channel_id):
                newest = await self._bring(channel_id, since)
                self._pending.caught_up(channel_id, newest)
        except (AddressGone, MessageRejected) as error:
            logger.warning(
                "catch_up.conversation_failed channel=%s conversation=%s error=%s",
                self._name,
                channel_id,
                error,
            )
        held.release(channel_id)

    async def _bring(self, channel_id: str, since: int) -> int:
        messages = await self._client.after(channel_id, since, MAX_MESSAGES)
        if not messages:
            return since
        where = await self._where(channel_id)
        for message in messages:
            await self._reader.missed(message, where)
        return int(messages[-1]["id"])

    async def _where(self, channel_id: str) -> Where:
        if (known := self._guilds.where(channel_id)) is not None:
            return known
        return where_of(Channel.model_validate(await self._client.channel(channel_id)))


def _since(seen: Sequence[Seen], waiting: Mapping[str, int]) -> dict[str, int]:
    """Return, by conversation, the id after which messages may be missing."""
    since = {str(one.address): snowflake_of(one.order_key) for one in seen if person_of(one.address) is None}
    return since | {
        channel_id: min(before, since.get(channel_id, before)) for channel_id, before in waiting.items()
    }


# Posting a rendered part as a message or with a file, and finding one that may be shown already.

UPLOAD_LIMIT_BYTES = 10 * 1024 * 1024
"""API Reference, Uploading Files: 10 MiB for everyone."""
LOOK_BACK_MESSAGES = 20
CONVERSATIONS_KEPT = 2_000

ReadFile = Callable[[str, int], Awaitable[bytes]]
"""Reads a file in the workspace, up to a limit in bytes. Raises ValueError with a message for people."""


class Delivery:
    """A sender of posts. `read_file` reads files to send; None disables files."""

    def __init__(self, client: DiscordClient, read_file: ReadFile | None) -> None:
        self._client = client
        self._read_file = read_file
        self._direct: OrderedDict[str, str] = OrderedDict()

    async def post(self, to: Address, payload: Payload, nonce: str) -> Posted:
        """Show one part. Raises ChannelError."""
        channel_id = await self.channel_of(to)
        upload = payload.get(FILE)
        body = {name: value for name, value in payload.items() if name != FILE}
        file = await self._read(upload) if isinstance(upload, Upload) else None
        message_id = await self._client.post(channel_id, body, nonce, file)
        return Posted(ref_of(channel_id, message_id), order_key_of(message_id))

    async def channel_of(self, to: Address) -> str:
        """Return the channel of an address. A person's private channel is opened or looked up.

        Raises ChannelError."""
        user_id = person_of(to)
        if user_id is None:
            return to
        if (known := self._direct.get(user_id)) is not None:
            self._direct.move_to_end(user_id)
            return known
        channel_id = await self._client.open_direct(user_id)
        self._direct[user_id] = channel_id
        if len(self._direct) > CONVERSATIONS_KEPT:
            self._direct.popitem(last=False)
        return channel_id

    async def find(self, to: Address, account: Account, around: PostContext) -> Posted | None:
        """Return our newest message that is unknown here and newer than all earlier known messages.

        Raises ChannelError."""
        since = max((snowflake_of(known.order_key) for known in around.earlier), default=None)
        if since is None:
            return None
        channel_id = await self.channel_of(to)
        for message in await self._client.newest(channel_id, LOOK_BACK_MESSAGES):
            message_id = str(message["id"])
            if int(message_id) <= since:
                return None
            ref = ref_of(channel_id, message_id)
            if str(message["author"]["id"]) == account.user_id and ref not in around.shown:
                return Posted(ref, order_key_of(message_id))
        return None

    async def _read(self, upload: Upload) -> tuple[str, bytes]:
        if self._read_file is None:
            raise MessageRejected("sending files is not available here")
        try:
            content = await self._read_file(upload.path, UPLOAD_LIMIT_BYTES)
        except ValueError as error:
            raise MessageRejected(f"{upload.name} can't be sent: {error}") from error
        return upload.name, content


def edited(payload: Payload) -> Payload:
    """Return a part as the body of an edit, without its reply reference, which cannot change."""
    return {name: value for name, value in payload.items() if name != REFERENCE}


# The commands in Discord's own menu (documentation, Application Commands).

MAX_DESCRIPTION_CHARS = 100
_CHAT_INPUT, _STRING = 1, 3

Json = Mapping[str, Any]


def menu_of(commands: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return application commands from descriptions by name, each with an option for text after it."""
    option = {"type": _STRING, "name": OPTION, "description": "arguments of the command, if any"}
    return [
        {
            "type": _CHAT_INPUT,
            "name": name,
            "description": description[:MAX_DESCRIPTION_CHARS],
            "options": [option],
        }
        for name, description in commands.items()
    ]


async def offer(client: DiscordClient, account: Account, commands: Mapping[str, str], name: str) -> None:
    """Register these commands with Discord if they differ from its current ones. Raises AuthRejected."""
    wanted = menu_of(commands)
    try:
        if _essence(await client.commands(account.application_id)) != _essence(wanted):
            await client.set_commands(account.application_id, wanted)
    except AuthRejected:
        raise
    except ChannelError as error:
        logger.warning("menu.update_failed channel=%s error=%s", name, error)


def _essence(commands: Sequence[Json]) -> set[tuple[Any, ...]]:
    """Return the fields that the hub sets, without the ones that Discord adds."""
    return {
        (
            command.get("type", _CHAT_INPUT),
            command.get("name"),
            command.get("description"),
            tuple(
                (option.get("type"), option.get("name"), option.get("description"))
                for option in command.get("options") or ()
            ),
        )
        for command in commands
    }


API_URL = "https://discord.com/api/v10"
GATEWAY_URL = "wss://gateway.discord.gg"


class DiscordChannel:
    """A Discord bot. `read_file`: reads files to be sent; `groups`: whether it serves people in servers."""

    def __init__(
        self,
        name: str,
        token: str,
        commands: Mapping[str, str],
        clock: Clock,
        *,
        api_base_url: str = API_URL,
        gateway_url: str = GATEWAY_URL,
        read_file: ReadFile | None = None,
        tls: ssl.SSLContext | None = None,
        groups: bool = True,
    ) -> None:
        self._server = Server(api_base_url, gateway_url)
        self._name = name
        self._token = token
        self._commands = commands
        self._clock = clock
        self._tls = tls
        self._groups = groups
        self._client = DiscordClient(token, api_base_url, tls)
        self._delivery = Delivery(self._client, read_file)
        self._pending = Pending()
        self._account: Account | None = None

    @property
    def name(self) -> str:
        return self._name

    # --- receiving ---------------------------------------------------------------------------------------

    def routes(self, inbox: Inbox) -> Sequence[Route]:  # noqa: ARG002 - Discord calls nobody
        return ()

    async def check(self) -> None:
        await self._client.account()

    async def run(self, inbox: Inbox, connected: Connected) -> None:
        account = self._account = await self._client.account()
        reader = EventHandler(self._client, self._name, account, inbox, self._pending, self._clock)
        gateway = Gateway(self._token, self._server, self._tls, self._name, reader)
        catch_up = CatchUp(
            self._client, reader, self._pending, gateway, self._name, self._clock, groups=self._groups
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                catching_up: asyncio.Task[None] | None = None

                def on_session() -> None:
                    nonlocal catching_up
                    if catching_up is not None:  # the new one starts where it stopped
                        catching_up.cancel()
                    catching_up = tasks.create_task(
                        catch_up.run(inbox, reader.hold()), name=f"catch-up of {self._name}"
                    )

                menu = offer(self._client, account, self._commands, self._name)
                tasks.create_task(menu, name=f"menu of {self._name}")
                await gateway.run(connected, on_session)
        except ExceptionGroup as group:
            raise _first_of(group) from None

    # --- sending -----------------------------------------------------------------------------------------

    def render(self, message: Message) -> tuple[Payload, ...]:
        return outbound.render(message)

    async def post(
        self,
        to: Address,
        payload: Payload,
        *,
        nonce: str,
        repeated: bool = False,  # noqa: ARG002 - the nonce does it
    ) -> Posted:
        # Discord shows a nonce once within some minutes.
        return await self._delivery.post(to, payload, nonce)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        if outbound.FILE in payload:
            raise MessageRejected("a text message can't be edited into a file")
        spot = parse_ref(ref)
        await self._client.edit(spot.channel, spot.message, edited(payload))

    async def retract(self, ref: MessageRef) -> bool:
        spot = parse_ref(ref)
        return await self._client.delete(spot.channel, spot.message)

    async def open_thread(
        self,
        at: Address,
        title: str,
        nonce: str,  # noqa: ARG002 - threads have none
    ) -> Address | None:
        # A thread of a server's text channel.
        try:
            return Address(await self._client.open_thread(await self._delivery.channel_of(at), title))
        except (MessageRejected, AddressGone):
            return None

    async def typing(self, to: Address) -> None:
        await self._client.typing(await self._delivery.channel_of(to))

    async def acknowledge(self, ref: MessageRef) -> None:
        # Reactions count against a limit of their own that is soon reached.
        del ref

    async def recover_post(
        self,
        to: Address,
        payload: Payload,
        nonce: str,  # noqa: ARG002 - the history does not show it
        look: Look,
    ) -> Posted | None:
        # Takes the newest message of ours that is not known to be another.
        account = self._account or await self._client.account()
        found = await self._delivery.find(to, account, await look())
        if found is not None:
            await self.edit(found.ref, payload)
        return found

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        # Addresses of files are valid for a day: the message is asked for a new one.
        if attachment.size_bytes > limit_bytes:
            raise AttachmentTooLarge(f"the file is larger than {limit_bytes} bytes")
        channel_id, _, rest = attachment.handle.partition(":")
        message_id, _, file_id = rest.partition(":")
        message = await self._client.message(channel_id, message_id)
        for file in message.get("attachments") or ():
            if file.get("id") == file_id:
                return await self._client.download(str(file.get("url")), limit_bytes)
        raise MessageRejected("the message no longer has this file")

    def direct(self, platform_user_id: str) -> Address:
        # The conversation is opened when something is sent there.
        return direct_address(platform_user_id)

    async def close(self) -> None:
        await self._client.close()


def _first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the most significant of several simultaneous errors: a rejected token comes first."""
    refused = group.subgroup(AuthRejected)
    error: BaseException = refused or group
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
