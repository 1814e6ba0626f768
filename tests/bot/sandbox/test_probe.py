"""The look at containers before a full job: a daemon that does not answer is out of reach."""

from bot.jobs.builder import DockerProbe
from core.jobs.service import Readiness

NOWHERE = {"DOCKER_HOST": "tcp://127.0.0.1:1"}


async def test_a_daemon_that_does_not_answer_is_out_of_reach_if_containers_are_turned_on() -> None:
    assert await DockerProbe(enabled=True, environment=NOWHERE).readiness() is Readiness.UNREACHABLE
    assert await DockerProbe(enabled=False, environment=NOWHERE).readiness() is Readiness.HOST
