"""parse_mode: HTML, MarkdownV2 and Markdown, by https://core.telegram.org/bots/api#formatting-options."""

from typing import Any

Entity = dict[str, Any]


def parse_formatted(text: str, parse_mode: str) -> tuple[str, list[Entity]]:
    """Plain text and entities. Raises ``ValueError`` in the platform's words."""
    raise ValueError("unsupported parse_mode")
