"""The end of people's sign-ins: tokens that are kept no longer are revoked at their authorization server.

The transaction that drops them from the vault notes them, and they are forgotten once they are revoked: a hub
that ends in between leaves the rest to the next one.
"""

import asyncio
import logging
from functools import partial
from typing import Protocol

from core.clock import SECOND_US, Clock, Timers
from core.consent import card_texts
from core.errors import HubError, SignInFailed, VaultError
from core.messages import Message, plain
from core.store.accounts import SignOut
from core.store.accounts import SignOuts as SignOutUnits
from core.store.facets import SealedSecret
from core.store.units import patiently
from core.tools.oauth import OAuthClient, Tokens

TIMER = "sign-ins.revocation"
AGAIN_AFTER_S = (10, 60, 600)
"""The pauses between tries. The person hears of a failure after the last one."""
STOPPED_TRYING = "I was restarted while I tried."

logger = logging.getLogger(__name__)


class Sealer(Protocol):
    """The vault's keys. Methods may take as long as reading a file, and raise HubError."""

    def seal(self, name: str, value: str) -> SealedSecret:
        """Seal a value."""
        ...

    def open(self, secret: SealedSecret) -> str:
        """Return the value."""
        ...


class Notify(Protocol):
    """Sends a person a notice, once for each key. Raises HubError."""

    async def __call__(self, user_id: str, key: str, message: Message) -> None: ...


class SignOuts:
    """Revokes tokens, a bounded number of times, and tells their person if that fails."""

    def __init__(
        self,
        units: SignOutUnits,
        oauth: OAuthClient,
        sealer: Sealer,
        clock: Clock,
        timers: Timers,
        notify: Notify,
    ) -> None:
        self._units = units
        self._oauth = oauth
        self._sealer = sealer
        self._clock = clock
        self._timers = timers
        self._notify = notify

    def look_soon(self) -> None:
        """Revoke due tokens, by a timer. Never blocks."""
        self._timers.at(TIMER, self._clock.now(), self._look)

    async def _look(self) -> None:
        now = self._clock.now()
        for one in await self._units.sign_outs():
            if one.due_at <= now and await self._over(one):
                await patiently(partial(self._units.end_sign_out, one.id), self._clock)
        left = await self._units.sign_outs()
        if left:
            self._timers.at(TIMER, left[0].due_at, self._look)

    async def _over(self, one: SignOut) -> bool:
        """Try to revoke tokens. Return whether there is nothing left to try."""
        if one.tries > len(AGAIN_AFTER_S):
            await self._tell(one, STOPPED_TRYING)
            return True
        last = one.tries == len(AGAIN_AFTER_S)
        pause_s = 0 if last else AGAIN_AFTER_S[one.tries]
        # Counted first, so that hubs that end during the request don't make more of them.
        await self._units.begin_sign_out(one, self._clock.now() + pause_s * SECOND_US)
        try:
            held = await asyncio.to_thread(self._sealer.open, one.tokens)
            await self._oauth.revoke(Tokens.from_json(held))
        except (SignInFailed, VaultError) as error:
            if last:
                await self._tell(one, str(error))
            return last
        return True

    async def _tell(self, one: SignOut, reason: str) -> None:
        logger.warning("sign_in.not_revoked server=%s user=%s error=%s", one.server, one.user_id, reason)
        try:
            notice = plain(card_texts.not_revoked(one.server, reason))
            await self._notify(one.user_id, f"sign-out:{one.id}", notice)
        except HubError as error:
            logger.warning("sign_in.not_told server=%s user=%s error=%s", one.server, one.user_id, error)
