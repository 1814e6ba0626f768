"""What a command's input makes of it."""

from collections.abc import Mapping, Sequence, Set

from core.safety.shell import names
from core.safety.shell.findings import Finding, high
from core.safety.shell.parsed import Redirect, SimpleCommand
from core.safety.shell.patterns import program_of
from core.safety.shell.surroundings import is_silent
from core.safety.shell.words import Args, Word

Inputs = Mapping[tuple[Word, ...], Set[str]]
"""Files that commands read from, by the commands' words."""

SPEAK = frozenset({"echo", "printf"})
"""They print their arguments."""
_NOTHING = "/dev/null"
_READERS = names.DATABASES | {"tee", "sponge", "openssl"}


def inputs_of(redirects: Sequence[Redirect]) -> Inputs:
    """Found once for a line: it may hold any number of commands and of redirects."""
    found: dict[tuple[Word, ...], set[str]] = {}
    for one in redirects:
        if one.operator == "<" and one.words and one.target is not None:
            found.setdefault(one.words, set()).add(one.target.text)
    return found


def fed(command: SimpleCommand, inputs: Inputs) -> Finding | None:
    """What a command's input makes of it, where that matters: statements for a database, nothing for tee."""
    program = program_of(command.words[0]) if command.words else None
    if program is None or program not in _READERS:
        return None
    files = inputs.get(command.words, frozenset())
    if program in names.DATABASES:
        unseen = command.fed_by is not None and not (
            command.fed_by and command.fed_by[0].text in SPEAK and all(word.known for word in command.fed_by)
        )
        return high("runs statements that can't be seen") if unseen or files else None
    if program == "openssl":
        away = "s_client" in Args(command.words).texts and (command.fed_by is not None or files)
        return high("sends what it is given away") if away and _NOTHING not in files else None
    silent = command.fed_by is not None and command.fed_by != () and is_silent(command.fed_by)
    return high("empties a file") if _NOTHING in files or silent else None
