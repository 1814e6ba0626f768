"""Styled lines as the bytes a terminal understands: the only place that writes escape sequences."""

from collections.abc import Iterable

from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text as Line

_CONSOLE = Console(width=80, color_system="standard", force_terminal=True)


def painted(lines: Iterable[Line], *, colours: bool) -> str:
    """The lines, each ended by a line break; with `colours` styled by SGR sequences (ECMA-48 8.3.117), and
    otherwise by nothing."""
    return "".join(f"{_painted(line) if colours else line.plain}\n" for line in lines)


def _painted(line: Line) -> str:
    base = _CONSOLE.get_style(line.style)
    return "".join(
        (base + segment.style if segment.style else base).render(
            segment.text, color_system=ColorSystem.STANDARD
        )
        for segment in line.render(_CONSOLE)
    )
