"""A platform in memory that obeys, and has the troubles it is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from channels.channel import Look, Payload, Route
from core.errors import HubError, MessageRejected
from core.messages import Address, Attachment, Message, MessageRef
from core.ports import Inbox, Posted
from tests.channels.memory import Watched


@dataclass(slots=True)
class Shown:
    """A message on the loopback platform."""

    address: str
    text: str
    nonce: str
    repeated: bool = False
    edits: list[str] = field(default_factory=list)
    gone: bool = False

    @property
    def says(self) -> str:
        """Return what stands there now."""
        return self.edits[-1] if self.edits else self.text


class LoopbackChannel(Watched):
    """A platform in memory, whose messages hold at most `limit` characters.

    Each post or edit first asks `trouble`: an error to raise before the request is taken, or (`after`) once
    it was. `hold`: requests to these addresses wait. `run` receives nothing; it ends as `fate` says.
    `requests`: what was asked, and when by `time_s`. Lost messages are found by what the hub does not know.
    """

    def __init__(self, name: str = "tg", limit: int = 10) -> None:
        super().__init__()
        self._name = name
        self._limit = limit
        self.shown: list[Shown] = []
        self.trouble: Callable[[str, Payload], Exception | None] = lambda *_: None
        self.after: Callable[[str, Payload], Exception | None] = lambda *_: None
        self.hold: set[str] = set()
        self.held: set[str] = set()
        self.fate: HubError | Exception | None = None
        self.check_error: HubError | None = None
        self.runs = 0
        self.closed = False
        self.requests: list[tuple[float, str]] = []
        self.time_s: Callable[[], float] = lambda: 0.0

    @property
    def name(self) -> str:
        return self._name

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        return ()

    async def check(self) -> None:
        if self.check_error is not None:
            raise self.check_error

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        self.runs += 1
        self.changed()
        if self.fate is not None:
            raise self.fate
        connected()
        self.changed()
        await self.until(lambda: self.fate is not None, limit_s=60)
        assert self.fate is not None
        raise self.fate

    def render(self, message: Message) -> tuple[Payload, ...]:
        text = "".join(block.text for block in message.blocks)
        parts = [text[start : start + self._limit] for start in range(0, len(text), self._limit)]
        if message.outcome is not None:
            parts[-1] += f" [{message.outcome}]"
        return tuple({"text": part} for part in parts)

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        await self._ask("post", to, payload)
        self.shown.append(Shown(to, str(payload["text"]), nonce, repeated))
        ref = MessageRef(str(len(self.shown) - 1))
        self._answer(to, payload)
        return Posted(ref, f"{len(self.shown):020d}")

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        target = self.shown[int(ref)]
        await self._ask("edit", Address(target.address), payload)
        if target.gone:
            raise MessageRejected("message to edit not found")
        target.edits.append(str(payload["text"]))
        self._answer(Address(target.address), payload)

    async def retract(self, ref: MessageRef) -> bool:
        target = self.shown[int(ref)]
        await self._ask("retract", Address(target.address), {})
        was_there, target.gone = not target.gone, True
        self._answer(Address(target.address), {})
        return was_there

    async def typing(self, to: Address) -> None:
        await self._ask("typing", to, {})
        self._answer(to, {})

    async def acknowledge(self, ref: MessageRef) -> None:
        await self._ask("acknowledge", Address(ref), {})
        self._answer(Address(ref), {})

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        await self._ask("find", to, payload)
        around = await look()
        for number, message in enumerate(self.shown):
            if message.address == to and not message.gone and str(number) not in around.shown:
                message.edits.append(str(payload["text"]))
                self._answer(to, payload)
                return Posted(MessageRef(str(number)), f"{number:020d}")
        return None

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        return b""

    def direct(self, platform_user_id: str) -> Address:
        return Address(platform_user_id)

    async def close(self) -> None:
        self.closed = True

    def texts(self, address: str) -> list[str]:
        """Return what stands in a chat, as first shown."""
        return [shown.text for shown in self.shown if shown.address == address]

    def stands(self, address: str) -> list[str]:
        """Return what stands in a chat now."""
        return [shown.says for shown in self.shown if shown.address == address and not shown.gone]

    async def _ask(self, what: str, to: Address, payload: Payload) -> None:
        self.requests.append((self.time_s(), what))
        self.changed()
        if to in self.hold:
            self.held.add(to)
            self.changed()
            await self.until(lambda: to not in self.hold)
        error = self.trouble(to, payload)
        if error is not None:
            raise error

    def _answer(self, to: Address, payload: Payload) -> None:
        self.changed()
        error = self.after(to, payload)
        if error is not None:
            raise error
