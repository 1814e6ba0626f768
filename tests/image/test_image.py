"""The image: built where nothing can be fetched, run without rights on a file system it cannot write.

The base is made by debootstrap, or is what HUBBUB_IMAGE_BASE names. `make wheels` has to have run; without it
the test fills build/wheels itself.
"""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator

import pytest
import yaml

from tests.harness.images import base_image, run
from tests.tree import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1800)]
LIMIT_S = 60.0
LOOK_AGAIN_S = 0.2


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """The image, built without any network."""
    if not list((ROOT / "build" / "wheels").glob("*.whl")):
        run("make", "wheels", cwd=ROOT)
    name = f"hubbub-test-{uuid.uuid4().hex[:8]}"
    with base_image() as base:
        try:
            run(
                "docker", "build", "--network", "none", "--build-arg", f"BASE={base}", "-t", name, ".",
                cwd=ROOT, env={**os.environ, "DOCKER_BUILDKIT": "0"},
            )  # fmt: skip
            yield name
        finally:
            subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True, check=False)


@pytest.fixture
def container(image: str) -> Iterator[str]:
    """The hub as compose.yaml runs it, with a volume and a port of its own."""
    name = f"{image}-{uuid.uuid4().hex[:8]}"
    run("docker", "run", "--detach", "--name", name, *_composed(name), image)
    try:
        yield name
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)
        subprocess.run(["docker", "volume", "rm", "--force", name], capture_output=True, check=False)


def _composed(volume: str) -> Iterator[str]:
    """Yield the options of `docker run` for what compose.yaml says; `docker compose` may be missing here."""
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["hubbub"]
    yield from ("--restart", service["restart"])
    if service["read_only"]:
        yield "--read-only"
    for option, key in (("--tmpfs", "tmpfs"), ("--cap-drop", "cap_drop"), ("--security-opt", "security_opt")):
        for value in service[key]:
            yield from (option, value)
    (place,) = (entry.partition(":")[2] for entry in service["volumes"])
    yield from ("--volume", f"{volume}:{place}")
    (address, _, port) = service["ports"][0].split(":")
    yield from ("--publish", f"{address}::{port}")


def ready(container: str) -> dict[str, object]:
    """Return what `/readyz` says to the host, once it answers."""
    until = time.monotonic() + LIMIT_S
    while True:
        address = run("docker", "port", container, "8765/tcp").splitlines()[0]
        try:
            with urllib.request.urlopen(f"http://{address}/readyz", timeout=5) as answer:
                return json.load(answer)
        except OSError:
            assert time.monotonic() < until, run("docker", "logs", container)
            time.sleep(LOOK_AGAIN_S)


def said(container: str, text: str) -> str:
    """Return what the hub answers to a message."""
    return run("docker", "exec", "--interactive", container, "hubbub", "chat", input=text)


def threads(container: str) -> list[dict[str, object]]:
    """The conversations there are."""
    return json.loads(run("docker", "exec", container, "hubbub", "threads", "list", "--json"))


def test_the_image_keeps_threads_and_runs_as_nobody_on_a_readonly_root(container: str) -> None:
    assert ready(container)["ready"] is True
    assert run("docker", "exec", container, "id", "-u") == "10001"
    assert "You said: hello" in said(container, "hello")
    (thread,) = threads(container)

    refused = subprocess.run(
        ["docker", "exec", container, "touch", "/opt/hubbub/x"], capture_output=True, text=True, check=False
    )
    assert "Read-only file system" in refused.stderr
    check = json.loads(run("docker", "inspect", container))[0]["Config"]["Healthcheck"]["Test"][1:]
    run("docker", "exec", container, *check)

    run("docker", "restart", container)
    assert ready(container)["ready"] is True
    assert [each["id"] for each in threads(container)] == [thread["id"]]
    run("docker", "stop", container)
    assert json.loads(run("docker", "inspect", container))[0]["State"]["ExitCode"] == 0
