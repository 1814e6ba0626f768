"""What the hub reads of Slack's payloads (https://docs.slack.dev/reference/events); the rest is ignored."""

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field

MAX_INPUTS = 100
"""A modal has at most 100 blocks, and an input one element."""

Id = Annotated[str, Field(min_length=1, max_length=64)]
Ts = Annotated[str, Field(pattern=r"^\d{1,12}\.\d{1,6}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class File(_Part):
    """A file that belongs to a message. Files of other workspaces come without an address."""

    id: str = ""
    name: str | None = None
    mimetype: str | None = None
    size: int = 0
    url_private_download: str | None = None
    url_private: str | None = None


class Edited(_Part):
    """When a message was changed."""

    ts: Ts


class MessageEvent(_Part):
    """`message` and `app_mention`; for changes `message` holds the message as it is now."""

    type: str
    subtype: str | None = None
    channel: Id
    channel_type: str | None = None
    user: str | None = None
    bot_id: str | None = None
    text: str = ""
    ts: Ts
    thread_ts: Ts | None = None
    parent_user_id: str | None = None
    files: Annotated[tuple[File, ...], FailFast()] = ()
    edited: Edited | None = None
    hidden: bool = False
    message: dict[str, Any] | None = None


class EventPayload(_Part):
    """What the Events API brings, by HTTP or in an envelope."""

    type: str
    team_id: str = ""
    event_id: str = ""
    event: dict[str, Any] = Field(default_factory=dict)


class Named(_Part):
    """A thing with an id, and its name where there is one."""

    id: Id
    name: str | None = None
    username: str | None = None


class Action(_Part):
    """A button that was pressed."""

    action_id: str = ""
    value: str = ""
    action_ts: str = ""


class Container(_Part):
    """Where the button was."""

    channel_id: str | None = None
    message_ts: Ts | None = None
    thread_ts: Ts | None = None


class Interaction(_Part):
    """`block_actions`: somebody pressed something."""

    type: str
    user: Named
    team: Named | None = None
    channel: Named | None = None
    container: Container = Container()
    actions: Annotated[tuple[Action, ...], FailFast()] = ()
    trigger_id: str = ""


class Filled(_Part):
    """What stands in an input."""

    value: str | None = None


def _few(values: object) -> object:
    """Before any of them is looked at: each could be wrong, and each error would be written down."""
    if isinstance(values, dict) and len(cast("dict[str, Any]", values)) > MAX_INPUTS:
        raise ValueError(f"more than {MAX_INPUTS} inputs")
    return cast("object", values)


_Filled = Annotated[dict[str, Filled], BeforeValidator(_few)]


class ViewState(_Part):
    """By block and action."""

    values: Annotated[dict[str, _Filled], BeforeValidator(_few)] = Field(default_factory=dict)


class View(_Part):
    """A modal as it was handed in."""

    id: Id
    callback_id: str = ""
    private_metadata: str = ""
    state: ViewState = ViewState()


class Submission(_Part):
    """`view_submission`: somebody handed a modal in."""

    type: Literal["view_submission"]
    user: Named
    view: View


class Command(_Part):
    """A slash command, as the form Slack sends."""

    command: str
    text: str = ""
    team_id: str = ""
    channel_id: Id
    channel_name: str = ""
    user_id: Id
    user_name: str = ""
    trigger_id: Id
