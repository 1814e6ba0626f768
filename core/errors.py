"""Every error the hub raises on purpose, distinguished by how the caller can react.

HubError
├── InboxUnavailable        do not acknowledge; the platform will deliver again
├── ChannelError            an error of one platform
│   ├── RateLimited         wait `retry_after_s`, then repeat the same request
│   ├── Unavailable         the request was certainly not accepted; try again later
│   ├── Unanswered          the request may have been accepted: the outcome is ambiguous
│   ├── AuthRejected        the token is wrong; a person must act
│   ├── AddressGone         this conversation no longer takes messages from us
│   ├── MessageRejected     the platform refuses this message; do not repeat it
│   └── AttachmentTooLarge  the file is over the limit
├── ModelError
│   ├── ModelUnavailable    transient: try again (`retry_after_s` if the provider said so)
│   │   └── ModelRateLimited    this key has used up its rate; another key may be tried at once
│   ├── ModelRejected       the request is wrong for this model; do not repeat it
│   │   └── ModelOrderConflict  the roles or tools of the conversation are out of order; /new helps
│   ├── ModelMisconfigured  only the operator can mend it; see `fault`
│   │   └── ModelAuthRejected   the key is wrong
│   ├── ContextOverflow     the prompt is too long for the model
│   └── ModelReplyInvalid   the reply broke off or could not be read
├── ToolError
│   ├── ToolNotFound        no such tool is available
│   ├── InvalidArguments    the model should correct its arguments
│   ├── ToolDenied          not allowed; `reason` says why
│   ├── ToolTimeout         stopped at its deadline
│   ├── SignInRequired      not run: the person must sign in to a server first
│   ├── OutcomeUnknown      interrupted from outside; a person must check its effects
│   └── ToolFailed          the tool itself reports the problem
├── SignInFailed            a sign-in did not succeed; the message says why
│   └── SignedOut           the authorization server no longer accepts it; only the person can sign in again
├── VaultError              a secret cannot be stored or read; the message says how to fix it
└── StoreError
    ├── StoreUnavailable    the database cannot be written now
    │   └── LeaseLost       another hub has taken over: this one must end
    ├── StoreLocked         another hub uses this data directory
    ├── SchemaTooNew        written by a newer version
    ├── SchemaTooOld        too old for this version to upgrade
    └── StaleTurn           the turn can no longer be written to
"""

from enum import StrEnum


class HubError(Exception):
    """The base of all errors the hub raises on purpose."""


class InboxUnavailable(HubError):
    """The event could not be stored: do not acknowledge it, expect redelivery."""


class NobodyToTell(HubError):
    """No address could receive a notice; the text says how to add one."""


class ChannelError(HubError):
    """An error of one platform."""


class RateLimited(ChannelError):
    """The platform requires a wait of `retry_after_s` before the same request."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"rate limited, retry in {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class Unavailable(ChannelError):
    """The platform could not be reached; the request was certainly not accepted."""


class Unanswered(ChannelError):
    """The request was sent and no answer came: it may or may not have been accepted."""


class AuthRejected(ChannelError):
    """The platform refuses our token; only a person can fix this."""


class AddressGone(ChannelError):
    """The conversation no longer takes messages from us (blocked, kicked, deleted)."""


class MessageRejected(ChannelError):
    """The platform refuses this particular message; repeating it is pointless."""


class AttachmentTooLarge(ChannelError):
    """The file is larger than the limit given."""


class ModelError(HubError):
    """A model call did not produce a usable reply.

    `uncounted`: True if the provider certainly counted no tokens for it."""

    uncounted = False


class ModelUnavailable(ModelError):
    """Transient failure: overload, rate limit, network. `retry_after_s`: the wait the provider asked
    for."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelRateLimited(ModelUnavailable):
    """The provider limits the rate of this key; another key may be tried at once."""


class ModelRejected(ModelError):
    """The provider refuses this request; repeating it is pointless."""


class ModelOrderConflict(ModelRejected):
    """The provider refuses the order of roles or tool results in the conversation."""


class ModelFault(StrEnum):
    """A fault in a model's setup that only the operator can mend."""

    KEY = "key"
    CREDITS = "credits"
    UNKNOWN_MODEL = "unknown_model"
    NO_TOOLS = "no_tools"
    NO_STREAMING = "no_streaming"
    ADDRESS = "address"
    """The address redirects, or answers with a web page such as a login."""
    PROGRAM = "program"
    """The agent CLI can't be started."""
    EXTENSION = "extension"
    """The Python extension that brings the model can't be used."""
    OWN_TOOLS = "own_tools"
    """The agent CLI has tools of its own, which no consent would cover."""


class ModelMisconfigured(ModelError):
    """The model can't answer until the operator mends its setup."""

    def __init__(self, message: str, fault: ModelFault) -> None:
        super().__init__(message)
        self.fault = fault


class ModelAuthRejected(ModelMisconfigured):
    """The provider refuses our key."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ModelFault.KEY)


class ContextOverflow(ModelError):
    """The prompt is longer than the model accepts."""


class ModelReplyInvalid(ModelError):
    """The reply broke off or could not be understood."""


class BudgetUsedUp(HubError):
    """Another model call is beyond a budget; the text says which, as a sentence."""


class AllowanceUsedUp(HubError):
    """This person has used all model calls their role allows per day."""


class ToolError(HubError):
    """A tool call did not produce its result."""


class ToolNotFound(ToolError):
    """No such tool is available."""


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's schema; names the field."""


class ToolDenied(ToolError):
    """The call is not allowed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ToolTimeout(ToolError):
    """The tool was stopped at its deadline."""


class OutcomeUnknown(ToolError):
    """The call was interrupted, not by the hub; how much of it took effect is unknown."""


class SignInRequired(ToolError):
    """The call has certainly not run: its person must sign in to `server` first. `challenge`: the server's
    refusal, as it sent it; may be empty."""

    def __init__(self, server: str, challenge: str = "") -> None:
        super().__init__(f"sign in to {server} first")
        self.server = server
        self.challenge = challenge


class ToolFailed(ToolError):
    """The tool ran and failed; the message is for the model."""


class SignInFailed(HubError):
    """A sign-in did not succeed. The message is a sentence for the person."""


class SignedOut(SignInFailed):
    """The authorization server no longer accepts what the vault holds. `client_unknown`: it does not know the
    hub any more, either."""

    def __init__(self, message: str, *, client_unknown: bool = False) -> None:
        super().__init__(message)
        self.client_unknown = client_unknown


class VaultError(HubError):
    """A secret cannot be stored or read. The message names it, and never contains its value."""


class StoreError(HubError):
    """A database error the caller must know about."""


class StoreUnavailable(StoreError):
    """The database cannot be written now (disk full, I/O error); nothing of the unit was kept."""


class LeaseLost(StoreUnavailable):
    """Another hub has taken over what this one had in hand; it can write nothing any more."""


class StoreLocked(StoreError):
    """Another process uses this data directory. `holder`: its process id, as the lock file says it."""

    def __init__(self, message: str, holder: str) -> None:
        super().__init__(message)
        self.holder = holder


class SchemaTooNew(StoreError):
    """The database was written by a newer version of the hub."""


class SchemaTooOld(StoreError):
    """The database has a schema this version can't upgrade; the message names the one it needs first."""


class IllegalChange(StoreError):
    """A change of state that there is not, of a thread, a turn or a job; nothing was written."""


class StaleTurn(StoreError):
    """The turn was ended, stopped or taken over; nothing was written."""


class SchemaRefused(Exception):
    """Error for a refused schema or tool; the message gives the reason and may quote the server."""
