"""Which files a command plainly runs: those whose contents count as much as its own words."""

from collections.abc import Sequence

from core.safety.shell import names
from core.safety.shell.paths import normal
from core.safety.shell.words import Args

_NAMED_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "sed", "gsed"), ("-f", "--file")),
    **dict.fromkeys(("make", "gmake"), ("-f", "--file", "--makefile")),
    "just": ("-f", "--justfile"),
    "java": ("-jar",),
}
"""Options that name a file to be run."""
_FOUND_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("package.json",)),
    "just": ("justfile", "Justfile", ".justfile"),
}
"""What programs look for by themselves, where the command is run."""
_SUBCOMMANDS: dict[str, tuple[str, ...]] = {
    "go": ("run",), "uv": ("run",), "deno": ("run", "test"), "bun": ("run",), "poetry": ("run",),
    "pipenv": ("run",),
}  # fmt: skip
"""Behind these comes what is run."""
_FIRST_IS_RUN = frozenset({"source", ".", "expect", "wish", "ansible-playbook"})


def files_run(program: str, written: str, args: Args) -> Sequence[str]:
    """Paths in one form. `written`: the program as the command names it.

    Where a word may be an option's value, the next one is taken, too: too many do no harm.
    """
    found = [written] if "/" in written else []
    found += _FOUND_BY.get(program, ())
    if (named := args.value_of(*_NAMED_BY.get(program, ()))) is not None:
        found.append(named)
    if args.subcommand and args.subcommand in _SUBCOMMANDS.get(program, ()):
        found += _first(args.texts[args.texts.index(args.subcommand) + 1 :])
    elif program in names.SHELLS or program in names.INTERPRETERS or program in _FIRST_IS_RUN:
        found += _first(args.texts)
    return [normal(path) for path in found if path]


def _first(texts: Sequence[str]) -> list[str]:
    """The first that is no option, and those up to the first that can't be an option's value."""
    found: list[str] = []
    before = ""
    for text in texts:
        if not text.startswith("-"):
            found.append(text)
            if not before.startswith("-") or before == "--":
                break
        before = text
    return found
