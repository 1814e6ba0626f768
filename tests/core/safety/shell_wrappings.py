"""Ways to write a command line so that it still does what it did."""

import shlex
from collections.abc import Callable, Iterable

from core.safety.shell import ShellRating, rate_command_line


def rank(rating: ShellRating) -> int:
    """0: may be granted; 1: a person every time; 2: never."""
    return 2 if rating.blocked else int(rating.high)


def around(line: str) -> list[str]:
    """The line as it is, in surroundings that run it: nothing may hide there."""
    quoted = shlex.quote(line)
    return [
        f"sh -c {quoted}",
        f"bash -lc {quoted}",
        f"bash -o pipefail -c {quoted}",
        f"timeout 5 sh -c {quoted}",
        f"env -i FOO=1 sh -c {quoted}",
        f"env -S sh\\ -c {quoted}",
        f"nohup nice -n 5 sh -c {quoted}",
        f"xargs -I{{}} sh -c {quoted}",
        f"find . -exec sh -c {quoted} \\;",
        f"eval {quoted}",
        f"trap {quoted} EXIT",
        f"x={quoted}; eval $x",
        f'x={quoted}; sh -c "$x"',
        f"echo {quoted} | sh",
        f"bash <<< {quoted}",
        f"true\n{line}",
        f"( {line}\n)",
        f"{{ {line}\n}}",
        f"if true; then\n{line}\nfi",
        f"for i in 1; do\n{line}\ndone",
        f"case a in a) {line}\n;; esac",
        f"f() {{\n{line}\n}}; f",
        f"true && {{ {line}\n}}",
        f"echo $({line}\n)",
        f'echo "$({line}\n)"',
        f"cat <({line}\n)",
        f"x=$({line}\n)",
        f"[[ -n $({line}\n) ]]",
    ]


def before(line: str) -> list[str]:
    """A simple command behind other programs' names, and written in other ways."""
    first, _, rest = line.partition(" ")
    return [
        f"env {line}",
        f"env -u FOO BAR=1 {line}",
        f"env --unknown {line}",
        f"nohup {line}",
        f"nice -n 5 {line}",
        f"time -p {line}",
        f"timeout -k 1 5 {line}",
        f"stdbuf -o0 {line}",
        f"setsid -f {line}",
        f"command {line}",
        f"exec {line}",
        f"sudo -u root {line}",
        f"busybox {line}",
        f"strace -f -o log {line}",
        f"FOO=1 {line}",
        f"! {line}",
        f"> log {line}",
        f"2>&1 {line}",
        f"true; {line}",
        f"true && {line}",
        f"false || {line}",
        f"true & {line}",
        f"true | {line}",
        f"{line} | cat",
        f"{line} &",
        f"{line} # as usual",
        f"\\{line}",
        f"'{first}' {rest}",
        f'"{first}" {rest}',
        f"{first[0]}''{first[1:]} {rest}",
        f"{first[0]}\\\n{first[1:]} {rest}",
        f"/usr/bin/{line}",
        f"{first}\t\\\n {rest}",
        f"echo $({line})",
        f'echo "a $({line}) b"',
    ]


def look_lower(lines: Iterable[str], wrappings: Callable[[str], list[str]]) -> list[str]:
    """Wrapped lines that are rated lower than what they wrap."""
    least = [(line, rank(rate_command_line(line))) for line in lines]
    return [
        wrapped
        for line, bare in least
        for wrapped in wrappings(line)
        if rank(rate_command_line(wrapped)) < bare
    ]
