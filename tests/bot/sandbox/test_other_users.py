"""A hub that is not root's: its containers run as its own user, and never as root."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from tests.bot.sandbox.test_killed_hubs import containers, rows, setup_with
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.harness.images import run
from tests.tree import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]
USER, GROUP, DOCKER = 54_321, 54_322, 54_323
"""The user and the group of the hub, and the group that may speak with Docker: of nobody's."""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that another user reaches."""
    path = Path(tempfile.mkdtemp(prefix="hubbub-user-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest_asyncio.fixture
async def docker_host(directory: Path) -> AsyncIterator[str]:
    """A socket that leads to the daemon where another user finds it, open for a group as an operator opens
    it. The daemon's own stays as it is."""
    daemon = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(1 << 16):
                writer.write(piece)
                await writer.drain()
            writer.write_eof()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_daemon, to_daemon = await asyncio.open_unix_connection(daemon)
        with contextlib.closing(writer), contextlib.closing(to_daemon):
            await asyncio.gather(pass_on(reader, to_daemon), pass_on(from_daemon, writer))

    own = directory / "docker.sock"
    async with await asyncio.start_unix_server(relay, own):
        os.chown(own, -1, DOCKER)
        own.chmod(0o660)
        yield f"unix://{own}"


class OtherUser:
    """Programs as a user without any right of root's, at that daemon."""

    def __init__(self, group: int, docker_host: str, config: Path) -> None:
        self._group = group
        self._environment = {
            "PATH": os.environ["PATH"],
            "DOCKER_HOST": docker_host,
            "HOME": str(config.parent),
        }
        self._config = ("--config", str(config))

    def words(self, *words: str) -> Sequence[str]:
        """The words of a `hubbub` command as that user."""
        whose = ("--reuid", str(USER), "--regid", str(self._group), "--groups", str(DOCKER))
        return ("setpriv", *whose, sys.executable, "-m", "bot", *words, *self._config)

    def says(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What a command says."""
        return subprocess.run(
            self.words(*words),
            capture_output=True, text=True, check=False, cwd=ROOT, env=self._environment,
        )  # fmt: skip

    @contextlib.asynccontextmanager
    async def hub(self, log: Path) -> AsyncIterator[None]:
        """A hub of that user's, for as long as the block takes."""
        with log.open("wb") as file:
            hub = await asyncio.create_subprocess_exec(
                *self.words("run"), stdout=file, stderr=file, cwd=ROOT, env=self._environment
            )
        try:
            yield
        finally:
            if hub.returncode is None:
                hub.terminate()
            await hub.wait()


@contextlib.asynccontextmanager
async def house_of(
    group: int, directory: Path, docker_host: str, image: str
) -> AsyncIterator[tuple[MortalHub, OtherUser]]:
    place = directory / "hub"
    place.mkdir()
    async with open_mortal_hub(place, setup_with(image)) as town:
        (town.workspace / "note.txt").write_text("one\n")
        run("chown", "--recursive", f"{USER}:{group}", str(place))
        other = OtherUser(group, docker_host, place / "hubbub.toml")
        async with other.hub(directory / "hub.log"):
            yield town, other


async def test_a_hub_of_another_user_gives_containers_its_own_user_and_says_so(
    directory: Path, docker_host: str, worker_image: str
) -> None:
    async with house_of(GROUP, directory, docker_host, worker_image) as (town, other):
        town.owner_says(
            "/job --sandbox please run: id -u > out.txt; id -g >> out.txt; touch /own 2>> out.txt"
        )
        await town.telegram.wait_text(OWNER, "” submitted", timeout_s=LIMIT_S)
        (copy,) = (town.directory / "data" / "containers").glob("*/project")
        made = copy / "out.txt"
        assert made.read_text().startswith(f"{USER}\n{GROUP}\ntouch: cannot touch '/own': Read-only")
        owners = {(path.stat().st_uid, path.stat().st_gid) for path in (copy, *copy.iterdir())}
        assert owners == {(USER, GROUP)}
        (job,) = json.loads(await town.command("jobs", "list", "--json"))
        await town.command("jobs", "accept", job["id"])
        async with asyncio.timeout(LIMIT_S):
            while rows(town, "SELECT state FROM jobs") != [("accepted",)]:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        accepted = (town.workspace / "out.txt").stat()
        assert (accepted.st_uid, accepted.st_gid) == (USER, GROUP)
        status, checked = await asyncio.gather(
            asyncio.to_thread(other.says, "sandbox", "status", "--json"),
            asyncio.to_thread(other.says, "doctor", "--json"),
        )
        found = json.loads(status.stdout)
        assert (found["problem"], found["policy"]["user"]) == (
            None,
            f"{USER}:{GROUP}, no capabilities, no new privileges; the hub's own",
        )
        (line,) = [one for one in json.loads(checked.stdout) if one["what"] == "containers"]
        assert f"containers run as the hub's own user {USER}, never root" in line["message"]
        assert containers(town) == []


async def test_a_hub_whose_group_is_roots_has_no_containers(
    directory: Path, docker_host: str, worker_image: str
) -> None:
    async with house_of(0, directory, docker_host, worker_image) as (town, other):
        town.owner_says("/job --sandbox please run: id -u > out.txt")
        refused = "containers do not run as root: run the hub as another user, or wholly as root"
        await town.telegram.wait_text(OWNER, refused, timeout_s=LIMIT_S)
        assert containers(town) == []
        status = await asyncio.to_thread(other.says, "sandbox", "status")
        assert (status.returncode, status.stderr.strip()) == (1, refused)
