"""Embeds of a message: https://docs.discord.com/developers/resources/message#embed-object-embed-limits."""

from typing import Any

from tests.simulators.discord import limits
from tests.simulators.discord.forms import Form

Json = dict[str, Any]


def read_embeds(form: Form) -> list[Json] | None:
    """The embeds as the platform keeps them; None if the body names none."""
    found = form.forms("embeds", limits.MAX_EMBEDS)
    if found is None:
        return None
    read = [_embed(embed) for embed in found]
    if sum(size for _, size in read) > limits.MAX_EMBEDS_CHARS:
        message = f"Embed size exceeds maximum size of {limits.MAX_EMBEDS_CHARS}"
        form.wrong("embeds", "MAX_EMBED_SIZE_EXCEEDED", message)
    return [embed for embed, _ in read]


def _embed(form: Form) -> tuple[Json, int]:
    """One embed and the characters that count."""
    texts = [
        form.text("title", limits.MAX_EMBED_TITLE_CHARS),
        form.text("description", limits.MAX_EMBED_DESCRIPTION_CHARS),
    ]
    if (footer := form.form("footer")) is not None:
        texts.append(footer.text("text", limits.MAX_EMBED_FOOTER_CHARS, least=1, required=True))
    if (author := form.form("author")) is not None:
        texts.append(author.text("name", limits.MAX_EMBED_AUTHOR_CHARS, least=1, required=True))
    for field in form.forms("fields", limits.MAX_EMBED_FIELDS) or []:
        texts.append(field.text("name", limits.MAX_EMBED_FIELD_NAME_CHARS, least=1, required=True))
        texts.append(field.text("value", limits.MAX_EMBED_FIELD_VALUE_CHARS, least=1, required=True))
    pictures = any(form.values.get(name) for name in ("image", "thumbnail"))
    if not any(texts) and not pictures:
        form.wrong("description", "BASE_TYPE_REQUIRED", "This field is required")
    return form.values | {"type": "rich"}, sum(len(text) for text in texts if text)
