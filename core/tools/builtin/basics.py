"""`echo` and `json`: tools without access to anything."""

import json
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from core.clock import Clock
from core.errors import InvalidArguments, ToolDenied, ToolFailed
from core.gates import Replies
from core.ids import is_secret_name
from core.off_loop import json_off_loop
from core.safety.fencing import sanitise
from core.tool import Arguments, CallContext, Data, Effect, Question, Requirement, Tool
from core.tools.definition import tool
from core.users import Principal


def echo_tool() -> Tool:
    """Return the tool."""

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def echo(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        text: Annotated[str, "the text to return"],
    ) -> str:
        """Return the text unchanged, to test tools."""
        return text

    return echo


def json_tool() -> Tool:
    """Return the tool."""

    @tool(name="json", requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def read_json(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        text: Annotated[str, "the JSON text"],
        pointer: Annotated[str, "a JSON Pointer (RFC 6901) such as /items/0/name; default: all"] = "",
    ) -> str:
        """Check JSON, and return it or a part of it, indented."""
        try:
            found: Any = await json_off_loop(text)
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(f"text: is not JSON: {error}") from error
        return json.dumps(_at(found, pointer), ensure_ascii=False, indent=2)

    return read_json


def _at(found: Any, pointer: str) -> Any:
    if pointer and not pointer.startswith("/"):
        raise InvalidArguments("pointer: must start with /")
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        try:
            found = cast("list[Any]", found)[int(name)] if isinstance(found, list) else found[name]
        except (KeyError, IndexError, TypeError, ValueError):
            raise InvalidArguments(f"pointer: there is nothing at {name[:60]!r}") from None
    return found


# `ask_user`: a question to the person the model works for; their answer is the call's result.

MAX_CHOICES = 10
QUESTION_LIMIT_CHARS = 1_000
"""With its choices a question fits one message of every platform."""
LABEL_LIMIT_CHARS = 60
"""Platforms cut a longer label on a phone's button."""

_VISIBLE = frozenset("LMNPS")
"""First letters of the Unicode categories with something visible."""

Label = Annotated[str, Field(min_length=1, max_length=LABEL_LIMIT_CHARS)]


def ask_user_tool() -> Tool:
    """Return the tool. Its calls wait in the store as gates; it runs only where no person can be asked."""

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE, asks=question_of)
    async def ask_user(
        call: CallContext,
        question: Annotated[
            str,
            "the question, understandable on its own",
            Field(min_length=1, max_length=QUESTION_LIMIT_CHARS),
        ],
        choices: Annotated[
            list[Label] | None, "possible answers, a few words each", Field(max_length=MAX_CHOICES)
        ] = None,
        free_text: Annotated[bool, "accept other text as well; always true without choices"] = False,
    ) -> str:
        """Ask the person you are talking to, and wait for their answer.

        Use it when you can't continue without knowing what they want. Do not use it to ask for permission:
        the hub asks for approval itself when you call a tool.
        """
        del call, question, choices, free_text
        raise ToolDenied("There is no person here to ask.")

    return ask_user


def question_of(arguments: Arguments) -> Question:
    """Return the question of validated arguments. Raises InvalidArguments if a person could not answer it."""
    text = sanitise(arguments["question"]).strip()
    if not _is_visible(text):
        raise InvalidArguments("question: must contain visible text")
    labels = tuple(" ".join(sanitise(label).split()) for label in arguments["choices"] or ())
    if not all(map(_is_visible, labels)):
        raise InvalidArguments("choices: each must contain text")
    if len({label.casefold() for label in labels}) < len(labels):
        raise InvalidArguments("choices: two of them are the same")
    return Question(text, Replies(labels, free_text=arguments["free_text"] or not labels))


def _is_visible(text: str) -> bool:
    return any(unicodedata.category(character)[0] in _VISIBLE for character in text)


# `time`: the current time, in any time zone.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_tool(clock: Clock, default_timezone: str = "UTC") -> Tool:
    """Return the tool on a clock. `default_timezone`: an IANA name, used if the model names none."""

    @tool(name="time", requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def time(
        call: CallContext,  # noqa: ARG001 — every tool gets its call
        timezone: Annotated[
            str | None, "IANA name such as Europe/Paris; default: the hub's time zone"
        ] = None,
    ) -> str:
        """Tell the current date and time, with weekday and time zone."""
        name = timezone or default_timezone
        try:
            zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise InvalidArguments(
                f"timezone: {name[:60]!r} is not an IANA time zone; use a name such as Europe/Paris"
            ) from None
        now = (_EPOCH + timedelta(microseconds=clock.now())).astimezone(zone)
        return f"{now:%A}, {now.isoformat(sep=' ', timespec='seconds')} ({name})"

    return time


# `secret_list`, `secret_delete`, `tool_auth`: the vault's contents, by name. No tool sees a
# value. `tool_auth` asks for a secret that the person has and names; `sign_in` gets tokens from a server,
# which the hub then renews and revokes.


class Named(Protocol):
    """A stored secret."""

    @property
    def name(self) -> str:
        """Name of the secret."""
        ...


class Secrets(Protocol):
    """The secrets (the part of `core.store.port.Store` these tools need)."""

    async def secrets(self) -> Sequence[Named]:
        """Return all secrets."""
        ...

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        """Delete a secret; return False if there is none of that name."""
        ...


def secret_name_tools(kept: Secrets) -> tuple[Tool, Tool, Tool]:
    """Return all three tools."""
    return _list_secrets_tool(kept), _delete_tool(kept), _auth_tool()


def _list_secrets_tool(kept: Secrets) -> Tool:
    @tool(requirement=Requirement.ASK, effect=Effect.NONE, data=Data.SHARED)
    async def secret_list(call: CallContext) -> str:  # noqa: ARG001 — every tool gets its call
        """List the names of the secrets in the vault. Their values are never shown."""
        return "\n".join(secret.name for secret in await kept.secrets()) or "The vault is empty."

    return secret_list


def _delete_tool(kept: Secrets) -> Tool:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.SHARED)
    async def secret_delete(
        call: CallContext,
        name: Annotated[str, "a name from secret_list"],
    ) -> str:
        """Delete a secret permanently."""
        if not await kept.drop_secret(name, by=call.principal.user_id):
            raise ToolFailed(f"There is no secret named {name[:80]!r}.")
        return f"Deleted {name}."

    return secret_delete


def _auth_tool() -> Tool:
    """Return the tool. Its calls wait in the store as gates; it runs only where no person can be asked."""

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.SHARED, asks=_credential_of)
    async def tool_auth(
        call: CallContext,
        name: Annotated[str, "the name to store it under, such as github-token"],
        purpose: Annotated[str, "its purpose", Field(min_length=1, max_length=300)],
    ) -> str:
        """Ask the person for a credential. It goes into the vault; you only learn that it was stored."""
        del call, name, purpose
        raise ToolDenied("There is no person here to ask.")

    return tool_auth


def _credential_of(arguments: Arguments) -> Question:
    """Return the question of validated arguments. Raises InvalidArguments."""
    name = arguments["name"]
    if not is_secret_name(name):
        raise InvalidArguments(
            "name: use up to 64 letters, digits, _ . and -; start and end with a letter or digit"
        )
    purpose = " ".join(sanitise(arguments["purpose"]).split())
    if not purpose:
        raise InvalidArguments("purpose: must contain visible text")
    replies = Replies(("Cancel",), free_text=True, secret=name)
    return Question(f"Please send me the credential “{name}”: {purpose}", replies)


# `tool_list` and `tool_info`: the tools of the person's model, and their arguments.

Visible = Callable[[Principal], Sequence[Tool]]

_ASKS = {
    Requirement.NEVER: "It needs no approval by default.",
    Requirement.ASK: "It may need a person's approval.",
    Requirement.ALWAYS_ASK: "It needs a person's approval each time.",
}


def tool_name_tools(visible: Visible) -> tuple[Tool, Tool]:
    """Return both tools. `visible`: the tools offered to a person; other tools stay unknown."""
    return _list_tool(visible), _info_tool(visible)


def _list_tool(visible: Visible) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def tool_list(call: CallContext) -> str:
        """List the available tools, one per line."""
        return "\n".join(f"{one.name}: {one.description.splitlines()[0]}" for one in visible(call.principal))

    return tool_list


def _info_tool(visible: Visible) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def tool_info(call: CallContext, name: Annotated[str, "a name from tool_list"]) -> str:
        """Describe a tool: its purpose, whether it needs approval, and its arguments as a JSON schema."""
        found = next((one for one in visible(call.principal) if one.name == name), None)
        if found is None:
            raise ToolFailed(f"There is no tool named {name[:80]!r}.")
        schema = json.dumps(dict(found.parameters), indent=2)
        return f"{found.name}: {found.description}\n{_ASKS[found.requirement]}\n{schema}"

    return tool_info
