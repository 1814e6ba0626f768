"""What `hubbub.toml` can say of routines."""

from typing import Annotated

from pydantic import Field

from bot.setting_types import RESTART, Section


class Routines(Section):
    """Things that are done when something happens."""

    enabled: bool = Field(default=True, json_schema_extra=RESTART)
    max_concurrent: Annotated[int, Field(ge=1, le=1000)] = Field(default=10, json_schema_extra=RESTART)
    default_cooldown_s: Annotated[int, Field(ge=0, le=30 * 86_400)] = 300
