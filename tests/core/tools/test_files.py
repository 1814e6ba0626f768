"""`read_file`, `list_dir`, `write_file` as a model uses them."""

import asyncio
import contextlib
import os
import resource
import secrets
import signal
import stat
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidArguments, ToolDenied, ToolError, ToolFailed
from core.safety.paths import PathGuard, Place
from core.tool import Data, Effect, Requirement, Tool
from core.tools.builtin import file_changes, files
from core.tools.builtin.file_changes import writing_tools
from core.tools.builtin.files import reading_tools
from tests.core.tools.support import NOWHERE, Call, in_place, place, run

Tools = dict[str, Tool]


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    (tmp_path / "work").mkdir()
    found = (*reading_tools(), *writing_tools())
    return {tool.name: in_place(tool, place(tmp_path / "work")) for tool in found}


@pytest.fixture
def work(tools: Tools, tmp_path: Path) -> Path:
    return tmp_path / "work"


# --- what they declare -----------------------------------------------------------------------------------


def test_the_file_tools_have_their_declarations(tools: Tools) -> None:
    declared = {name: (tool.requirement, tool.effect, tool.data) for name, tool in tools.items()}
    assert declared == {
        "read_file": (Requirement.ASK, Effect.NONE, Data.SHARED),
        "list_dir": (Requirement.NEVER, Effect.NONE, Data.SHARED),
        **dict.fromkeys(
            ("write_file", "apply_patch", "delete_file"), (Requirement.ASK, Effect.EFFECT, Data.SHARED)
        ),
    }


@pytest.mark.parametrize("name", ["read_file", "list_dir", "write_file"])
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".env", "a\0", "%2e%2e/x", "~/x"])
def test_a_path_that_cannot_be_allowed_is_blocked_before_anybody_is_asked(
    tools: Tools, name: str, path: str
) -> None:
    rate = tools[name].rate
    assert rate is not None
    assert rate({"path": path, "content": ""}, NOWHERE).blocked
    assert rate({"path": "notes/today.txt", "content": ""}, NOWHERE).blocked is None


@pytest.mark.parametrize(
    "path, pattern",
    [
        ("a/../notes//today.txt", "notes/today.txt"),
        ("notes", None),
        ("notes.md", "notes.md"),
        ("*", None),
        ("notes *", None),
        ("../out", None),
    ],
)
def test_an_always_for_writing_covers_one_file(tools: Tools, path: str, pattern: str | None) -> None:
    rate = tools["write_file"].rate
    assert rate is not None
    assert rate({"path": path, "content": "x"}, NOWHERE).pattern == pattern


# --- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data, said",
    [
        (b"one\ntwo\n", "one\ntwo"),
        (b"one", "one"),
        (b"\n\n", "\n"),
        (b"", "[The file is empty.]"),
        ("Grüße 部署 🚀".encode(), "Grüße 部署 🚀"),
        ("\N{BYTE ORDER MARK}one".encode(), "one"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (b"caf\xe9", "caf�\n[Bytes that are not UTF-8 are shown as �.]"),
    ],
)
async def test_a_text_file_is_read(tools: Tools, work: Path, data: bytes, said: str) -> None:
    (work / "f.txt").write_bytes(data)
    assert await run(tools["read_file"], {"path": "f.txt"}) == said


@pytest.mark.parametrize(
    "lines, said",
    [
        ({"first_line": 2, "last_line": 3}, "2\n3\n[Lines 2 to 3 of 5.]"),
        ({"first_line": 5}, "5\n[Lines 5 to 5 of 5.]"),
        ({"last_line": 1}, "1\n[Lines 1 to 1 of 5.]"),
        ({"first_line": "1", "last_line": "9"}, "1\n2\n3\n4\n5"),
    ],
)
async def test_some_lines_are_read(tools: Tools, work: Path, lines: dict[str, Any], said: str) -> None:
    (work / "f.txt").write_text("1\n2\n3\n4\n5\n")
    assert await run(tools["read_file"], {"path": "f.txt", **lines}) == said


async def test_a_long_file_is_read_in_parts(tools: Tools, work: Path) -> None:
    (work / "f.txt").write_text("".join(f"{n}\n" for n in range(1, 5001)))
    said = await run(tools["read_file"], {"path": "f.txt"})
    assert said.endswith("\n2000\n[Lines 1 to 2000 of 5000.]")
    said = await run(tools["read_file"], {"path": "f.txt", "first_line": 4001})
    assert said.startswith("4001\n")
    assert said.endswith("\n5000\n[Lines 4001 to 5000 of 5000.]")


async def test_missing_lines_are_reported(tools: Tools, work: Path) -> None:
    (work / "f.txt").write_text("1\n2\n")
    with pytest.raises(ToolFailed, match=r"f\.txt has only 2 lines"):
        await run(tools["read_file"], {"path": "f.txt", "first_line": 3})
    with pytest.raises(InvalidArguments, match="last_line"):
        await run(tools["read_file"], {"path": "f.txt", "first_line": 2, "last_line": 1})


async def test_binary_files_are_refused(tools: Tools, work: Path) -> None:
    (work / "f.bin").write_bytes(b"\x89PNG\r\n\0\0")
    with pytest.raises(ToolFailed, match=r"f\.bin is not a text file"):
        await run(tools["read_file"], {"path": "f.bin"})


async def test_a_file_over_the_limit_is_refused_and_one_at_it_is_not(tools: Tools, work: Path) -> None:
    with (work / "big").open("wb") as file:
        file.write(b"x\n" * (files.READ_LIMIT_BYTES // 2))
        file.flush()
        assert (await run(tools["read_file"], {"path": "big", "last_line": 1})).startswith("x\n[Lines 1 to 1")
        file.write(b"x")
    with pytest.raises(ToolFailed, match="larger than"):
        await run(tools["read_file"], {"path": "big"})


async def test_files_outside_the_workspace_are_not_read(tools: Tools, work: Path) -> None:
    (work.parent / "hubbub.toml").write_text("token")
    (work / "l").symlink_to("../hubbub.toml")
    for path in ("../hubbub.toml", f"{work.parent}/hubbub.toml", "l"):
        with pytest.raises(ToolDenied):
            await run(tools["read_file"], {"path": path})


# --- listing ---------------------------------------------------------------------------------------------


async def test_a_directory_is_listed(tools: Tools, work: Path) -> None:
    assert await run(tools["list_dir"], {}) == "[The directory is empty.]"
    (work / "notes").mkdir()
    (work / "notes" / "x").write_text("abc")
    (work / "b.txt").write_text("12345")
    (work / "a.txt").write_text("")
    (work / "l").symlink_to("../elsewhere")
    (work / "evil\nc.txt  7").write_text("")
    os.mkfifo(work / "pipe")
    assert (await run(tools["list_dir"], {})).split("\n") == [
        "a.txt  0",
        "b.txt  5",
        "evil\\nc.txt  7  0",
        "l -> ../elsewhere",
        "notes/",
        "pipe  (not a regular file)",
    ]
    assert await run(tools["list_dir"], {"path": "notes"}) == "x  3"


async def test_only_the_first_names_of_a_large_directory_are_listed(tools: Tools, work: Path) -> None:
    for number in range(files.MAX_ENTRIES + 7):
        (work / f"{number:04d}").touch()
    lines = (await run(tools["list_dir"], {})).split("\n")
    assert lines[0] == "0000  0"
    assert lines[-2:] == ["0499  0", "[500 of 507 entries, the first by name.]"]


async def test_only_directories_inside_are_listed(tools: Tools, work: Path) -> None:
    (work / "f.txt").write_text("")
    (work / "out").symlink_to("..")
    for path in ("..", "/", "out", "out/work"):
        with pytest.raises(ToolDenied):
            await run(tools["list_dir"], {"path": path})
    with pytest.raises(ToolFailed, match="not a directory"):
        await run(tools["list_dir"], {"path": "f.txt"})


# --- writing ---------------------------------------------------------------------------------------------


def everything_in(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


async def test_a_file_is_written_and_replaced(tools: Tools, work: Path) -> None:
    write = tools["write_file"]
    assert await run(write, {"path": "a/b/f.txt", "content": "Grüße"}) == "Wrote 7 bytes to a/b/f.txt (new)."
    assert everything_in(work) == {"a/b/f.txt": "Grüße"}
    said = await run(write, {"path": "a/b/f.txt", "content": "x\n"})
    assert said == "Wrote 2 bytes to a/b/f.txt (replaced; it had 7)."
    assert everything_in(work) == {"a/b/f.txt": "x\n"}


async def test_a_reader_sees_the_old_or_the_new_file_during_a_replace(tools: Tools, work: Path) -> None:
    (work / "f.txt").write_text("old")
    with (work / "f.txt").open() as reader:
        await run(tools["write_file"], {"path": "f.txt", "content": "new"})
        assert reader.read() == "old"
    assert (work / "f.txt").read_text() == "new"


async def test_permissions_of_a_replaced_file_stay(tools: Tools, work: Path) -> None:
    (work / "run.sh").write_text("old")
    (work / "run.sh").chmod(0o4750)
    await run(tools["write_file"], {"path": "run.sh", "content": "new"})
    assert stat.S_IMODE((work / "run.sh").stat().st_mode) == 0o750


async def test_a_link_inside_is_written_through_and_a_hard_link_is_not(tools: Tools, work: Path) -> None:
    (work / "f.txt").write_text("old")
    (work / "l").symlink_to("f.txt")
    (work.parent / "outside.txt").write_text("outside")
    os.link(work.parent / "outside.txt", work / "hard.txt")
    await run(tools["write_file"], {"path": "l", "content": "new"})
    await run(tools["write_file"], {"path": "hard.txt", "content": "new"})
    assert (work / "l").is_symlink()
    assert (work / "f.txt").read_text() == "new"
    assert (work.parent / "outside.txt").read_text() == "outside"


@pytest.mark.parametrize(
    "path", ["../f", "out/f", "link", "dangling", ".ssh/authorized_keys", "pipe", "dir", "."]
)
async def test_protected_files_are_left_unchanged(tools: Tools, work: Path, path: str) -> None:
    (work.parent / "outside.txt").write_text("outside")
    (work / "out").symlink_to("..")
    (work / "link").symlink_to("../outside.txt")
    (work / "dangling").symlink_to("made-by-writing")
    (work / "dir").mkdir()
    os.mkfifo(work / "pipe")
    before = sorted(work.parent.rglob("*"))
    with pytest.raises(ToolError):
        await run(tools["write_file"], {"path": path, "content": "x"})
    assert sorted(work.parent.rglob("*")) == before
    assert (work.parent / "outside.txt").read_text() == "outside"


async def test_content_that_is_not_text_or_too_long_is_refused(tools: Tools, work: Path) -> None:
    for content in ("\ud800", "é" * (file_changes.WRITE_LIMIT_BYTES // 2) + "x"):
        with pytest.raises(InvalidArguments, match="content"):
            await run(tools["write_file"], {"path": "f", "content": content})
    assert everything_in(work) == {}
    await run(tools["write_file"], {"path": "f", "content": "é" * (file_changes.WRITE_LIMIT_BYTES // 2)})
    assert (work / "f").stat().st_size == file_changes.WRITE_LIMIT_BYTES


async def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tools: Tools, work: Path) -> None:
    (work / "f").write_text("old")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, unlimited[1]))
    try:
        with pytest.raises(ToolFailed, match="f: File too large"):
            await run(tools["write_file"], {"path": "f", "content": "x" * 100_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert everything_in(work) == {"f": "old"}


KILLED_WHILE_WRITING = """
import asyncio, pathlib, resource, signal, sys
from core.tools.builtin.file_changes import writing_tools
from tests.core.tools.support import Call, place, run

write, work = writing_tools()[0], place(pathlib.Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
asyncio.run(run(write, {"path": "f", "content": "x" * 100_000}, Call(idempotency_key="c", workspace=work)))
"""


async def test_a_write_killed_half_way_is_cleaned_up_by_its_repetition(tools: Tools, work: Path) -> None:
    (work / "f").write_text("old")
    argv = [sys.executable, "-c", KILLED_WHILE_WRITING, str(work)]
    killed = await asyncio.create_subprocess_exec(*argv, cwd=Path(__file__).parents[3])
    assert await killed.wait() == -signal.SIGXFSZ
    assert sorted(everything_in(work).values()) == ["old", "x" * 1000]
    await run(tools["write_file"], {"path": "f", "content": "new"}, Call(idempotency_key="c"))
    assert everything_in(work) == {"f": "new"}


class HeldUp(PathGuard):
    """Finds its way only when it is let."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.arrived, self.let = threading.Event(), threading.Event()

    @contextlib.contextmanager
    def place(self, path: str, *, make_parents: bool = False) -> Generator[Place]:
        with super().place(path, make_parents=make_parents) as place:
            self.arrived.set()
            self.let.wait(20)
            yield place


async def test_a_write_cancelled_before_it_began_never_happens(work: Path) -> None:
    guard = HeldUp(work)
    write_file = writing_tools(lambda _: guard)[0]
    writing = asyncio.create_task(run(write_file, {"path": "f", "content": "x"}))
    assert await asyncio.to_thread(guard.arrived.wait, 20)
    writing.cancel()
    asyncio.get_running_loop().call_soon(guard.let.set)
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert everything_in(work) == {}


async def test_a_cancelled_write_is_over_when_the_call_is(tools: Tools, work: Path) -> None:
    """A partial result stays: nothing continues after the call, and no draft is left."""
    seen: set[str] = set()
    for turns in range(60):
        (work / "f").write_text("old")
        content = "new" * 100_000
        writing = asyncio.create_task(run(tools["write_file"], {"path": "f", "content": content}))
        for _ in range(turns):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait([writing])
        (found,) = everything_in(work).values()
        assert found in ("old", content)
        await asyncio.sleep(0)
        assert everything_in(work) == {"f": found}
        seen.add(found[:3])
    assert "old" in seen


@pytest.fixture(scope="module")
def plenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Room for many directories."""
    return tmp_path_factory.mktemp("plenty")


@given(
    path=st.text(max_size=30) | st.lists(st.sampled_from(["..", "a", ".", "l", "~", "\0"])).map("/".join),
    content=st.text(max_size=20),
    first_line=st.integers(-5, 5),
)
async def test_any_arguments_give_a_text_or_a_tool_error(
    plenty: Path, path: str, content: str, first_line: int
) -> None:
    base = plenty / secrets.token_hex(8)
    (base / "work").mkdir(parents=True)
    (base / "work" / "l").symlink_to("..")
    calls = ({"path": path, "content": content}, {"path": path}, {"path": path, "first_line": first_line})
    work = Call(workspace=place(base / "work"))
    (read_file, list_dir), write_file = reading_tools(), writing_tools()[0]
    for tool, arguments in zip((write_file, list_dir, read_file), calls, strict=True):
        try:
            assert isinstance(await run(tool, arguments, work), str)
        except ToolError:
            pass
    assert [*base.iterdir()] == [base / "work"]
