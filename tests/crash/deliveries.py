"""Messages that were sent twice, and what the hub says about them, judged against what it had committed."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.crash.ledger import Ledger
from tests.crash.mortal import MortalHub

Events = Sequence[Mapping[str, Any]]
"""What `hubbub why --json` says became of every message."""


def judge_copies(town: MortalHub, dead: Ledger) -> int:
    """How many texts were sent twice: the platform had taken the first before the kill, unrecorded."""
    boundary = town.telegram.requests("getMe")[-1].number  # the first request after the restart
    sent: dict[tuple[int | None, str], list[tuple[int, str]]] = {}
    for request in town.telegram.requests("sendMessage", ok=True):
        chat_id, message_id = request.messages[0]
        copies = sent.setdefault((request.chat_id, str(request.params["text"])), [])
        copies.append((request.number, f"{chat_id}:{message_id}"))
    recorded = set(dead.done("record_part_sent").values())
    twice = {text: copies for text, copies in sent.items() if len(copies) > 1}
    for text, [(number, ref), *others] in twice.items():
        assert len(others) == 1, f"sent {len(others) + 1} times: {text}"
        assert number < boundary, f"the first copy was sent after the restart: {text}"
        assert ref not in recorded, f"the hub knew that it was sent: {text}"
    return len(twice)


def judge_marks(events: Events, dead: Ledger, twice: int) -> None:
    """Every send went through; repeats are marked, and nothing else is."""
    rows = {row["outbox_id"]: row for event in events for row in event["deliveries"]}
    assert {row["state"] for row in rows.values()} == {"sent"}
    repeated = {str(row_id) for row_id, row in rows.items() if row["repeats"]}
    assert len(repeated) >= twice, "sent twice without being marked"
    assert not repeated & dead.done("record_part_sent").keys(), "marked although it was recorded as sent"


def turns_of(events: Events) -> list[Mapping[str, Any]]:
    """The events that are part of a turn, or wait for one."""
    return [event for event in events if event["outcome"].startswith(("turn ", "waiting"))]
