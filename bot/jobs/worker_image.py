"""The image of workers, built from a base with Python and this program's own files: nothing is fetched."""

import asyncio
import hashlib
import io
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import core
from bot.jobs.docker_engine import DockerEngine, DockerRefused, ImageMissing, missing_image

VERSION_LABEL = "hubbub.worker"
"""The label of an image that names the files its worker is made of."""
DEFAULT_BASE = "python:3.11-slim-bookworm"
_DOCKERFILE = """\
FROM {base}
COPY hubbub /opt/hubbub
RUN python3 -c "import sys; sys.exit(sys.version_info < (3, 11))" \\
    && python3 -m compileall -q /opt/hubbub \\
    && PYTHONPATH=/opt/hubbub python3 -c "import core.sandbox.worker"
ENV PYTHONPATH=/opt/hubbub PYTHONUNBUFFERED=1
ENTRYPOINT ["python3", "-m", "core.sandbox.worker"]
"""
COMMAND = ("python3", "-m", "core.sandbox.worker")


def _files() -> Iterator[tuple[str, bytes]]:
    root = Path(core.__file__).parent
    for path in sorted(root.rglob("*.py")):
        yield f"hubbub/core/{path.relative_to(root).as_posix()}", path.read_bytes()


@cache
def worker_version() -> str:
    """Return the name of what the workers of this program are made of, as it was at first."""
    digest = hashlib.sha256()
    for name, content in _files():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def build_context(base: str) -> bytes:
    """Return what an image on that base is built from, as a tar archive: the worker needs the standard
    library and no wheel."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in [*_files(), ("Dockerfile", _DOCKERFILE.format(base=base).encode())]:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


async def require_worker(engine: DockerEngine, image: str) -> None:
    """Return if the image is there and of this version. Raises DockerRefused with what to do, and
    DockerUnreachable."""
    try:
        labels = await engine.image_labels(image)
    except ImageMissing:
        raise DockerRefused(missing_image(image)) from None
    if labels.get(VERSION_LABEL) != await asyncio.to_thread(worker_version):
        raise DockerRefused(f"the image {image} is no worker of this version; run: hubbub sandbox build")
