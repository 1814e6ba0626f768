"""The parts of Slack's payloads that the hub reads (https://docs.slack.dev/reference/events). The rest
is ignored."""

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field

MAX_INPUTS = 100
"""The limit on inputs. A modal has at most 100 blocks, and an input block has one element."""

Id = Annotated[str, Field(min_length=1, max_length=64)]
Ts = Annotated[str, Field(pattern=r"^\d{1,12}\.\d{1,6}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class File(_Part):
    """A file attached to a message. Files of other workspaces have no URL."""

    id: str = ""
    name: str | None = None
    mimetype: str | None = None
    size: int = 0
    url_private_download: str | None = None
    url_private: str | None = None


class Edited(_Part):
    """The time of an edit."""

    ts: Ts


class MessageEvent(_Part):
    """A `message` or `app_mention` event. For changes, `message` holds the current message."""

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
    """A payload of the Events API, by HTTP or in an envelope."""

    type: str
    team_id: str = ""
    event_id: str = ""
    event: dict[str, Any] = Field(default_factory=dict)


class Named(_Part):
    """An object with an id, and its name if it has one."""

    id: Id
    name: str | None = None
    username: str | None = None


class Action(_Part):
    """A pressed button."""

    action_id: str = ""
    value: str = ""
    action_ts: str = ""


class Container(_Part):
    """The location of a pressed button."""

    channel_id: str | None = None
    message_ts: Ts | None = None
    thread_ts: Ts | None = None


class Interaction(_Part):
    """A `block_actions` payload: a person pressed a button."""

    type: str
    user: Named
    team: Named | None = None
    channel: Named | None = None
    container: Container = Container()
    actions: Annotated[tuple[Action, ...], FailFast()] = ()
    trigger_id: str = ""


class Filled(_Part):
    """The value of an input."""

    value: str | None = None


def _few(values: object) -> object:
    """Check the number of inputs before each is validated, because each error would be recorded."""
    if isinstance(values, dict) and len(cast("dict[str, Any]", values)) > MAX_INPUTS:
        raise ValueError(f"more than {MAX_INPUTS} inputs")
    return cast("object", values)


_Filled = Annotated[dict[str, Filled], BeforeValidator(_few)]


class ViewState(_Part):
    """The values of a view by block and action."""

    values: Annotated[dict[str, _Filled], BeforeValidator(_few)] = Field(default_factory=dict)


class View(_Part):
    """A submitted modal."""

    id: Id
    callback_id: str = ""
    private_metadata: str = ""
    state: ViewState = ViewState()


class Submission(_Part):
    """A `view_submission` payload: a person submitted a modal."""

    type: Literal["view_submission"]
    user: Named
    view: View


class Command(_Part):
    """A slash command, as the form that Slack sends."""

    command: str
    text: str = ""
    team_id: str = ""
    channel_id: Id
    channel_name: str = ""
    user_id: Id
    user_name: str = ""
    trigger_id: Id
