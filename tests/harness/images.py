"""Images for tests, made where nothing can be pulled."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

SUITE = "bookworm"


def run(*words: str, **more: object) -> str:
    """A command that has to succeed; what it prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return str(done.stdout).strip()


@contextmanager
def base_image() -> Iterator[str]:
    """Debian with Python: what HUBBUB_IMAGE_BASE names, or made from the machine's own mirror."""
    given = os.environ.get("HUBBUB_IMAGE_BASE", "")
    if given:
        yield given
        return
    assert shutil.which("debootstrap"), "install debootstrap, or name a base in HUBBUB_IMAGE_BASE"
    name = f"hubbub-test-{uuid.uuid4().hex[:8]}-base"
    with tempfile.TemporaryDirectory(prefix="hubbub-base-") as directory:
        run("debootstrap", "--variant=minbase", "--include=python3,python3-venv", SUITE, directory)
        with subprocess.Popen(["tar", "-C", directory, "-c", "."], stdout=subprocess.PIPE) as archive:
            run("docker", "import", "-", name, stdin=archive.stdout)
        assert archive.returncode == 0
    try:
        yield name
    finally:
        subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True, check=False)
