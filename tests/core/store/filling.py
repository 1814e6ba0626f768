"""A hub's store on a disk that fills up; run by test_sqlite_disk as a process of its own.

The limit on the size of files stands for the disk: it makes the write-ahead log's writes fail, as a full disk
does. Prints a report as JSON.
"""

import asyncio
import json
import resource
import sys
from pathlib import Path

from core.clock import SystemClock
from core.errors import StoreUnavailable
from core.ids import RandomIds
from core.messages import Address, InboundEvent, InboundMessage, Sender
from core.store.accept import AcceptView, Admission, Admitted, Verdict
from core.store.effects import QueueInput
from core.store.sqlite.store import open_store
from core.users import Identity, Principal, Role

MEGABYTE = 1 << 20


class Queueing:
    """Everything is input of the one thread."""

    gate_id = None
    routine_ids = ()

    def __init__(self) -> None:
        self._ids = RandomIds()

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        return Admitted(Principal("ada", Role.OWNER, "Ada"), "config")

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        thread_id = self._ids.row_id() if view.thread is None else view.thread.id
        return Verdict("waiting", (QueueInput(thread_id, self._ids.row_id()),))


def event(number: int) -> InboundMessage:
    text = f"{number} " + "x" * 4_000
    return InboundMessage(
        f"k{number}", f"{number:09}", "chat", Address("a"), None, Sender("ada", "Ada"), text, 0
    )


async def main(path: Path) -> dict[str, object]:
    store = await open_store(path, SystemClock(), RandomIds())
    judge = Queueing()
    unlimited, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = Path(f"{path}-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + MEGABYTE // 2, most))
    kept: list[str] = []
    refused: list[str] = []
    for first in range(0, 2_000, 20):
        events = [event(number) for number in range(first, first + 20)]
        results = await asyncio.gather(
            *(store.inbound.accept_event(one, judge, send_now=False) for one in events),
            return_exceptions=True,
        )
        for one, result in zip(events, results, strict=True):
            if isinstance(result, StoreUnavailable):
                refused.append(one.key)
            elif isinstance(result, BaseException):
                raise result
            else:
                kept.append(one.key)
        if len(refused) > 60:
            break
    healthy_while_full = await store.healthy()
    resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, most))
    healthy_after = await store.healthy()
    again = [
        (await store.inbound.accept_event(event(int(key[1:])), judge, send_now=False)).duplicate
        for key in refused
    ]
    await store.close()
    return {
        "kept": kept,
        "refused": refused,
        "healthy_while_full": healthy_while_full,
        "healthy_after": healthy_after,
        "refused_but_kept": sum(again),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1])))))
