"""What the hub takes from servers that people sign in to."""

import pytest
from yarl import URL

from core.errors import SignInFailed, ToolDenied
from core.safety.network import ServerGuard
from core.tools.oauth import Tokens, named, query_of
from core.web import Challenge, challenge_in

HTTPS, NEAR = "https://tools.example/mcp", "http://127.0.0.1:9000/mcp"


async def nowhere(host: str, port: int) -> list[str]:
    """A resolver that finds every name inside the network."""
    del host, port
    return ["10.0.0.7"]


@pytest.mark.parametrize(
    "server,address,fine",
    [
        (HTTPS, "https://login.example/authorize", True),
        (HTTPS, "http://login.example/authorize", False),
        (HTTPS, "http://127.0.0.1:9001/token", False),
        (HTTPS, "https://127.0.0.1:9001/token", False),
        (HTTPS, "https://169.254.169.254/latest", False),
        (HTTPS, "https://[::1]/token", False),
        (HTTPS, "https://2130706433/token", False),
        (HTTPS, "https://me:secret@login.example/token", False),
        (HTTPS, "https://login.example/token#x", False),
        (HTTPS, "file:///etc/passwd", False),
        (NEAR, "http://127.0.0.1:9001/token", True),
        (NEAR, "http://localhost:9001/token", True),
        (NEAR, "http://10.0.0.7/token", False),
        (NEAR, "https://10.0.0.7/token", False),
        (NEAR, "http://login.example/token", False),
    ],
)
def test_an_address_that_a_server_names_is_judged(server: str, address: str, fine: bool) -> None:
    guard = ServerGuard(nowhere, (), URL(server))
    if fine:
        assert str(named(guard, address)) == address
        return
    with pytest.raises(SignInFailed):
        named(guard, address)


async def test_a_name_that_leads_inside_is_refused_when_it_is_looked_up() -> None:
    with pytest.raises(ToolDenied, match="not on the public internet"):
        await ServerGuard(nowhere, (), URL(HTTPS)).addresses("login.example", 443)


def test_a_challenge_is_read_as_servers_write_it() -> None:
    header = (
        'Bearer realm="x", resource_metadata="https://tools.example/a?b=c,d", scope="notes.read notes.write"'
    )
    assert challenge_in(header) == Challenge("https://tools.example/a?b=c,d", "notes.read notes.write")
    assert challenge_in("Basic") == Challenge()


def test_what_people_paste_is_an_address_or_a_code() -> None:
    assert query_of("http://127.0.0.1:8765/oauth/callback?code=a%2Bb&state=s#x") == {
        "code": "a+b",
        "state": "s",
    }
    assert query_of("abc-123") == {"code": "abc-123"}
    for wrong in ("two words", "", "http://x?code=a&code=b"):
        with pytest.raises(SignInFailed):
            query_of(wrong)


def test_a_typed_token_is_kept_as_it_is() -> None:
    assert Tokens.from_json("tok-1") == Tokens("tok-1")
    assert Tokens.from_json(Tokens("a", "b", 5).to_json()) == Tokens("a", "b", 5)
