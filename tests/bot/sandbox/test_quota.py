"""The copies of jobs under a quota of their file system, in a kernel that has them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from core.job import JobState
from core.sandbox.disk import BEYOND_BYTES, FIRST_PROJECT, quota_problem
from tests.bot.sandbox.test_container_jobs import house_with, shell
from tests.bot.sandbox.under_quota import LIMIT, MB
from tests.harness.images import run
from tests.harness.uml import in_another_kernel
from tests.plugins.profile import Profile
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import tools

BLOCK = 4096
HARD = LIMIT + BEYOND_BYTES
EXT4 = ("mkfs.ext4", "-O", "quota,project", "-E", "quotatype=prjquota")
XFS = ("mkfs.xfs",)
FULL = ("EDQUOT", "ENOSPC")


def test_a_file_system_without_quotas_is_reported() -> None:
    assert quota_problem(Path("/proc/self")) is not None


@pytest.mark.uml
@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("maker", [EXT4, XFS], ids=["ext4", "xfs"])
def test_the_file_system_enforces_a_separate_quota_for_each_copy(
    tmp_path: Path, maker: tuple[str, ...], profile: Profile
) -> None:
    if profile.name == "ci" and maker is not (EXT4, XFS)[profile.seed % 2]:
        pytest.skip("another commit's slice")
    if shutil.which(maker[0]) is None:
        pytest.skip(f"{maker[0]} is not installed")
    image = tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(400 * MB)
    subprocess.run([*maker, "-q", str(image)], check=True)
    said = in_another_kernel(tmp_path, image, "tests.bot.sandbox.under_quota")
    print(said)
    found = json.loads(said.splitlines()[-1])
    assert found["on"] is None
    assert all("has no project quotas" in found[case] for case in ("off", "none"))
    assert found["not root"] == "only a hub of root's can set quotas"
    (first, limit, used), (second, *_) = found["begun"]
    assert (first != second, min(first, second) >= FIRST_PROJECT) == (True, True)
    assert (HARD <= limit <= HARD + BLOCK, used > MB) == (True, True)
    why, size = found["at once"]
    assert (why in FULL, LIMIT - MB < size < HARD) == (True, True), "no look of the hub's was needed"
    assert LIMIT < found["seen"] <= HARD + BLOCK, "the next look sees that it is over"
    why, size = found["other"]
    assert (why, 10 * MB <= size < LIMIT) == (None, True)
    assert found["deleted"] > LIMIT, "what is deleted and still open counts"
    assert found["escaped"][0][0] is None, "a file's owner may take it out of a quota"
    assert found["escaped"][1] > LIMIT, "so the hub looks as well"
    assert found["again"][0] == first
    assert found["again"][2] < 2 * MB
    (limit, _), there = found["removed"]  # xfs frees it later
    assert (limit, there) == (0, False)
    assert found["third"][0] not in {first, second}


@pytest.mark.uml
@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("maker", [EXT4, XFS], ids=["ext4", "xfs"])
def test_a_whole_job_ends_at_its_quota_under_cgroup_2(
    tmp_path: Path, worker_image: str, maker: tuple[str, ...], profile: Profile
) -> None:
    """Hub, daemon and container run in the other kernel, which takes minutes."""
    if profile.name != "proof":
        pytest.skip("only in `make proof`")
    if shutil.which(maker[0]) is None:
        pytest.skip(f"{maker[0]} is not installed")
    labels = run("docker", "inspect", "--format", "{{json .Config.Labels}}", worker_image)
    container = run("docker", "create", "--network", "none", worker_image).strip()
    try:
        run("docker", "export", "--output", str(tmp_path / "whole.tar"), container)
    finally:
        run("docker", "rm", container)
    # What a job doesn't need is left out: each layer is a copy of all files.
    (tmp_path / "image").mkdir()
    left_out = [f"--exclude={one}" for one in ("usr/share/*", "var/lib/*", "var/cache/*", "dev/*")]
    run("tar", "-C", str(tmp_path / "image"), "-xf", str(tmp_path / "whole.tar"), *left_out)
    run("tar", "-C", str(tmp_path / "image"), "-cf", str(tmp_path / "image.tar"), ".")
    image = tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(3_000 * MB)
    subprocess.run([*maker, "-q", str(image)], check=True)
    words = (str(tmp_path / "image.tar"), labels.strip())
    module = "tests.bot.sandbox.whole_job"
    said = in_another_kernel(tmp_path, image, module, *words, memory_mb=3_000, limit_s=500)
    print(said)
    found = json.loads(said.splitlines()[-1])
    assert (found["problem"], found["groups"]) == (None, "2")
    assert found["reason"] == "disk limit: the container wrote more than 100 MB"
    assert 100 * MB < found["taken"] < 100 * MB + BEYOND_BYTES + MB, "the system refused the rest"
    assert found["samples"]
    assert all(one["memory_bytes"] > MB for one in found["samples"])


@pytest.mark.docker
@pytest.mark.slow
async def test_a_job_that_writes_past_its_limit_between_two_looks_is_stopped_by_the_system(
    tmp_path: Path, worker_image: str
) -> None:
    if (problem := quota_problem(tmp_path)) is not None:
        pytest.skip(f"{tmp_path}: {problem}")
    async with house_with(tmp_path, worker_image) as house:
        # Without a quota the first command takes all of it at once.
        house.model.enqueue(tools(shell("fallocate -l 300000000 large || cat /dev/zero > large; sleep 60")))
        job = await becomes(house, await started(house, "/job --sandbox write"), JobState.FAILED)
        assert job.reason == "disk limit: the container wrote more than 100 MB"
        (large,) = (tmp_path / "data" / "containers").glob("*/project/large")
        assert 100 * MB < large.stat().st_blocks * 512 < 100 * MB + BEYOND_BYTES + MB
