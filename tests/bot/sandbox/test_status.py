"""`hubbub sandbox status`: the limits, whether Docker keeps them, and what to do where it does not answer."""

import gc
import json
import os
from pathlib import Path

import pytest

from tests.bot.cli.in_process import command
from tests.harness.images import run

LABELLED = ("docker", "ps", "--all", "--quiet", "--filter", "label=hubbub.check")


def configured(directory: Path, image: str, *others: str) -> None:
    (directory / "hubbub.toml").write_text(
        f'[sandbox]\nenabled = true\nimage = "{image}"\nimages = {json.dumps(others)}\nmemory_mb = 64\n'
        'egress = ["files.example.org:443"]\n'
    )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_without_docker_the_limits_are_shown_and_the_way_to_get_it(tmp_path: Path) -> None:
    configured(tmp_path, "any")
    done = command(tmp_path, "sandbox", "status", env={"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"})
    assert done.code == 1
    assert "network       none; through the hub files.example.org:443" in done.out
    assert "not checked" in done.out
    assert "install and start Docker" in done.err
    gc.collect()  # the SDK leaves a socket that could not connect to it


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_limits_are_checked_on_a_container_of_each_image_that_is_gone_afterwards(
    tmp_path: Path, worker_image: str
) -> None:
    configured(tmp_path, worker_image)
    done = command(tmp_path, "sandbox", "status", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["image"], found["differences"], found["problem"]) == (worker_image, [], None)
    assert set(found["policy"]) == {
        *("network", "user", "file system", "memory", "processes", "processors", "system calls", "disk")
    }
    assert found["policy"]["user"].split(", ")[1:2] == ["no capabilities"]
    assert found["policy"]["file system"].startswith("read-only; writable: /workspace ")
    assert found["policy"]["memory"].startswith("64 MB")
    assert found["policy"]["disk"].startswith("2,048 MB, kept by a ")
    # An image may ask for a place to write that the policy does not have.
    loose, bare = f"{worker_image}-loose", f"{worker_image}-no-worker"
    for name, content in ((loose, f"FROM {worker_image}\nVOLUME /data\n"), (bare, "FROM scratch\nCMD x\n")):
        run(
            *("docker", "build", "--quiet", "--tag", name, "-"),
            input=content,
            env={**os.environ, "DOCKER_BUILDKIT": "0"},
        )
    try:
        configured(tmp_path, loose)
        told = command(tmp_path, "sandbox", "status")
        assert told.code == 1
        assert "/data is mounted in another way" in told.out
        for other, problem in (
            (loose, f"Docker made a container of {loose} with other limits than asked for"),
            (
                bare,
                f"The image {bare} is no worker of this version; run: hubbub sandbox build --image {bare}",
            ),
            ("nowhere", "Docker has no image nowhere; run: hubbub sandbox build --image nowhere"),
        ):
            configured(tmp_path, worker_image, other)
            told = command(tmp_path, "sandbox", "status")
            assert (told.code, told.err.strip()) == (1, problem)
            checked = command(tmp_path, "doctor", "--json")
            (line,) = [one for one in json.loads(checked.out) if one["what"] == "containers"]
            found = ("fine", line["message"]) if other == loose else ("broken", problem)
            assert (line["health"], line["message"]) == found
    finally:
        run("docker", "image", "rm", "--force", loose, bare)
    assert run(*LABELLED) == ""
