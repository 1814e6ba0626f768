"""The tool is asked about until the operator trusts it; the model answers; the hook changes what it reads."""

from pathlib import Path

import pytest
from conftest import OWNER, WireSubject, wire_section
from hubbub_testing.harness.hub import AnyHub
from hubbub_testing.harness.simulators import open_simulators, write_config
from wire_simulator import WireSimulator

ROLL = 'please call: example_dice {"sides": 6}'
PARROT = """[[models]]
name = "parrot"
provider = "extension"
entry_point = "parrot"
options = { prefix = "Polly: " }
"""
HOOK = """[[hooks]]
name = "discreet"
on = ["before_inbound"]
ask = "discreet"
"""


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_tool_needs_no_approval_only_if_the_operator_trusts_it(
    tmp_path: Path, *, trusted: bool
) -> None:
    names = '["example_dice"]' if trusted else "[]"
    tools = f'[extensions]\ntools = ["dice"]\ntrusted_tools = {names}\n[approvals]\npreset = "manual"\n'
    preset = tools.replace('preset = "manual"', 'preset = "whitelist"\nwhitelist = ["example_dice"]')
    async with WireSimulator() as wire, open_simulators() as around:
        write_config(
            tmp_path,
            around.model_section(),
            wire_section(wire),
            preset if trusted else tools,
            owners=[f"wire:{OWNER}"],
        )
        async with AnyHub(around, tmp_path).open(start=False) as hub:
            stage = WireSubject(hub, wire)
            await stage.start()
            stage.says(ROLL)
            if not trusted:
                await stage.presses(await stage.hears("Use `example_dice`"), 0)
            await stage.hears("It shows")


async def test_a_hook_of_the_package_changes_what_the_model_reads(tmp_path: Path) -> None:
    async with WireSimulator() as wire, open_simulators() as around:
        write_config(tmp_path, PARROT, HOOK, wire_section(wire), owners=[f"wire:{OWNER}"])
        async with AnyHub(around, tmp_path).open(start=False) as hub:
            stage = WireSubject(hub, wire)
            await stage.start()
            stage.says("hello, Project X")
            await stage.hears("Polly: hello, the project")


async def test_a_model_of_the_package_answers(tmp_path: Path) -> None:
    async with WireSimulator() as wire, open_simulators() as around:
        write_config(tmp_path, PARROT, wire_section(wire), owners=[f"wire:{OWNER}"])
        async with AnyHub(around, tmp_path).open(start=False) as hub:
            stage = WireSubject(hub, wire)
            await stage.start()
            stage.says("hello")
            await stage.hears("Polly: hello")
