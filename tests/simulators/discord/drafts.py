"""Drafts of messages, from bodies: https://docs.discord.com/developers/resources/message#create-message."""

from dataclasses import dataclass
from typing import Any

from tests.simulators.discord import limits
from tests.simulators.discord.bodies import Body, Upload
from tests.simulators.discord.components import read_rows
from tests.simulators.discord.embeds import read_embeds
from tests.simulators.discord.errors import ApiError, FormErrors, empty_message, invalid, too_large
from tests.simulators.discord.forms import Form
from tests.simulators.discord.mentions import read_allowed
from tests.simulators.discord.world import EPHEMERAL, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS

Json = dict[str, Any]
SETTABLE_FLAGS = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | EPHEMERAL
NOT_SIMULATED_FLAGS = 1 << 13 | 1 << 15  # voice messages, components v2


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked body. None means the body does not speak of it; ``keep`` are attachments that stay."""

    content: str | None
    embeds: list[Json] | None
    components: list[Json] | None
    keep: list[Json] | None
    uploads: list[tuple[Upload, str | None]]
    allowed: Json | None
    nonce: str | int | None
    enforce_nonce: bool
    flags: int
    reference: Json | None
    clears_content: bool

    @property
    def says_nothing(self) -> bool:
        """Return whether a new message made of this would be empty."""
        return not (self.content or self.embeds or self.components or self.uploads)


def read_draft(body: Body, inside: str | None = None) -> Draft:
    """Checks a body (or the object in one of its fields). Raises ``ApiError`` 50035, 40005, 30015."""
    collected = FormErrors()
    if inside is None:
        form = Form(body.values, collected)
    else:
        form = Form(body.values.get(inside) or {}, collected, (inside,))
    content = form.text("content", limits.MAX_CONTENT_CHARS)
    nonce = form.values.get("nonce")
    if nonce is not None:
        form.length("nonce", len(str(nonce)), 0, limits.MAX_NONCE_CHARS)
    flags = form.integer("flags", 0, 1 << 31, default=0) or 0
    if flags & NOT_SIMULATED_FLAGS:
        form.wrong("flags", "NOT_SIMULATED", "This simulator knows no components v2 and no voice messages.")
    embeds, components, allowed = read_embeds(form), read_rows(form), read_allowed(form)
    keep, uploads = _attachments(form, body)
    collected.refuse_if_any()
    return Draft(
        content=None if content is None else cleaned(content),
        embeds=embeds,
        components=components,
        keep=keep,
        uploads=uploads,
        allowed=allowed,
        nonce=nonce,
        enforce_nonce=form.values.get("enforce_nonce") is True,
        flags=flags & SETTABLE_FLAGS,
        reference=form.values.get("message_reference"),
        clears_content="content" in form.values and content is None,
    )


def cleaned(content: str) -> str:
    """Content as the platform keeps it: no surrounding blanks, no NUL."""
    return content.replace("\0", "").strip()


def _attachments(form: Form, body: Body) -> tuple[list[Json] | None, list[tuple[Upload, str | None]]]:
    """Attachments that stay, and new files with their descriptions."""
    if len(body.files) > limits.MAX_FILES:
        raise ApiError(400, 30015, f"Maximum number of attachments in a message reached ({limits.MAX_FILES})")
    if any(len(upload.content) > limits.MAX_FILE_BYTES for upload in body.files.values()):
        raise too_large()
    listed = form.forms("attachments", limits.MAX_FILES)
    described: dict[int, str | None] = {}
    keep: list[Json] = []
    for entry in listed or []:
        description = entry.text("description", limits.MAX_ATTACHMENT_DESCRIPTION_CHARS)
        number = entry.snowflake("id", required=True)
        if number in body.files:
            described[number] = description
        else:
            keep.append({"id": number, "description": description, "path": entry.path})
    uploads = [(upload, described.get(n)) for n, upload in sorted(body.files.items())]
    return (None if listed is None else keep), uploads


def check_says_something(draft: Draft) -> None:
    """Raises ``ApiError`` 50006 for an empty message, 50035 for attachments that were not uploaded."""
    if draft.keep:
        path = draft.keep[0]["path"]
        raise invalid(path, "ATTACHMENT_NOT_FOUND", "Uploaded attachment not found")
    if draft.says_nothing:
        raise empty_message()
