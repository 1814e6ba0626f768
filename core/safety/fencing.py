"""Text from outside, marked as such for a model: it is to be read, never to be obeyed.

The mark is a block `<tool_output name="…"> … </tool_output>`. Whatever inside the text looks like the
block's own tags is broken with a zero-width space, so that a text can't end its block early or open
another; `unfence` gives the text back as it was.
"""

import re

_ZERO_WIDTH_SPACE = "\u200b"
_TAG_LOOKALIKE = re.compile(
    r"([<\uff1c\ufe64\u2039])(?=[\s/\\\u200b\uff0f]*tool[\s_-]*output)", re.IGNORECASE
)
_FENCED = re.compile(r'<tool_output name="[^"\n]*">\n(.*)\n</tool_output>', re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_TERMINAL_SEQUENCE = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\\\)|[@-Z\\\\^_=>78c])"
)


def fence_tool_output(tool: str, text: str) -> str:
    """The block around what a tool returned."""
    return f'<tool_output name="{_attribute(tool)}">\n{_broken(text)}\n</tool_output>'


def unfence(text: str) -> str:
    """What `fence_tool_output` was given; any other text unchanged."""
    fenced = _FENCED.fullmatch(text)
    return _mended(fenced.group(1)) if fenced else text


def sanitise(text: str) -> str:
    """The text without what no reader wants: colours and other terminal sequences, NUL and control
    characters, lone surrogates, overrides of the writing direction. Tabs and line ends stay."""
    text = _CONTROL.sub("", _TERMINAL_SEQUENCE.sub("", text.replace("\r\n", "\n")))
    return text.replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")


def _broken(text: str) -> str:
    return _TAG_LOOKALIKE.sub(rf"\1{_ZERO_WIDTH_SPACE}", text)


def _mended(text: str) -> str:
    return re.sub(
        rf"([<\uff1c\ufe64\u2039]){_ZERO_WIDTH_SPACE}(?=[\s/\\\u200b\uff0f]*tool[\s_-]*output)",
        r"\1",
        text,
        flags=re.IGNORECASE,
    )


def _attribute(name: str) -> str:
    escaped = name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(escaped.split())
