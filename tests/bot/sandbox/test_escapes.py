"""Ways out of a container: each works in an open one, and none in one that the policy made."""

import asyncio
import contextlib
import datetime
import json
import os
import socket
import ssl
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bot.jobs.docker_engine import DockerEngine
from bot.jobs.job_socket import EgressBroker, EgressTerms, listen_in
from core.safety.network import Exemption, NetworkGuard
from core.sandbox.policy import EGRESS_NAME, ContainerPolicy, ContainerUser, container_user
from tests.core.tools.website import SITE
from tests.harness.images import base_image, run
from tests.plugins.proof import ProofRecord

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(900)]
PROBES = Path(__file__).with_name("probes.py")
RIGHTS = ("DAC_READ_SEARCH", "NET_ADMIN", "SYS_ADMIN", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE")
OPEN = (
    *(f"--cap-add={right}" for right in (*RIGHTS, "SYS_TIME", "SYSLOG")),
    "--security-opt=seccomp=unconfined",
    "--security-opt=apparmor=unconfined",
    "--security-opt=systempaths=unconfined",
    "--device-cgroup-rule=a *:* rwm",
    "--device=/dev/kmsg",
    "--volume=/sys:/sys:rw",
)
"""What a container may do that is wide open: as `--privileged`, also where the daemon lacks some rights."""
LEAST = 54
"""The ways that have to be tried: no fewer than there are."""


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    with base_image() as name:
        yield name


@dataclass(frozen=True, slots=True)
class Bait:
    """What there is to reach on the host, and the project that the container works on."""

    project: Path
    words: str


@pytest.fixture
def bait(tmp_path: Path) -> Iterator[Bait]:
    """A file, a server, an abstract socket, a process and another job's socket."""
    project, other, secret = tmp_path / "project", tmp_path / "other", tmp_path / "secret"
    project.mkdir()
    other.mkdir()
    secret.write_text("secret")
    (project / "link-out").symlink_to(f"/host{secret}")
    project.chmod(0o777)
    marker = f"hubbub-{uuid.uuid4().hex}"
    process = subprocess.Popen([sys.executable, "-c", "input()", marker], stdin=subprocess.PIPE)
    with (
        process,
        socket.create_server(("", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as job,
    ):
        abstract.bind("\0" + marker)
        abstract.listen()
        job.bind(str(other / "hub.sock"))
        job.listen()
        told = {
            "port": server.getsockname()[1], "address": own_address(), "abstract": marker, "marker": marker,
            "process": process.pid, "secret": str(secret), "other": str(other), "project": str(project),
        }  # fmt: skip
        yield Bait(project, json.dumps(told))
        process.kill()


def own_address() -> str:
    """The address other machines know this one by. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
        return str(one.getsockname()[0])


def judged(words: str) -> dict[str, str | None]:
    """What each way came to: None where it worked."""
    return json.loads(words.splitlines()[-1])


def in_the_open(image: str, bait: Bait) -> dict[str, str | None]:
    """Try the ways in a container that may do everything."""
    other = json.loads(bait.words)["other"]
    return judged(
        run(
            "docker", "run", "--rm", "--interactive", *OPEN, "--network", "host", "--pid", "host",
            "--uts", "host", "--cgroupns", "host",
            "--volume", "/:/host", "--volume", f"{other}:{other}", "--volume", f"{bait.project}:/workspace",
            "--volume", f"{docker_socket()}:/var/run/docker.sock", image, "python3", "-", bait.words,
            input=PROBES.read_text(),
        )
    )  # fmt: skip


def docker_socket() -> str:
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")


async def inside(policy: ContainerPolicy, script: str, words: str) -> str:
    """What a script prints in a container of that policy."""
    async with DockerEngine(os.environ) as engine:
        container = await engine.create(policy, ["python3", "-", words], {"hubbub.test": "1"})
        try:
            start = ("docker", "start", "--attach", "--interactive", container)
            return await asyncio.to_thread(run, *start, input=script)
        finally:
            await engine.remove(container)


def user() -> ContainerUser:
    return container_user(os.geteuid(), os.getegid(), 7)


async def test_every_escape_works_without_the_policy_and_fails_with_it(
    image: str, bait: Bait, proof_record: ProofRecord
) -> None:
    policy = ContainerPolicy(image, user(), memory_mb=512, project=bait.project)
    closed = judged(await inside(policy, PROBES.read_text(), bait.words))
    tried = in_the_open(image, bait)
    print(f"{len(closed)} ways out were tried")
    assert tried.keys() == closed.keys()
    assert {name: why for name, why in tried.items() if why is not None} == {}, "each works in the open"
    assert [name for name, why in closed.items() if why is None] == []
    assert len(closed) >= LEAST
    proof_record("escapes", tried=len(closed), open_without_the_policy=len(tried), ways=sorted(closed))


GO_OUT = """
import contextlib, json, socket, ssl, sys

told = json.loads(sys.argv[1])


def opened(target):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(30)
    one.connect("/run/hubbub/egress.sock")
    with contextlib.suppress(BrokenPipeError):  # one that is over the limits is answered unheard
        one.sendall(f"CONNECT {target} HTTP/1.1\\r\\n\\r\\n".encode())
    said = b""
    while not said.endswith(b"\\r\\n\\r\\n") and (piece := one.recv(1)):
        said += piece
    return one, int(said.split()[1])


def status(target):
    one, found = opened(target)
    one.close()
    return found


def over_tls(name):
    context = ssl.create_default_context(cadata=told["certificate"])
    one, _ = opened(told["site"])
    try:
        with context.wrap_socket(one, server_hostname=name) as secure:
            secure.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            return b"".join(iter(lambda: secure.recv(4096), b"")).decode()
    except ssl.SSLError as error:
        return type(error).__name__


found = {"tls": over_tls("site.example"), "tls to another name": over_tls("other.example")}
found["refused"] = {target: status(target) for target in told["targets"]}
held = [opened(told["site"]) for _ in range(40)]
found["held"] = sorted(code for _, code in held)
for one, _ in held:
    one.close()
found["many"] = [status("10.0.0.1:443") for _ in range(1000)]
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class SecureSite:
    """A TLS server on this machine. `certificate`: what it is known by, as PEM."""

    port: int
    certificate: str


@contextlib.asynccontextmanager
async def secure_site(directory: Path) -> AsyncIterator[SecureSite]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, SITE)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(SITE)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (directory / "site.pem").write_bytes(certificate + private)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / "site.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.0 200 OK\r\n\r\nhello over TLS")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        yield SecureSite(server.sockets[0].getsockname()[1], certificate.decode())


async def test_with_egress_every_escape_fails_and_only_the_broker_is_reached(
    image: str, bait: Bait, tmp_path: Path, proof_record: ProofRecord
) -> None:
    async def look_up(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    sockets, told = tmp_path / "sockets", json.loads(bait.words)
    async with secure_site(tmp_path) as site:
        allowed = f"{SITE}:{site.port}"
        guard = NetworkGuard(look_up, [Exemption.parse(f"127.0.0.1:{site.port}")])
        terms = EgressTerms(frozenset({(SITE, site.port)}), guard, max_connections=1_000)
        broker = EgressBroker("job", terms)
        listening = listen_in(sockets, None if os.geteuid() else user(), EGRESS_NAME)
        policy = ContainerPolicy(
            image, user(), memory_mb=512, project=bait.project, socket_directory=sockets, egress=(allowed,)
        )
        hosts = ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", told["address"])
        targets = [f"{host}:{port}" for host in hosts for port in (told["port"], site.port)]
        targets += [f"{SITE}:{told['port']}", f"sub.{allowed}", "169.254.169.254:80"]
        words = {"site": allowed, "certificate": site.certificate, "targets": targets}
        async with broker.serving(listening):
            closed = judged(await inside(policy, PROBES.read_text(), bait.words))
            found = json.loads(await inside(policy, GO_OUT, json.dumps(words)))
    assert [name for name, why in closed.items() if why is None] == []
    assert len(closed) >= LEAST
    assert found["tls"].endswith("hello over TLS"), found
    assert found["tls to another name"] == "SSLCertVerificationError", "the broker sees no content"
    assert found["refused"] == dict.fromkeys(targets, 403)
    assert found["held"] == [200] * terms.max_open + [503] * (40 - terms.max_open)
    assert {*found["many"]} <= {403, 429, 503}
    assert found["many"][-1] == 429, "a thousand connections are the limit of this job"
    assert broker.asked == 1_000 + 2 + len(targets) + 40
    refused = len(found["many"]) - found["many"].count(200)
    proof_record("escapes", tried=len(closed), targets_refused=len(targets), connections_refused=refused)
