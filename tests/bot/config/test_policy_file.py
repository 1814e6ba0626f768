"""The operator's policy: what is written holds at once, and what cannot be read leaves nobody any tool."""

import logging
import os
from pathlib import Path

import pytest

from bot.config.load import load
from bot.config.policy import LIMIT_BYTES, PolicyFile, policy_source, read_policy
from bot.tools import build_effective_policy
from core.approvals import UNSAID, AdminPolicy, ApprovalSettings, Preset
from core.gates import ConsentSettings
from core.users import Principal, Role

OWNER = Principal("owner", Role.OWNER, "Olivia")
MEMBER = Principal("01900000-0000-7000-8000-000000000000", Role.MEMBER, "Mia")
WRITTEN = """
disabled_tools = ["shell", "tool-list"]
preset = "whitelist"
max_rounds = 10
[users.owner]
preset = "auto"
[users.01900000000070008000000000000000]
disabled_tools = ["http", "write-file"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(WRITTEN)
    return path


def test_written_values_are_read(file: Path) -> None:
    policy = read_policy(file)
    assert policy.unreadable is None
    assert policy.disabled == {"shell", "tool-list", "tool_list"}
    assert policy.disabled_for == {"owner": frozenset(), MEMBER.user_id: {"http", "write-file", "write_file"}}
    assert policy.ceiling == ApprovalSettings(Preset.WHITELIST, max_rounds=10)
    assert policy.ceiling_for["owner"] == ApprovalSettings(Preset.AUTO)


def test_an_empty_policy_file_sets_no_limits(file: Path) -> None:
    file.write_text("")
    assert read_policy(file) == AdminPolicy()


@pytest.mark.parametrize(
    "written,why",
    [
        ("disabled_tools = [", "is not usable"),
        ('disabled_tools = "shell"', "disabled_tools"),
        ('disabled_tools = ["../x"]', "disabled_tools.0"),
        ('disabled_tools = ["Shell"]', "disabled_tools.0"),
        ('disabled_tool = ["shell"]', "disabled_tool"),
        ('preset = "loose"', "preset"),
        ("max_rounds = 0", "max_rounds"),
        ('max_rounds = "5"', "max_rounds"),
        ("max_rounds = true", "max_rounds"),
        ("[users.'../x']", "users"),
        ("[users.owner]\nmax_tools = -1", "users.owner.max_tools"),
        ("# " + "x" * LIMIT_BYTES, "larger than"),
        ("disabled_tools = [" + '"x",' * 1001 + "]", "disabled_tools"),
    ],
)
def test_a_forbidden_entry_makes_the_policy_unreadable(file: Path, written: str, why: str) -> None:
    file.write_text(written)
    policy = read_policy(file)
    assert policy.unreadable is not None
    assert why in policy.unreadable


def test_a_missing_binary_or_world_writable_file_is_unreadable(file: Path, tmp_path: Path) -> None:
    assert read_policy(tmp_path / "none.toml").unreadable == "is not readable: No such file or directory"
    assert read_policy(tmp_path).unreadable is not None
    file.chmod(0o666)
    assert "chmod o-w" in (read_policy(file).unreadable or "")
    file.chmod(0o600)
    file.write_bytes(b"\xff\xfe")
    assert read_policy(file).unreadable is not None


def test_a_changed_policy_applies_at_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = PolicyFile(file)
    first = source.current()
    assert source.current() is first
    file.write_text('disabled_tools = ["http"]')
    os.utime(file, ns=(1, 1))
    assert source.current().disabled == {"http"}
    with caplog.at_level(logging.ERROR):
        file.unlink()
        assert source.current().unreadable is not None
        assert source.current().unreadable is not None
    errors = [one.message for one in caplog.records if one.levelno >= logging.ERROR]
    assert [one.startswith("policy.unreadable") for one in errors] == [True]
    file.write_text(WRITTEN)
    assert source.current() == first
    assert policy_source(None).current() == AdminPolicy()


def test_a_policy_is_readable_once_the_advised_mode_is_set(file: Path) -> None:
    """A change of the mode changes neither the file's time nor its size."""
    source = PolicyFile(file)
    file.chmod(0o666)
    assert "chmod o-w" in (source.current().unreadable or "")
    file.chmod(0o600)
    assert source.current().unreadable is None


def test_the_effective_policy_follows_the_policy_file(file: Path) -> None:
    effective_policy = build_effective_policy(
        load(environ={"HUBBUB__POLICY__FILE": str(file)}, cwd=file.parent).config
    )
    loose = ConsentSettings(thread=ApprovalSettings(Preset.AUTO, max_rounds=50))
    held = effective_policy.in_force(OWNER, loose)
    assert (held.preset, held.limits.max_rounds) == (Preset.AUTO, 10)
    held = effective_policy.in_force(MEMBER, loose)
    assert (held.preset, held.limits.max_rounds) == (Preset.WHITELIST, 10)
    assert effective_policy.policy_for(MEMBER, loose).preset is Preset.WHITELIST
    assert "shell" in effective_policy.policy().admin.disabled
    file.write_text("]")
    assert effective_policy.policy_for(OWNER, ConsentSettings()).admin.unreadable is not None
    file.write_text("")
    assert effective_policy.policy_for(OWNER, ConsentSettings()).admin == AdminPolicy()
    assert effective_policy.in_force(OWNER, loose).preset is Preset.AUTO
    held = effective_policy.in_force(MEMBER, loose)
    assert (held.preset, held.limits.max_rounds) == (Preset.AUTO_LOOP, 5)


def test_a_path_starts_where_the_configuration_is(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text('[policy]\nfile = "./mine.toml"')
    assert load(environ={}, cwd=tmp_path).config.policy.file == tmp_path / "mine.toml"
    (elsewhere := tmp_path / "elsewhere").mkdir()
    assert load(environ={}, cwd=elsewhere).config.policy.file is None


def test_settings_override_lower_ones_and_stay_within_the_policy() -> None:
    below = ApprovalSettings(Preset.MANUAL, 1, None, 3)
    assert ApprovalSettings(None, 2).over(below) == ApprovalSettings(Preset.MANUAL, 2, None, 3)
    assert UNSAID.over(below) == below
    wish = ApprovalSettings(Preset.AUTO, 5, 5, 5)
    assert wish.within(UNSAID) is wish
    assert wish.within(below) == ApprovalSettings(Preset.MANUAL, 1, 5, 3)
    assert below.within(wish) is below
