"""A Slack bot as a channel (https://docs.slack.dev), receiving by Socket Mode or signed HTTP requests."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from channels.channel import Look, Payload, Route
from channels.lanes import Held
from channels.slack import outbound
from channels.slack.catchup import CatchUp
from channels.slack.client import SlackClient
from channels.slack.delivery import Delivery, ReadFile
from channels.slack.errors import Declined
from channels.slack.events import COMMANDS, EVENTS, INTERACTIVITY, HttpReceiver
from channels.slack.files import Files
from channels.slack.inbound import Account
from channels.slack.places import Spot, address_of, order_key_of, place_of, ref_of, spot_of
from channels.slack.reading import Reader
from channels.slack.socket import SocketReceiver
from channels.slack.streams import Streams
from core.clock import Clock
from core.errors import InboxUnavailable, MessageRejected
from core.messages import Address, Attachment, Message, MessageRef, plain
from core.ports import Inbox, Posted

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Socket:
    """Receiving by Socket Mode."""

    app_token: str


@dataclass(frozen=True, slots=True)
class Http:
    """Receiving by HTTP."""

    signing_secret: str


class SlackChannel:
    """See Channel and Growing. `read_file`: what gives files to be sent."""

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
        """See Channel."""
        return self._name

    # --- receiving ---------------------------------------------------------------------------------------
    def routes(self, inbox: Inbox) -> Sequence[Route]:  # noqa: ARG002 - requests are taken while it runs
        """See Channel."""
        http = self._http
        if http is None:
            return ()
        return (
            Route("POST", EVENTS, http.events),
            Route("POST", INTERACTIVITY, http.interactivity),
            Route("POST", COMMANDS, http.commands),
        )

    async def check(self) -> None:
        """See Channel. The app's token, if there is one, is another than the bot's."""
        await self._client.account()
        if self._socket is not None:
            await self._socket.check(self._client.web)

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        """See Channel."""
        account = self._account = await self._client.account()
        self._streams.team_id = account.team_id
        reader = Reader(self._client, self._name, account, inbox, self._clock, self._streams.heard)
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

    async def _once_more(self, inbox: Inbox, catch_up: CatchUp, held: Held) -> None:
        try:
            await catch_up.run(await inbox.last_seen(self._name), held)
        except InboxUnavailable as error:
            logger.warning("%s: catching up was broken off: %s", self._name, error)
        finally:
            held.release_all()

    # --- sending -----------------------------------------------------------------------------------------
    def render(self, message: Message) -> tuple[Payload, ...]:
        """See Channel."""
        return outbound.render(message)

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        """See Channel. A message that may have been taken before is looked for by its nonce."""
        return await self._delivery.post(to, payload, nonce, repeated=repeated)

    async def open_thread(self, at: Address, title: str, nonce: str) -> Address | None:
        """See Threaded: what stands below a message of that title."""
        channel = address_of(place_of(at).channel)
        posted = await self.post(channel, self.render(plain(title))[0], nonce=nonce, repeated=True)
        spot = spot_of(posted.ref)
        return address_of(spot.channel, spot.ts)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        """See Channel."""
        spot = spot_of(ref)
        if outbound.FILE in payload or spot.is_file:
            raise MessageRejected("a message with text cannot become a file, nor a file a message")
        await self._changing(spot, lambda: self._client.update(spot.channel, spot.ts, payload))

    async def retract(self, ref: MessageRef) -> bool:
        """See Channel."""
        spot = spot_of(ref)
        if spot.is_file:
            return await self._files.delete(spot.ts)
        return await self._changing(spot, lambda: self._client.delete(spot.channel, spot.ts))

    async def _changing(self, spot: Spot, change: Callable[[], Awaitable[T]]) -> T:
        """Change a message; one that grows is stopped first, which an earlier process may have left."""
        if not self._streams.is_open(spot):
            try:
                return await change()
            except Declined as error:
                logger.info("%s: %s still grows: %s", self._name, spot, error)
        await self._streams.end(spot)
        return await change()

    # --- growing -----------------------------------------------------------------------------------------
    async def begin(self, to: Address, said: Message, nonce: str) -> Posted | None:
        """See Growing."""
        sent = await self._streams.begin(place_of(to), said, nonce)
        return None if sent is None else Posted(ref_of(sent.channel, sent.ts), order_key_of(sent.ts))

    async def grow(self, ref: MessageRef, said: Message) -> bool:
        """See Growing."""
        return await self._streams.grow(spot_of(ref), said)

    async def typing(self, to: Address) -> None:
        """See Channel. Slack shows none for bots outside its assistant view."""

    async def acknowledge(self, ref: MessageRef) -> None:
        """See Channel: reactions take a permission the app does not ask for."""
        del ref

    async def find_lost(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        """See Channel. The nonce in the message's metadata tells; a message that grows has none."""
        around, found = await look(), await self._delivery.find(to, nonce)
        if found is None and place_of(to).thread_ts is not None:
            account = self._account or await self._client.account()
            found = await self._delivery.find_unmarked(to, account, around)
        if found is not None and found.ref not in around.shown:
            await self.edit(found.ref, payload)
        return found

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See Channel."""
        return await self._files.download(attachment.handle, limit_bytes)

    def direct(self, platform_user_id: str) -> Address:
        """See Channel: a message to a person's id opens the conversation with them."""
        return address_of(platform_user_id)

    async def close(self) -> None:
        """See Channel."""
        await self._client.close()
