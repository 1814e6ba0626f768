"""The image: built where nothing can be fetched, run without rights on a file system it cannot write.

The base is made by debootstrap, or is what HUBBUB_IMAGE_BASE names. `make wheels` has to have run; without it
the test fills build/wheels itself.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator

import pytest

from tests.tree import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1800)]
LIMIT_S = 60.0
LOOK_AGAIN_S = 0.2
SUITE = "bookworm"


def run(*words: str, **more: object) -> str:
    """A command that has to succeed; what it prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return str(done.stdout).strip()


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """The image, built without any network."""
    if not list((ROOT / "build" / "wheels").glob("*.whl")):
        run("make", "wheels", cwd=ROOT)
    name, base = f"hubbub-test-{uuid.uuid4().hex[:8]}", os.environ.get("HUBBUB_IMAGE_BASE", "")
    made = "" if base else _made_base(f"{name}-base")
    try:
        run(
            "docker", "build", "--network", "none", "--build-arg", f"BASE={base or made}", "-t", name, ".",
            cwd=ROOT, env={**os.environ, "DOCKER_BUILDKIT": "0"},
        )  # fmt: skip
        yield name
    finally:
        for each in filter(None, (name, made)):
            subprocess.run(["docker", "image", "rm", "--force", each], capture_output=True, check=False)


def _made_base(name: str) -> str:
    """Debian with Python, from the machine's own mirror."""
    assert shutil.which("debootstrap"), "install debootstrap, or name a base in HUBBUB_IMAGE_BASE"
    with tempfile.TemporaryDirectory(prefix="hubbub-base-") as directory:
        run("debootstrap", "--variant=minbase", "--include=python3,python3-venv", SUITE, directory)
        with subprocess.Popen(["tar", "-C", directory, "-c", "."], stdout=subprocess.PIPE) as archive:
            run("docker", "import", "-", name, stdin=archive.stdout)
        assert archive.returncode == 0
    return name


@pytest.fixture
def container(image: str) -> Iterator[str]:
    """The hub in a container with a volume of its own; its root is read-only."""
    name = f"{image}-{uuid.uuid4().hex[:8]}"
    run(
        "docker", "run", "--detach", "--name", name, "--read-only", "--tmpfs", "/tmp",
        "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
        "--volume", f"{name}:/data", "--publish", "127.0.0.1::8765", image,
    )  # fmt: skip
    try:
        yield name
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)
        subprocess.run(["docker", "volume", "rm", "--force", name], capture_output=True, check=False)


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
