"""The same tools in two workspaces at once: a call is judged, bound and run where its run works."""

import json
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from core.gates import ConsentSettings, Option
from core.store.rows import CallRow, CallState
from core.tool import Effect, ProcessInfo, Workspace
from core.tools.builtin.file_changes import writing_tools
from core.tools.builtin.files import reading_tools
from core.tools.builtin.shell import shell_tool
from core.tools.pipeline import CallPipeline
from core.tools.registry import NeedsPerson, Ready
from core.transcript import ResultStatus
from tests.core.tools.support import OWNER, place
from tests.core.tools.test_pipeline import THREAD, pipeline

CALLS = (
    ("write_file", {"path": "made.txt", "content": "mine"}),
    ("shell", {"command": "echo mine > made.txt"}),
)


@pytest.fixture
def work(tmp_path: Path) -> tuple[Workspace, Workspace]:
    for name in ("one", "two"):
        (tmp_path / name / "kept").mkdir(parents=True)
        (tmp_path / name / "kept" / "it.txt").write_text(name)
    return place(tmp_path / "one"), place(tmp_path / "two", (tmp_path / "two" / "kept",))


@pytest.fixture
def one(work: tuple[Workspace, Workspace]) -> CallPipeline:
    return pipeline(*reading_tools(), *writing_tools(), shell_tool({}), workspace=work[0])


@pytest.fixture
def two(one: CallPipeline, work: tuple[Workspace, Workspace]) -> CallPipeline:
    return one.within(work[1])


def asked(tool: str, arguments: dict[str, str]) -> CallRow:
    # Processes are found by the id of their call: no other test may have the same.
    return CallRow(str(uuid.uuid4()), "n1", 1, tool, json.dumps(arguments), CallState.INTENT, Effect.EFFECT)


async def recorded(_: ProcessInfo) -> None:
    """The process of a call, which no hub needs to know of here."""


def ready_in(made: CallPipeline, call: CallRow) -> Ready:
    ready = made.prepare(call, OWNER, THREAD, ConsentSettings())
    assert isinstance(ready, Ready)
    return ready


def agreed_to(made: CallPipeline, call: CallRow) -> CallRow:
    needs = made.prepare(call, OWNER, THREAD, ConsentSettings())
    assert isinstance(needs, NeedsPerson)
    return replace(call, state=CallState.APPROVED, answer=Option.APPROVE, binding=needs.binding)


@pytest.mark.parametrize("tool, arguments", CALLS)
def test_consent_for_one_workspace_does_not_cover_the_other(
    one: CallPipeline, two: CallPipeline, tool: str, arguments: dict[str, str]
) -> None:
    agreed = agreed_to(one, asked(tool, arguments))
    assert ready_in(one, agreed)
    assert isinstance(two.prepare(agreed, OWNER, THREAD, ConsentSettings()), NeedsPerson)
    assert isinstance(two.recheck(THREAD)(agreed, OWNER, ConsentSettings()), str)


@pytest.mark.parametrize("tool, arguments", CALLS)
async def test_a_call_runs_in_the_workspace_of_its_run(
    one: CallPipeline,
    two: CallPipeline,
    work: tuple[Workspace, Workspace],
    tool: str,
    arguments: dict[str, str],
) -> None:
    for made, here in ((one, work[0]), (two, work[1])):
        agreed = agreed_to(made, asked(tool, arguments))
        result = await made.run(agreed, ready_in(made, agreed), OWNER, THREAD, recorded)
        assert result.status is ResultStatus.OK
        assert [one.root for one in work if (one.root / "made.txt").exists()] == [here.root]
        (here.root / "made.txt").unlink()


async def test_workspaces_close_their_files_independently(one: CallPipeline, two: CallPipeline) -> None:
    call = asked("read_file", {"path": "kept/it.txt"})
    said = [(await made.run(call, ready_in(made, call), OWNER, THREAD, recorded)).text for made in (one, two)]
    assert "one" in said[0]
    assert "belongs to the hub" in said[1]
