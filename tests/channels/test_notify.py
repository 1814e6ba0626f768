"""The queue may forget what the store keeps, and says so."""

from channels.dispatcher import NotifyQueue
from core.messages import Address, plain
from core.ports import OutboxRow, SendState


def row(row_id: int, state: SendState = SendState.QUEUED, address: str = "a") -> OutboxRow:
    return OutboxRow(row_id, "tg", Address(address), plain("hello"), state, "nonce")


async def test_rows_are_returned_in_order_of_notification() -> None:
    queue = NotifyQueue()
    queue.put([row(1), row(2)])
    queue.put([row(3)])
    assert await queue.get() == ([row(1), row(2), row(3)], False)


async def test_a_full_queue_forgets_and_asks_for_the_store_to_be_read() -> None:
    queue = NotifyQueue(limit=2)
    queue.put([row(1), row(2), row(3), row(4)])
    assert await queue.get() == ([row(1), row(2)], True)
    queue.put([row(5)])
    assert await queue.get() == ([row(5)], False)


async def test_rows_that_only_we_can_send_are_never_forgotten() -> None:
    queue = NotifyQueue(limit=1)
    sending = row(3, SendState.SENDING)
    queue.put([row(1), row(2), sending])
    assert await queue.get() == ([row(1), sending], True)


async def test_an_address_is_not_free_while_something_may_wait_for_it() -> None:
    queue = NotifyQueue(limit=1)
    assert not queue.holds(Address("a"))
    queue.put([row(1)])
    assert queue.holds(Address("a"))
    assert not queue.holds(Address("b"))
    queue.put([row(2)])
    assert queue.holds(Address("b"))
