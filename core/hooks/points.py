"""The hooks of single points, as those who have to ask them see them."""

from collections.abc import Mapping
from typing import Any

from core.hooks.chain import Chain, Passed, Rejected
from core.hooks.values import HookEvent, Point
from core.prompts import Wrote
from core.tool import Arguments, Tool
from core.users import Principal

HELD_BACK = "I may not send what I was going to say here: {reason}"


class CallHooks:
    """Implements core.tools.intents.CallHook."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def judge(
        self, tool: Tool, arguments: Arguments, principal: Principal, thread_id: str
    ) -> Mapping[str, Any] | str:
        """See CallHook."""
        event = HookEvent(
            Point.BEFORE_TOOL_CALL,
            tool=tool.name,
            arguments=dict(arguments),
            user_id=principal.user_id,
            thread_id=thread_id,
        )
        match await self._chain.judge(event, tool.sensitive):
            case Passed(changed):
                return changed.arguments or {}
            case Rejected(hook, reason):
                return f"the hook {hook} stands against it: {reason}"


class AnswerHooks:
    """Implements core.agent.services.AnswerHook: words that answer a question are like messages."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def heard(self, text: str, user_id: str, thread_id: str, channel: str) -> Wrote | str:
        """See AnswerHook."""
        event = HookEvent(
            Point.BEFORE_INBOUND, text=text, user_id=user_id, thread_id=thread_id, channel=channel
        )
        match await self._chain.judge(event):
            case Passed(changed):
                return Wrote(changed.text)
            case Rejected(_, reason):
                return reason


class ReplyHooks:
    """Implements core.agent.services.ReplyHook."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def transformed(self, text: str, user_id: str | None, thread_id: str | None) -> str:
        """See ReplyHook."""
        event = HookEvent(Point.TRANSFORM_RESPONSE, text=text, user_id=user_id, thread_id=thread_id)
        match await self._chain.judge(event):
            case Passed(changed):
                return changed.text
            case Rejected(_, reason):
                return HELD_BACK.format(reason=reason)
