"""The rich_text block: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block."""

from tests.simulators.slack.shapes import (
    Check,
    array,
    boolean,
    by_type,
    may,
    need,
    number,
    shape,
    string,
)

_TYPE = need(string())
_STYLE = may(
    shape(
        bold=may(boolean),
        italic=may(boolean),
        strike=may(boolean),
        code=may(boolean),
        underline=may(boolean),
        highlight=may(boolean),
        client_highlight=may(boolean),
        unlink=may(boolean),
    )
)
_INLINE: dict[str, Check] = {
    "text": shape(type=_TYPE, text=need(string(least=1)), style=_STYLE),
    "link": shape(
        type=_TYPE, url=need(string(least=1)), text=may(string()), unsafe=may(boolean), style=_STYLE
    ),
    "user": shape(type=_TYPE, user_id=need(string(least=1)), style=_STYLE),
    "channel": shape(type=_TYPE, channel_id=need(string(least=1)), style=_STYLE),
    "usergroup": shape(type=_TYPE, usergroup_id=need(string(least=1)), style=_STYLE),
    "broadcast": shape(type=_TYPE, range=need(string(choices=("here", "channel", "everyone")))),
    "emoji": shape(
        type=_TYPE, name=need(string(least=1)), unicode=may(string()), skin_tone=may(number), style=_STYLE
    ),
    "color": shape(type=_TYPE, value=need(string(least=1))),
    "date": shape(
        type=_TYPE,
        timestamp=need(number),
        format=need(string(least=1)),
        url=may(string()),
        fallback=may(string()),
    ),
}
_ELEMENTS = need(array(by_type(_INLINE)))
_SECTION = shape(type=_TYPE, elements=_ELEMENTS)
_PARTS: dict[str, Check] = {
    "rich_text_section": _SECTION,
    "rich_text_preformatted": shape(
        type=_TYPE, elements=_ELEMENTS, border=may(number), language=may(string())
    ),
    "rich_text_quote": shape(type=_TYPE, elements=_ELEMENTS, border=may(number)),
    "rich_text_list": shape(
        type=_TYPE,
        style=need(string(choices=("bullet", "ordered"))),
        elements=need(array(by_type({"rich_text_section": _SECTION}))),
        indent=may(number),
        offset=may(number),
        border=may(number),
    ),
}
RICH_TEXT_ELEMENTS: Check = array(by_type(_PARTS), least=1)
"""The ``elements`` of a rich_text block or cell."""
