"""Showing one rendered part in a conversation, as a message or with a file; finding one that may be shown."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from channels.channel import Payload
from channels.discord.client import DiscordClient
from channels.discord.inbound import Account
from channels.discord.outbound import FILE, REFERENCE, Upload
from channels.discord.places import order_key_of, person_of, ref_of, snowflake_of
from core.errors import MessageRejected
from core.messages import Address
from core.ports import Posted, Surroundings

UPLOAD_LIMIT_BYTES = 10 * 1024 * 1024
"""API Reference, Uploading Files: 10 MiB for everybody."""
LOOK_BACK_MESSAGES = 20
CONVERSATIONS_KEPT = 2_000

ReadFile = Callable[[str, int], bytes]
"""The content of a file below the workspace, at most so many bytes. Raises ValueError, for people."""


class Delivery:
    """Posts to conversations. `read_file`: what gives the files that are sent, None to send none."""

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
        """The channel an address means: that of a person is opened, or found. Raises ChannelError."""
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

    async def find(self, to: Address, account: Account, around: Surroundings) -> Posted | None:
        """The newest message of ours that nobody here knows of and that is younger than all that is known
        from before. Raises ChannelError."""
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
            raise MessageRejected("no files are sent here")
        try:
            content = await asyncio.to_thread(self._read_file, upload.path, UPLOAD_LIMIT_BYTES)
        except ValueError as error:
            raise MessageRejected(f"{upload.name} cannot be sent: {error}") from error
        return upload.name, content


def edited(payload: Payload) -> Payload:
    """A part as the body of an edit: what it answers was settled when it was shown."""
    return {name: value for name, value in payload.items() if name != REFERENCE}
