"""OAuth 2.1 as the client of a server that people sign in to: discovery, registration, codes and tokens.

The standards: RFC 9728 and RFC 8414 (discovery), RFC 7591 (registration), RFC 7636 (PKCE), RFC 8707
(resource), RFC 9207 (issuer), RFC 6749 (codes and tokens). Servers name most of the addresses, so each is
judged by the network guard, like those of the `http` tool, and must be https, except on the loopback
interface if the operator's own server is there.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode

from yarl import URL

from core.clock import SECOND_US, Clock
from core.errors import SignedOut, SignInFailed, ToolError
from core.lazy import dataclass
from core.model.provider_data import as_array, as_object, as_text
from core.safety.network import Exemption, Lookup, NetworkGuard, ServerGuard
from core.web import Challenge, Interceptor, WebRequest

if TYPE_CHECKING:
    from core.tools.web_client import WebClient

DOCUMENT_LIMIT_BYTES = 64 * 1024
REQUEST_TIMEOUT_S = 15.0
TOKEN_LIMIT_CHARS = 16 * 1024
EARLY_US = 60 * SECOND_US
"""How early a token is renewed before it expires."""
CLIENT_NAME = "hubbub"
_METHODS = ("none", "client_secret_basic", "client_secret_post")
_ERROR = re.compile(r"[a-z_]{1,40}")
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_CODE = re.compile(r"[\x21-\x7e]{1,2048}")


@dataclass(frozen=True, slots=True)
class Client:
    """The hub as a client of an authorization server. `secret`: None for a public client."""

    client_id: str
    secret: str | None = None
    method: str = "none"


@dataclass(frozen=True, slots=True)
class Provider:
    """An authorization server, and the resource that its tokens are for."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str
    methods: tuple[str, ...]
    names_issuer: bool
    resource: str
    scope: str
    revocation_endpoint: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to sign in, as the vault keeps it until its code comes back."""

    server: str
    server_url: str
    provider: Provider
    client: Client
    redirect_uri: str
    verifier: str
    state: str

    @property
    def link(self) -> str:
        """The page at which the person signs in."""
        provider, challenge = self.provider, hashlib.sha256(self.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.client.client_id,
            "redirect_uri": self.redirect_uri,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(challenge).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": provider.resource,
            **({"scope": provider.scope} if provider.scope else {}),
        }
        endpoint = provider.authorization_endpoint
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def again(self, attempt_id: str) -> "Attempt":
        """Return a new attempt like this one: its link and its verifier are good once."""
        return replace(self, verifier=_verifier(), state=_state(attempt_id))

    def to_json(self) -> str:
        """Return the attempt as JSON, to be sealed."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Attempt":
        """Return the attempt of `to_json`."""
        stored = json.loads(text)
        provider = stored.pop("provider")
        provider["methods"] = tuple(provider["methods"])
        return cls(provider=Provider(**provider), client=Client(**stored.pop("client")), **stored)


@dataclass(frozen=True, slots=True)
class Tokens:
    """A person's sign-in at a server, as the vault keeps it.

    `expires_at`: microseconds UTC; None: not known. `token_endpoint` empty: it can't be renewed, as a token
    that a person typed."""

    access: str
    refresh: str = ""
    expires_at: int | None = None
    token_endpoint: str = ""
    resource: str = ""
    client: Client = Client("")
    revocation_endpoint: str = ""

    def to_json(self) -> str:
        """Return the tokens as JSON, to be sealed."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Tokens":
        """Return the tokens of `to_json`. Any other text is a token that a person typed."""
        if not text.startswith("{"):
            return cls(text)
        stored = json.loads(text)
        return cls(client=Client(**stored.pop("client")), **stored)


def digest_of(state: str) -> str:
    """Return the digest under which the store knows a state."""
    return hashlib.sha256(state.encode(errors="replace")).hexdigest()


def attempt_id_in(state: str) -> str:
    """Return the id of the attempt that a state names."""
    return state.partition(".")[0]


def same_state(digest: str, state: str) -> bool:
    """Return whether a state is the one with that digest; in constant time."""
    return hmac.compare_digest(digest, digest_of(state))


def query_of(pasted: str) -> Mapping[str, str]:
    """Return the parameters of a pasted address; a text that is no address is the code itself. Raises
    SignInFailed."""
    query = pasted.partition("?")[2].partition("#")[0] if "?" in pasted else ""
    if query:
        return single(parse_qs(query, max_num_fields=20))
    if not _CODE.fullmatch(pasted):
        raise SignInFailed("That is neither a code nor the address of the page.")
    return {"code": pasted}


def single(query: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """Return the parameters, none of which may be given twice (RFC 6749, 3.1). Raises SignInFailed."""
    if any(len(values) > 1 for values in query.values()):
        raise SignInFailed("The answer gives a parameter twice.")
    return {name: values[0] for name, values in query.items()}


def code_in(attempt: Attempt, query: Mapping[str, str]) -> str:
    """Return the code that an authorization server sent. Raises SignInFailed."""
    issuer = query.get("iss")
    if (issuer is None and attempt.provider.names_issuer and "state" in query) or (
        issuer is not None and issuer != attempt.provider.issuer
    ):
        raise SignInFailed("The answer is from another authorization server.")
    if "error" in query:
        raise SignInFailed(f"The server refused it ({_error(query['error'])}).")
    code = query.get("code", "")
    if not _CODE.fullmatch(code):
        raise SignInFailed("The answer has no code.")
    return code


def named(guard: NetworkGuard, text: str) -> URL:
    """Return an address that a server named. Raises SignInFailed."""
    try:
        url = guard.web_address(text)
    except ToolError as error:
        raise SignInFailed(f"The server names an address that I don't use: {error}.") from error
    if url.user is not None or url.fragment:
        raise SignInFailed("The server names an address with a login or a fragment.")
    return url


class OAuthClient:
    """The requests of a sign-in. Methods raise SignInFailed; refusals of people's tokens raise SignedOut.

    `web`: returns a client for a request, and is called in a thread."""

    def __init__(
        self,
        lookup: Lookup,
        exempt: Sequence[Exemption],
        web: "Callable[[NetworkGuard], WebClient]",
        interceptor: Interceptor,
        clock: Clock,
    ) -> None:
        self._lookup, self._exempt = lookup, exempt
        self._web = web
        self._interceptor = interceptor
        self._clock = clock

    def guard(self, server_url: str) -> ServerGuard:
        """Return the guard of the addresses that a server names."""
        return ServerGuard(self._lookup, self._exempt, URL(server_url))

    async def discover(self, server_url: str, challenge: Challenge, scopes: Sequence[str]) -> Provider | None:
        """Return a server's authorization server; None if it names none, and so takes tokens that people
        have. `scopes`: as configured."""
        guard, server = self.guard(server_url), URL(server_url)
        resource: Mapping[str, Any] | None = None
        for url in [challenge.metadata_url] if challenge.metadata_url else _resource_urls(server):
            resource = await self._document(guard, url)
            if resource is not None:
                break
        describes = as_text(resource.get("resource")) if resource is not None else server_url
        if not _covers(describes, server):
            raise SignInFailed("The server's description is that of another server.")
        servers = _texts(resource.get("authorization_servers")) if resource is not None else ()
        issuer = servers[0] if servers else str(server.origin())
        supported = _texts(resource.get("scopes_supported")) if resource is not None else ()
        scope = " ".join(scopes) or challenge.scope or " ".join(supported)
        for url in _issuer_urls(named(guard, issuer)):
            found = await self._document(guard, url)
            if found is not None:
                return _provider(guard, found, issuer, describes, scope)
        if resource is not None and servers:
            raise SignInFailed("Its authorization server does not describe itself.")
        return None

    async def register(self, server_url: str, provider: Provider, redirect_uri: str) -> Client:
        """Register the hub (RFC 7591)."""
        if not provider.registration_endpoint:
            raise SignInFailed("It registers no clients; the operator must set client_id for it.")
        method = next((one for one in _METHODS if one in provider.methods), "")
        if not method:
            raise SignInFailed("It supports no way for clients to authenticate that I know.")
        wanted = {
            "client_name": CLIENT_NAME,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
        }
        body = json.dumps(wanted).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        guard = self.guard(server_url)
        status, found = await self._send(guard, "POST", provider.registration_endpoint, headers, body)
        secret = as_text(found.get("client_secret")) or None
        client = Client(
            as_text(found.get("client_id")),
            secret,
            as_text(found.get("token_endpoint_auth_method")) or method,
        )
        if status not in (200, 201) or not client.client_id:
            raise SignInFailed(f"It refused to register this hub (HTTP {status}).")
        if client.method not in _METHODS or (client.method != "none" and secret is None):
            raise SignInFailed("It registered this hub in a way that I don't support.")
        return client

    async def exchange(self, attempt: Attempt, code: str) -> Tokens:
        """Exchange a code for tokens."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": attempt.redirect_uri,
            "code_verifier": attempt.verifier,
        }
        provider = attempt.provider
        held = Tokens(
            "",
            token_endpoint=provider.token_endpoint,
            resource=provider.resource,
            client=attempt.client,
            revocation_endpoint=provider.revocation_endpoint,
        )
        return await self._tokens(attempt.server_url, held, form)

    async def refresh(self, server_url: str, tokens: Tokens) -> Tokens:
        """Renew tokens."""
        if not tokens.refresh or not tokens.token_endpoint:
            raise SignedOut("there is nothing to renew it with")
        form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
        return await self._tokens(server_url, tokens, form)

    async def revoke(self, tokens: Tokens) -> None:
        """Revoke tokens, if their authorization server says where (RFC 7009)."""
        if tokens.revocation_endpoint:
            form = {"token": tokens.refresh or tokens.access}
            status, _ = await self._as_client(tokens.resource, tokens, tokens.revocation_endpoint, form)
            if status != 200:
                raise SignInFailed(f"The authorization server did not revoke it (HTTP {status}).")

    async def _as_client(
        self, server_url: str, held: Tokens, endpoint: str, form: Mapping[str, str]
    ) -> tuple[int, Mapping[str, Any]]:
        client, fields = held.client, {**form, "client_id": held.client.client_id}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if client.secret is not None and client.method == "client_secret_basic":
            pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif client.secret is not None:
            fields["client_secret"] = client.secret
        return await self._send(self.guard(server_url), "POST", endpoint, headers, urlencode(fields).encode())

    async def _tokens(self, server_url: str, held: Tokens, form: Mapping[str, str]) -> Tokens:
        asked_at, fields = self._clock.now(), {**form, "resource": held.resource}
        status, found = await self._as_client(server_url, held, held.token_endpoint, fields)
        if status in (400, 401):
            said = _error(as_text(found.get("error")))
            unknown = said in ("invalid_client", "unauthorized_client")
            raise SignedOut(f"the authorization server said {said}", client_unknown=unknown)
        access = as_text(found.get("access_token"))
        bearer = as_text(found.get("token_type")).lower() == "bearer"
        if status != 200 or not bearer or not is_token(access):
            raise SignInFailed(f"The authorization server gave no usable token (HTTP {status}).")
        lasts = found.get("expires_in")
        lasts_s = lasts if isinstance(lasts, int | float) and 0 < lasts < 1e10 else None
        return replace(
            held,
            access=access,
            refresh=as_text(found.get("refresh_token"))[:TOKEN_LIMIT_CHARS] or held.refresh,
            expires_at=None if lasts_s is None else asked_at + int(lasts_s * SECOND_US),
        )

    async def _document(self, guard: ServerGuard, url: str) -> Mapping[str, Any] | None:
        """Return a document of discovery; None if there is none."""
        status, found = await self._send(guard, "GET", url, {"Accept": "application/json"})
        if status >= 500 or status == 429:
            raise SignInFailed(f"The server can't describe itself right now (HTTP {status}).")
        return found if status == 200 and found else None

    async def _send(
        self,
        guard: ServerGuard,
        method: str,
        address: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> tuple[int, Mapping[str, Any]]:
        asked = WebRequest(method, named(guard, address), headers, body)
        web = await asyncio.to_thread(self._web, guard)
        try:
            answer = await web.fetch(asked, REQUEST_TIMEOUT_S, self._interceptor)
        except ToolError as error:
            raise SignInFailed(f"{asked.url.host} can't be used: {error}") from error
        if len(answer.body) > DOCUMENT_LIMIT_BYTES:
            raise SignInFailed(f"{asked.url.host} sent more than {DOCUMENT_LIMIT_BYTES} bytes.")
        try:
            return answer.status, as_object(json.loads(answer.body))
        except (ValueError, RecursionError):
            return answer.status, {}


def begun(
    attempt_id: str, server: str, server_url: str, provider: Provider, client: Client, redirect_uri: str
) -> Attempt:
    """Return a new attempt."""
    return Attempt(server, server_url, provider, client, redirect_uri, _verifier(), _state(attempt_id))


def _verifier() -> str:
    return secrets.token_urlsafe(64)


def _state(attempt_id: str) -> str:
    return f"{attempt_id}.{secrets.token_urlsafe(32)}"


def _provider(
    guard: ServerGuard, found: Mapping[str, Any], issuer: str, resource: str, scope: str
) -> Provider:
    """Return the provider that describes itself so. Raises SignInFailed."""
    if as_text(found.get("issuer")) != issuer:
        raise SignInFailed("Its authorization server describes another one.")
    if "S256" not in _texts(found.get("code_challenge_methods_supported")):
        raise SignInFailed("Its authorization server does not support PKCE with S256.")
    endpoints = [as_text(found.get(f"{name}_endpoint")) for name in ("authorization", "token")]
    registration, revocation = (
        as_text(found.get(f"{name}_endpoint")) for name in ("registration", "revocation")
    )
    for endpoint in [*endpoints, *filter(None, (registration, revocation))]:
        named(guard, endpoint)
    return Provider(
        issuer,
        endpoints[0],
        endpoints[1],
        registration,
        _texts(found.get("token_endpoint_auth_methods_supported")) or _METHODS,
        found.get("authorization_response_iss_parameter_supported") is True,
        resource,
        scope,
        revocation,
    )


def _resource_urls(server: URL) -> Sequence[str]:
    base, path = f"{server.origin()}/.well-known/oauth-protected-resource", server.raw_path.rstrip("/")
    return [f"{base}{path}", base] if path else [base]


def _issuer_urls(issuer: URL) -> Sequence[str]:
    origin, path = str(issuer.origin()), issuer.raw_path.rstrip("/")
    urls = [
        f"{origin}/.well-known/{name}{path}"
        for name in ("oauth-authorization-server", "openid-configuration")
    ]
    return [*urls, f"{origin}{path}/.well-known/openid-configuration"] if path else urls


def _covers(resource: str, server: URL) -> bool:
    """Return whether a resource is the server or holds its path."""
    try:
        url = URL(resource)
        same = url.origin() == server.origin()
    except ValueError:
        return False
    inside = f"{server.raw_path.rstrip('/')}/".startswith(f"{url.raw_path.rstrip('/')}/")
    return same and inside and not url.fragment


def is_token(text: str) -> bool:
    """Return whether a text can be sent as a bearer token (RFC 6750, 2.1)."""
    return 0 < len(text) <= TOKEN_LIMIT_CHARS and _TOKEN.fullmatch(text) is not None


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in as_array(value) if isinstance(one, str))


def _error(text: str) -> str:
    """Return an error's code; a server's own words are not repeated."""
    return text if _ERROR.fullmatch(text) else "an error"
