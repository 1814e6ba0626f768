"""What belongs to one person, for the API: accounts on the platforms, keys to the hub, invitations, and what
the hub remembers for them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import Field
from starlette.responses import JSONResponse, Response

from bot.runtime import AdminError
from bot.views import DecisionView, PairingRequestView
from bot.web.auth import LOOPBACK_HOSTS, LoginService, hash_of, login_url, new_key
from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, Limit, RemovedView, ShortText, UndoOf, decision_endpoint
from bot.web.responses import ApiError, Given, not_found
from channels.webchat import WEB
from core.ids import Ids
from core.lazy import LazyModule
from core.people.pairing import PairAs, PairingService
from core.store.accounts import ClaimRefused, Decision, PairingApproved
from core.store.facets import Memory, MemoryNote
from core.store.port import KeyKind, Store
from core.users import Principal, Role

if TYPE_CHECKING:
    import segno
else:
    segno = LazyModule("segno")


class PairingApproval(Given):
    """The code of the pairing request to approve."""

    code: ShortText
    pair_as: PairAs = Field(default=PairAs.MEMBER, alias="as")


class PairingDenial(Given):
    """The code of the pairing request to deny."""

    code: ShortText


class AccountOf(Given):
    """An account on a channel."""

    channel: ShortText
    platform_user_id: ShortText


class Link(AccountOf):
    """An account, and the user to link it to."""

    user_id: ShortText


class PairingPage(Page):
    """Pairing requests, oldest first."""

    requests: tuple[PairingRequestView, ...]


class Accounts:
    """One method per endpoint. `owner`: the person in whose name it is decided."""

    def __init__(self, pairing: PairingService, owner: Principal) -> None:
        self._pairing = pairing
        self._owner = owner

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/pairing", self.pairing, PairingPage, owner_only=True),
            decision_endpoint("/pairing/approve", self.approve_pairing, PairingApproval),
            decision_endpoint("/pairing/reject", self.deny_pairing, PairingDenial),
            replace(decision_endpoint("/pairing/revoke", self.revoke, AccountOf), answer=RemovedView),
            decision_endpoint("/pairing/restore", self.restore, UndoOf),
            decision_endpoint("/users/link", self.link, Link),
        ]

    async def pairing(self, call: Call) -> PairingPage:
        """Return pairing requests, oldest first."""
        del call
        found = await self._pairing.requests()
        return PairingPage(requests=tuple(map(PairingRequestView.of, found)))

    async def approve_pairing(self, call: Call) -> DecisionView:
        """Approve the pairing request with this code."""
        body: PairingApproval = call.body
        return _settled(await self._pairing.approve(body.code, by=self._owner, pair_as=body.pair_as))

    async def deny_pairing(self, call: Call) -> DecisionView:
        """Deny the pairing request with this code."""
        body: PairingDenial = call.body
        return _settled(await self._pairing.reject(body.code, by=self._owner))

    async def revoke(self, call: Call) -> RemovedView:
        """Remove the access of a paired or linked account. It can be restored for five minutes."""
        body: AccountOf = call.body
        account = f"{body.channel}:{body.platform_user_id}"
        undo = await self._pairing.revoke(body.channel, body.platform_user_id, call.principal.user_id)
        if undo is None:
            raise AdminError(
                "not_found",
                f"{account} is neither paired nor linked; to remove a configured one, edit the configuration",
            )
        return RemovedView(id=account, outcome="access removed", undo=undo)

    async def restore(self, call: Call) -> DecisionView:
        """Give an account back the access that was just removed, with its sessions."""
        body: UndoOf = call.body
        account = await self._pairing.restore(body.undo, call.principal.user_id)
        if account is None:
            raise AdminError("refused", "it is too late, or the account has changed since; link it again")
        return DecisionView(id=account, outcome="access restored")

    async def link(self, call: Call) -> DecisionView:
        """Link an account to a user without a code."""
        body: Link = call.body
        if body.channel not in self._pairing.channels:
            known = ", ".join(self._pairing.channels) or "none yet"
            raise AdminError("refused", f"there is no channel named {body.channel}; configured: {known}")
        user = await self._pairing.link(body.user_id, body.channel, body.platform_user_id)
        if user is None:
            raise AdminError("not_found", f"no user has the ID {body.user_id}; run `hubbub users list`")
        return DecisionView(id=f"{body.channel}:{body.platform_user_id}", outcome=f"allowed as {user.name}")


def _settled(decision: Decision) -> DecisionView:
    if isinstance(decision, ClaimRefused):
        raise AdminError("refused", decision.word)
    request = decision.request
    account = f"{request.channel}:{request.sender.platform_user_id}"
    if isinstance(decision, PairingApproved):
        principal = decision.principal
        return DecisionView(id=account, outcome=f"allowed as {principal.name} ({principal.role.value})")
    return DecisionView(id=account, outcome="denied")


# Keys: tokens, login links, invitations and their end.


class TokenOf(Given):
    """A person."""

    user_id: ShortText


class NewInvitation(Given):
    """A new member by `name`, or one who is known, by `user_id`."""

    name: ShortText | None = None
    user_id: ShortText | None = None


class TokenPage(Page):
    """A new token. It is shown only once."""

    token: str


class RevokedPage(Page):
    """The number of revoked tokens."""

    revoked: int


class InvitationPage(Page):
    """A link that logs a member's browser in, once, until it expires. It is shown only once. `here_only`: it
    can be opened on the hub's machine only, since no `public_url` is configured. `qr`: the link as a QR code,
    its rows of dark (1) and light (0) modules, without the light border that readers need."""

    url: str
    user_id: str
    name: str
    expires_at: int
    here_only: bool
    qr: tuple[str, ...]


class LoginLink(Page):
    """A link that logs in a browser. It works once and expires after 15 minutes."""

    url: str


class KeysApi:
    """One method per endpoint. `url`: the hub's address for people; empty while no hub runs."""

    def __init__(self, store: Store, ids: Ids, login: LoginService, url: str) -> None:
        self._store = store
        self._ids = ids
        self._login = login
        self._url = url

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "POST",
                "/tokens",
                self.token,
                TokenPage,
                body=TokenOf,
                status=201,
                refusals=(404, 409),
                owner_only=True,
            ),
            Endpoint(
                "POST", "/tokens/revoke", self.revoke_tokens, RevokedPage, body=TokenOf, owner_only=True
            ),
            Endpoint(
                "POST",
                "/login-links",
                self.login_link,
                LoginLink,
                status=201,
                owner_only=True,
                tokens_only=True,
            ),
            Endpoint(
                "POST",
                "/invitations",
                self.invite,
                InvitationPage,
                body=NewInvitation,
                status=201,
                refusals=(404, 409, 422, 503),
                owner_only=True,
            ),
            Endpoint("POST", "/logout", self.logout, None, status=200),
        ]

    async def token(self, call: Call) -> TokenPage:
        """Create a token that lets a program, or a person without a platform, act as this member."""
        body: TokenOf = call.body
        user = await self._member(body.user_id)
        token = new_key()
        await self._store.keys.keep_key(hash_of(token), KeyKind.TOKEN, user.user_id, None)
        return TokenPage(token=token)

    async def revoke_tokens(self, call: Call) -> RevokedPage:
        """Revoke all tokens of a member, and end their access to the console."""
        body: TokenOf = call.body
        revoked = await self._store.keys.drop_keys_of(body.user_id, KeyKind.TOKEN)
        await self._store.people.revoke_account(WEB, body.user_id)
        return RevokedPage(revoked=revoked)

    async def login_link(self, call: Call) -> LoginLink:
        """Create a link that logs in a browser."""
        del call
        return LoginLink(url=login_url(self._url, self._login.new_code()))

    async def logout(self, call: Call) -> Response:
        """End this browser's session."""
        if call.caller.by_session:
            await self._store.keys.drop_key(call.caller.key_hash)
        return JSONResponse({})

    async def invite(self, call: Call) -> InvitationPage:
        """Invite a member to the console."""
        body: NewInvitation = call.body
        name = (body.name or "").strip()
        if (body.user_id is None) == (not name):
            raise AdminError("unusable", "give the name of a new member, or the ID of a member", "name")
        if not self._url:
            raise AdminError("unavailable", "the console needs a running hub; start one with: hubbub run")
        user_id = body.user_id
        if user_id is None:
            user_id = self._ids.row_id()
            await self._store.people.ensure_user(user_id, Role.MEMBER, name)
        user = await self._member(user_id)
        code, until = await self._login.invite(user, call.principal)
        url = login_url(self._url, code)
        return InvitationPage(
            url=url,
            user_id=user.user_id,
            name=user.name,
            expires_at=until,
            here_only=urlsplit(self._url).hostname in LOOPBACK_HOSTS,
            qr=tuple("".join(map(str, row)) for row in segno.make_qr(url, error="m").matrix),
        )

    async def _member(self, user_id: str) -> Principal:
        """Return a member, who has an account for their keys from now on. Raises AdminError."""
        user = await self._store.people.user(user_id)
        if user is None:
            raise AdminError("not_found", "no user has this ID; list the users", "user_id")
        if user.role is not Role.MEMBER:
            raise AdminError("refused", f"this is for members; {user.name} is {user.role}", "user_id")
        await self._store.people.link_account(user.user_id, WEB, user.user_id, user.name)
        return user


# What the hub remembers for a person: each has their own.

SHOWN_CHARS = 2_000
"""The beginning of a text in a list; documents may be long."""
NoteId = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,17}$")]
TOO_LATE = "this can't be brought back any more: it is too late, or something else was saved in its place"


class MemoryQuery(Given):
    """`query`: words that a note must hold, all of them; empty: the newest. `id`: one note, with its whole
    text."""

    query: Annotated[str, Field(max_length=200)] = ""
    id: NoteId | None = None
    limit: Limit = 100


class NoteOf(Given):
    """A note."""

    id: NoteId


class NotePage(Page):
    """A note, or a document with its `path`. `text`: its beginning in a list; `chars`: its whole length."""

    id: str
    text: str
    chars: int
    created_at: int
    path: str | None


class MemoryPage(Page):
    """Notes and documents, newest first. `more`: there are others after these."""

    notes: tuple[NotePage, ...]
    more: bool


class MemoryApi:
    """One method per endpoint."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        refusals = (404, 503)
        forget = Endpoint("POST", "/memory/forget", self.forget, RemovedView, body=NoteOf, refusals=refusals)
        restore = Endpoint(
            "POST", "/memory/restore", self.restore, RemovedView, body=UndoOf, refusals=(409, 503)
        )
        read = Endpoint("GET", "/memory", self.notes, MemoryPage, MemoryQuery, refusals=(404,))
        return [read, forget, restore]

    async def notes(self, call: Call) -> MemoryPage:
        """Return the caller's notes and documents, or one of them whole."""
        query: MemoryQuery = call.query
        user_id = call.principal.user_id
        if query.id is not None:
            note = await self._memory.memory_note(user_id, query.id)
            if note is None:
                raise not_found("no note has this ID")
            return MemoryPage(notes=(_page(note, len(note.text)),), more=False)
        found = await self._memory.search_memory(user_id, query.query, query.limit + 1)
        shown = tuple(_page(note, SHOWN_CHARS) for note in found[: query.limit])
        return MemoryPage(notes=shown, more=len(found) > query.limit)

    async def forget(self, call: Call) -> RemovedView:
        """Forget a note or document of the caller. It can be restored for five minutes."""
        body: NoteOf = call.body
        undo = await self._memory.forget_memory(call.principal.user_id, body.id)
        if undo is None:
            raise not_found("no note has this ID")
        return RemovedView(id=body.id, outcome="forgotten", undo=undo)

    async def restore(self, call: Call) -> RemovedView:
        """Restore a note or document that the caller has just forgotten."""
        body: UndoOf = call.body
        if not await self._memory.restore_memory(call.principal.user_id, body.undo):
            raise ApiError(409, "refused", TOO_LATE)
        return RemovedView(id=body.undo, outcome="restored", undo=None)


def _page(note: MemoryNote, most: int) -> NotePage:
    return NotePage(
        id=note.id,
        text=note.text[:most],
        chars=len(note.text),
        created_at=note.created_at,
        path=note.path,
    )
