"""People's sign-ins at servers: begun, redeemed once, kept in the vault, renewed, and told of.

    shown ──answer──▶ answered ──redeemed──▶ redeeming ──▶ signed in: in the vault, the gate closed
      ▲                                          │
      └──────────── another link ◀── failed, or cut off by the hub's end

Every step is committed before the next one: a restart continues where it was. A code is never sent twice,
since an authorization server may then revoke what it gave for it. Tokens that are kept no longer are noted in
the store, for core.tools.sign_out.
"""

import asyncio
import json
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from urllib.parse import urlencode

from core.clock import SECOND_US, Clock
from core.consent import card_texts
from core.consent.cards import open_card, settled_card
from core.errors import HubError, SignedOut, SignInFailed, SignInRequired
from core.gates import Gate
from core.ids import Ids, attempt_name, code_name, sign_in_client_name, sign_in_name
from core.lazy import dataclass
from core.messages import LinkButton, Message, Plain, plain
from core.store.accounts import SignInRow
from core.store.accounts import SignIns as SignInUnits
from core.store.facets import Expired, SealedSecret, Secrets
from core.store.feed import Changes
from core.store.units import committed, patiently
from core.tools.oauth import (
    EARLY_US,
    Attempt,
    Client,
    OAuthClient,
    Provider,
    Tokens,
    attempt_id_in,
    begun,
    code_in,
    digest_of,
    is_token,
    query_of,
    same_state,
    single,
)
from core.tools.sign_out import Notify, Sealer, SignOuts
from core.web import challenge_in

LINKS_LAST_S = 86_400
"""How long the link of a notice is good. A gate's link is good as long as the gate is open."""
UNKNOWN_LINK = "This link was used before, has expired, or belongs to another sign-in. Ask for a new one."
AGAIN_AFTER_S = 5.0
CUT_OFF = "I was restarted while I exchanged the code."
NO_CODE_ACCEPTED = "The authorization server did not accept the code."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """What the operator says of a server that people may sign in to. `users`: their ids; `client`: None to
    register one."""

    url: str
    users: frozenset[str]
    client: Client | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Registration:
    """The hub's registration at an authorization server, for one address to which people return."""

    issuer: str
    redirect_uri: str
    client: Client

    def to_text(self) -> str:
        """Return the registration as JSON, to be sealed."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Registration | None":
        """Return the registration of `to_text`; None for an empty text."""
        stored = json.loads(text or "null")
        return None if stored is None else cls(client=Client(**stored.pop("client")), **stored)


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that is ready to be shown."""

    attempt: SignInRow
    link: str


class SignIns:
    """The sign-ins of all people at all servers.

    `servers`: those of the configuration, by name; `serve` adds extensions. `redirect_uri`: the hub's own
    page to which people return. `learn`: called with tokens, which must not get out."""

    def __init__(
        self,
        units: SignInUnits,
        secrets: Secrets,
        oauth: OAuthClient,
        sealer: Sealer,
        servers: Mapping[str, ServerTerms],
        redirect_uri: str,
        clock: Clock,
        ids: Ids,
        notify: Notify,
        sign_outs: SignOuts,
        learn: Callable[[Iterable[str]], None],
    ) -> None:
        self._units = units
        self._secrets = secrets
        self._oauth = oauth
        self._sealer = sealer
        self.servers = dict(servers)
        """Those where people can sign in, by name."""
        self._redirect_uri = redirect_uri
        self._clock = clock
        self._ids = ids
        self._notify = notify
        self._sign_outs = sign_outs
        self._learn = learn
        self._follow: Callable[[Expired], None] = lambda _: None
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._asked: deque[tuple[str, str]] = deque()
        self._wake = asyncio.Event()
        self._news = asyncio.Event()

    def goes_on(self, follow: Callable[[Expired], None]) -> None:
        """Call this with what a sign-in lets go on, from now on."""
        self._follow = follow

    def serve(self, server: str, terms: ServerTerms) -> None:
        """Let people sign in to a server from now on."""
        self.servers[server] = terms

    def leave(self, server: str) -> None:
        """Let no one sign in to a server any more."""
        self.servers.pop(server, None)

    @property
    def has_servers(self) -> bool:
        """Whether there is a server to sign in to."""
        return bool(self.servers)

    def is_for(self, server: str, user_id: str) -> bool:
        """Return whether a person may sign in to a server of that name."""
        return server in self.servers and user_id in self.servers[server].users

    def names(self, user_id: str) -> str:
        """Return the names of the servers a person may sign in to."""
        return ", ".join(name for name in self.servers if self.is_for(name, user_id)) or "none"

    # --- the tokens of a person --------------------------------------------------------------------------

    async def bearer(self, server: str, user_id: str, refused: str = "") -> str | None:
        """Return a person's token for a server; None if they are not signed in, or not any more.

        `refused`: a token that the server did not accept. Raises SignInFailed if it can't be renewed right
        now."""
        async with self._locks[server, user_id]:
            terms, tokens = self.servers.get(server), await self._held(server, user_id)
            if tokens is None or terms is None:
                return None
            late = tokens.expires_at is not None and tokens.expires_at - EARLY_US <= self._clock.now()
            if tokens.access != refused and not (late and tokens.refresh):
                return tokens.access
            try:
                renewed = await self._oauth.refresh(terms.url, tokens)
            except SignedOut as error:
                logger.info("sign_in.ended server=%s user=%s reason=%s", server, user_id, error)
                forgotten = [sign_in_client_name(server)] if error.client_unknown else []
                await self._drop(sign_in_name(server, user_id), *forgotten)
                return None
            self._learn([renewed.access, renewed.refresh])
            sealed = await self._sealed(sign_in_name(server, user_id), renewed.to_json())
            if await self._replaced(sealed, tokens):
                return renewed.access
            await patiently(partial(self._units.sign_out, server, user_id, sealed), self._clock)
            return None

    async def _replaced(self, renewed: SealedSecret, tokens: Tokens) -> bool:
        """Keep renewed tokens, unless those before have been deleted or replaced meanwhile."""
        while (held := await self._secret(renewed.name)) is not None:
            if Tokens.from_json(await asyncio.to_thread(self._sealer.open, held)) != tokens:
                return False
            if await patiently(partial(self._units.renew_tokens, held, renewed), self._clock):
                return True
        return False

    async def _send(self, server: str, user_id: str, key: str, message: Message) -> None:
        try:
            await self._notify(user_id, key, message)
        except HubError as error:
            logger.warning("sign_in.not_told server=%s user=%s error=%s", server, user_id, error)

    async def holder(self, server: str, users: Iterable[str]) -> str | None:
        """Return the first of these people who is signed in at a server."""
        kept = {secret.name for secret in await self._secrets.secrets(own=True)}
        return next((user_id for user_id in users if sign_in_name(server, user_id) in kept), None)

    async def changed_again(self) -> None:
        """Wait until somebody may have signed in."""
        await self._news.wait()

    async def _held(self, server: str, user_id: str) -> Tokens | None:
        text = await self._value(sign_in_name(server, user_id))
        tokens = None if text is None else Tokens.from_json(text)
        if tokens is None or not is_token(tokens.access):
            return None
        self._learn([one for one in (tokens.access, tokens.refresh) if one])
        return tokens

    async def _value(self, name: str) -> str | None:
        found = await self._secret(name)
        return None if found is None else await asyncio.to_thread(self._sealer.open, found)

    async def _secret(self, name: str) -> SealedSecret | None:
        return next((one for one in await self._secrets.secrets(own=True) if one.name == name), None)

    async def _sealed(self, name: str, value: str) -> SealedSecret:
        return await asyncio.to_thread(self._sealer.seal, name, value)

    async def _keep(self, sealed: Sequence[SealedSecret]) -> None:
        await patiently(lambda: self._secrets.set_secrets(sealed), self._clock)

    async def _drop(self, *names: str) -> None:
        """Drop what an authorization server does not accept any more."""
        for name in names:
            await self._secrets.drop_secret(name)

    # --- beginning ---------------------------------------------------------------------------------------

    async def begin(self, needed: SignInRequired, user_id: str, lasts_s: int = LINKS_LAST_S) -> Begun | None:
        """Return a new attempt; None if the server has no authorization server, so that the person must send
        a token. Raises SignInFailed."""
        terms = self.servers.get(needed.server)
        if terms is None or user_id not in terms.users:
            raise SignInFailed(f"There is no sign-in to {needed.server} here.")
        provider = await self._oauth.discover(terms.url, challenge_in(needed.challenge), terms.scopes)
        if provider is None:
            return None
        client = terms.client or await self._registered(needed.server, terms, provider)
        attempt_id = self._ids.gate_id()
        attempt = begun(attempt_id, needed.server, terms.url, provider, client, self._redirect_uri)
        expires_at = self._clock.now() + lasts_s * SECOND_US
        return Begun(await self._row(attempt_id, user_id, attempt, expires_at), attempt.link)

    async def _row(self, attempt_id: str, user_id: str, attempt: Attempt, expires_at: int) -> SignInRow:
        sealed = await self._sealed(attempt_name(attempt_id), attempt.to_json())
        return SignInRow(attempt_id, attempt.server, user_id, digest_of(attempt.state), sealed, expires_at)

    async def _registered(self, server: str, terms: ServerTerms, provider: Provider) -> Client:
        """Return the hub as a client of the authorization server, registered once."""
        name = sign_in_client_name(server)
        known = Registration.from_text(await self._value(name) or "")
        if known is not None and (known.issuer, known.redirect_uri) == (provider.issuer, self._redirect_uri):
            return known.client
        client = await self._oauth.register(terms.url, provider, self._redirect_uri)
        made = Registration(provider.issuer, self._redirect_uri, client)
        await self._keep([await self._sealed(name, made.to_text())])
        return client

    async def link(self, server: str, user_id: str) -> tuple[str, str]:
        """Return the id and the link of a new attempt that the person asked for. Their earlier links without
        a gate are good no longer. Raises SignInFailed, StoreError, VaultError."""
        made = await self.begin(SignInRequired(server), user_id)
        if made is None:
            raise SignInFailed(card_texts.no_sign_in_page(server))
        await self._units.show_sign_in(made.attempt, self._clock.now(), anew=True)
        return made.attempt.id, made.link

    async def _send_link(self, server: str, user_id: str) -> None:
        """Send a person the link that they asked for, or why there is none."""
        try:
            key, link = await self.link(server, user_id)
            button = LinkButton(card_texts.SIGN_IN, link)
            message = replace(plain(card_texts.sign_in_link(server)), link=button)
        except SignInFailed as error:
            key, message = self._ids.gate_id(), plain(str(error))
        await self._send(server, user_id, f"sign-in:{key}", message)

    async def tell(self, needed: SignInRequired, user_id: str, tool: str) -> None:
        """Tell a person that a run without them needs a sign-in, with a button, unless a link is open."""
        server, now = needed.server, self._clock.now()
        try:
            made = await self.begin(needed, user_id)
            if made is not None and not await self._units.show_sign_in(made.attempt, now):
                return
            key = (
                f"{server}:{user_id}:{now // (LINKS_LAST_S * SECOND_US)}" if made is None else made.attempt.id
            )
            link = None if made is None else LinkButton(card_texts.SIGN_IN, made.link)
            text = card_texts.sign_in_wanted(server, tool)
            await self._notify(user_id, f"sign-in:{key}", Message((Plain(text),), link=link))
        except HubError as error:
            logger.warning("sign_in.not_told server=%s user=%s error=%s", server, user_id, error)

    # --- answers -----------------------------------------------------------------------------------------

    async def returned(self, query: Mapping[str, Sequence[str]]) -> str:
        """Take the answer that a person's browser brings, and sign them in. Return what to tell them. Raises
        SignInFailed, StoreError."""
        answer = single(query)
        state = answer.get("state", "")
        attempt = await self._units.sign_in(attempt_id_in(state)[:64])
        if not same_state("" if attempt is None else attempt.digest, state) or attempt is None:
            raise SignInFailed(UNKNOWN_LINK)
        sealed = await self._sealed(code_name(attempt.id), f"?{urlencode(answer)}")
        if not await self._units.answer_sign_in(attempt.id, sealed):
            raise SignInFailed(UNKNOWN_LINK)
        return await self.redeem(attempt.id)

    async def redeem(self, attempt_id: str) -> str:
        """Sign a person in with the answer that came. Return what to tell them. Raises SignInFailed,
        StoreError."""
        row = await self._units.redeem_sign_in(attempt_id)
        if row is None or row.code is None:
            raise SignInFailed(UNKNOWN_LINK)
        attempt = Attempt.from_json(await asyncio.to_thread(self._sealer.open, row.attempt))
        answer = await asyncio.to_thread(self._sealer.open, row.code)
        try:
            tokens = await self._oauth.exchange(attempt, _code(row, attempt, answer))
        except SignInFailed as error:
            reason = NO_CODE_ACCEPTED if isinstance(error, SignedOut) else str(error)
            if isinstance(error, SignedOut) and error.client_unknown:
                await self._drop(sign_in_client_name(row.server))
            await self._renew(row, attempt, reason)
            raise SignInFailed(reason) from error
        self._learn([one for one in (tokens.access, tokens.refresh) if one])
        sealed = await self._sealed(sign_in_name(row.server, row.user_id), tokens.to_json())
        text = card_texts.signed_in(row.server)

        def card(gate: Gate) -> Message:
            return settled_card(gate, text)

        async def finish() -> Expired | None:
            return await self._units.finish_sign_in(row, [sealed], text, card)

        if await committed(patiently(finish, self._clock), self._finished) is None:
            logger.info("sign_in.over server=%s user=%s", row.server, row.user_id)
            raise SignInFailed(card_texts.sign_in_over(row.server))
        logger.info("sign_in.succeeded server=%s user=%s", row.server, row.user_id)
        return text

    def _finished(self, done: Expired | None) -> None:
        if done is not None:
            self._follow(done)
            self._tell_servers()

    async def _renew(self, row: SignInRow, attempt: Attempt, reason: str) -> None:
        """Put a new link on the cards of an attempt that failed."""
        logger.info("sign_in.failed server=%s user=%s reason=%s", row.server, row.user_id, reason)
        again = attempt.again(row.id)
        fresh = replace(await self._row(row.id, row.user_id, again, row.expires_at), gated=row.gated)
        said = card_texts.sign_in_failed(row.server, reason)
        rows = await self._units.renew_sign_in(fresh, again.link, said, open_card)
        if rows:
            self._follow(Expired((), rows))

    # --- answers that came before -------------------------------------------------------------------------

    def changed(self, changes: Changes) -> None:
        """Look at the answers that came with a commit: implements core.store.feed.ChangeListener."""
        self._asked.extend(changes.sign_ins)
        for closed in changes.sign_outs:
            self._follow(closed)
        if changes.sign_outs:
            self._sign_outs.look_soon()
        if changes.gates or changes.sign_ins or changes.sign_outs:
            self._wake.set()

    async def run(self) -> None:
        """Redeem answers that came as messages or before a restart, until cancelled. Tokens that an earlier
        hub did not revoke are revoked now."""
        self._sign_outs.look_soon()
        while True:
            try:
                await self.look()
            except HubError as error:
                logger.warning("sign_in.look_failed error=%s", error)
                await self._clock.sleep(AGAIN_AFTER_S)
                continue
            await self._wake.wait()

    async def look(self) -> None:
        """Redeem the answers that came; renew the attempts that an ended hub was at. Raises HubError."""
        self._wake.clear()
        while self._asked:
            await self._send_link(*self._asked.popleft())
        answered, cut_off = await self._units.answered_sign_ins()
        for row in cut_off:
            attempt = Attempt.from_json(await asyncio.to_thread(self._sealer.open, row.attempt))
            await self._renew(row, attempt, CUT_OFF)
        for attempt_id in answered:
            try:
                await self.redeem(attempt_id)
            except SignInFailed as error:
                logger.debug("sign_in.not_redeemed attempt=%s error=%s", attempt_id, error)
        self._tell_servers()

    def _tell_servers(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _code(row: SignInRow, attempt: Attempt, answer: str) -> str:
    """Return the code of an answer, if it is this attempt's. Raises SignInFailed."""
    query = query_of(answer)
    if "state" in query and not same_state(row.digest, query["state"]):
        raise SignInFailed("That address belongs to another sign-in.")
    return code_in(attempt, query)
