"""The prompt that a thread's next message would have, in parts with their sizes."""

from collections.abc import Callable

from pydantic import Field

from bot.views import PromptPartView, PromptView
from bot.web.endpoints import Call, Endpoint, Given
from bot.web.errors import not_found
from core.clock import Clock
from core.gates import ToolSetting
from core.runs.context import (
    MINUTE_US,
    PromptPart,
    build_conversation,
    estimate_tokens,
    time_note,
    tool_tokens,
)
from core.runs.prompts import ChatPrompts
from core.store.port import Store
from core.tools.pipeline import CallPipeline
from core.transcript import Note, UserSaid

MAX_ENTRIES = 100_000
"""The number of a thread's newest entries that are read: more than fit into any context."""
_NO_LIMIT_TOKENS = 10**12


class PromptQuery(Given):
    """`message`: the next message, which may activate skills."""

    message: str = Field(default="", max_length=30_000)


class PromptsApi:
    """Prompts, assembled by the code that assembles a turn's."""

    def __init__(
        self, store: Store, prompts: ChatPrompts, pipeline: Callable[[], CallPipeline], clock: Clock
    ) -> None:
        self._store = store
        self._prompts = prompts
        self._pipeline = pipeline
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "GET",
                "/threads/{id}/prompt",
                self.prompt,
                PromptView,
                PromptQuery,
                refusals=(404,),
                owner_only=True,
            )
        ]

    async def prompt(self, call: Call) -> PromptView:
        """Return the prompt that the thread's next message would have."""
        query: PromptQuery = call.query
        store, settings = self._store, self._prompts.settings
        thread = await store.threads.thread(call.thread_id)
        owner = None if thread is None else await store.people.user(thread.owner_id)
        if thread is None or owner is None:
            raise not_found("no thread has this ID")
        entries = await store.threads.entries(thread.id, MAX_ENTRIES)
        said = [entry.said for entry in entries if isinstance(entry.said, UserSaid)]
        following = UserSaid(query.message, said[-1].sender if said else "")
        prompt = await self._prompts.of_turn(owner, thread.channel, [following])
        own = await store.consents.tool_settings(owner.user_id)
        disabled = frozenset(one.tool for one in own if one.setting is ToolSetting.DISABLED)
        tools = self._pipeline().offered(owner, disabled, prompt.mode)
        names = tuple(tool.name for tool in tools)
        model = next(iter(settings.models), "")
        conversation = build_conversation(entries, _NO_LIMIT_TOKENS, settings.timezone)
        return PromptView(
            thread_id=thread.id,
            user_id=owner.user_id,
            model=model,
            prompt=prompt.system(names, model, with_tools=True),
            parts=tuple(map(_page, prompt.parts(names, model))),
            time=time_note(self._clock.now() // MINUTE_US, settings.timezone).text,
            tools=names,
            tools_tokens=tool_tokens(tools),
            messages=len(conversation),
            messages_tokens=sum(map(estimate_tokens, conversation)),
        )


def _page(part: PromptPart) -> PromptPartView:
    tokens = estimate_tokens(Note(part.text))
    return PromptPartView(name=part.name, chars=len(part.text), tokens=tokens, text=part.text)
