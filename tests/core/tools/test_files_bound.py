"""Consent to change or run a file covers it as it was when a person was asked."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.consent import card_texts
from core.gates import ConsentSettings, Grant, GrantScope, Option
from core.safety.paths import CONTENT_LIMIT_BYTES
from core.store.rows import CallRow, CallState
from core.tool import Effect
from core.tools.builtin.file_changes import writing_tools
from core.tools.builtin.shell import shell_tool
from core.tools.pipeline import CallPipeline, NeedsPerson, Ready
from tests.core.tools.support import place
from tests.core.tools.test_pipeline import OWNER, THREAD, pipeline

SCRIPT = "build.sh"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text("one two")
    (tmp_path / SCRIPT).write_text("echo built")
    return tmp_path


@pytest.fixture
def made(work: Path) -> CallPipeline:
    return pipeline(*writing_tools(), shell_tool({}), workspace=place(work))


def asked(tool: str, **arguments: str) -> CallRow:
    return CallRow("c1", "n1", 1, tool, json.dumps(arguments), CallState.INTENT, Effect.EFFECT)


def agreed_to(made: CallPipeline, call: CallRow) -> CallRow:
    needs = made.prepare(call, OWNER, THREAD, ConsentSettings())
    assert isinstance(needs, NeedsPerson)
    assert needs.again == ""
    return replace(call, state=CallState.APPROVED, answer=Option.APPROVE, binding=needs.binding)


CALLS = (
    asked("write_file", path="notes.txt", content="mine"),
    asked("apply_patch", path="notes.txt", old="one", new="two"),
    asked("delete_file", path="notes.txt"),
    asked("write_file", path="new.txt", content="mine"),
    asked("shell", command=f"sh {SCRIPT} --fast && ls"),
    asked("shell", command=f"./{SCRIPT}"),
    asked("shell", command=f"ansible-playbook --inventory=hosts --extra=x={SCRIPT}"),
)


def _write(path: str, text: str) -> Callable[[Path], object]:
    return lambda work: (work / path).write_text(text)


CHANGES: dict[str, tuple[Callable[[Path], object], ...]] = {
    "notes.txt": (_write("notes.txt", "one three"), lambda work: (work / "notes.txt").unlink()),
    "new.txt": (_write("new.txt", "somebody else's"),),
    SCRIPT: (_write(SCRIPT, "rm -rf src"), lambda work: (work / SCRIPT).unlink()),
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.tool} {call.arguments}")
def test_a_file_that_changed_is_asked_about_again_and_says_so(
    work: Path, made: CallPipeline, call: CallRow
) -> None:
    name = next(name for name in CHANGES if name in call.arguments)
    for change in CHANGES[name]:
        agreed = agreed_to(made, call)
        assert isinstance(made.prepare(agreed, OWNER, THREAD, ConsentSettings()), Ready)
        change(work)
        needs = made.prepare(agreed, OWNER, THREAD, ConsentSettings())
        assert isinstance(needs, NeedsPerson)
        assert card_texts.FILE_CHANGED in needs.ask.reason
        refusal = made.recheck(THREAD)(agreed, OWNER, ConsentSettings())
        assert isinstance(refusal, str)
        assert card_texts.FILE_CHANGED in refusal


def test_wildcards_that_match_other_files_at_the_start_do_not_run(work: Path, made: CallPipeline) -> None:
    call = asked("shell", command="cat *.txt")
    always = Grant("g", OWNER.user_id, "shell", "@cat", GrantScope.USER, None, OWNER.user_id, 0)
    granted = ConsentSettings((always,))
    ready = made.prepare(call, OWNER, THREAD, granted)
    assert isinstance(ready, Ready)
    assert made.recheck(THREAD, ready=ready)(call, OWNER, granted) == granted.grants
    (work / "private.txt").write_text("not meant")
    refusal = made.recheck(THREAD, ready=ready)(call, OWNER, granted)
    assert isinstance(refusal, str)
    assert "changed while it was starting" in refusal


def test_consent_holds_over_a_restart_while_the_file_stays(work: Path, made: CallPipeline) -> None:
    agreed = agreed_to(made, CALLS[0])
    again = pipeline(*writing_tools(), workspace=place(work))
    assert isinstance(again.prepare(agreed, OWNER, THREAD, ConsentSettings()), Ready)


def test_other_arguments_are_not_blamed_on_a_file(made: CallPipeline) -> None:
    agreed = agreed_to(made, CALLS[0])
    other = replace(agreed, arguments=json.dumps({"path": "notes.txt", "content": "other"}))
    needs = made.prepare(other, OWNER, THREAD, ConsentSettings())
    assert isinstance(needs, NeedsPerson)
    assert needs.again == card_texts.CALL_CHANGED


def test_files_that_a_command_only_reads_may_change(work: Path, made: CallPipeline) -> None:
    agreed = agreed_to(made, asked("shell", command="tail -n 5 notes.txt"))
    (work / "notes.txt").write_text("more")
    assert isinstance(made.prepare(agreed, OWNER, THREAD, ConsentSettings()), Ready)


def test_a_long_file_must_not_change_between_reads(work: Path, made: CallPipeline) -> None:
    long = work / "notes.txt"
    long.write_bytes(b"x" * (CONTENT_LIMIT_BYTES + 1))
    agreed = agreed_to(made, CALLS[2])
    assert isinstance(made.prepare(agreed, OWNER, THREAD, ConsentSettings()), Ready)
    long.chmod(0o640)
    with long.open("r+b") as file:
        file.write(b"y")
    assert isinstance(made.prepare(agreed, OWNER, THREAD, ConsentSettings()), NeedsPerson)
