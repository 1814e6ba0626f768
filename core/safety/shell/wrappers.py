"""Programs that run another program: what they run, in the end, is what is rated."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from core.safety.shell.names import SHELLS
from core.safety.shell.words import Args, Word

UNSEEN = Word("$unseen", known=False, spread=True)
"""Arguments that arrive from elsewhere, as with xargs."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own words end: `values` are its options that take the next word, `flags` those
    that take none, `skip` the positionals before the command. `assigns`: it takes `NAME=value`; `feeds`: it
    adds arguments from elsewhere; `anywhere`: any of its words may begin the command."""

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    feeds: bool = False
    anywhere: bool = False


def _wrapper(values: str = "", flags: str = "", skip: int = 0, **more: bool) -> Wrapper:
    return Wrapper(frozenset(values.split()), frozenset(flags.split()), skip, **more)


_PLAIN = _wrapper()
WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir", "-i - -0 --ignore-environment --null -v --debug", assigns=True),
    "sudo": _wrapper(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group", "-n -E -H -i -s -b -k -A -S", assigns=True
    ),
    "doas": _wrapper("-u -C", "-n -s"),
    "pkexec": _wrapper("--user"),
    "runuser": _wrapper("-u -g -G", "-l -m -p"),
    "gosu": _wrapper(skip=1),
    "su-exec": _wrapper(skip=1),
    "nohup": _PLAIN,
    "setsid": _wrapper("", "-c -f -w --ctty --fork --wait"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p -P --class --classdata", "-t"),
    "chrt": _wrapper("", "-b -f -i -o -r -a -v", skip=1),
    "taskset": _wrapper("", "-a -c", skip=1),
    "timeout": _wrapper("-k -s --kill-after --signal", "--foreground --preserve-status -v --verbose", skip=1),
    "time": _wrapper("-o -f --output --format", "-p -a -v -q --append --verbose", assigns=True),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "command": _wrapper("", "-p"),
    "builtin": _PLAIN,
    "exec": _wrapper("-a", "-c -l"),
    "coproc": _wrapper(assigns=True),
    "busybox": _PLAIN,
    "toybox": _PLAIN,
    "chroot": _wrapper("", "", skip=1),
    "unshare": _wrapper("", "-m -u -i -n -p -U -C -f -r"),
    "nsenter": _wrapper("-t -S -G", "-a -m -u -i -n -p -U -C"),
    "strace": _wrapper("-o -e -p -s -a -u -E -O -S -P -I -b -X", "-f -ff -c -C -d -D -q -r -t -tt -T -v -y"),
    "ltrace": _wrapper("-o -e -p -s -a -u -n -l", "-f -c -C -d -i -r -S -t -T"),
    "flock": _wrapper("-w -E --timeout", "-s -x -u -n -o -e", skip=1),
    "watch": _wrapper("-n --interval", "-d -t -b -e -g -c -x"),
    "parallel": _wrapper("-j --jobs -a --arg-file", "-k --keep-order --dry-run", feeds=True),
    "xargs": _wrapper(
        "-I -n -P -L -d -E -s -a --max-args --max-procs --delimiter --arg-file --replace --max-lines",
        "-0 -r -t -p -x --null --no-run-if-empty --verbose --interactive --exit",
        feeds=True,
    ),
    "caffeinate": _wrapper("-t -w", "-d -i -m -s -u"),
    "unbuffer": _PLAIN,
    "fakeroot": _wrapper("", "--"),
    "proxychains": _wrapper("-f", "-q"),
    "systemd-run": _wrapper("-p -u", "--user --scope -t --pty --wait"),
    "uv": _wrapper("--with --python", "", skip=1),
    "poetry": _wrapper("", "", skip=1),
    "pipenv": _wrapper("", "", skip=1),
    "bundle": _wrapper("", "", skip=1),
    "docker": _wrapper(anywhere=True),
    "podman": _wrapper(anywhere=True),
    "kubectl": _wrapper(anywhere=True),
}
_ONLY_TO_RUN = {
    "uv": ("run",), "poetry": ("run",), "pipenv": ("run",), "bundle": ("exec",),
    "docker": ("exec", "run", "compose", "container"), "podman": ("exec", "run"), "kubectl": ("exec",),
}  # fmt: skip
_TEXT_OPTIONS: dict[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "script": ("-c", "--command"),
    "ssh": ("-o",),
}
_MOST_WORDS = 200
"""Longer commands are not looked into, but rated as if they ran something unknown."""
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


@dataclass(frozen=True, slots=True)
class Inner:
    """What a command runs: other commands, and texts that a shell will parse. A text may be unknown."""

    commands: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[Word, ...] = ()


def unwrap(program: str, args: Args) -> Inner:
    """What `program` would run with these arguments; empty if it runs nothing."""
    if program in SHELLS:
        return Inner(texts=_shell_text(args))
    if program in ("eval", "trap"):
        return Inner(texts=_spoken(args, program))
    if program in ("find", "gfind", "fd", "fdfind"):
        return Inner(commands=_find_commands(args))
    texts = _split_text(args) if program == "env" else _option_texts(program, args)
    wrapper = WRAPPERS.get(program)
    if wrapper is None or not _wraps(program, args):
        return Inner(texts=texts)
    commands = _behind(wrapper, args.words)
    if program in ("watch", "ssh"):
        texts = (*texts, *(_as_text(command) for command in commands))
    return Inner(commands, texts)


def _wraps(program: str, args: Args) -> bool:
    wanted = _ONLY_TO_RUN.get(program)
    return wanted is None or args.subcommand in wanted


def _behind(wrapper: Wrapper, words: Sequence[Word]) -> tuple[tuple[Word, ...], ...]:
    """The command behind a wrapper's own words.

    Where an option isn't known to take a value or not, every word after it may begin the command.
    """
    if len(words) > _MOST_WORDS:
        return ((UNSEEN,),)
    tail = (UNSEEN,) if wrapper.feeds else ()
    if wrapper.anywhere:
        return tuple((*words[start:], *tail) for start in range(1, len(words)))
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
            return tuple((*words[start:], *tail) for start in range(index + 1, len(words)))
        elif skip:
            index, skip = index + 1, skip - 1
        else:
            break
    return ((*words[index:], *tail),) if index < len(words) else ()


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
    options = _TEXT_OPTIONS.get(program, ())
    found: list[Word] = []
    for option in options:
        value = args.value_of(option)
        if value is not None:
            known = all(word.known for word in args.words if word.text.endswith(value))
            found.append(Word(value.partition("=")[2] if program == "ssh" else value, known=known))
    return tuple(found)


def _split_text(args: Args) -> tuple[Word, ...]:
    """`env -S text words…`: the text is split at blanks, then comes what follows."""
    for index, text in enumerate(args.texts):
        if text.startswith(("-S", "--split-string", "-vS", "-iS")):
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
