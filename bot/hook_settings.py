"""What `hubbub.toml` can say of hooks."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from bot.setting_types import RESTART, Name, Section, Text

PointName = Literal[
    "before_inbound",
    "before_tool_call",
    "transform_response",
    "before_outbound",
    "session_start",
    "session_end",
]


class Hook(Section):
    """Code of one's own that has a say. `ask`: the name of an entry point, or a web address."""

    name: Name = Field(examples=["watch"], json_schema_extra=RESTART)
    on: tuple[PointName, ...] = Field(
        min_length=1, examples=[["before_tool_call", "before_outbound"]], json_schema_extra=RESTART
    )
    ask: Text = Field(examples=["https://hooks.example/hubbub"], json_schema_extra=RESTART)
    secret: SecretStr = Field(default=SecretStr(""), examples=["env:HOOK_SECRET"], json_schema_extra=RESTART)
    waits: bool = Field(default=False, json_schema_extra=RESTART)
    priority: int = Field(default=100, json_schema_extra=RESTART)
    timeout_s: Annotated[float, Field(gt=0, le=30, allow_inf_nan=False)] = Field(
        default=5, json_schema_extra=RESTART
    )
    on_failure: Literal["open", "closed"] = Field(default="open", json_schema_extra=RESTART)

    @property
    def url(self) -> str:
        """The web address that is asked; empty if it is none."""
        return self.ask if "://" in self.ask else ""


class Sessions(Section):
    """When somebody's session is over, for hooks on `session_end`."""

    idle_days: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=7, json_schema_extra=RESTART
    )
