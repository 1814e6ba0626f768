"""Small pictures: screenshots with a palette, and lines of a terminal as SVG."""

import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from html import escape

from tests.pictures import CELL_WIDTH, INK, LINE_HEIGHT, MARGIN, PAPER, drawn

COLUMNS_MIN, COLUMNS_MAX = 64, 140
PALETTE = 256
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def still(screen: str, title: str) -> str:
    """Return an SVG of the lines of a terminal."""
    lines = [piece for line in screen.strip("\n").split("\n") for piece in _wrapped(line.rstrip())]
    columns = max(COLUMNS_MIN, *(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in lines))
    width, height = round(columns * CELL_WIDTH + 2 * MARGIN), len(lines) * LINE_HEIGHT + 2 * MARGIN
    box = f'viewBox="0 0 {width} {height}" width="{width}"'
    look = f"font:14px ui-monospace,Menlo,Consolas,monospace;fill:{INK};white-space:pre"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>text{{{look}}}</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>',
            drawn("\n".join(lines), columns, len(lines)),
            "</svg>",
            "",
        )
    )


def _wrapped(line: str) -> Iterator[str]:
    """Break a line without colors as a terminal does; tmux has broken those with colors."""
    if "\x1b" in line or len(line) <= COLUMNS_MAX:
        yield line
        return
    yield from (line[at : at + COLUMNS_MAX] for at in range(0, len(line), COLUMNS_MAX))


def small(png: bytes) -> bytes:
    """Return a screenshot with at most 256 colors; each stands for those that are nearly the same."""
    width, height, rows = _decoded(png)
    pixels = [row[at : at + 3] for row in rows for at in range(0, len(row), len(row) // width)]
    seen = Counter(pixels)
    used = mask = 0xFF
    nearest = dict[bytes, bytes]()
    while not nearest or len(nearest) > PALETTE:
        nearest = {}
        for color, _ in seen.most_common():
            nearest.setdefault(bytes(part & mask for part in color), color)
        used, mask = mask, mask << 1 & 0xFF
    palette = {color: number for number, color in enumerate(nearest.values())}
    index = {color: palette[nearest[bytes(part & used for part in color)]] for color in seen}
    lines = [index[pixel] for pixel in pixels]
    body = b"".join(b"\0" + bytes(lines[at : at + width]) for at in range(0, len(lines), width))
    return b"".join(
        (
            SIGNATURE,
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", b"".join(palette)),
            _chunk(b"IDAT", zlib.compress(body, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _decoded(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of a picture as browsers write it: 8 bits a color, not interlaced."""
    data, at = b"", len(SIGNATURE)
    width = height = depth = 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, color = struct.unpack(">IIBB", body[:10])
            assert bits == 8, "not a screenshot"
            depth = {2: 3, 6: 4}[color]
        elif kind == b"IDAT":
            data += body
        at += length + 12
    data = zlib.decompress(data)
    rows, above = list[bytes](), bytes(width * depth)
    for start in range(0, len(data), width * depth + 1):
        above = _unfiltered(data[start], bytearray(data[start + 1 : start + 1 + width * depth]), above, depth)
        rows.append(above)
    return width, height, rows


def _unfiltered(kind: int, row: bytearray, above: bytes, depth: int) -> bytes:
    """Undo a filter of PNG: none, left, above, their mean, or the nearest of three (Paeth)."""
    for at in range(len(row)):
        left, corner = (row[at - depth], above[at - depth]) if at >= depth else (0, 0)
        guesses = (0, left, above[at], (left + above[at]) // 2)
        row[at] = (row[at] + (_paeth(left, above[at], corner) if kind == 4 else guesses[kind])) & 0xFF
    return bytes(row)


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))
