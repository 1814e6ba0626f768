"""What a command's input makes of it."""

from collections.abc import Sequence

from core.safety.shell import names
from core.safety.shell.findings import Finding, high
from core.safety.shell.parsed import Redirect, SimpleCommand
from core.safety.shell.patterns import program_of
from core.safety.shell.surroundings import is_silent
from core.safety.shell.words import Args, Word

SPEAK = frozenset({"echo", "printf"})
"""They print their arguments."""
_READERS = names.DATABASES | {"tee", "sponge", "openssl"}


def fed(command: SimpleCommand, redirects: tuple[Redirect, ...]) -> Finding | None:
    """What a command's input makes of it, where that matters: statements for a database, nothing for tee."""
    program = program_of(command.words[0]) if command.words else None
    if program is None or program not in _READERS:
        return None
    files = [one.target for one in redirects if one.operator == "<" and one.words == command.words]
    if program in names.DATABASES:
        unseen = command.fed_by is not None and not (
            command.fed_by and command.fed_by[0].text in SPEAK and all(word.known for word in command.fed_by)
        )
        return high("runs statements that can't be seen") if unseen or files else None
    if program == "openssl":
        away = "s_client" in Args(command.words).texts and (command.fed_by is not None or files)
        return high("sends what it is given away") if away and not _nothing(files) else None
    silent = command.fed_by is not None and command.fed_by != () and is_silent(command.fed_by)
    return high("empties a file") if _nothing(files) or silent else None


def _nothing(files: Sequence[Word | None]) -> bool:
    return any(file is not None and file.text == "/dev/null" for file in files)
