"""Reading the plan of a job from a model's reply."""

import json
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from core.errors import HubError, InvalidArguments
from core.job import JobPlan, PlanStep
from core.safety.fencing import read_arguments


class UnusablePlan(HubError):
    """Error for a plan that can't be carried out; the text says why."""


class _Action(BaseModel):
    model_config = ConfigDict(strict=True)

    tool: str = Field(validation_alias=AliasChoices("tool", "tool_name"), min_length=1)
    parameters: dict[str, Any] = {}
    reasoning: str = ""


class _Plan(BaseModel):
    model_config = ConfigDict(strict=True)

    goal: Annotated[str, Field(min_length=1)]
    actions: list[_Action]
    confidence: Annotated[float, Field(ge=0, le=1)]


def read_plan(text: str) -> JobPlan:
    """Return the plan in a reply, which may stand in a block of code. Raises UnusablePlan."""
    first, last = text.find("{"), text.rfind("}")
    if first < 0 or last < first:
        raise UnusablePlan("it is not JSON")
    try:
        plan = _Plan.model_validate(read_arguments(text[first : last + 1]))
    except InvalidArguments as error:
        raise UnusablePlan("it is not valid JSON") from error
    except ValidationError as error:
        raise UnusablePlan("it does not have the form that was asked for") from error
    steps = tuple(
        PlanStep(action.tool, json.dumps(action.parameters, ensure_ascii=False), _line(action.reasoning))
        for action in plan.actions
    )
    return JobPlan(_line(plan.goal), steps, plan.confidence)


def _line(text: str) -> str:
    return " ".join(text.split())
