"""parse_mode: HTML, MarkdownV2 and Markdown, by https://core.telegram.org/bots/api#formatting-options."""

from typing import Any

from tests.simulators.telegram.formatting_html import parse_html
from tests.simulators.telegram.formatting_markdown import parse_markdown, parse_markdown_v2

Entity = dict[str, Any]
_PARSERS = {"html": parse_html, "markdown": parse_markdown, "markdownv2": parse_markdown_v2}


def parse_formatted(text: str, parse_mode: str) -> tuple[str, list[Entity]]:
    """Plain text and entities. Raises ``ValueError`` in the platform's words."""
    parser = _PARSERS.get(parse_mode.lower())
    if parser is None:
        raise ValueError("unsupported parse_mode")
    return parser(text)
