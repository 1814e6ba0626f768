"""The image of workers, built once for all tests in containers."""

import asyncio
import os
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from bot.jobs.docker_engine import DockerEngine
from bot.jobs.worker_image import VERSION_LABEL, build_context, worker_version
from tests.harness.images import base_image


@pytest.fixture(scope="session")
def worker_image() -> Iterator[str]:
    """The image, built on the base where nothing can be fetched."""
    name = f"hubbub-test-{uuid.uuid4().hex[:8]}-worker"

    async def build(base: str) -> None:
        async with DockerEngine(os.environ) as engine:
            await engine.build(build_context(base), name, {VERSION_LABEL: worker_version()})

    with base_image() as base:
        asyncio.run(build(base))
        try:
            yield name
        finally:
            subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True, check=False)
