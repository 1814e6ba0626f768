"""The look at containers before a full job: a daemon that does not answer is found out, and none is asked for
nothing."""

from pathlib import Path

from bot.jobs.builder import DockerProbe
from core.jobs.readiness import Readiness


async def test_a_daemon_that_does_not_answer_is_out_of_reach_if_containers_are_turned_on(
    tmp_path: Path,
) -> None:
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}
    assert await DockerProbe(enabled=True, environment=nowhere).readiness() is Readiness.UNREACHABLE
    assert await DockerProbe(enabled=False, environment=nowhere).readiness() is Readiness.HOST
