"""Real agent CLIs from npm against the model simulator."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.config.schema import Model as ModelSettings
from bot.jobs.worker_image import PACKAGES
from bot.models.cli import cli_model
from core.ids import RandomIds
from core.model.base import ModelAbilities
from core.model.cli import Bridge, CliModel
from tests.harness.npm import install_agents
from tests.plugins.groups import node_of_the_environment
from tests.simulators.model import ModelSimulator

SECRET = "sk-hub-secret-1"
"""A secret in the hub's own environment."""

NAME = f"agent-{os.getpid()}"
"""A name that tests of other workers don't use."""

OpenCli = Callable[..., CliModel]
Command = Callable[[str], tuple[str, ...]]


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> Path:
    return install_agents(pytestconfig)


@pytest.fixture
def command(programs: Path) -> Command:
    """The command of a preset's pinned program."""
    node = str(node_of_the_environment())
    return lambda preset: (node, str(programs / "node_modules" / PACKAGES[preset] / "cli.js"))


@pytest.fixture
def open_cli(command: Command, tmp_path: Path) -> OpenCli:
    def opened(
        simulator: ModelSimulator,
        preset: str = "claude",
        *,
        bridge: Bridge | None = None,
        timeout_s: float = 60,
        arguments: tuple[str, ...] = (),
    ) -> CliModel:
        settings = ModelSettings.model_validate(
            {
                "name": NAME,
                "provider": "cli",
                "preset": preset,
                "model": "sim-1",
                "command": command(preset),
                "base_url": simulator.url if preset == "claude" else simulator.openai_base_url,
                "timeout_s": timeout_s,
                "arguments": arguments,
            }
        )
        environment = {**os.environ, "HUB_TOKEN": SECRET, "ANTHROPIC_AUTH_TOKEN": SECRET}
        abilities = ModelAbilities(images=True)
        return cli_model(settings, "test-key", tmp_path, environment, RandomIds(), abilities, bridge)

    return opened
