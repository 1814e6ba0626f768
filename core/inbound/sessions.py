"""Sessions: one per person, with threads found again by their key."""

from core.ids import Ids
from core.lazy_dataclass import dataclass
from core.store.accept import AcceptView
from core.store.rows import ThreadRow


@dataclass(frozen=True, slots=True)
class Existing:
    """A thread to which the key already leads."""

    thread: ThreadRow


@dataclass(frozen=True, slots=True)
class Adopt:
    """The person's own thread with this id, which has no key yet and now gets one."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class Create:
    """A new thread with this id."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class Succeed:
    """A new thread with this id: the one to which the key leads was closed."""

    thread_id: str


Resolution = Existing | Adopt | Create | Succeed


class SessionManager:
    """A resolver of thread keys. All state is in the store, so keys still work after a restart."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def resolve(self, view: AcceptView) -> Resolution:
        """Resolve by exact key, then by a UUID that is the person's own unmapped thread, else a new thread.

        An unused UUID becomes the new thread's id. Another person's thread is never reached: the key
        contains the user, and a UUID already in use leads to a fresh id.
        """
        if view.thread is not None and view.thread.closed_at is not None:
            return Succeed(self._ids.row_id())
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
