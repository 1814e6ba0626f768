"""What keeps a conversation's events in order where a platform brings them side by side: one at a time, and
what was missed before what is live."""

import asyncio


class KeyedLocks:
    """Lets one at a time into each conversation, in the order they came."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    def lane(self, conversation: str) -> "KeyedLock":
        """`async with` it."""
        return KeyedLock(self._locks, conversation)


class KeyedLock:
    """The way into one conversation."""

    def __init__(self, locks: dict[str, tuple[asyncio.Lock, int]], key: str) -> None:
        self._locks, self._key = locks, key

    async def __aenter__(self) -> None:
        lock, users = self._locks.get(self._key, (asyncio.Lock(), 0))
        self._locks[self._key] = (lock, users + 1)
        try:
            await lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._locks[self._key][0].release()
        self._leave()

    def _leave(self) -> None:
        lock, users = self._locks[self._key]
        if users == 1:
            del self._locks[self._key]
        else:
            self._locks[self._key] = (lock, users - 1)


class HeldConversations:
    """Conversations whose live events wait."""

    def __init__(self) -> None:
        self._released: set[str] = set()
        self._all = False
        self._changed = asyncio.Event()

    def release(self, conversation: str) -> None:
        """This one has caught up."""
        self._released.add(conversation)
        self.wake()

    def release_all(self) -> None:
        """There is nothing more to wait for."""
        self._all = True
        self.wake()

    def holds(self, conversation: str) -> bool:
        """Whether it still waits."""
        return not self._all and conversation not in self._released

    async def changed(self) -> None:
        """Wait until something was released, or is to be looked at again."""
        await self._changed.wait()

    def wake(self) -> None:
        """Have those who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()


class CatchUpBarrier:
    """Where live events wait until what was missed is in. The newest `hold` is the one that counts: an event
    that waited for an earlier one waits on."""

    def __init__(self) -> None:
        self._held: HeldConversations | None = None

    def hold(self) -> HeldConversations:
        """Let live events of every conversation wait until it is released."""
        before, self._held = self._held, HeldConversations()
        if before is not None:
            before.wake()
        return self._held

    async def passed(self, conversation: str) -> None:
        """Wait until its live events may go on."""
        while (held := self._held) is not None and held.holds(conversation):
            await held.changed()
