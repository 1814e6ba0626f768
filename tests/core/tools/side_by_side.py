"""Runs plain lines by us and by bash, in equal directories; runs itself under strace to see what they start.

`python -m tests.core.tools.side_by_side ROOT` reads lines as JSON, one each, from standard input, and writes
what came of each as JSON. In the trace its own calls of chdir(2) mark whose programs follow.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.errors import ToolError, ToolFailed
from core.safety.fencing import HeadAndTail
from core.safety.paths import PathGuard
from core.safety.shell.rating import judge
from core.tools.builtin.shell import Commands, shell_tool
from core.tools.child import Command, one_program
from tests.core.tools.plain_lines import lay_out, lay_out_programs
from tests.core.tools.support import Call, place

BASH = shutil.which("bash") or "/bin/bash"
PROGRAMS_ALL_SAME = "enable -n echo printf test pwd true false kill"
LIMIT_S = 60
SLOWEST_LINE_S = 10
"""On average, on a machine that does much else."""
WITH_COMPLAINT = "(mixed with a shell's complaint)"

Argv = tuple[str, ...]
_EXECVE = re.compile(
    r"(?P<pid>\d+) +execve\((?P<path>\S+), \[(?P<argv>[^]]*)\], .*?(?P<end>= 0|<unfinished|= -1)"
)
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. execve resumed>.*= 0")
_MARK = re.compile(r"\d+ +chdir\((?P<path>\"[^\"]*\")")
_COMPLAINT = re.compile(
    r"^(?:.*(?:hubbub: |bash: line \d+: )|Terminated$|Killed$|Hangup$|User defined signal 1$).*\n?",
    re.IGNORECASE | re.MULTILINE,
)
_HEX = re.compile(r"\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a line: exit status, what was printed, and the files there are then. `refused`: why we
    did
    not run it; `programs`: what was started, in order."""

    status: int
    printed: str
    files: Mapping[str, str]
    refused: str = ""
    programs: Sequence[Argv] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A line, the programs of each of its steps, and what came of it with us and with bash."""

    line: str
    steps: Sequence[Set[Argv]]
    ours: Result
    bash: Result


def side_by_side(lines: Sequence[str], root: Path) -> Iterator[Pair]:
    """Return what came of each line. `root`: an empty directory."""
    trace = root / "trace"
    traced = ("strace", "-f", "-qq", "--seccomp-bpf", "-xx", "-s", "8192", "-e", "trace=execve,chdir")
    told = subprocess.run(
        [*traced, "-o", str(trace), sys.executable, "-m", "tests.core.tools.side_by_side", str(root)],
        input="".join(json.dumps(line) + "\n" for line in lines),
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S + SLOWEST_LINE_S * len(lines),
        check=True,
    ).stdout
    started = _started(trace.read_text())
    for number, answer in enumerate(map(json.loads, told.splitlines())):
        ours, bashs = (
            Result(**answer[who], programs=started.get((number, who), [])) for who in ("ours", "bash")
        )
        steps = [{tuple(argv) for argv in step} for step in answer["steps"]]
        yield Pair(answer["line"], steps, ours, bashs)


def _started(trace: str) -> dict[tuple[int, str], list[Argv]]:
    """The programs by line and side, without what runs them: bash itself, and our leader."""
    found: dict[tuple[int, str], list[Argv]] = {}
    side: list[Argv] = []
    begun: dict[str, Argv] = {}
    for line in trace.splitlines():
        if mark := _MARK.match(line):
            _, kind, *rest = [*_text(mark["path"]).split("/"), "", ""]
            if kind == "mark":
                side = found.setdefault((int(rest[0]), rest[1]), [])
        elif call := _EXECVE.match(line):
            argv = tuple(map(_text, call["argv"].split(", ")))
            if call["end"] == "<unfinished":
                begun[call["pid"]] = argv
            elif call["end"] == "= 0":
                side.append(argv)
        elif (call := _RESUMED.match(line)) and call["pid"] in begun:
            side.append(begun.pop(call["pid"]))
    return {place: [argv for argv in found[place] if not _is_ours(argv)] for place in found}


def _is_ours(argv: Argv) -> bool:
    return argv[0] == BASH or argv[1:3] == ("-I", "-S")


def _text(shown: str) -> str:
    """A string as strace writes it, all of it as numbers."""
    return bytes(int(number, 16) for number in _HEX.findall(shown)).decode("utf-8", "surrogateescape")


# --- under strace ---------------------------------------------------------------------------------------


class Sides:
    """Two directories that are laid out anew for each line.

    `commands`: where both sides run in place of this machine, with the programs of the search path; `owner`:
    the user and group of the files there."""

    def __init__(
        self, root: Path, commands: Commands | None = None, owner: tuple[int, int] | None = None
    ) -> None:
        self._commands, self._owner = commands, owner
        self._template, self._directories = (
            root / "template",
            {"ours": root / "side1", "bash": root / "side2"},
        )
        self._template.mkdir()
        lay_out(self._template)
        lay_out_programs(root / "bin")
        path = f"{root / 'bin'}:{os.defpath}"
        self._environment = {"PATH": path, "LC_ALL": "C", "HOME": str(root)}
        for directory in self._directories.values():
            directory.mkdir()

    async def pair(self, number: int, line: str) -> Pair:
        """One line, on both sides; what was started is not known."""
        answer = await self.run(number, line)
        steps = [{tuple(argv) for argv in step} for step in answer["steps"]]
        return Pair(line, steps, Result(**answer["ours"]), Result(**answer["bash"]))

    async def run(self, number: int, line: str) -> dict[str, Any]:
        """One line, on both sides."""
        return {
            "line": line,
            "steps": self._steps(line),
            "ours": await self._side(number, "ours", line),
            "bash": await self._side(number, "bash", line),
        }

    def _steps(self, line: str) -> list[list[Argv]]:
        try:
            plan = judge(line, PathGuard(self._template)).plan
        except ToolError:
            plan = None
        steps = () if plan is None else plan.steps
        return [[program.argv for program in step.programs] for step in steps]

    async def _side(self, number: int, who: str, line: str) -> dict[str, Any]:
        directory = self._directories[who]
        self._lay_out(directory)
        with contextlib.suppress(FileNotFoundError):
            os.chdir(f"/mark/{number}/{who}")
        refused = ""
        if who == "bash":
            status, printed = await self._bash(f"bash-{number}", line, directory)
        else:
            try:
                status, printed = await self._ours(f"call-{number}", line, directory)
            except ToolError as error:
                status, printed, refused = 1, "", str(error) or "refused"
        return {
            "status": status,
            "printed": _printed(printed, directory, mixed="|" in line.replace("||", "")),
            "files": dict(_files(directory)),
            "refused": refused,
        }

    def _lay_out(self, directory: Path) -> None:
        """Make a directory anew. It stays the same one: a container may wait that has it mounted."""
        for path in directory.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        shutil.copytree(self._template, directory, symlinks=True, dirs_exist_ok=True)
        if self._owner is not None:
            for path in (directory, *directory.rglob("*")):
                os.chown(path, *self._owner, follow_symlinks=False)

    def _call(self, call_id: str, directory: Path) -> Call:
        workspace = replace(place(directory), owner=self._owner)
        return Call(workspace=workspace, idempotency_key=call_id, deadline_s=LIMIT_S)

    async def _bash(self, call_id: str, line: str, directory: Path) -> tuple[int, str]:
        script = f"{PROGRAMS_ALL_SAME}\n{line}"
        if self._commands is not None:
            output, plan = HeadAndTail(1 << 16), one_program("/bin/bash", "-c", script)
            command = Command(plan, str(directory), self._commands.environment)
            code = await self._commands.carry_out(command, self._call(call_id, directory), output, LIMIT_S)
            return code, output.text()
        return self._bash_here(script, directory)

    def _bash_here(self, script: str, directory: Path) -> tuple[int, str]:
        done = subprocess.run(
            [BASH, "-c", script],
            cwd=directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
        status = 128 - done.returncode if done.returncode < 0 else done.returncode
        return status, done.stdout.decode("utf-8", "replace")

    async def _ours(self, call_id: str, line: str, directory: Path) -> tuple[int, str]:
        shell = shell_tool(self._environment, commands=self._commands)
        assert shell.plan is not None
        planned = shell.plan(shell.validate({"command": line}), place(directory))
        if planned.risk.needs[0].exactly:
            raise ToolFailed(f"not plain: {planned.risk.reason}")
        said = await planned.run(self._call(call_id, directory))
        first, _, printed = said.partition("\n")
        return int(first.removeprefix("exit code: ")), printed


def _printed(text: str, directory: Path, *, mixed: bool) -> str:
    """Return what can be compared of it: what programs of a pipeline write is mixed letter by letter."""
    if not mixed:
        return _alike(text, directory)
    return WITH_COMPLAINT if _COMPLAINT.search(text) else "".join(sorted(_alike(text, directory)))


def _alike(text: str, directory: Path) -> str:
    """Return what is printed, without what must differ: where it ran, and a shell's own complaints."""
    text = re.sub(re.escape(str(directory)), "/workspace", text, flags=re.IGNORECASE).replace("./-", "-")
    return _COMPLAINT.sub("", text)


def _files(directory: Path) -> Iterator[tuple[str, str]]:
    """All there is, with contents, targets of links, and who may do what."""
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            yield name, f"-> {os.readlink(path)}"
        elif path.is_dir():
            yield name, "directory"
        else:
            text = _alike(path.read_bytes().decode("utf-8", "replace"), directory)
            yield name, f"{path.stat().st_mode:o} {text}"


async def _main(root: Path) -> None:
    sides = Sides(root)
    for number, line in enumerate(map(json.loads, sys.stdin)):
        print(json.dumps(await sides.run(number, line)), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, bash would go on ignoring it; we don't
    asyncio.run(_main(Path(sys.argv[1])))
