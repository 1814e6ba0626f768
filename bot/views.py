"""People, and what they decide and allow, as the API and `--json` show it: one shape for both.

Times are integer microseconds UTC. Secrets never appear in here. Plain values, so that a listing needs
nothing but the store; the API describes them by the same declarations.
"""

from dataclasses import dataclass
from typing import Self, assert_never

from core.consent.cards import in_full
from core.prompts import Answer, Chose, Grant, Offer, Option, Options, Replies, Wrote
from core.store.consents import ToolSettingRow
from core.store.kept import SealedSecret
from core.store.pairing import PairingRequest
from core.store.rows import PromptView
from core.users import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteView:
    """One person's answer so far, in words."""

    user_id: str
    name: str
    option: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalView:
    """Something that waits for people. `approvers`: who may answer; empty: the requester and any owner.

    `options`: the answers it shows; `free_text`: any other words are one, too.
    """

    id: str
    kind: str
    thread_id: str
    channel: str
    requester_id: str
    title: str
    detail: str
    options: tuple[str, ...]
    free_text: bool
    approvers: tuple[str, ...]
    quorum: int
    votes: tuple[VoteView, ...]
    created_at: int
    expires_at: int

    @classmethod
    def of(cls, view: PromptView) -> Self:
        """The prompt with its votes."""
        prompt, (options, free_text) = view.prompt, _offered(view.prompt.offer)
        votes = (
            VoteView(user_id=v.user_id, name=v.name, option=_in_words(v.answer), at=v.at) for v in view.votes
        )
        return cls(
            id=prompt.id,
            kind=prompt.kind.value,
            thread_id=prompt.thread_id,
            channel=view.thread.channel,
            requester_id=prompt.requester_id,
            title=prompt.title,
            detail=in_full(prompt),
            options=options,
            free_text=free_text,
            approvers=prompt.rule.approvers,
            quorum=prompt.rule.quorum,
            votes=tuple(votes),
            created_at=prompt.created_at,
            expires_at=prompt.expires_at,
        )


def _offered(offer: Offer) -> tuple[tuple[str, ...], bool]:
    match offer:
        case Options(options):
            return tuple(option.value for option in options), False
        case Replies(labels, free_text, _):
            return labels, free_text
        case _:
            assert_never(offer)


def _in_words(answer: Answer) -> str:
    match answer:
        case Option():
            return answer.value
        case Chose(_, text) | Wrote(text):
            return text
        case _:
            assert_never(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """An account on a channel. `via`: config, allowlist, open, paired, linked, revoked."""

    channel: str
    platform_user_id: str
    via: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserView:
    """A person and the accounts they were let in with."""

    id: str
    role: str
    name: str
    accounts: tuple[AccountView, ...]

    @classmethod
    def of(cls, person: Person) -> Self:
        """The user with all accounts ever bound to them."""
        accounts = (
            AccountView(channel=a.channel, platform_user_id=a.platform_user_id, via=a.via, name=a.name)
            for a in person.accounts
        )
        user = person.user
        return cls(id=user.user_id, role=user.role.value, name=user.name, accounts=tuple(accounts))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequestView:
    """Somebody who asks to be let in, and the code they were given."""

    id: str
    code: str
    channel: str
    platform_user_id: str
    name: str
    username: str | None
    created_at: int
    expires_at: int

    @classmethod
    def of(cls, request: PairingRequest) -> Self:
        """The request without where it came from."""
        return cls(
            id=request.id,
            code=request.code,
            channel=request.channel,
            platform_user_id=request.sender.platform_user_id,
            name=request.sender.name,
            username=request.sender.username,
            created_at=request.created_at,
            expires_at=request.expires_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantView:
    """What a person allowed once and for all. `pattern`: None covers the whole tool; `thread_id`: None holds
    everywhere; `expires_at`: None until it is revoked."""

    id: str
    user_id: str
    tool: str
    pattern: str | None
    thread_id: str | None
    granted_by: str
    created_at: int
    expires_at: int | None

    @classmethod
    def of(cls, grant: Grant) -> Self:
        """The grant as it is kept."""
        return cls(
            id=grant.id,
            user_id=grant.user_id,
            tool=grant.tool,
            pattern=grant.pattern,
            thread_id=grant.thread_id,
            granted_by=grant.granted_by,
            created_at=grant.created_at,
            expires_at=grant.expires_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionView:
    """A person's own word on a tool: always_allow, ask_each_time or disabled."""

    user_id: str
    tool: str
    setting: str
    changed_at: int

    @classmethod
    def of(cls, row: ToolSettingRow) -> Self:
        """The setting as it is kept."""
        return cls(user_id=row.user_id, tool=row.tool, setting=row.setting.value, changed_at=row.changed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretView:
    """That there is a secret of this name, and since when; never its value."""

    name: str
    changed_at: int

    @classmethod
    def of(cls, secret: SealedSecret) -> Self:
        """The name alone."""
        return cls(name=secret.name, changed_at=secret.changed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    """What was decided about: a prompt by its id, or an account as `channel:id`; and the outcome in words."""

    id: str
    outcome: str
