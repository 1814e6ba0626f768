"""The store's units for sign-ins at servers: part of core.store.port.Store, with the same promises."""

from collections.abc import Callable, Sequence
from typing import Protocol

from core.gates import Gate
from core.lazy_dataclass import dataclass
from core.messages import Message
from core.ports import OutboxRow
from core.store.facets import Expired, SealedSecret
from core.store.rows import Draft


@dataclass(frozen=True, slots=True)
class SignInRow:
    """An attempt to sign in at a server, whose link was shown. `id`: its gate's, if `gated`.

    `digest`: of its OAuth state. `attempt`, and `code` once it came back: sealed."""

    id: str
    server: str
    user_id: str
    digest: str
    attempt: SealedSecret
    expires_at: int
    code: SealedSecret | None = None
    gated: bool = True


@dataclass(frozen=True, slots=True)
class SignOut:
    """A sign-in of a person that ended here: its tokens, sealed, are still to be revoked.

    `tries`: how often that was tried; `due_at`: when it is tried next, microseconds UTC."""

    id: str
    server: str
    user_id: str
    tokens: SealedSecret
    tries: int
    due_at: int


class SignOuts(Protocol):
    """The units that end sign-ins: tokens are revoked after the person is signed out."""

    async def sign_out(self, server: str, user_id: str, tokens: SealedSecret) -> None:
        """Note tokens that are kept no longer, so that they are revoked."""
        ...

    async def sign_outs(self) -> Sequence[SignOut]:
        """Return all whose tokens are still to be revoked, the next one first."""
        ...

    async def begin_sign_out(self, sign_out: SignOut, again_at: int) -> None:
        """Count a try, before it is made. If it fails, the next one is due at `again_at`."""
        ...

    async def end_sign_out(self, sign_out_id: str) -> None:
        """Forget tokens: they are revoked, or not tried any more."""
        ...


class SignIns(SignOuts, Protocol):
    """The units for sign-ins. An attempt goes one way: its link is shown, its answer comes, once; it is
    redeemed, once; then it is over, or renewed with another link."""

    async def ask_to_sign_in(
        self, gate: Gate, cards: Sequence[Draft], attempt: SignInRow | None
    ) -> tuple[OutboxRow, ...]:
        """Open a gate for a call that waits for its person's sign-in, as Turns.ask_person does. The call
        keeps its approval. Raises StaleTurn."""
        ...

    async def show_sign_in(self, attempt: SignInRow, now: int, *, anew: bool = False) -> bool:
        """Store an attempt without a gate. Return False if one waits. `anew`: it replaces those."""
        ...

    async def sign_in(self, attempt_id: str) -> SignInRow | None:
        """Return an attempt whose link is shown and whose answer has not come."""
        ...

    async def answer_sign_in(self, attempt_id: str, code: SealedSecret) -> bool:
        """Store an attempt's answer. Return False if it had one, is over, or has expired."""
        ...

    async def answered_sign_ins(self) -> tuple[Sequence[str], Sequence[SignInRow]]:
        """Return the ids of attempts to redeem, and the attempts that an ended hub was redeeming."""
        ...

    async def redeem_sign_in(self, attempt_id: str) -> SignInRow | None:
        """Take an answered attempt in hand. Return None if another has it, or it is over."""
        ...

    async def finish_sign_in(
        self, attempt: SignInRow, sealed: Sequence[SealedSecret], text: str, card: Callable[[Gate], Message]
    ) -> Expired | None:
        """Store what the vault keeps of a sign-in, and close its gate, so that its call runs again. Return
        None if the attempt is over: its server was removed, or its gate closed. The tokens are then noted as
        those of a sign-out."""
        ...

    async def renew_sign_in(
        self, renewed: SignInRow, link: str, said: str, card: Callable[[Gate], Message]
    ) -> tuple[OutboxRow, ...]:
        """Put a new attempt in the place of one that failed: its gate's cards show the new link, and `said`
        is sent to its thread. Without a gate, the attempt is dropped."""
        ...

    async def renew_tokens(self, held: SealedSecret, renewed: SealedSecret) -> bool:
        """Store tokens in the place of `held`. Return False, and store nothing, if those are gone."""
        ...

    async def signed_in_for(self, call_id: str) -> bool:
        """Return whether a call's person signed in for it before."""
        ...
