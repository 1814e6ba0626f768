"""Showing one rendered part in a conversation, as a message or a file; finding one that may be shown."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from channels.channel import Payload
from channels.slack.client import METADATA_TYPE, SlackClient
from channels.slack.files import Files
from channels.slack.inbound import Account
from channels.slack.outbound import FILE, Upload
from channels.slack.places import Place, is_person, order_key_of, place_of, ref_of, ts_of
from core.clock import SECOND_US, Clock
from core.errors import MessageRejected
from core.messages import Address
from core.ports import Posted, Surroundings

UPLOAD_LIMIT_BYTES = 50 * 1024 * 1024
"""Slack takes a gigabyte; this is what the hub holds in memory."""

LOOK_BACK_S = 24 * 3600
LOOK_BACK_MESSAGES = 200
CONVERSATIONS_KEPT = 2_000

ReadFile = Callable[[str, int], bytes]
"""The content of a file below the workspace, at most so many bytes. Raises ValueError, for people."""


class Delivery:
    """Posts to conversations. `read_file`: what gives the files that are sent, None to send none."""

    def __init__(self, client: SlackClient, files: Files, read_file: ReadFile | None, clock: Clock) -> None:
        self._client = client
        self._files = files
        self._read_file = read_file
        self._clock = clock
        self._direct: OrderedDict[str, str] = OrderedDict()

    async def post(self, to: Address, payload: Payload, nonce: str, *, repeated: bool) -> Posted:
        """Show one part, unless it was shown before. Raises ChannelError."""
        upload = payload.get(FILE)
        if isinstance(upload, Upload):
            return await self._upload(to, upload)
        if repeated and (found := await self.find(to, nonce)) is not None:
            return found
        place = place_of(to)  # to a person's id Slack posts as well
        sent = await self._client.post(place.channel, place.thread_ts, payload, nonce)
        return Posted(ref_of(sent.channel, sent.ts), order_key_of(sent.ts))

    async def find(self, to: Address, nonce: str) -> Posted | None:
        """The message that carries this nonce, among the newest there. Raises ChannelError."""
        place = await self._opened(to)
        for message in reversed(await self._recent(place)):
            if _nonce(message) == nonce:
                return _posted(place.channel, message)
        return None

    async def find_unmarked(self, to: Address, account: Account, around: Surroundings) -> Posted | None:
        """The newest message of ours there without a nonce that nobody here knows of, and that is younger
        than all that is known from before: one that was growing. Raises ChannelError."""
        since = max((ts_of(known.order_key) for known in around.earlier), default=None)
        place = await self._opened(to)
        for message in reversed(await self._recent(place)):
            if since is None or str(message["ts"]) <= since:
                return None
            found = _posted(place.channel, message)
            is_ours = message.get("user") == account.user_id and "files" not in message
            if is_ours and _nonce(message) is None and found.ref not in around.shown:
                return found
        return None

    async def _opened(self, to: Address) -> Place:
        """Where that is: the conversation with a person is opened, or found."""
        place = place_of(to)
        if not is_person(place.channel):
            return place
        if (known := self._direct.get(place.channel)) is None:
            known = self._direct[place.channel] = await self._client.open_direct(place.channel)
            if len(self._direct) > CONVERSATIONS_KEPT:
                self._direct.popitem(last=False)
        return Place(known, place.thread_ts)

    async def _recent(self, place: Place) -> Sequence[Mapping[str, Any]]:
        oldest = f"{max(self._clock.now() // SECOND_US - LOOK_BACK_S, 0)}.000000"
        return await self._client.history(
            place.channel, oldest=oldest, thread_ts=place.thread_ts, limit=LOOK_BACK_MESSAGES, metadata=True
        )

    async def _upload(self, to: Address, upload: Upload) -> Posted:
        if self._read_file is None:
            raise MessageRejected("no files are sent here")
        try:
            content = await asyncio.to_thread(self._read_file, upload.path, UPLOAD_LIMIT_BYTES)
        except ValueError as error:
            raise MessageRejected(f"{upload.name} cannot be sent: {error}") from error
        place = await self._opened(to)
        file_id = await self._files.upload(place.channel, place.thread_ts, upload.name, content)
        now = self._clock.now()
        # Slack does not say under which ts it shows a file: the moment stands for it.
        return Posted(
            ref_of(place.channel, file_id), order_key_of(f"{now // SECOND_US}.{now % SECOND_US:06d}")
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
