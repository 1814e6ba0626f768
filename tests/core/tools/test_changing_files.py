"""`apply_patch`, `delete_file`, `glob`, `grep`: what they find and change, and what stays shut."""

from pathlib import Path

import pytest

from core.errors import InvalidArguments, ToolDenied, ToolFailed
from core.tool import Effect, Requirement, Tool
from core.tools.builtin.file_changes import writing_tools
from core.tools.builtin.files import searching_tools
from tests.core.tools.support import in_place, place, run

Tools = dict[str, Tool]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def tools(work: Path) -> Tools:
    found = (*writing_tools(), *searching_tools())
    return {tool.name: in_place(tool, place(work)) for tool in found}


def test_tools_that_change_files_declare_it(tools: Tools) -> None:
    for name in ("apply_patch", "delete_file"):
        assert (tools[name].requirement, tools[name].effect) == (Requirement.ASK, Effect.EFFECT)
        assert tools[name].limits != ()
    for name in ("glob", "grep"):
        assert tools[name].effect is Effect.NONE


# --- changing -----------------------------------------------------------------------------------------------


async def test_a_passage_is_replaced_and_nothing_else(work: Path, tools: Tools) -> None:
    (work / "a.py").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\n")
    said = await run(tools["apply_patch"], {"path": "a.py", "old": "two", "new": "2"})
    assert said.startswith("Changed a.py: 1 edit")
    assert (work / "a.py").read_bytes() == b"\xef\xbb\xbfone\r\n2\r\nthree\n"


@pytest.mark.parametrize(
    "old,complaint", [("missing", "does not contain that text"), ("x", "contains that text 3 times")]
)
async def test_a_passage_must_occur_exactly_once(work: Path, tools: Tools, old: str, complaint: str) -> None:
    (work / "a").write_text("x x x")
    with pytest.raises(ToolFailed, match=complaint):
        await run(tools["apply_patch"], {"path": "a", "old": old, "new": "y"})
    assert (work / "a").read_text() == "x x x"
    await run(tools["apply_patch"], {"path": "a", "old": "x", "new": "y", "everywhere": True})
    assert (work / "a").read_text() == "y y y"


async def test_binary_files_are_not_patched(work: Path, tools: Tools) -> None:
    (work / "a").write_bytes(b"abc\xff")
    with pytest.raises(ToolFailed, match="not UTF-8"):
        await run(tools["apply_patch"], {"path": "a", "old": "abc", "new": "x"})
    assert (work / "a").read_bytes() == b"abc\xff"


async def test_a_file_is_deleted_and_a_directory_is_not(work: Path, tools: Tools) -> None:
    (work / "a").write_text("1234")
    (work / "d").mkdir()
    assert await run(tools["delete_file"], {"path": "a"}) == "Deleted a; it had 4 bytes."
    assert not (work / "a").exists()
    with pytest.raises(ToolFailed, match="no a in the workspace"):
        await run(tools["delete_file"], {"path": "a"})
    with pytest.raises(ToolFailed, match="is a directory"):
        await run(tools["delete_file"], {"path": "d"})


@pytest.mark.parametrize("path", ["../secret", "out/secret", ".env"])
async def test_nothing_outside_is_changed(work: Path, tools: Tools, path: str) -> None:
    (work.parent / "secret").write_text("s")
    (work / "out").symlink_to("..")
    (work / ".env").write_text("s")
    with pytest.raises(ToolDenied):
        await run(tools["delete_file"], {"path": path})
    with pytest.raises(ToolDenied):
        await run(tools["apply_patch"], {"path": path, "old": "s", "new": "t"})
    assert [(work.parent / "secret").read_text(), (work / ".env").read_text()] == ["s", "s"]


# --- finding ------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(work: Path) -> Path:
    for path, text in {
        "a.py": "import os\nprint(1)\n",
        "src/b.py": "IMPORT sys\n",
        "src/deep/c.txt": "import none\n",
        ".env": "import SECRET\n",
        "src/id_rsa": "import KEY\n",
    }.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    (work / "binary").write_bytes(b"import \x00")
    (work / "away").symlink_to("..")
    (work.parent / "outside.py").write_text("import outside\n")
    return work


@pytest.mark.parametrize(
    "pattern,found",
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("**/*.py", ["a.py", "src/b.py"]),
        ("./a.*", ["a.py"]),
        ("src/*", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/deep/c.txt"]),
        ("src/**/c.tx?", ["src/deep/c.txt"]),
        (".env", []),
        ("[a].py", []),
    ],
)
async def test_files_are_found_by_name(tree: Path, tools: Tools, pattern: str, found: list[str]) -> None:
    assert tree.is_dir()
    lines = (await run(tools["glob"], {"pattern": pattern})).split("\n")
    assert [line.split("  ")[0] for line in lines] == (found or ["[No file matches.]"])


async def test_lines_are_found_where_they_may_be_read(tree: Path, tools: Tools) -> None:
    assert tree.is_dir()
    assert (
        await run(tools["grep"], {"pattern": "^import"}) == "a.py:1: import os\nsrc/deep/c.txt:1: import none"
    )
    everywhere = await run(tools["grep"], {"pattern": "import", "ignore_case": True, "files": "*.py"})
    assert everywhere == "a.py:1: import os\nsrc/b.py:1: IMPORT sys"
    assert await run(tools["grep"], {"pattern": "KEY|SECRET|outside"}) == "[No line matches.]"
    assert await run(tools["grep"], {"pattern": "import", "path": "src"}) == "src/deep/c.txt:1: import none"


async def test_a_pattern_cannot_stall_the_hub(work: Path, tools: Tools) -> None:
    (work / "a").write_text("a" * 100_000 + "!\n")
    assert await run(tools["grep"], {"pattern": "(a+)+$"}) == "[No line matches.]"
    with pytest.raises(InvalidArguments, match="not readable"):
        await run(tools["grep"], {"pattern": "(?=a)"})


async def test_a_directory_outside_is_refused(tools: Tools) -> None:
    for name in ("glob", "grep"):
        with pytest.raises(ToolDenied):
            await run(tools[name], {"pattern": "x", "path": ".."})
