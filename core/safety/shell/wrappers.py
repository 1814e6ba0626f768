"""Programs that run another program: what they run, in the end, is what is rated."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from core.safety.shell.names import INTERPRETERS, SHELLS
from core.safety.shell.runners import FINDERS, ONLY_TO_RUN, TERMINALS, TEXT_OPTIONS, WRAPPERS, Wrapper
from core.safety.shell.unknown import is_known, may_matter, suspects
from core.safety.shell.words import Args, Word

UNSEEN = Word("$unseen", known=False, spread=True)
"""Arguments that arrive from elsewhere, as with xargs."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


_SCRIPT = re.compile(r"(?:^|/)(?:artisan|rails|rake|console|[\w-]+\.(?:py|php|rb|js|mjs|cjs|pl))$")
_CLUSTERED = ("script", "su", "runuser")
_LOOK_AT = 4
"""What a program is to do is looked for among so many positionals: options before it may take values."""
_MOST_STARTS = 12
"""Commands in which more words look like programs are not looked into, but rated as if they ran something
unknown: so the time stays in proportion to the words."""
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


@dataclass(frozen=True, slots=True)
class Inner:
    """What a command runs: other commands, and texts that a shell will parse. A text may be unknown.

    `guessed`: nobody knows that it runs them.
    """

    commands: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[Word, ...] = ()
    guessed: bool = False


def unwrap(program: str, args: Args) -> Inner:
    """What `program` would run with these arguments; empty if it runs nothing."""
    if program in FINDERS:
        return Inner(commands=_find_commands(args))
    if program in ("python", "pypy") and "-m" in args.texts:
        return Inner((args.words[args.texts.index("-m") + 1 :],))  # a module is named like its program
    script = _script(args) if program in INTERPRETERS else None
    if script is not None:
        return Inner((args.words[script:],))
    if program == "command" and args.texts[:1] in (("-v",), ("-V",)):
        return Inner()  # it only tells what would be run
    texts, wrapper = _texts(program, args), WRAPPERS.get(program)
    if not texts and wrapper is None and not is_known(program):
        return Inner(*suspects(args.words), guessed=True)
    if wrapper is None or not _wraps(program, args):
        return Inner(texts=texts)
    commands = _behind(wrapper, args.words)
    if program in ("watch", "ssh"):
        texts = (*texts, *(_as_text(command) for command in commands))
    return Inner(commands, texts)


def _script(args: Args) -> int | None:
    """Where the words of a script begin that is known by its name: `php artisan db:wipe`."""
    for index, text in enumerate(args.texts[:_LOOK_AT]):
        if text in ("-", "--") or (text.startswith("-") and not text[1:2].isupper()):
            continue
        if _SCRIPT.search(text):
            return index
    return None


def _texts(program: str, args: Args) -> tuple[Word, ...]:
    """What a shell will parse of a program's words."""
    if program in SHELLS:
        return _shell_text(args)
    if program in ("eval", "trap"):
        return _spoken(args, program)
    if program in ("make", "gmake"):
        return _variables(args)
    if program == "env":
        return _split_text(args)
    if program in TERMINALS:
        return tuple(word for word in args.words if " " in word.text)
    return _option_texts(program, args)


def _wraps(program: str, args: Args) -> bool:
    wanted = ONLY_TO_RUN.get(program)
    return wanted is None or any(text in wanted for text in args.positionals[:_LOOK_AT])


def _behind(wrapper: Wrapper, words: Sequence[Word]) -> tuple[tuple[Word, ...], ...]:
    """The command behind a wrapper's own words.

    Where an option isn't known to take a value or not, every word after it may begin the command.
    """
    tail = (UNSEEN,) if wrapper.feeds else ()
    if wrapper.anywhere:
        return _tails(words, wrapper.skip, tail)
    index, skip = 0, wrapper.skip
    while index < len(words):
        text = words[index].text
        if text == "--":
            index += 1 + skip
            break
        if text in wrapper.values:
            index += 2
        elif text in wrapper.flags or _carries_value(text, wrapper) or _assigns(text, wrapper):
            index += 1
        elif text.startswith("-") and len(text) > 1:
            return _tails(words, index + 1, tail)
        elif skip:
            index, skip = index + 1, skip - 1
        else:
            break
    return ((*words[index:], *tail),) if index < len(words) else ()


def _tails(words: Sequence[Word], first: int, tail: tuple[Word, ...]) -> tuple[tuple[Word, ...], ...]:
    """The commands that may begin at a word that matters as a program's name, or can't be known."""
    starts = [at for at in range(first, len(words)) if may_matter(words[at])]
    if len(starts) > _MOST_STARTS:
        return ((UNSEEN,),)
    return tuple((*words[at:], *tail) for at in starts)


def _assigns(text: str, wrapper: Wrapper) -> bool:
    return wrapper.assigns and _ASSIGNMENT.match(text) is not None


def _carries_value(text: str, wrapper: Wrapper) -> bool:
    """`--opt=x`, `-n5`, and clusters of known flags."""
    if text.startswith("--"):
        return "=" in text
    if len(text) < 3 or text[0] != "-":
        return False
    return text[:2] in wrapper.values or all(f"-{c}" in wrapper.flags or c.isdigit() for c in text[1:])


def _shell_text(args: Args) -> tuple[Word, ...]:
    """The text after `-c`; options may be clustered (`-lc`), and others may stand in between."""
    for index, text in enumerate(args.texts):
        if text.startswith("-") and not text.startswith("--") and "c" in text[1:]:
            rest = [word for word in args.words[index + 1 :] if not word.text.startswith("-")]
            return tuple(rest[:2])
        if not text.startswith(("-", "+")) and (
            index == 0 or args.texts[index - 1] not in ("-o", "-O", "+O")
        ):
            break
    return ()


def _spoken(args: Args, program: str) -> tuple[Word, ...]:
    words = [word for word in args.words if word.text != "--"]
    if program == "trap":
        return tuple(words[:1]) if len(words) > 1 else ()
    return (_as_text(words),) if words else ()


def _as_text(words: Sequence[Word]) -> Word:
    """Words joined by blanks, as eval, watch and ssh do it."""
    return Word(" ".join(word.text for word in words), known=all(word.known for word in words))


def _option_texts(program: str, args: Args) -> tuple[Word, ...]:
    options = TEXT_OPTIONS.get(program, ())
    found: list[Word] = []
    clustered = args.behind("c") if program in _CLUSTERED else None
    if clustered is not None:
        found.append(Word(clustered, known=all(word.known for word in args.words)))
    for option in options:
        value = args.value_of(option)
        if value is not None:
            known = all(word.known for word in args.words if word.text.endswith(value))
            found.append(Word(value.partition("=")[2] if program == "ssh" else value, known=known))
    return tuple(found)


def _variables(args: Args) -> tuple[Word, ...]:
    """What `make` puts into its recipes: the values it is given that are more than one word."""
    values = ((word, _ASSIGNMENT.match(word.text)) for word in args.words)
    return tuple(
        Word(word.text[match.end() :], known=word.known)
        for word, match in values
        if match is not None and " " in word.text[match.end() :]
    )


def _split_text(args: Args) -> tuple[Word, ...]:
    """`env -S text words…`: the text is split at blanks, then comes what follows."""
    for index, text in enumerate(args.texts):
        if text.startswith(("--s", "-S", "-vS", "-iS")):
            attached = text.partition("=")[2] if text.startswith("--") else text.partition("S")[2]
            rest = args.words[index + (1 if attached else 2) :]
            value = attached or (args.texts[index + 1] if index + 1 < len(args.texts) else "")
            known = all(word.known for word in args.words[index:])
            return (Word(f"{value} {shlex.join(word.text for word in rest)}", known=known),)
    return ()


def _find_commands(args: Args) -> tuple[tuple[Word, ...], ...]:
    """The commands of `-exec … ;` and its relatives (for fd: `-x`, `-X`)."""
    commands: list[tuple[Word, ...]] = []
    current: list[Word] | None = None
    for word in args.words:
        if current is not None and word.text not in (";", "+"):
            current.append(UNSEEN if word.text == "{}" else word)
            continue
        if current is not None:
            commands.append(tuple(current))
            current = None
        if word.text in _FIND_RUNS or word.text in ("-x", "-X", "--exec", "--exec-batch"):
            current = []
    if current:
        commands.append(tuple(current))
    return tuple(command for command in commands if command)
