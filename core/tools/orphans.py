"""What a call's processes leave without a parent comes to the hub: nothing of it gets out of sight.

While calls run, the hub adopts the orphans of all its descendants (PR_SET_CHILD_SUBREAPER, prctl(2)). Each
process of a call bears the call's number (core.tools.processes) and can lower it, but not take a higher
one; root can. A descendant of the hub whose number is neither the hub's own nor that of a call that runs
has outlived its call or changed the number: it is killed when a call ends. Servers have the hub's own
number, which is none, and so have all their children; they are never touched.

Adopted children that died are waited for while calls run and when one ends. Those of servers (orphaned while
a call ran) cannot be told from servers, and stay zombies once they die, until the hub ends.
"""

import contextlib
import os
from pathlib import Path

from core.tools.processes import all_pids, chase, give_number, kill, number_borne, number_of

_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")
_GONE = frozenset({b"Z", b"X"})


class Orphans:
    """Knows which calls run; one for all calls of a hub."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._leaders: set[int] = set()

    def call_begins(self, call_id: str) -> None:
        """To be told before the call's first process is started."""
        if not self._running:
            _adopt(True)
        self._running.add(number_of(call_id))

    def leads(self, pid: int, call_id: str) -> None:
        """The call's first process, which has not begun yet; nobody but its starter waits for it."""
        self._leaders.add(pid)
        give_number(pid, call_id)

    def call_ends(self, call_id: str, leader: int | None) -> None:
        """To be told once its first process, if it ever had one, was waited for."""
        if leader is not None:
            self._leaders.discard(leader)
        self._running.discard(number_of(call_id))
        if not self._running:
            _adopt(False)

    def kill_strays(self) -> bool:
        """SIGKILL what is left of calls that are over, whatever it calls itself; whether there was any.

        To be called in a thread of its own: it looks at every process.
        """
        strays = [pid for pid in _numbered() if self._strayed(pid) and _descends(pid)]
        for pid in strays:
            kill(pid)
        if strays:
            own = _own_number()
            chase(lambda pid: number_borne(pid) not in (None, own) and self._strayed(pid) and _descends(pid))
        return bool(strays)

    def bury_next(self) -> bool:
        """Wait for adopted children that are dead, as far as the system names them first; takes no time.

        False if it names one first that others wait for: then there may be more behind it.
        """
        own = _own_number()
        while (dead := _dead_child()) is not None:
            if not self._is_adopted(dead, own):
                return False
            _bury(dead)
        return True

    def bury_all(self) -> None:
        """Wait for all of them. To be called in a thread of its own: it looks at every process."""
        hub, own = os.getpid(), _own_number()
        for pid in _numbered():
            if _looked_at(pid) == (hub, True) and self._is_adopted(pid, own):
                _bury(pid)

    def _strayed(self, pid: int) -> bool:
        """Whether it bears no number that it could have been given and kept."""
        return number_borne(pid) not in self._running

    def _is_adopted(self, pid: int, own: int | None) -> bool:
        return pid not in self._leaders and number_borne(pid) not in (None, own)


def _numbered() -> list[int]:
    """Of processes that bear another number than the hub, nearly all of which are calls'."""
    neither = (None, _own_number())
    return [pid for pid in all_pids() if number_borne(pid) not in neither]


def _own_number() -> int | None:
    return number_borne(os.getpid())


def _dead_child() -> int | None:
    """One child of the hub that is dead and was not waited for."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if found is None else found.si_pid


def _bury(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):  # another thread was faster
        os.waitpid(pid, os.WNOHANG)


def _descends(pid: int) -> bool:
    """Whether it lives, and the hub is above it."""
    hub, (above, dead) = os.getpid(), _looked_at(pid)
    if dead:
        return False
    while above not in (0, hub):
        above, _ = _looked_at(above)
    return above == hub


def _looked_at(pid: int) -> tuple[int, bool]:
    """The number of its parent, 0 where there is none, and whether it is dead."""
    try:
        state, parent = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return 0, True
    return int(parent), state in _GONE


def _adopt(adopts: bool) -> None:
    """Whether the system knows that: Linux does; elsewhere orphans go where they always went."""
    import ctypes  # of no use before there is a child

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)
