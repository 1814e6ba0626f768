"""Which thread a message belongs to: one session per person, threads found again by their key."""

from dataclasses import dataclass

from core.ids import Ids
from core.store.accept import AcceptView
from core.store.rows import ThreadRow


@dataclass(frozen=True, slots=True)
class Existing:
    """The key leads to this thread."""

    thread: ThreadRow


@dataclass(frozen=True, slots=True)
class Adopt:
    """The person's own thread of this id, known under no key yet, gets the key."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class Create:
    """A new thread of this id."""

    thread_id: str


Resolution = Existing | Adopt | Create


class SessionManager:
    """Resolves a ThreadKey. All state is in the store, so every key is found again after a restart."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def resolve(self, view: AcceptView) -> Resolution:
        """An exact key wins; then a UUID that is the person's own unmapped thread; else a new thread.

        A UUID that nobody has becomes the new thread's own id. Another person's thread is never reached:
        the key holds the user, and a taken UUID leads to a fresh id.
        """
        if view.thread is not None:
            return Existing(view.thread)
        candidate = view.candidate
        if candidate is None or candidate.mapped:
            return Create(self._ids.row_id())
        if candidate.own:
            return Adopt(candidate.thread_id)
        if candidate.taken:
            return Create(self._ids.row_id())
        return Create(candidate.thread_id)
