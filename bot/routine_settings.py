"""What `hubbub.toml` can say of routines."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from bot.setting_types import RESTART, Section

_HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d", re.ASCII)


def _hours(text: str) -> str:
    if text and not _HOURS.fullmatch(text):
        raise ValueError('is not a span of hours; write such as "08:00-22:00", or "" for all day')
    return text


class Routines(Section):
    """Things that are done when something happens."""

    enabled: bool = Field(default=True, json_schema_extra=RESTART)
    max_concurrent: Annotated[int, Field(ge=1, le=1000)] = Field(default=10, json_schema_extra=RESTART)
    default_cooldown_s: Annotated[int, Field(ge=0, le=30 * 86_400)] = 300


class Heartbeat(Section):
    """The owner's list, looked at every so often."""

    enabled: bool = Field(default=False, json_schema_extra=RESTART)
    every_s: Annotated[int, Field(ge=60, le=7 * 86_400, multiple_of=60)] = Field(
        default=1800, json_schema_extra=RESTART
    )
    active_hours: Annotated[str, AfterValidator(_hours)] = Field(
        default="08:00-22:00", json_schema_extra=RESTART
    )
