"""People, and what they decide and allow, as the API and `--json` show it: one shape for both.

Times are integer microseconds UTC. Secrets never appear in here. Plain values, so that a listing needs
nothing but the store; the API describes them by the same declarations.
"""

from typing import TYPE_CHECKING, Protocol, Self, assert_never

from core.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    from core import gates, transcript
    from core.clock import TimerState
    from core.consent import card_texts, cards
    from core.gates import Answer, Grant, Offer
    from core.store.accounts import PairingRequest
    from core.store.facets import SealedSecret, ToolSettingRow
    from core.store.feed import Feeds, ThreadGlance, Threads
    from core.store.rows import GateView
    from core.transcript import Entry
    from core.users import Person
else:
    # A command that reads views off the API needs none of these.
    card_texts = LazyModule("core.consent.card_texts")
    cards, gates = LazyModule("core.consent.cards"), LazyModule("core.gates")
    transcript = LazyModule("core.transcript")


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

    `options`: the answers it shows; `free_text`: any other words are one, too."""

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
    def of(cls, view: "GateView") -> Self:
        """Return the gate with its votes."""
        gate, (options, free_text) = view.gate, _offered(view.gate.offer)
        votes = (
            VoteView(user_id=v.user_id, name=v.name, option=_in_words(v.answer), at=v.at) for v in view.votes
        )
        return cls(
            id=gate.id,
            kind=gate.kind.value,
            thread_id=gate.thread_id,
            channel=view.thread.channel,
            requester_id=gate.requester_id,
            title=gate.title,
            detail=cards.in_full(gate),
            options=options,
            free_text=free_text,
            approvers=gate.rule.approvers,
            quorum=gate.rule.quorum,
            votes=tuple(votes),
            created_at=gate.created_at,
            expires_at=gate.expires_at,
        )


def _offered(offer: "Offer") -> tuple[tuple[str, ...], bool]:
    match offer:
        case gates.Options(options):
            return tuple(option.value for option in options), False
        case gates.Replies(labels, free_text, _):
            return labels, free_text
        case _:
            assert_never(offer)


def _in_words(answer: "Answer") -> str:
    match answer:
        case gates.Option():
            return answer.value
        case gates.Chose(_, text) | gates.Wrote(text):
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
    """A user and their accounts. `timezone`: an IANA name; null for the hub's time zone. `model`, `thinking`:
    set for all of their conversations; null for the configured ones."""

    id: str
    role: str
    name: str
    accounts: tuple[AccountView, ...]
    timezone: str | None = None
    model: str | None = None
    thinking: str | None = None

    @classmethod
    def of(cls, person: "Person") -> Self:
        """Return a user with all accounts ever bound to them."""
        accounts = (
            AccountView(channel=a.channel, platform_user_id=a.platform_user_id, via=a.via, name=a.name)
            for a in person.accounts
        )
        user = person.user
        return cls(
            id=user.user_id,
            role=user.role.value,
            name=user.name,
            accounts=tuple(accounts),
            timezone=person.preferences.timezone,
            model=person.preferences.chosen.model,
            thinking=person.preferences.chosen.thinking,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequestView:
    """A pairing request: a stranger's account and the code shown to that person."""

    id: str
    code: str
    channel: str
    platform_user_id: str
    name: str
    username: str | None
    created_at: int
    expires_at: int

    @classmethod
    def of(cls, request: "PairingRequest") -> Self:
        """Return a pairing request without its address."""
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
    """A grant. `pattern`: None for the whole tool, `covers`: in words; `subject`: its routine or job."""

    id: str
    user_id: str
    tool: str
    pattern: str | None
    covers: str
    thread_id: str | None
    subject: str | None
    granted_by: str
    created_at: int
    expires_at: int | None

    @classmethod
    def of(cls, grant: "Grant") -> Self:
        """Return a stored grant."""
        return cls(
            id=grant.id,
            user_id=grant.user_id,
            tool=grant.tool,
            pattern=grant.pattern,
            covers=card_texts.grant_covers(grant.pattern),
            thread_id=grant.thread_id,
            subject=grant.subject,
            granted_by=grant.granted_by,
            created_at=grant.created_at,
            expires_at=grant.expires_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionView:
    """A person's setting for a tool. `setting`: always_allow, ask_each_time or disabled."""

    user_id: str
    tool: str
    setting: str
    changed_at: int

    @classmethod
    def of(cls, row: "ToolSettingRow") -> Self:
        """Return a stored setting."""
        return cls(user_id=row.user_id, tool=row.tool, setting=row.setting.value, changed_at=row.changed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretView:
    """That there is a secret of this name, and since when; never its value."""

    name: str
    changed_at: int

    @classmethod
    def of(cls, secret: "SealedSecret") -> Self:
        """Return a secret's name, without its value."""
        return cls(name=secret.name, changed_at=secret.changed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    """A decision on a gate by its id, or on an account as `channel:id`; and the outcome in words."""

    id: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """One conversation. `state`: idle, processing, awaiting, interrupted or completed; `origin`: the thread
    it is a branch of; `turns`: how many it had; `tokens`: of all its model calls that were counted;
    `active`: its person's session is on it."""

    id: str
    owner_id: str
    channel: str
    title: str
    state: str
    created_at: int
    last_active_at: int
    tags: tuple[str, ...]
    archived: bool
    origin: str | None
    turns: int
    tokens: int
    active: bool

    @classmethod
    def of(cls, glance: "ThreadGlance") -> Self:
        """Return a thread without fields that only its channel can read."""
        row = glance.thread
        return cls(
            id=row.id,
            owner_id=row.owner_id,
            channel=row.channel,
            title=row.title,
            state=glance.state.value,
            created_at=row.created_at,
            last_active_at=row.last_active_at,
            tags=glance.tags,
            archived=glance.archived_at is not None,
            origin=glance.origin_id,
            turns=glance.turns,
            tokens=glance.tokens,
            active=glance.active,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """One line of a conversation.

    `kind`: user, assistant, call, result, summary, note, operator. `name`: who speaks (user, operator) or the
    tool (call); `text` of a call: its arguments as the model gave them; `status`: of a result; `undone`: no
    longer part of the conversation.
    """

    seq: int
    turn_id: str | None
    at: int
    kind: str
    text: str
    name: str | None = None
    call_id: str | None = None
    status: str | None = None
    undone: bool = False

    @classmethod
    def of(cls, entry: "Entry") -> Self:
        """Return an entry of any kind in one flat shape."""
        said = entry.said
        name = call_id = status = None
        match said:
            case transcript.UserSaid(text, sender):
                name = sender
            case transcript.ToolCalled(call_id, name, text):
                pass
            case transcript.ToolResult(call_id, result, text):
                status = result.value
            case transcript.OperatorSaid(text, name):
                pass
            case transcript.AssistantSaid(text) | transcript.Summary(text) | transcript.Note(text):
                pass
            case _:
                assert_never(said)
        return cls(
            seq=entry.seq,
            turn_id=entry.turn_id,
            at=entry.at,
            kind=said.kind,
            text=text,
            name=name or None,
            call_id=call_id,
            status=status,
            undone=entry.undone,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """A thread with its newest entries, in order. `earlier`: there are entries before them."""

    thread: ThreadView
    entries: tuple[EntryView, ...]
    earlier: bool


class Conversations(Protocol):
    """The facets that a conversation is read from."""

    @property
    def feed(self) -> "Feeds": ...

    @property
    def threads(self) -> "Threads": ...


async def conversation(store: Conversations, thread_id: str, limit: int) -> ConversationView | None:
    """Return a thread with its newest entries; None if no thread has that id."""
    glance = await store.feed.thread_glance(thread_id)
    if glance is None:
        return None
    newest = await store.threads.all_entries(thread_id, limit + 1)
    entries = tuple(EntryView.of(entry) for entry in newest[-limit:])
    return ConversationView(thread=ThreadView.of(glance), entries=entries, earlier=len(newest) > limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPartView:
    """A part of a system prompt. `tokens` is an estimate."""

    name: str
    chars: int
    tokens: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """The next request of a thread to its first model, without the conversation itself.

    `prompt`: the system text, which is all `parts` in order.
    `time`: the note at the conversation's end.
    `tools`, `tools_tokens`: the tools on offer, and the size of their descriptions.
    `messages`, `messages_tokens`: the number of messages so far, and their size."""

    thread_id: str
    user_id: str
    model: str
    prompt: str
    parts: tuple[PromptPartView, ...]
    time: str
    tools: tuple[str, ...]
    tools_tokens: int
    messages: int
    messages_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelView:
    """One channel's named state, and why; `since` is an ISO time."""

    state: str
    reason: str | None
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """One MCP server's state (`connecting`, `ready`, `failed`), and why; `since` is an ISO time. `tools`: how
    many of its tools are on offer; `refused`: by its own names, why others are not."""

    state: str
    reason: str | None
    since: str
    tools: int
    refused: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerView:
    """One of the hub's timers. `due_at`: None while nothing is set; `last_run_at`: None before the first
    call; `failures`: how many calls raised since the hub started."""

    name: str
    due_at: int | None
    last_run_at: int | None
    failures: int

    @classmethod
    def of(cls, state: "TimerState") -> Self:
        """Return the timer as it stands."""
        return cls(
            name=state.name, due_at=state.due_at, last_run_at=state.last_run_at, failures=state.failures
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """The hub at a glance. `approvals` and `pairing_requests`: how many wait for a person; `at_work`:
    conversations with a turn that runs or is about to; `changed`: configured keys not in use yet."""

    version: str
    ready: bool
    hub: str
    store: str
    channels: dict[str, ChannelView]
    mcp: dict[str, ServerView]
    approvals: int
    pairing_requests: int
    at_work: int
    timers: tuple[TimerView, ...]
    changed: tuple[str, ...] = ()
