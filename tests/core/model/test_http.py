"""The shared client, judged by what servers see of it."""

import asyncio
import functools
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from core.errors import ModelMisconfigured, ModelRejected, ModelUnavailable
from core.model.openai import OpenAIModel
from core.model.provider_http import model_client
from tests.core.model.recorded_server import RecordedServer, answer, read_request, serving
from tests.core.model.support import TestClock, asking, collect, recorded
from tests.patience import PATIENCE_S

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
plain_client = functools.partial(model_client, tls=NO_TLS)
BODY_END = b"0\r\n\r\n"
TEXT = "Grüße aus 部署 🚀"


def model(client: httpx.AsyncClient, base_url: str) -> OpenAIModel:
    return OpenAIModel(
        name="main", model="m-1", base_url=base_url, api_key="k", client=client, clock=TestClock()
    )


async def test_calls_one_after_the_other_share_one_connection() -> None:
    async with (
        RecordedServer(lambda _: answer(recorded("text.sse"))) as server,
        plain_client() as client,
    ):
        for _ in range(20):
            assert (await collect(model(client, server.base_url), asking("Hi")))[1].text == TEXT
    assert server.connections == 1
    assert len(server.seen) == 20


async def test_a_connection_is_reused_even_if_the_body_ends_late() -> None:
    """Gateways send the end of the body apart from the end of the reply, a moment later."""
    whole = answer(recorded("text.sse"))
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await read_request(connections, reader)
            writer.write(whole.removesuffix(BODY_END))
            await writer.drain()
            await asyncio.sleep(0.02)  # the server's pace, not a wait of the test
            writer.write(BODY_END)

    async with serving(serve) as base_url, plain_client() as client:
        for _ in range(3):
            await collect(model(client, base_url), asking("Hi"))
    assert connections == 1


async def test_a_connection_is_reused_after_an_error_too() -> None:
    bodies = [
        answer(b'{"error": {"message": "no"}}', status="400 Bad Request", media_type="application/json")
    ] * 3
    async with RecordedServer(lambda _: bodies.pop()) as server, plain_client() as client:
        for _ in range(3):
            with pytest.raises(ModelRejected):
                await collect(model(client, server.base_url), asking("Hi"))
    assert server.connections == 1


async def test_hundreds_of_calls_are_in_flight_together() -> None:
    text = answer(recorded("text.sse"))
    async with RecordedServer(lambda _: text, gather=300) as server, plain_client() as client:
        asked = model(client, server.base_url)
        async with asyncio.timeout(PATIENCE_S):
            replies = await asyncio.gather(*(collect(asked, asking(f"{n}")) for n in range(300)))
        assert [reply.text for _, reply in replies] == [TEXT] * 300
        assert server.connections == 300, "some waited for others"
        await collect(asked, asking("once more"))
        assert server.connections == 300


async def test_connection_errors_come_from_aiohttp() -> None:
    async with plain_client() as client:
        with pytest.raises(ModelUnavailable) as caught:
            await collect(model(client, "http://127.0.0.1:1/v1"), asking("Hi"))
    seen: BaseException | None = caught.value
    while seen is not None and not isinstance(seen, aiohttp.ClientConnectorError):
        seen = seen.__cause__
    assert seen is not None, "the failure did not come from aiohttp"


async def test_a_redirect_is_not_followed() -> None:
    async with RecordedServer(lambda _: answer(recorded("text.sse"))) as other:
        moved = answer(b"", status="302 Found", headers=f"Location: {other.base_url}/chat/completions\r\n")
        async with RecordedServer(lambda _: moved) as server, plain_client() as client:
            with pytest.raises(ModelMisconfigured, match="redirects are not followed; check base_url"):
                await collect(model(client, server.base_url), asking("Hi"))
    assert other.seen == []


async def test_no_cookies_are_kept_and_the_environment_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    reply = answer(recorded("text.sse"), headers="Set-Cookie: track=1; Path=/\r\n")
    async with (
        RecordedServer(lambda _: reply) as server,
        plain_client() as client,
    ):
        for _ in range(2):
            await collect(model(client, server.base_url), asking("Hi"))
    assert [seen.header("cookie") for seen in server.seen] == [None, None]
    assert server.seen[0].header("user-agent") == "hubbub"


async def test_a_stream_may_last_as_long_as_it_is_not_silent() -> None:
    """Both sides of the read limit: pieces that keep coming outlast it, silence does not."""
    pieces = recorded("text.sse").split(b"\n\n")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(0, reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for piece in pieces:
            writer.write(piece + b"\n\n")
            await writer.drain()
            await asyncio.sleep(0.2)  # the server's pace, not a wait of the test
        await reader.read()

    async with serving(serve) as base_url, plain_client() as client:
        client.timeout = httpx.Timeout(**(client.timeout.as_dict() | {"read": 0.7}))
        assert (await collect(model(client, base_url), asking("Hi")))[1].text == TEXT
        pieces = pieces[:2]
        with pytest.raises(ModelUnavailable, match="ReadTimeout"):
            await collect(model(client, base_url), asking("Hi"))


def self_signed(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate for localhost, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "localhost.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))


async def test_certificates_are_checked_against_the_context_given(tmp_path: Path) -> None:
    server_tls, trusting = self_signed(tmp_path)
    reply = answer(recorded("text.sse"))
    async with RecordedServer(lambda _: reply, tls=server_tls) as server:
        async with model_client(tls=trusting) as client:
            assert (await collect(model(client, server.base_url), asking("Hi")))[1].text == TEXT
        async with model_client() as client:
            with pytest.raises(ModelUnavailable, match=r"(?i)certificate"):
                await collect(model(client, server.base_url), asking("Hi"))
    assert len(server.seen) == 1
