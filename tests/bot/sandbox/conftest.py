"""The image of workers, built once for all tests in containers."""

import asyncio
import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.jobs.docker_engine import DockerEngine
from bot.jobs.worker_image import PACKAGES, AgentFiles, agents_from, build_context, labels_of
from tests.harness.images import base_image
from tests.harness.npm import install_agents
from tests.plugins.groups import node_of_the_environment
from tests.plugins.profile import Profile


@pytest.fixture(scope="session")
def worker_image() -> Iterator[str]:
    """The image, built on the base where nothing can be fetched."""
    with base_image() as base, built(base, "worker", None) as name:
        yield name


@pytest.fixture(scope="session")
def agent_image(pytestconfig: pytest.Config) -> Iterator[str]:
    """The same with the pinned agent CLIs, and Node from its wheel."""
    modules, node = install_agents(pytestconfig) / "node_modules", node_of_the_environment()
    agents = agents_from([f"{name}={modules / package}" for name, package in PACKAGES.items()], node)
    with base_image() as base, built(base, "agents", agents) as name:
        yield name


@pytest.fixture(scope="session")
def scripted_agent_image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same with a scripted program in the place of an agent CLI, which Python runs, not Node."""
    place = tmp_path_factory.mktemp("agent")
    (place / "node").write_text('#!/bin/sh\nexec python3 "$3"\n')
    (place / "claude").mkdir()
    script = Path(__file__).with_name("agent_program.py").read_bytes()
    (place / "claude" / "cli.js").write_bytes(script)
    agents = AgentFiles(place / "node", {"claude": place / "claude"})
    with base_image() as base, built(base, "scripted", agents) as name:
        yield name


@pytest.fixture
def quickly_s(profile: Profile) -> float:
    """Three seconds where nothing else has the processor, which is so in the proof; always less than the ten
    that Docker would wait by itself."""
    return profile.pick(test=9.0, proof=3.0)


@contextlib.contextmanager
def built(base: str, kind: str, agents: AgentFiles | None) -> Iterator[str]:
    name = f"hubbub-test-{uuid.uuid4().hex[:8]}-{kind}"

    async def build() -> None:
        async with DockerEngine(os.environ) as engine:
            with build_context(base, agents) as context:
                await engine.build(context, name, labels_of(agents))

    asyncio.run(build())
    try:
        yield name
    finally:
        subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True, check=False)
