"""A Discord bot as a channel (https://docs.discord.com/developers), receiving by the gateway."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route as SdkRoute

from channels.channel import Connected, Look, Payload, Route
from channels.discord import outbound
from channels.discord.catchup import CatchUp
from channels.discord.client import DiscordClient
from channels.discord.delivery import Delivery, ReadFile, edited
from channels.discord.errors import first_of
from channels.discord.gateway import Gateway
from channels.discord.inbound import Account
from channels.discord.menu import offer
from channels.discord.pending import Pending
from channels.discord.places import direct_address, spot_of
from channels.discord.reading import Reader
from core.clock import Clock
from core.errors import AddressGone, AttachmentTooLarge, MessageRejected
from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Inbox, Posted

API_URL = "https://discord.com/api/v10"
GATEWAY_URL = "wss://gateway.discord.gg"


class DiscordChannel:
    """See Channel. `read_file`: what gives files to be sent; `groups`: whether anybody is served in servers.

    The SDK keeps its addresses on its classes: `api_base_url` and `gateway_url`, where they are not Discord's
    own, hold for every Discord bot of the process.
    """

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
        if api_base_url != API_URL:
            SdkRoute.BASE = api_base_url
        if gateway_url != GATEWAY_URL:
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)
        self._name = name
        self._token = token
        self._commands = commands
        self._clock = clock
        self._tls = tls
        self._groups = groups
        self._client = DiscordClient(token, tls)
        self._delivery = Delivery(self._client, read_file)
        self._pending = Pending()
        self._account: Account | None = None

    @property
    def name(self) -> str:
        """See Channel."""
        return self._name

    # --- receiving ---------------------------------------------------------------------------------------
    def routes(self, inbox: Inbox) -> Sequence[Route]:  # noqa: ARG002 - Discord calls nobody
        """See Channel."""
        return ()

    async def check(self) -> None:
        """See Channel."""
        await self._client.account()

    async def run(self, inbox: Inbox, connected: Connected) -> None:
        """See Channel."""
        account = self._account = await self._client.account()
        reader = Reader(self._client, self._name, account, inbox, self._pending, self._clock)
        gateway = Gateway(self._token, self._tls, self._name, reader)
        catch_up = CatchUp(
            self._client, reader, self._pending, gateway, self._name, self._clock, groups=self._groups
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                catching_up: asyncio.Task[None] | None = None

                def on_session() -> None:
                    nonlocal catching_up
                    if catching_up is not None:  # the new one begins where it got to
                        catching_up.cancel()
                    catching_up = tasks.create_task(
                        catch_up.run(inbox, reader.hold()), name=f"catch-up of {self._name}"
                    )

                menu = offer(self._client, account, self._commands, self._name)
                tasks.create_task(menu, name=f"menu of {self._name}")
                await gateway.run(connected, on_session)
        except ExceptionGroup as group:
            raise first_of(group) from None

    # --- sending -----------------------------------------------------------------------------------------
    def render(self, message: Message) -> tuple[Payload, ...]:
        """See Channel."""
        return outbound.render(message)

    async def post(
        self,
        to: Address,
        payload: Payload,
        *,
        nonce: str,
        repeated: bool = False,  # noqa: ARG002 - the nonce does it
    ) -> Posted:
        """See Channel. Discord shows a nonce once within some minutes."""
        return await self._delivery.post(to, payload, nonce)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        """See Channel."""
        if outbound.FILE in payload:
            raise MessageRejected("a message with text cannot become a file")
        spot = spot_of(ref)
        await self._client.edit(spot.channel, spot.message, edited(payload))

    async def retract(self, ref: MessageRef) -> bool:
        """See Channel."""
        spot = spot_of(ref)
        return await self._client.delete(spot.channel, spot.message)

    async def open_thread(
        self,
        at: Address,
        title: str,
        nonce: str,  # noqa: ARG002 - threads have none
    ) -> Address | None:
        """See Threaded: a thread of a server's text channel."""
        try:
            return Address(await self._client.open_thread(await self._delivery.channel_of(at), title))
        except (MessageRejected, AddressGone):
            return None

    async def typing(self, to: Address) -> None:
        """See Channel."""
        await self._client.typing(await self._delivery.channel_of(to))

    async def acknowledge(self, ref: MessageRef) -> None:
        """See Channel: a reaction counts against a limit of its own that is soon reached."""
        del ref

    async def find_lost(
        self,
        to: Address,
        payload: Payload,
        nonce: str,  # noqa: ARG002 - the history does not show it
        look: Look,
    ) -> Posted | None:
        """See Channel. The newest message of ours that is not known to be another."""
        account = self._account or await self._client.account()
        found = await self._delivery.find(to, account, await look())
        if found is not None:
            await self.edit(found.ref, payload)
        return found

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See Channel. Addresses of files are good for a day: the message is asked for a new one."""
        if attachment.size_bytes > limit_bytes:
            raise AttachmentTooLarge(f"the file has more than {limit_bytes} bytes")
        channel_id, _, rest = attachment.handle.partition(":")
        message_id, _, file_id = rest.partition(":")
        message = await self._client.message(channel_id, message_id)
        for file in message.get("attachments") or ():
            if file.get("id") == file_id:
                return await self._client.download(str(file.get("url")), limit_bytes)
        raise MessageRejected("the message has no such file any more")

    def direct(self, platform_user_id: str) -> Address:
        """See Channel: the conversation is opened when something is said there."""
        return direct_address(platform_user_id)

    async def close(self) -> None:
        """See Channel."""
        await self._client.close()
