"""What program a command names, and what an "always" for it would cover."""

import re
import shlex

from core.safety.shell import names
from core.safety.shell.findings import Level
from core.safety.shell.parsed import ParsedLine
from core.safety.shell.surroundings import leaves_no_trace
from core.safety.shell.words import Args, Word

_VERSION = re.compile(r"^(python|pypy|perl|ruby|lua|luajit|php|node|tclsh|julia|guile|pip)[\d.]+$")


def program_of(name: Word) -> str | None:
    """The program a command's first word names, without directory and version; None: not known."""
    if not name.plain or not name.text.strip():
        return None
    program = name.text.rpartition("/")[2]
    versioned = _VERSION.match(program)
    return versioned.group(1) if versioned else program


def pattern_of(parsed: ParsedLine, level: Level) -> str | None:
    """What an "always" for a line of this level would cover; None: nothing can."""
    if not parsed.alone or parsed.problems or not all(map(leaves_no_trace, parsed.redirects)):
        return None
    words = parsed.commands[0].words
    program = program_of(words[0]) if words else None
    if program is None:
        return None
    if (
        level is Level.READS
        and all(word.known for word in words)
        and "/" not in words[0].text
        and program in names.READ_ONLY
    ):
        return program
    args = Args(words[1:])
    if level <= Level.CHANGES and words[0].text in names.SUBCOMMANDS and words[1:2]:
        subcommand = words[1]
        if subcommand.plain and args.words and subcommand.text in names.SUBCOMMANDS[words[0].text]:
            return f"{words[0].text} {subcommand.text}"
    return shlex.join(word.text for word in words) if all(word.plain for word in words) else None
