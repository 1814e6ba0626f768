"""The authorization server of the tests, judged by the client of the official SDK of MCP."""

from typing import Any, cast

import pytest
from httpx2 import AsyncClient
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from tests.simulators.mcp.web import open_web_server
from tests.simulators.oauth import open_authorization_server

CALLBACK = "http://127.0.0.1:9/callback"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Memory:
    """What the client keeps; see mcp.client.auth.TokenStorage."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
async def test_another_client_discovers_registers_signs_in_and_refreshes(method: str) -> None:
    async with open_web_server() as tools, open_authorization_server() as issuer:
        issuer.resource, issuer.method = tools.url, method
        tools.guard = issuer.challenge
        tools.resource_metadata = lambda: issuer.resource_metadata
        memory, sent_to = Memory(), [""]

        async def shown(link: str) -> None:
            # Nothing of the attempt is kept by now: this client could not go on after a restart.
            assert memory.tokens is None
            sent_to[0] = await issuer.visit(link)

        async def returned() -> AuthorizationCodeResult:
            query = AnyUrl(sent_to[0]).query_params()
            given = dict(query)
            return AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given["iss"])

        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(CALLBACK)],
            client_name="other",
            token_endpoint_auth_method=cast("Any", method),
        )
        provider = OAuthClientProvider(tools.url, metadata, memory, shown, returned)
        async with AsyncClient(auth=provider) as client:
            assert (await client.post(tools.url, json=LIST)).status_code == 200
            first = memory.tokens
            provider.context.token_expiry_time = 1.0
            assert (await client.post(tools.url, json=LIST)).status_code == 200
        assert memory.tokens != first
        assert [path for _, path, _ in issuer.requests].count("/token") == 2


async def test_tokens_issued_for_a_code_are_revoked_when_the_code_is_used_again() -> None:
    async with open_authorization_server() as issuer:
        issuer.resource = "https://tools.example/mcp"
        async with AsyncClient() as client:
            registered = await client.post(
                f"{issuer.url}/register",
                json={"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"},
            )
            client_id = registered.json()["client_id"]
            asked = {
                "response_type": "code",
                "client_id": client_id,
                "redirect_uri": CALLBACK,
                "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",  # RFC 7636, appendix B
                "code_challenge_method": "S256",
                "resource": issuer.resource,
            }
            answer = await client.get(f"{issuer.url}/authorize", params=asked)
            code = dict(AnyUrl(answer.headers["location"]).query_params())["code"]
            form = {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": CALLBACK,
                "client_id": client_id,
                "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
                "resource": issuer.resource,
            }
            wrong = await client.post(f"{issuer.url}/token", data={**form, "code_verifier": "x" * 43})
            assert wrong.json() == {"error": "invalid_grant"}
            token = (await client.post(f"{issuer.url}/token", data=form)).json()["access_token"]
            assert issuer.challenge(f"Bearer {token}") is None
            assert (await client.post(f"{issuer.url}/token", data=form)).status_code == 400
            assert issuer.challenge(f"Bearer {token}") is not None
