"""Calls that are known to have gone wrong elsewhere, each through the one path of every call.

The number before a case is its row in the reference's table of edge cases (jobs and approvals, §12). Rows
that only a job or a container can show are not here. Where the product decides otherwise than the row, the
test says so: `row 3`, `row 65` and `row 67`.
"""

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from bot.web.items import CallItem, Presenter
from core.approvals import LoopLimits, NoPolicy, Preset
from core.clock import SystemClock
from core.consent.cards import action_of, detail_of_call
from core.consent.rules import Autonomous, DenyReason, EffectivePolicy, Policy, ScopeGrant
from core.gates import ConsentSettings, Grant, GrantScope, Option, ToolSetting
from core.safety.fencing import ResultLimits
from core.safety.network import NetworkGuard, SystemLookup
from core.store.feed import CallShown, FeedItem
from core.store.rows import CallRow, CallState
from core.tool import CallContext, Data, Effect, ProcessInfo, Requirement, Risk, Tool, Workspace
from core.tools.builtin.basics import echo_tool
from core.tools.builtin.file_changes import writing_tools
from core.tools.builtin.files import reading_tools
from core.tools.builtin.shell import shell_tool
from core.tools.builtin.web_tools import http_tool
from core.tools.definition import tool
from core.tools.pipeline import CallPipeline, NeedsPerson, PipelineSettings, Prepared, Ready, Refused
from core.tools.registry import ToolRegistry
from core.transcript import ResultStatus, ToolCalled, ToolResult
from core.users import Principal, Role

OWNER = Principal("owner", Role.OWNER, "Olivia")
THREAD = "t1"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "API_TOKEN": "hunter2", "AWS_SECRET_ACCESS_KEY": "wJalrXUt"}


def sweep_tool() -> Tool:
    def rate(arguments: Any, _: Workspace) -> Risk:
        return Risk(Requirement.NEVER if arguments["dry_run"] else Requirement.ALWAYS_ASK)

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE, rate=rate)
    async def sweep(call: CallContext, dry_run: bool = False) -> str:
        """Sweep up."""
        return "swept" if not dry_run else "would sweep"

    return sweep


def unlock_tool() -> Tool:
    @tool(
        requirement=Requirement.ASK,
        effect=Effect.EFFECT,
        data=Data.NONE,
        sensitive=frozenset({"pin"}),
    )
    async def unlock(call: CallContext, door: str, pin: Annotated[str, "four digits"]) -> str:
        """Unlock a door."""
        return f"{door} is open" if pin == "0042" else "wrong pin"

    return unlock


class Desk:
    """The real tools on the one path."""

    def __init__(self, workspace: Path, *more: Tool, policy: Policy | None = None) -> None:
        self._call_id = str(uuid.uuid4())
        workspace.mkdir(exist_ok=True)
        (workspace / "hub-data").mkdir(exist_ok=True)

        def nobody_trusted() -> Any:
            raise AssertionError("nothing is fetched here")

        tools = [
            echo_tool(),
            sweep_tool(),
            unlock_tool(),
            *reading_tools(),
            *writing_tools(),
            http_tool(NetworkGuard(SystemLookup()), nobody_trusted),
            shell_tool(ENVIRONMENT),
            *more,
        ]
        settings = PipelineSettings(
            effective_policy=EffectivePolicy(policy or Policy(), LoopLimits(), NoPolicy()),
            binding_key=b"k" * 32,
            workspace=Workspace(workspace, workspace / "spill", (workspace / "hub-data",)),
            tool_timeout_s=20,
            result_limits=ResultLimits(),
        )
        self.pipeline = CallPipeline(ToolRegistry(tools), settings, SystemClock())

    def prepare(
        self,
        name: str,
        arguments: dict[str, Any] | str,
        standing: ConsentSettings | None = None,
        mode: Autonomous | None = None,
    ) -> Prepared:
        call = self._call(name, arguments)
        if mode is None:
            return self.pipeline.prepare(call, OWNER, THREAD, standing or ConsentSettings())
        return self.pipeline.prepare(call, OWNER, THREAD, standing or ConsentSettings(), mode)

    async def run(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """As it runs once everybody agreed."""
        prepared = self.prepare(name, arguments)
        if isinstance(prepared, Refused):
            return prepared.result
        made = self.pipeline
        found = made.prepare(
            replace(self._call(name, arguments), answer=Option.APPROVE, binding=_binding(prepared)),
            OWNER,
            THREAD,
            ConsentSettings(),
        )
        assert isinstance(found, Ready)
        return await made.run(self._call(name, arguments), found, OWNER, THREAD, _started)

    def _call(self, name: str, arguments: dict[str, Any] | str) -> CallRow:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        # Processes are found, and ended, by the id of their call: no other test may have the same.
        return CallRow(self._call_id, "n1", 1, name, text, CallState.APPROVED, Effect.EFFECT)


def _binding(prepared: Prepared) -> str | None:
    return prepared.binding if isinstance(prepared, NeedsPerson) else None


async def _started(process: ProcessInfo) -> None:
    assert process.pid > 0


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "w")


def given(name: str) -> tuple[ScopeGrant, ...]:
    return (ScopeGrant(name, "*"),)


# --- runs without a person -------------------------------------------------------------------------------

DANGER: dict[str, Any] = {"command": "rm -rf build"}


@pytest.mark.parametrize(
    "scopes, runs",
    [
        ((frozenset({"shell"}), frozenset[str]()), False),
        ((frozenset[str](), frozenset({"shell"})), False),
        ((frozenset({"shell"}), frozenset({"shell"})), True),
    ],
)
def test_row_1_job_and_worker_must_both_hold_the_tool(
    desk: Desk, scopes: tuple[frozenset[str], ...], runs: bool
) -> None:
    prepared = desk.prepare("shell", DANGER, mode=Autonomous(scopes, given("shell")))
    assert isinstance(prepared, Ready) is runs
    if isinstance(prepared, Refused):
        assert prepared.reason is DenyReason.AUTONOMOUS_UNAVAILABLE


def test_row_2_without_a_scope_only_what_never_asks_runs(desk: Desk) -> None:
    assert isinstance(desk.prepare("unlock", {"door": "a", "pin": "1"}, mode=Autonomous()), Refused)
    assert isinstance(desk.prepare("echo", {"text": "hello"}, mode=Autonomous()), Ready)


def test_row_3_an_empty_scope_holds_nothing_that_asks_and_the_refusal_names_the_tool(desk: Desk) -> None:
    """The row lets through what merely asks; here a scope is a list, and an empty list is empty."""
    for name, arguments in (("unlock", {"door": "a", "pin": "1"}), ("shell", DANGER)):
        prepared = desk.prepare(name, arguments, mode=Autonomous((frozenset[str](),)))
        assert isinstance(prepared, Refused)
        assert prepared.reason is DenyReason.AUTONOMOUS_UNAVAILABLE
        assert name in prepared.result.text


# --- arguments -------------------------------------------------------------------------------------------


def test_row_5_arguments_are_read_before_they_are_judged(desk: Desk) -> None:
    assert isinstance(desk.prepare("sweep", {"dry_run": "true"}), Ready)
    assert isinstance(desk.prepare("sweep", {"dry_run": "false"}), NeedsPerson)


@pytest.mark.parametrize("name", ["no_such_tool", "", " "])
def test_row_19_an_unknown_tool_is_a_result_and_no_crash(desk: Desk, name: str) -> None:
    prepared = desk.prepare(name, {})
    assert isinstance(prepared, Refused)
    assert (prepared.result.status, "no tool named" in prepared.result.text) == (ResultStatus.ERROR, True)


async def test_row_53_a_sensitive_argument_reaches_the_tool_and_no_card(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "w", policy=Policy(preset=Preset.MANUAL))
    prepared = desk.prepare("unlock", {"door": "cellar", "pin": "0042"})
    assert isinstance(prepared, NeedsPerson)
    assert "0042" not in prepared.detail
    assert "cellar" in prepared.detail
    assert "cellar is open" in (await desk.run("unlock", {"door": "cellar", "pin": "0042"})).text


@pytest.mark.parametrize("pin", [4711, 47.11, True, ["4711"], {"code": "4711"}, [{"codes": [4711]}]], ids=str)
async def test_a_sensitive_argument_that_is_no_text_is_shown_nowhere(tmp_path: Path, pin: Any) -> None:
    @tool(requirement=Requirement.ASK, data=Data.NONE, sensitive=frozenset({"pin"}))
    async def lock(call: CallContext, door: str, pin: Any) -> str:
        """Lock a door."""
        return f"{door}: {pin!r}"

    desk = Desk(tmp_path / "w", lock, policy=Policy(preset=Preset.MANUAL))
    called = ToolCalled("c1", "lock", json.dumps({"door": "cellar", "pin": pin}))
    prepared = desk.prepare("lock", {"door": "cellar", "pin": pin})
    assert isinstance(prepared, NeedsPerson)
    assert prepared.detail == "door: cellar\npin: •••"
    interrupted = CallRow("c1", "n1", 1, "lock", called.arguments, CallState.RUNNING, Effect.EFFECT)
    assert detail_of_call(interrupted, lock) == prepared.detail
    line = Presenter(lambda _: {"pin"}, {}).item(
        "t", FeedItem(1, 0, "t", CallShown(called, CallState.WAITING))
    )
    assert isinstance(line, CallItem)
    assert line.arguments == {"door": "cellar", "pin": "•••"}
    assert repr(pin) in (await desk.run("lock", {"door": "cellar", "pin": pin})).text


def test_sensitive_arguments_that_cannot_be_read_are_shown_nowhere() -> None:
    called = ToolCalled("c1", "unlock", '{"door": "cellar", "pin": "0042"')
    cut_off = CallRow("c1", "n1", 1, "unlock", called.arguments, CallState.RUNNING, Effect.EFFECT)
    assert detail_of_call(cut_off, unlock_tool()) == "•••"
    line = Presenter(lambda _: {"pin"}, {}).item(
        "t", FeedItem(1, 0, "t", CallShown(called, CallState.WAITING))
    )
    assert isinstance(line, CallItem)
    assert line.arguments == {"(unreadable)": "•••"}


async def test_row_54_what_does_not_fit_is_not_run_and_what_takes_too_long_is_ended(desk: Desk) -> None:
    misfit = desk.prepare("unlock", {"door": 5})
    assert isinstance(misfit, Refused)
    assert misfit.result.status is ResultStatus.ERROR
    assert "pin" in misfit.result.text
    late = await desk.run("shell", {"command": "sleep 60", "timeout_s": 1})
    assert (late.status, "exit code" in late.text) == (ResultStatus.ERROR, False)


@pytest.mark.parametrize(
    "path", ["hub-data/x", "./hub-data/x", "hub-data//x", "notes/../hub-data/x", "../x", "/etc/x"]
)
async def test_row_55_the_hubs_own_files_are_out_of_reach_under_any_name(desk: Desk, path: str) -> None:
    result = await desk.run("write_file", {"path": path, "content": "mine"})
    assert result.status is not ResultStatus.OK
    assert (await desk.run("write_file", {"path": "notes.txt", "content": "x"})).status is ResultStatus.OK


def test_row_57_only_what_is_certain_is_read_into_another_form() -> None:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
    async def sort_out(
        call: CallContext, words: list[str] | None = None, note: str = "-", count: int | None = None
    ) -> str:
        """Sort out."""
        return ""

    read = sort_out.validate
    assert read({"words": "", "count": ""}) == {"words": None, "note": "-", "count": None}
    assert read({"note": ""})["note"] == ""
    assert read({"words": '["a"]', "count": "3"}) == {"words": ["a"], "note": "-", "count": 3}
    assert read({"note": "{not json"})["note"] == "{not json"


# --- command lines ---------------------------------------------------------------------------------------


def asked(desk: Desk, command: str) -> tuple[bool, bool]:
    """Return whether a person is asked, and whether "always" is offered."""
    prepared = desk.prepare("shell", {"command": command})
    assert isinstance(prepared, NeedsPerson)
    return True, prepared.ask.allow_always


@pytest.mark.parametrize(
    "command,known",
    [("lsblk", True), ("makeself", False), ("git statusbar", False), ("makeshutdownscript", False)],
)
def test_row_58_a_word_within_another_is_not_that_word(desk: Desk, command: str, known: bool) -> None:
    assert asked(desk, command) == (True, known)


@pytest.mark.parametrize(
    "command", ["echo x\nrm -rf y", "echo x\r\nrm -rf y", "sleep 1 & rm -rf y & wait", "true&rm -rf y"]
)
def test_row_59_every_command_of_a_line_counts(desk: Desk, command: str) -> None:
    assert asked(desk, command) == (True, False)


@pytest.mark.parametrize(
    "command, requirement",
    [
        ("cat a > b", Requirement.ASK),
        ("git push --force", Requirement.ALWAYS_ASK),
        ("git push -f", Requirement.ALWAYS_ASK),
        ("git push --force-with-lease", Requirement.ALWAYS_ASK),
    ],
)
def test_row_61_writing_asks_and_forcing_always_asks(
    desk: Desk, command: str, requirement: Requirement
) -> None:
    prepared = desk.prepare("shell", {"command": command})
    assert isinstance(prepared, NeedsPerson)
    assert prepared.ask.requirement is requirement


def test_row_61_no_command_at_all_does_not_run(desk: Desk) -> None:
    assert isinstance(desk.prepare("shell", {}), Refused)


@pytest.mark.parametrize("timeout_s", ["soon", 0, -1])
def test_row_62_a_time_limit_is_a_number_of_seconds(desk: Desk, timeout_s: object) -> None:
    assert isinstance(desk.prepare("shell", {"command": "ls", "timeout_s": timeout_s}), Refused)


async def test_row_63_secrets_are_not_in_a_commands_environment_and_much_output_ends(desk: Desk) -> None:
    shown = (await desk.run("shell", {"command": "env; echo path=$PATH"})).text
    assert "path=/usr/bin:/bin" in shown
    assert not any(secret in shown for secret in ("hunter2", "wJalrXUt", "API_TOKEN"))
    much = await desk.run("shell", {"command": "head -c 3000000 /dev/zero | tr '\\0' x"})
    assert much.status is ResultStatus.OK
    assert len(much.text) < 200_000


# --- what comes from outside, and what goes there --------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        *("http://localhost/", "http://x.localhost/", "http://127.0.0.1/", "http://10.1.2.3/"),
        *("http://169.254.169.254/latest/meta-data", "http://[::ffff:10.0.0.1]/", "http://[fd00::1]/"),
        *("https://192.168.1.1/", "http://100.64.0.1/", "http://0.0.0.0/", "ftp://example.org/"),
    ],
)
async def test_row_65_addresses_that_are_not_public_are_refused(desk: Desk, url: str) -> None:
    """The row refuses plain http, too; people read pages that have nothing else, so it is allowed here."""
    assert (await desk.run("http", {"url": url})).status is not ResultStatus.OK
    assert isinstance(desk.prepare("http", {"url": "https://example.org/"}), Ready)


async def test_row_66_a_whole_token_goes_and_the_sentence_after_it_stays(desk: Desk) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    text = f"Authorization: Bearer {token} and then dinner. {key} is another."
    said = (await desk.run("echo", {"text": text})).text
    assert not any(part in said for part in (*token.split("."), key))
    assert "dinner" in said
    assert "another" in said


@pytest.mark.parametrize(
    "text", ["```sh\nls\n```", "users are listed in /etc/passwd", "SELECT * FROM t; DROP TABLE t"]
)
async def test_row_67_talk_of_dangerous_things_is_no_danger(desk: Desk, text: str) -> None:
    """The row blocks every mention of /etc/passwd, and with it innocent text; here what is done counts."""
    assert text in (await desk.run("echo", {"text": text})).text


@pytest.mark.parametrize(
    "name, shown", [(".env.production", False), (".env.example", True), ("grid_rsa_data", True)]
)
async def test_row_69_files_are_known_by_their_whole_names(
    desk: Desk, tmp_path: Path, name: str, shown: bool
) -> None:
    (tmp_path / "w" / name).write_text("what is in it")
    result = await desk.run("read_file", {"path": name})
    assert ("what is in it" in result.text) is shown


# --- what people said once and for all -------------------------------------------------------------------


def test_row_70_a_tool_is_found_by_either_kind_of_dash_and_settings_go_with_it(desk: Desk) -> None:
    off = ConsentSettings(settings={"write_file": ToolSetting.DISABLED})
    prepared = desk.prepare("write-file", {"path": "a", "content": "b"}, off)
    assert isinstance(prepared, Refused)
    assert prepared.reason is DenyReason.DISABLED


@pytest.mark.parametrize("preset", list(Preset))
def test_row_71_always_ask_ignores_grants(tmp_path: Path, preset: Preset) -> None:
    desk = Desk(tmp_path / "w", policy=Policy(preset=preset))
    grant = Grant("g", "owner", "shell", "*", GrantScope.USER, None, "Olivia", 0)
    allowed = ConsentSettings(grants=(grant,), settings={"shell": ToolSetting.ALWAYS_ALLOW})
    prepared = desk.prepare("shell", DANGER, allowed)
    assert isinstance(prepared, NeedsPerson)
    assert not prepared.ask.allow_always
    harmless = ConsentSettings(settings={"echo": ToolSetting.ALWAYS_ALLOW})
    assert isinstance(desk.prepare("echo", {"text": "x"}, harmless), Ready)


@pytest.mark.parametrize(
    "name, arguments, action",
    [
        ("shell", {"command": "ls"}, "Run `ls`"),
        ("shell", {"command": "ls\nrm -r notes"}, "Run `ls…`"),
        ("shell", {"command": "echo " + "a" * 90}, f"Run `echo {'a' * 75}…`"),
        ("shell", {"command": "echo \u202e"}, "Run `echo [U+202E]`"),
        ("write_file", {"path": "plan.md", "content": "x"}, "Write `plan.md`"),
        ("shell", {"command": " "}, "Use `shell`"),
        ("notes__add", {"text": "milk"}, "Use `notes__add`"),
    ],
)
def test_a_card_is_headed_by_what_the_call_does(name: str, arguments: dict[str, Any], action: str) -> None:
    made = tool(requirement=Requirement.ASK, data=Data.NONE)(_of_any_name)
    assert action_of(replace(made, name=name), arguments) == action
    assert action_of(replace(made, name=name, sensitive=frozenset(arguments)), arguments) == f"Use `{name}`"


async def _of_any_name(call: CallContext) -> str:
    """Do nothing."""
    return ""
