"""Ordering of a conversation's events where a platform delivers them in parallel: one at a time, and
missed events before live ones."""

import asyncio


class KeyedLocks:
    """Locks by conversation, granted in order of arrival."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    def lane(self, conversation: str) -> "KeyedLock":
        """Return the lock of a conversation, for use with `async with`."""
        return KeyedLock(self._locks, conversation)


class KeyedLock:
    """The lock of one conversation."""

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
    """The conversations whose live events wait."""

    def __init__(self) -> None:
        self._released: set[str] = set()
        self._all = False
        self._changed = asyncio.Event()

    def release(self, conversation: str) -> None:
        """Mark a conversation as caught up."""
        self._released.add(conversation)
        self.wake()

    def release_all(self) -> None:
        """Release all conversations."""
        self._all = True
        self.wake()

    def holds(self, conversation: str) -> bool:
        """Return whether the conversation still waits."""
        return not self._all and conversation not in self._released

    async def changed(self) -> None:
        """Wait until a conversation is released or `wake` is called."""
        await self._changed.wait()

    def wake(self) -> None:
        """Make all waiters check again."""
        self._changed.set()
        self._changed = asyncio.Event()


class CatchUpBarrier:
    """A barrier at which live events wait until missed events have been delivered.

    Only the newest `hold` counts: events that waited for an earlier one keep waiting."""

    def __init__(self) -> None:
        self._held: HeldConversations | None = None

    def hold(self) -> HeldConversations:
        """Hold the live events of each conversation until it is released."""
        before, self._held = self._held, HeldConversations()
        if before is not None:
            before.wake()
        return self._held

    async def passed(self, conversation: str) -> None:
        """Wait until the conversation's live events may proceed."""
        while (held := self._held) is not None and held.holds(conversation):
            await held.changed()
