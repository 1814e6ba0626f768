"""The tables of command lines that were written before their author saw the rating. Read, never written."""

import re
from pathlib import Path

TABLE = Path(__file__).with_name("shell_lines_second.txt")
CLASSES = ("destructive", "disguised", "benign")
THIRD = Path(__file__).with_name("shell_lines_third.txt")
THIRD_CLASSES = ("harmful", "everyday", "harmful-known", "everyday-known")
FOURTH = Path(__file__).with_name("shell_lines_fourth.txt")
FOURTH_CLASSES = (*THIRD_CLASSES, "asked")
FIFTH = Path(__file__).with_name("shell_lines_fifth.txt")
FIFTH_CLASSES = ("harmful", "everyday", "unattended")
SIXTH = Path(__file__).with_name("shell_lines_sixth.txt")
SIXTH_CLASSES = ("harmful", "everyday")
_ESCAPE = re.compile(r"\\([nt\\])")
_MEANS = {"n": "\n", "t": "\t", "\\": "\\"}


def read_table(table: Path = TABLE, classes: tuple[str, ...] = CLASSES) -> dict[str, tuple[str, ...]]:
    """The lines of each class, in the table's order."""
    found: dict[str, list[str]] = {name: [] for name in classes}
    for row in table.read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            name, _, written = row.partition("\t")
            found[name].append(_ESCAPE.sub(lambda match: _MEANS[match[1]], written))
    return {name: tuple(lines) for name, lines in found.items()}
