"""The calls that unattended runs are refused, and the grants that these calls lack."""

from collections.abc import Sequence

from core.consent.card_texts import grants_offered
from core.consent.facts import Mode
from core.gates import ConsentSettings
from core.messages import Block, Code, Plain
from core.store.routine_rows import RunSteps
from core.tools.pipeline import CallPipeline
from core.tools.prepared import Refused, as_seen
from core.transcript import ResultStatus, ToolResult
from core.users import Principal, Role


def missing_grants(
    pipeline: CallPipeline,
    steps: RunSteps,
    owner: Principal,
    thread_id: str,
    standing: ConsentSettings,
    mode: Mode,
) -> tuple[str, ...]:
    """Return the grants whose absence denied calls of a run, each a tool's name, a space and a pattern, if
    its owner may grant them. The calls are judged again, so that a crash loses none."""
    if owner.role is not Role.OWNER:
        return ()
    denied = {
        said.call_id
        for said in steps.said
        if isinstance(said, ToolResult) and said.status is ResultStatus.DENIED
    }
    missing: dict[str, None] = {}
    for call in steps.calls:
        if call.call_id in denied:
            prepared = pipeline.prepare(call, owner, thread_id, standing, mode)
            if isinstance(prepared, Refused):
                missing |= dict.fromkeys(f"{call.tool} {pattern}" for pattern in prepared.grants)
    return tuple(missing)


def missing_blocks(missing: Sequence[str], heading: str, too_long: str) -> tuple[Block, ...]:
    """Return the part of a notice that shows missing grants, each in full. `too_long`: said if some don't
    fit."""
    offered = grants_offered(missing)
    shown = (Plain(heading), *(Code(as_seen(grant)) for grant in offered)) if offered else ()
    return (*shown, Plain(too_long)) if len(offered) < len(missing) else shown
