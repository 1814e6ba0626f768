"""An authorization server and its people, to test clients against; it imports nothing of the product.

Written from RFC 8414 (metadata), RFC 9728 (protected resources), RFC 7591 (registration), RFC 7636 (PKCE),
RFC 6749 (codes and tokens), RFC 7009 (revocation), RFC 8707 (resources) and RFC 9207 (issuer). Strict: what
a client does wrong is an error here, even where a lenient server would let it pass.
"""

import asyncio
import base64
import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from aiohttp import BasicAuth, ClientSession, web

SCOPE = "notes.read notes.write"


@dataclass(slots=True)
class Grant:
    """What one consent of a person led to. `live`: access tokens that are accepted."""

    client_id: str
    resource: str
    scope: str
    refresh: str = ""
    live: set[str] = field(default_factory=set[str])
    spent: set[str] = field(default_factory=set[str])


@dataclass(slots=True)
class Code:
    """A code that was given out. `grant`: what it was exchanged for."""

    client_id: str
    redirect_uri: str
    challenge: str
    resource: str
    scope: str
    grant: Grant | None = None


@dataclass(slots=True)
class AuthorizationServer:
    """The server. `resource`: of its tokens; `method`: how clients authenticate; `denies`: its people do;
    `rotates`: each renewal replaces the refresh token, and otherwise says nothing of it.

    `overrides`: of its metadata. `requests`: each as method, path and form. `answers`: while it is clear,
    requests for tokens wait."""

    resource: str = ""
    method: str = "none"
    expires_in_s: int = 3600
    denies: bool = False
    rotates: bool = True
    silent_issuer: bool = False
    registers: bool = True
    overrides: dict[str, Any] = field(default_factory=dict[str, Any])
    url: str = ""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    codes: dict[str, Code] = field(default_factory=dict[str, Code])
    grants: list[Grant] = field(default_factory=list[Grant])
    requests: list[tuple[str, str, Mapping[str, str]]] = field(
        default_factory=list[tuple[str, str, Mapping[str, str]]]
    )
    broken: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.answers.set()

    # --- the resource's side -------------------------------------------------------------------------------

    def challenge(self, authorization: str | None) -> str | None:
        """Return the challenge with which the resource refuses a request; None if its token is accepted."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and any(token in grant.live for grant in self.grants):
            return None
        wrong = 'error="invalid_token", ' if token else ""
        return f"Bearer {wrong}{self.where_to_sign_in}"

    @property
    def where_to_sign_in(self) -> str:
        """The end of each challenge: where the resource describes itself."""
        where = urlsplit(self.resource)
        metadata = f"{where.scheme}://{where.netloc}/.well-known/oauth-protected-resource{where.path}"
        return f'resource_metadata="{metadata}"'

    @property
    def resource_metadata(self) -> dict[str, Any]:
        """The metadata that the resource publishes."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.url],
            "scopes_supported": SCOPE.split(),
        }

    def expire(self) -> None:
        """Let all access tokens expire."""
        for grant in self.grants:
            grant.live.clear()

    def revoke(self) -> None:
        """Revoke all grants."""
        self.expire()
        for grant in self.grants:
            grant.refresh = ""

    def tokens(self) -> set[str]:
        """Return every token that was ever given out."""
        return {
            token for grant in self.grants for token in (*grant.live, *grant.spent, grant.refresh) if token
        }

    # --- people ------------------------------------------------------------------------------------------

    async def visit(self, link: str) -> str:
        """Open a link as a person's browser does who signs in; return where it is sent next."""
        async with ClientSession() as browser, browser.get(link, allow_redirects=False) as response:
            assert response.status == 302, await response.text()
            return response.headers["Location"]

    # --- endpoints ---------------------------------------------------------------------------------------

    async def metadata(self, request: web.Request) -> web.Response:
        self.requests.append((request.method, request.path, {}))
        page = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": [self.method],
            "authorization_response_iss_parameter_supported": not self.silent_issuer,
            "scopes_supported": SCOPE.split(),
        }
        if self.registers:
            page["registration_endpoint"] = f"{self.url}/register"
        page["revocation_endpoint"] = f"{self.url}/revoke"
        return web.json_response({**page, **self.overrides})

    async def register(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        self.requests.append((request.method, request.path, wanted))
        redirects = wanted.get("redirect_uris")
        if not redirects or not all(isinstance(one, str) and urlsplit(one).scheme for one in redirects):
            return web.json_response({"error": "invalid_redirect_uri"}, status=400)
        if wanted.get("token_endpoint_auth_method", "client_secret_basic") != self.method:
            return web.json_response({"error": "invalid_client_metadata"}, status=400)
        client = {**wanted, "client_id": f"c-{secrets.token_hex(8)}"}
        if self.method != "none":
            client["client_secret"] = secrets.token_urlsafe(24)
        self.clients[client["client_id"]] = client
        return web.json_response(client, status=201)

    async def authorize(self, request: web.Request) -> web.Response:
        given = dict(parse_qsl(request.query_string, strict_parsing=True))
        self.requests.append((request.method, request.path, given))
        client = self.clients.get(given.get("client_id", ""))
        redirect_uri = given.get("redirect_uri", "")
        if client is None or redirect_uri not in client["redirect_uris"]:
            return web.Response(status=400, text="unknown client or redirect_uri")
        answer = {"state": given["state"]} if "state" in given else {}
        if not self.silent_issuer:
            answer["iss"] = self.url
        problem = self._problem(given)
        if problem or self.denies:
            answer["error"] = problem or "access_denied"
        else:
            code = secrets.token_urlsafe(24)
            self.codes[code] = Code(
                client["client_id"],
                redirect_uri,
                given["code_challenge"],
                given["resource"],
                given.get("scope", ""),
            )
            answer["code"] = code
        raise web.HTTPFound(f"{redirect_uri}?{urlencode(answer)}")

    def _problem(self, given: Mapping[str, str]) -> str:
        if given.get("response_type") != "code":
            return "unsupported_response_type"
        if given.get("code_challenge_method") != "S256" or len(given.get("code_challenge", "")) != 43:
            return "invalid_request"
        if given.get("resource") != self.resource:
            return "invalid_target"
        return "" if set(given.get("scope", "").split()) <= set(SCOPE.split()) else "invalid_scope"

    async def token(self, request: web.Request) -> web.Response:
        if request.content_type != "application/x-www-form-urlencoded":
            return web.json_response({"error": "invalid_request"}, status=400)
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.requests.append((request.method, request.path, form))
        await self.answers.wait()
        if self.broken:
            return web.Response(status=503)
        client_id = self._client(request, form)
        if client_id is None:
            return web.json_response({"error": "invalid_client"}, status=401)
        if form.get("resource") != self.resource:
            return web.json_response({"error": "invalid_target"}, status=400)
        match form.get("grant_type"):
            case "authorization_code":
                grant = self._redeemed(form, client_id)
            case "refresh_token":
                grant = self._refreshed(form, client_id)
            case _:
                return web.json_response({"error": "unsupported_grant_type"}, status=400)
        if grant is None:
            return web.json_response({"error": "invalid_grant"}, status=400)
        keeps = form["grant_type"] == "refresh_token" and not self.rotates
        access = secrets.token_urlsafe(32)
        grant.refresh = grant.refresh if keeps else secrets.token_urlsafe(32)
        grant.live.add(access)
        page = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.expires_in_s,
            **({} if keeps else {"refresh_token": grant.refresh}),
            "scope": grant.scope,
        }
        return web.json_response(page, headers={"Cache-Control": "no-store"})

    async def revoke_token(self, request: web.Request) -> web.Response:
        """RFC 7009: a refresh token takes its whole grant with it."""
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.requests.append((request.method, request.path, form))
        if self.broken:
            return web.Response(status=503)
        client_id = self._client(request, form)
        if client_id is None or not form.get("token"):
            return web.json_response({"error": "invalid_client"}, status=401)
        for grant in self.grants:
            if grant.client_id == client_id and form["token"] in {grant.refresh, *grant.live}:
                grant.spent |= {grant.refresh, *grant.live}
                grant.live.clear()
                grant.refresh = ""
        return web.Response(status=200)

    def _client(self, request: web.Request, form: Mapping[str, str]) -> str | None:
        header = request.headers.get("Authorization")
        client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
        if (header is not None) != (self.method == "client_secret_basic"):
            return None
        if header is not None:
            basic = BasicAuth.decode(header)
            client_id, secret = unquote_plus(basic.login), unquote_plus(basic.password)
        client = self.clients.get(client_id)
        return client_id if client is not None and client.get("client_secret", "") == secret else None

    def _redeemed(self, form: Mapping[str, str], client_id: str) -> Grant | None:
        code = self.codes.get(form.get("code", ""))
        if code is None or code.client_id != client_id or code.redirect_uri != form.get("redirect_uri"):
            return None
        if code.grant is not None:  # RFC 6749, 4.1.2: what it gave before is revoked
            code.grant.live.clear()
            code.grant.refresh = ""
            return None
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != code.challenge:
            return None
        code.grant = Grant(client_id, code.resource, code.scope)
        self.grants.append(code.grant)
        return code.grant

    def _refreshed(self, form: Mapping[str, str], client_id: str) -> Grant | None:
        given = form.get("refresh_token", "")
        for grant in self.grants:
            if given in grant.spent:  # used twice: somebody else has it
                grant.live.clear()
                grant.refresh = ""
                return None
            if given and given == grant.refresh and grant.client_id == client_id:
                grant.spent |= {*grant.live, *([given] if self.rotates else ())}
                grant.live.clear()
                return grant
        return None


@contextlib.asynccontextmanager
async def open_authorization_server() -> AsyncIterator[AuthorizationServer]:
    """A server on a free port of this machine."""
    server = AuthorizationServer()
    app = web.Application()
    app.router.add_get("/.well-known/oauth-authorization-server", server.metadata)
    app.router.add_post("/register", server.register)
    app.router.add_get("/authorize", server.authorize)
    app.router.add_post("/token", server.token)
    app.router.add_post("/revoke", server.revoke_token)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
