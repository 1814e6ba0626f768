"""The services and settings that chat turns use, and the images that people attach to a turn."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from core.clock import SECOND_US, Clock
from core.consent.rules import ApprovalRule, ApprovalRules
from core.errors import AllowanceUsedUp, AttachmentTooLarge, ChannelError
from core.events import TurnListener
from core.gates import VoteRule, Wrote
from core.ids import Ids
from core.lazy import dataclass
from core.messages import Attachment, size_in_words
from core.model.base import ImagePart
from core.people.notices import ApproverCopies
from core.ports import AttachmentSource, OutboxListener
from core.runs.context import ChatPrompts
from core.runs.model_list import ModelList
from core.safety.leaks import LeakDetector
from core.store.port import People, Store
from core.store.units import patiently
from core.tools.pipeline import CallPipeline
from core.transcript import Entry, UserSaid
from core.users import Principal, Role

# The daily limit on guests' use of the model.


class GuestAllowance:
    """The daily limit on each guest's model calls: `most` a day in `timezone`, or unlimited if 0.

    A call is counted before it is made, so repeated kills of the hub cannot raise the limit.
    """

    def __init__(self, people: People, clock: Clock, timezone: str, most: int) -> None:
        self._people = people
        self._clock = clock
        self._zone = ZoneInfo(timezone)
        self._most = most

    async def take(self, principal: Principal) -> None:
        """Count one call for this person. Raises AllowanceUsedUp if they have none left."""
        if principal.role is not Role.GUEST or not self._most:
            return
        now = datetime.fromtimestamp(self._clock.now() / SECOND_US, UTC)
        day = now.astimezone(self._zone).date().isoformat()
        count = self._people.count_model_call
        if not await patiently(lambda: count(principal.user_id, day, self._most), self._clock):
            raise AllowanceUsedUp(f"this guest has used the daily limit of {self._most} model calls")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The configuration of chat turns.

    `context_tokens`: conversations are kept below it, also where a model's window is larger.
    `reserve_tokens`: those of it that no prompt takes. `answer_tokens`: the longest answer, at most those.
    `compact_at`: the share of the rest from which a conversation is made shorter.
    `spending`: decides whether a turn may exceed a budget."""

    context_tokens: int
    reserve_tokens: int
    answer_tokens: int
    compact_at: float
    temperature: float
    gate_expires_after_s: int
    rule: VoteRule
    spending: ApprovalRule
    approvals: ApprovalRules


class ReplyHook(Protocol):
    """A hook that may change model replies."""

    async def transformed(self, text: str, user_id: str | None, thread_id: str | None) -> str:
        """Return the text as it is stored and shown."""
        ...


Archive = Callable[[str, str], Awaitable[None]]
"""Stores a text under a path of the workspace, in place of a file of that name; durable on return. Raises
ToolError."""


class AnswerHook(Protocol):
    """A hook that may change or refuse people's answers."""

    async def heard(self, text: str, user_id: str, thread_id: str, channel: str) -> Wrote | str:
        """Return an answer as the model may see it, or, as a string, the reason for refusing it."""
        ...


@dataclass(frozen=True, slots=True)
class ChatServices:
    """The services of every chat turn.

    `images`: the source of attached images; None: they are never downloaded.
    `archive`: where compaction keeps what it takes out of the owner's conversations; None: nowhere.
    `tells_text`: whether text is streamed as it is written. It must be False if hooks need to see the
    text first."""

    store: Store
    models: ModelList
    pipeline: CallPipeline
    outbox: OutboxListener
    turns: TurnListener
    clock: Clock
    ids: Ids
    leaks: LeakDetector
    approver_copies: ApproverCopies
    guests: GuestAllowance
    prompts: ChatPrompts
    images: AttachmentSource | None = None
    reply_hook: ReplyHook | None = None
    answer_hook: AnswerHook | None = None
    archive: Archive | None = None
    tells_text: bool = True

    @property
    def image_source(self) -> AttachmentSource | None:
        """The source of attached images; None if no model sees them."""
        return self.images if self.models.sees_images else None


# Images that people attach, for models that see: downloaded for their own turn, and kept in no journal.

MAX_IMAGES = 4
MAX_IMAGE_BYTES = 3_900_000
"""Anthropic takes 5 MB of an image in Base64."""
DOWNLOAD_TIMEOUT_S = 30.0

TOO_MANY = f"only {MAX_IMAGES} images of a message are shown"
TOO_LARGE = f"it is larger than {size_in_words(MAX_IMAGE_BYTES)}"
NOT_DOWNLOADED = "it could not be downloaded"
OF_ANOTHER_KIND = "it is not a PNG, JPEG, GIF or WebP image"


class TurnImages:
    """The images of a turn's newest input. `source`: None if no model sees, so that nothing is downloaded."""

    def __init__(self, source: AttachmentSource | None, channel: str, turn_id: str) -> None:
        self._source = source
        self._channel = channel
        self._turn_id = turn_id
        self._loaded: tuple[UserSaid | None, Sequence[ImagePart]] = (None, ())

    async def newest(self, entries: Sequence[Entry]) -> Sequence[ImagePart]:
        """Return the images that came with the newest input, also those that can't be shown.

        They are downloaded once."""
        said = next(
            (
                entry.said
                for entry in reversed(entries)
                if entry.turn_id == self._turn_id and isinstance(entry.said, UserSaid)
            ),
            None,
        )
        if said is None or not said.attachments:
            return ()
        if self._loaded[0] is not said:
            images = [file for file in said.attachments if file.media_type.startswith("image/")]
            self._loaded = (said, await asyncio.gather(*map(self._part, range(len(images)), images)))
        return self._loaded[1]

    async def _part(self, place: int, file: Attachment) -> ImagePart:
        if self._source is None:
            return ImagePart(file.name, file.media_type)
        if place >= MAX_IMAGES:
            return ImagePart(file.name, file.media_type, problem=TOO_MANY)
        if file.size_bytes > MAX_IMAGE_BYTES or file.out_of_reach:
            return ImagePart(file.name, file.media_type, problem=TOO_LARGE)
        try:
            async with asyncio.timeout(DOWNLOAD_TIMEOUT_S):
                data = await self._source.fetch(self._channel, file, MAX_IMAGE_BYTES)
        except AttachmentTooLarge:
            return ImagePart(file.name, file.media_type, problem=TOO_LARGE)
        except (ChannelError, TimeoutError):
            return ImagePart(file.name, file.media_type, problem=NOT_DOWNLOADED)
        media_type = image_type(data)
        if not media_type:
            return ImagePart(file.name, file.media_type, problem=OF_ANOTHER_KIND)
        return ImagePart(file.name, media_type, data)


def image_type(data: bytes) -> str:
    """Return the media type of an image, told by its first bytes: the kinds that models take, or nothing."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return ""
