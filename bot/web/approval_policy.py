"""How people want to be asked in one conversation, and what was executed there."""

from typing import Annotated, Literal

from pydantic import Field

from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, Given, Limit
from bot.web.errors import ApiError
from bot.web.seeing import thread_seen_by
from core.approvals import MOST_LOOP_S, MOST_ROUNDS, MOST_TOOLS, SETTINGS, ApprovalSettings, Preset, looser
from core.consent import card_texts
from core.consent.laws import ConsentLaws
from core.store.base import Store
from core.store.feed import ThreadGlance
from core.store.rows import Execution

PresetName = Literal["manual", "whitelist", "auto_loop", "auto"]


class NewApprovalPolicy(Given):
    """What the conversation itself says; null: as its person, or else the configuration, says."""

    preset: PresetName | None = None
    max_rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] | None = None
    max_tools: Annotated[int, Field(ge=1, le=MOST_TOOLS)] | None = None
    loop_timeout_s: Annotated[int, Field(ge=1, le=MOST_LOOP_S)] | None = None


class SettingsView(Page):
    """Presets and limits that were said; null: nothing."""

    preset: PresetName | None
    max_rounds: int | None
    max_tools: int | None
    loop_timeout_s: int | None


class ApprovalPolicyPage(Page):
    """Who says what, and what holds. `effective`: null where there is no limit; `ceiling`: the loosest
    that may be said, null for anything."""

    thread: SettingsView
    person: SettingsView
    effective: SettingsView
    ceiling: SettingsView


class ExecutionView(Page):
    """One call. `status`: ok, error, denied, cancelled, skipped or unknown, null while it has no outcome;
    `state`: how far it has come; `round`: of the model since a person had a say; `for_user`: whom it was made
    for."""

    seq: int
    call_id: str
    turn: str
    tool: str
    state: str
    status: str | None
    round: int | None
    for_user: str
    asked_at: int
    started_at: int | None
    ended_at: int | None


class ExecutionsPage(Page):
    """The newest first. `next`: `before` of the page behind this one."""

    executions: tuple[ExecutionView, ...]
    next: int | None


class ExecutionsQuery(Given):
    """Calls before that position; without it the newest."""

    before: Annotated[int, Field(ge=1, le=2**53)] | None = None
    limit: Limit = 100


class ApprovalPolicies:
    """One method per endpoint."""

    def __init__(self, store: Store, laws: ConsentLaws) -> None:
        self._store = store
        self._laws = laws

    def endpoints(self) -> list[Endpoint]:
        """What is served."""
        path = "/threads/{id}/approval-policy"
        return [
            Endpoint("GET", path, self.read, ApprovalPolicyPage, refusals=(404,)),
            Endpoint(
                "PUT",
                path,
                self.change,
                ApprovalPolicyPage,
                body=NewApprovalPolicy,
                refusals=(404, 409, 503),
            ),
            Endpoint(
                "GET",
                "/threads/{id}/executions",
                self.executions,
                ExecutionsPage,
                ExecutionsQuery,
                refusals=(404,),
            ),
        ]

    async def read(self, call: Call) -> ApprovalPolicyPage:
        """How people are asked in a conversation."""
        return await self._page(await thread_seen_by(self._store, call))

    async def change(self, call: Call) -> ApprovalPolicyPage:
        """Say anew how people are asked in a conversation."""
        body: NewApprovalPolicy = call.body
        glance = await thread_seen_by(self._store, call)
        preset = None if body.preset is None else Preset(body.preset)
        wanted = ApprovalSettings(preset, body.max_rounds, body.max_tools, body.loop_timeout_s)
        ceiling = self._laws.ceiling_of(glance.owner)
        for name in SETTINGS:
            if looser(wanted, ceiling, name):
                raise ApiError(409, "refused", card_texts.approvals_ceiling(getattr(ceiling, name)), name)
        await self._store.set_thread_approvals(glance.thread.id, wanted, by=call.caller.principal.user_id)
        return await self._page(glance)

    async def executions(self, call: Call) -> ExecutionsPage:
        """What was executed in a conversation, the newest first."""
        query: ExecutionsQuery = call.query
        glance = await thread_seen_by(self._store, call)
        found = await self._store.executions(glance.thread.id, query.before, query.limit + 1)
        page = found[: query.limit]
        return ExecutionsPage(
            executions=tuple(map(_execution, page)),
            next=page[-1].seq if len(found) > query.limit else None,
        )

    async def _page(self, glance: ThreadGlance) -> ApprovalPolicyPage:
        standing = await self._store.standing(glance.owner.user_id, glance.thread.id)
        held = self._laws.in_force(glance.owner, standing)
        counted = held.preset is not Preset.AUTO
        effective = ApprovalSettings(
            held.preset,
            held.limits.max_rounds if counted else None,
            held.limits.max_tools if counted else None,
            held.limits.loop_timeout_s,
        )
        return ApprovalPolicyPage(
            thread=_settings(standing.thread),
            person=_settings(standing.person),
            effective=_settings(effective),
            ceiling=_settings(self._laws.ceiling_of(glance.owner)),
        )


def _settings(said: ApprovalSettings) -> SettingsView:
    return SettingsView(
        preset=None if said.preset is None else said.preset.value,
        max_rounds=said.max_rounds,
        max_tools=said.max_tools,
        loop_timeout_s=said.loop_timeout_s,
    )


def _execution(row: Execution) -> ExecutionView:
    return ExecutionView(
        seq=row.seq,
        call_id=row.call_id,
        turn=row.turn_id,
        tool=row.tool,
        state=row.state.value,
        status=row.status,
        round=row.round,
        for_user=row.principal_id,
        asked_at=row.asked_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
