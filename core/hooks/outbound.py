"""What goes out, asked about before its first request: answers, notices, cards, what the hub says itself.

What becomes of a message is kept before it is sent, so that it is asked about once however often it is tried.
"""

from dataclasses import replace

from core.errors import MessageRejected
from core.hooks.chain import Chain, Passed, Rejected
from core.hooks.values import HookEvent, Point
from core.messages import Markdown, Message, Plain
from core.ports import OutboxRow
from core.store.base import Store


class OutboundHooks:
    """Implements core.ports.OutboundGate."""

    def __init__(self, chain: Chain, store: Store) -> None:
        self._chain = chain
        self._store = store

    async def released(self, row: OutboxRow) -> Message:
        """See OutboundGate."""
        if not row.message.blocks:
            return row.message  # it takes something away, or carries files alone
        kept = await self._store.outbound_judged(row.id)
        if kept is not None:
            return kept
        text = "\n\n".join(block.text for block in row.message.blocks)
        event = HookEvent(Point.BEFORE_OUTBOUND, text=text, channel=row.channel, address=row.address)
        match await self._chain.judge(event):
            case Rejected(hook, reason):
                raise MessageRejected(f"the hook {hook} stands against it: {reason}")
            case Passed(told, changed):
                message = _saying(row.message, told.text) if changed else row.message
        await self._store.judge_outbound(row.id, message)
        return message


def _saying(message: Message, text: str) -> Message:
    """Cards say what people agree to: they are sent as they are, or not at all."""
    if message.prompt_id is not None or message.choices:
        raise MessageRejected("a hook changed a card, which may only be sent as it is or not at all")
    plain = all(isinstance(block, Plain) for block in message.blocks)
    return replace(message, blocks=((Plain if plain else Markdown)(text),))
