"""Plain lines as they run, under a leader of ours: what bash would do with them, and what only we do."""

import asyncio
import os
import signal
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path

import pytest

from core.consent.cards import detail_of
from core.errors import InvalidArguments, OutcomeUnknown
from core.safety.paths import PathGuard
from core.safety.shell.rating import judge
from core.tool import CallPlan, ProcessInfo
from core.tools.builtin.shell import shell_tool
from tests.core.tools.processes_support import carriers, is_alive, until
from tests.core.tools.support import Call, place
from tests.patience import PATIENCE_S

Shell = Callable[[str], Coroutine[None, None, str]]
OF_THE_C_LIBRARY = 0b11 << 31
"""Signals 32 and 33: the C library lets no program set them, so they stay as the hub was started."""


@pytest.fixture
def call(tmp_path: Path) -> Call:
    (tmp_path / "dir").mkdir()
    (tmp_path / "a.txt").write_text("alpha\n")
    return Call(workspace=place(tmp_path), idempotency_key=str(uuid.uuid4()))


def planned(call: Call, line: str, path: str = os.defpath, closed: tuple[Path, ...] = ()) -> CallPlan:
    tool = shell_tool({"PATH": path, "LC_ALL": "C"}, commands=call.commands)
    assert tool.plan is not None
    call.workspace = replace(call.workspace, closed=closed)
    return tool.plan(tool.validate({"command": line}), call.workspace)


@pytest.fixture
def sh(call: Call) -> Shell:
    async def run(line: str) -> str:
        return await planned(call, line).run(call)

    return run


def program(call: Call, name: str, body: str) -> None:
    """A script in the workspace."""
    file = call.workspace.root / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


# --- as bash does ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line,said",
    [
        ("echo 'two  words' \"x y\"", "0\ntwo  words x y\n"),
        ("false | true", "0\n"),
        ("true | false", "1\n"),
        ("false && echo no || echo yes ; echo end", "0\nyes\nend\n"),
        ("true || echo no && echo yes", "0\nyes\n"),
        ("cat a.txt | tr a-z A-Z | cat", "0\nALPHA\n"),
        ("cat nosuch 2>&1 | tr a-z A-Z", "0\nCAT: NOSUCH: NO SUCH FILE OR DIRECTORY\n"),
        ("echo new > new.txt | cat", "0\n"),
        ("cat", "0\n"),
        ("nosuch", "127\nhubbub: nosuch: command not found\n"),
        ("./a.txt", "126\nhubbub: ./a.txt: Permission denied\n"),
        ("./dir", "126\nhubbub: ./dir: Permission denied\n"),
        ("./nosuch", "127\nhubbub: ./nosuch: No such file or directory\n"),
        ("./nosuch || echo next", "0\nhubbub: ./nosuch: No such file or directory\nnext\n"),
        ("echo x > nothing/f && echo no", "1\nhubbub: nothing/f: There is no nothing/f in the workspace.\n"),
        ("echo x > dir", "1\nhubbub: dir: dir: Is a directory.\n"),
        ("cd dir && pwd", "0\n{workspace}/dir\n"),
        ("ls *.txt", "0\na.txt\n"),
    ],
)
async def test_lines_end_as_they_do_in_bash(line: str, said: str, call: Call, sh: Shell) -> None:
    assert await sh(line) == "exit code: " + said.format(workspace=call.workspace.root.resolve())


async def test_a_program_that_may_not_run_is_reported_if_there_is_no_other(
    call: Call, tmp_path_factory: pytest.TempPathFactory
) -> None:
    no, yes = (tmp_path_factory.mktemp(name) for name in ("no", "yes"))
    (no / "tool").write_text("#!/bin/sh\n")
    said = await planned(call, "tool", f"{no}:{os.defpath}").run(call)
    assert said == f"exit code: 126\nhubbub: {no}/tool: Permission denied\n"
    (yes / "tool").symlink_to("/bin/true")
    assert await planned(call, "tool", f"{no}:{yes}:{os.defpath}").run(call) == "exit code: 0\n"


async def test_a_signal_that_ends_a_program_is_reported(call: Call, sh: Shell) -> None:
    program(call, "die", "kill -s TERM $$")
    assert await sh("./die") == "exit code: 143\nhubbub: ./die: ended by signal 15 (Terminated)\n"


async def test_a_file_is_opened_when_its_program_starts(call: Call, sh: Shell, tmp_path: Path) -> None:
    assert await sh("cat a.txt > b.txt && false && echo x > a.txt ; cat b.txt > a.txt") == "exit code: 0\n"
    assert (tmp_path / "a.txt").read_text() == "alpha\n"
    assert await sh("echo more >> a.txt ; false && echo x > new") == "exit code: 1\n"
    assert (tmp_path / "a.txt").read_text() == "alpha\nmore\n"
    assert not (tmp_path / "new").exists()


async def test_redirects_count_from_left_to_right(call: Call, sh: Shell, tmp_path: Path) -> None:
    program(call, "both", "echo out; echo err >&2")
    await sh("echo longer than what takes its place > one")
    assert (
        await sh("./both > one 2>&1 ; ./both 2>&1 > two ; ./both 2> three > /dev/null")
        == "exit code: 0\nerr\n"
    )
    found = [(tmp_path / name).read_text() for name in ("one", "two", "three")]
    assert found == ["out\nerr\n", "out\n", "err\n"]


async def test_a_program_starts_with_nothing_of_ours(call: Call, sh: Shell) -> None:
    program(call, "look", "ls /proc/$$/fd; grep -E 'Sig(Ign|Blk)' /proc/self/status; env | sort")
    said = (await sh("./look")).splitlines()
    assert [line for line in said if line.isdecimal()] == ["0", "1", "10", "2"]  # 10: the script itself
    masks = [int(line.split()[1], 16) for line in said if line.startswith("Sig")]
    assert [mask & ~OF_THE_C_LIBRARY for mask in masks] == [0, 0]
    names = {line.partition("=")[0] for line in said if "=" in line} - {"PWD"}  # made by sh
    hub = {"HUBBUB_CALL", "HUBBUB_IDEMPOTENCY_KEY"}
    assert names == {"PATH", "LC_ALL", "TERM", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", *hub}


async def test_a_reader_that_exits_ends_its_writer(call: Call, sh: Shell) -> None:
    assert await sh("yes | head -n 1") == "exit code: 0\ny\n"


# --- as only we do ---------------------------------------------------------------------------------------


async def test_a_line_that_is_not_plain_runs_in_bash_as_it_is_written(call: Call) -> None:
    tool = shell_tool({"PATH": os.defpath}, commands=call.commands)
    assert tool.plan is not None
    for line, said in (
        ("echo one", "one"),
        ("(echo two)", "two"),
        ("echo $((1+2))", "3"),
        ("echo four", "four"),
    ):
        plan = tool.plan(tool.validate({"command": line}), call.workspace)
        assert await plan.run(call) == f"exit code: 0\n{said}\n"


async def test_expanded_wildcards_are_what_runs(call: Call, tmp_path: Path) -> None:
    plan = planned(call, "ls *.txt")
    (tmp_path / "b.txt").touch()
    assert await plan.run(call) == "exit code: 0\na.txt\n"


def test_a_card_names_invisible_characters_in_names_that_wildcards_match(call: Call, tmp_path: Path) -> None:
    for name in ("p\u0430y.log", "e\u0301.log"):
        (tmp_path / name).touch()
    tool = shell_tool({"PATH": os.defpath})
    assert detail_of(tool, {"command": "ls *.log"}, planned(call, "ls *.log")).split("\n") == [
        "ls *.log",
        "runs: ls 'e[U+0301].log' 'p\u0430y.log'",
        "[look-alikes: p\u0430y (U+0430 CYRILLIC SMALL LETTER A)]",
    ]


@pytest.mark.parametrize("line", ["ls *.nothing", "cd nowhere && ls", "cat nothing/*"])
def test_a_line_that_matches_nothing_is_refused_in_words(call: Call, line: str) -> None:
    with pytest.raises(InvalidArguments, match=r"Nothing|There is no"):
        planned(call, line)


def test_names_that_look_like_options_are_not_options(call: Call, tmp_path: Path) -> None:
    (tmp_path / "-rf").touch()
    plan = judge("ls *", PathGuard(tmp_path)).plan
    assert plan is not None
    assert plan.steps[0].programs[0].argv == ("ls", "./-rf", "a.txt", "dir")


async def test_a_file_replaced_by_a_link_out_is_not_written(call: Call, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").write_text("kept\n")
    call.workspace = replace(call.workspace, root=tmp_path / "work")
    plan = planned(call, "echo x > f")
    (tmp_path / "work" / "f").symlink_to(tmp_path / "outside")
    assert (await plan.run(call)).startswith("exit code: 1\nhubbub: f: ")
    assert (tmp_path / "outside").read_text() == "kept\n"


async def test_a_directory_replaced_by_a_link_out_is_not_entered(call: Call, tmp_path: Path) -> None:
    plan = planned(call, "cd dir && touch here")
    (tmp_path / "dir").rmdir()
    (tmp_path / "dir").symlink_to("/tmp")
    assert (await plan.run(call)).startswith("exit code: 1\nhubbub: cd: dir: ")
    assert not Path("/tmp/here").exists()


@pytest.mark.parametrize("line", ["cat < kept", "echo x > kept", "echo x >> kept", "ls 2> kept"])
async def test_a_redirect_does_not_open_a_closed_address(line: str, call: Call, tmp_path: Path) -> None:
    plan = planned(call, line, closed=(tmp_path / "hub.db",))
    (tmp_path / "hub.db").write_text("its own\n")
    os.link(tmp_path / "hub.db", tmp_path / "kept")
    assert await plan.run(call) == "exit code: 1\nhubbub: kept: it belongs to the hub itself\n"
    assert (tmp_path / "hub.db").read_text() == "its own\n"


async def test_no_program_of_the_workspace_replaces_another(call: Call, tmp_path: Path) -> None:
    program(call, "ls", "echo mine")
    for path in (f"{tmp_path}:{os.defpath}", f".:{os.defpath}", f":{os.defpath}", str(tmp_path)):
        assert "mine" not in await planned(call, "ls a.txt", path).run(call)
        assert "mine" not in await planned(call, "(ls a.txt)", path).run(call)


ONLY_A_SHELL = (
    "x=$ touch taken",
    "echo x \\\r\ntouch taken",
    "cat <<E\n $(touch taken)\nE",
    'echo $(( "$(touch taken)" ))',
    'a["$(touch taken)"]=1',
    "echo x >& $(touch taken)",
    "echo ${x@P}",
    "let 'a[$(touch taken)]=1'",
    "read 'a[$(touch taken)]'",
)
NAMED_LIKE_BUILTINS = (
    "printf -v 'a[\"]\"$(touch taken)]' x",
    "test -v 'a[$(touch taken)]'",
    "echo '$(touch taken)'",
)


@pytest.mark.parametrize("line", ONLY_A_SHELL)
def test_lines_only_a_shell_can_read_need_approval_of_their_text(line: str, tmp_path: Path) -> None:
    rating = judge(line, PathGuard(tmp_path))
    assert rating.plan is None
    assert [(need.name, need.exactly) for need in rating.needs] == [(line, True)]


@pytest.mark.parametrize("line", NAMED_LIKE_BUILTINS)
async def test_a_program_named_like_a_builtin_is_a_program(line: str, sh: Shell, tmp_path: Path) -> None:
    assert (await sh(line)).startswith("exit code: ")
    assert not (tmp_path / "taken").exists()


# --- it ends with the hub, and the hub with it ---------------------------------------------------------


async def test_a_killed_leader_leaves_nothing_and_no_claim(call: Call, sh: Shell, tmp_path: Path) -> None:
    program(call, "wait", "touch ready; exec sleep 1000")
    running = asyncio.create_task(sh("./wait | ./wait && touch it-ran"))
    await until((tmp_path / "ready").exists, "the line has begun")
    os.kill(call.processes[0].pid, signal.SIGKILL)
    with pytest.raises(OutcomeUnknown, match="by signal 9"):
        await running
    assert carriers(call.idempotency_key) == []
    assert not (tmp_path / "it-ran").exists()


async def test_programs_die_with_the_leader_where_no_hub_is(tmp_path: Path, call: Call, sh: Shell) -> None:
    """The system sees to it: nobody here does anything after the blow."""
    program(call, "wait", "touch ready; exec sleep 1000")
    running = asyncio.create_task(sh("./wait"))
    await until((tmp_path / "ready").exists, "the line has begun")
    leader = call.processes[0].pid

    def children() -> list[int]:
        return [pid for pid in carriers(call.idempotency_key) if pid != leader]

    # What made the file may not have ended.
    await until(lambda: len(children()) == 1, "the line sleeps")
    (child,) = children()
    os.kill(leader, signal.SIGKILL)
    until_s = asyncio.get_running_loop().time() + PATIENCE_S
    while is_alive(child):  # without the event loop, so that no hub ends it
        assert asyncio.get_running_loop().time() < until_s
    with pytest.raises(OutcomeUnknown):
        await running


class KillingCall(Call):
    """Kills the leader as it is recorded."""

    async def process_started(self, process: ProcessInfo) -> None:
        await super().process_started(process)
        os.kill(process.pid, signal.SIGKILL)


async def test_a_leader_killed_before_its_gate_opens_does_nothing(call: Call, tmp_path: Path) -> None:
    killing = KillingCall(workspace=place(tmp_path), idempotency_key=call.idempotency_key)
    with pytest.raises(OutcomeUnknown):
        await planned(killing, "touch it-ran").run(killing)
    assert not (tmp_path / "it-ran").exists()


async def test_a_plan_longer_than_a_pipe_takes_arrives_whole(call: Call, tmp_path: Path) -> None:
    for number in range(900):
        (tmp_path / "dir" / f"{number:0>200}").touch()
    assert await planned(call, "ls dir/* | sort -u | wc -l").run(call) == "exit code: 0\n900\n"
