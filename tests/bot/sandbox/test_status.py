"""`hubbub sandbox status`: the limits, whether Docker keeps them, and what to do where it does not answer."""

import gc
import json
import os
from pathlib import Path

import pytest

from tests.bot.cli.in_process import command
from tests.harness.images import base_image, run

LABELLED = ("docker", "ps", "--all", "--quiet", "--filter", "label=hubbub.check")


def configured(directory: Path, image: str) -> None:
    (directory / "hubbub.toml").write_text(
        f'[sandbox]\nimage = "{image}"\nmemory_mb = 64\negress = ["files.example.org:443"]\n'
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
def test_the_limits_are_checked_on_a_container_that_is_gone_afterwards(tmp_path: Path) -> None:
    with base_image() as image:
        configured(tmp_path, image)
        done = command(tmp_path, "sandbox", "status", "--json")
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert (found["image"], found["differences"], found["problem"]) == (image, [], None)
        assert found["policy"]["memory"].startswith("64 MB")
        # An image may ask for a place to write that the policy does not have.
        run(
            *("docker", "build", "--quiet", "--tag", f"{image}-loose", "-"),
            input=f"FROM {image}\nVOLUME /data\n",
            env={**os.environ, "DOCKER_BUILDKIT": "0"},
        )
        try:
            configured(tmp_path, f"{image}-loose")
            loose = command(tmp_path, "sandbox", "status")
            assert loose.code == 1
            assert "/data is mounted in another way" in loose.out
        finally:
            run("docker", "image", "rm", "--force", f"{image}-loose")
    configured(tmp_path, "hubbub-nowhere")
    missing = command(tmp_path, "sandbox", "status")
    assert (missing.code, missing.err.strip()) == (
        1,
        "Docker has no image hubbub-nowhere; run: hubbub sandbox build --image hubbub-nowhere",
    )
    assert run(*LABELLED) == ""
