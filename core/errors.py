"""Every error the hub raises on purpose, told apart by what the caller can do.

HubError
├── InboxUnavailable        do not acknowledge; the platform will deliver again
├── ChannelError            something about one platform
│   ├── RateLimited         wait `retry_after_s`, then the same request again
│   ├── Unavailable         the request was certainly not taken; try again later
│   ├── Unanswered          the request may have been taken: the outcome is ambiguous
│   ├── AuthRejected        the token is wrong; a person must act
│   ├── AddressGone         this conversation no longer takes messages from us
│   ├── MessageRejected     the platform refuses this message; do not repeat it
│   └── AttachmentTooLarge  the file is over the limit
├── ModelError
│   ├── ModelUnavailable    transient: try again (`retry_after_s` if the provider said so)
│   ├── ModelRejected       the request is wrong for this model; do not repeat it
│   ├── ModelAuthRejected   the key is wrong; a person must act
│   ├── ContextOverflow     the prompt is too long for the model
│   └── ModelReplyInvalid   the reply broke off or could not be read
├── ToolError
│   ├── ToolNotFound        no such tool is on offer
│   ├── InvalidArguments    the model should correct its arguments
│   ├── ToolDenied          not allowed; `reason` says why
│   ├── ToolTimeout         stopped at its deadline
│   ├── OutcomeUnknown      cut off from outside; a person must look what it did
│   └── ToolFailed          the tool itself says what went wrong
├── VaultError              a secret cannot be kept or read; the message says what to do
└── StoreError
    ├── StoreUnavailable    the database does not take writes now
    ├── StoreLocked         another hub uses this data directory
    ├── SchemaTooNew        written by a newer version
    └── StaleTurn           the turn is no longer ours to write
"""


class HubError(Exception):
    """Base of all errors the hub raises on purpose."""


class InboxUnavailable(HubError):
    """The event could not be stored: do not acknowledge it, expect redelivery."""


class NobodyToTell(HubError):
    """There is no place where a notice could be read; the text says what would make one."""


class ChannelError(HubError):
    """Something about one platform went wrong."""


class RateLimited(ChannelError):
    """The platform asks to wait `retry_after_s` before the same request."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"rate limited, retry in {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class Unavailable(ChannelError):
    """The platform could not be reached; the request was certainly not taken."""


class Unanswered(ChannelError):
    """The request went out and no answer came: it may or may not have been taken."""


class AuthRejected(ChannelError):
    """The platform refuses our token; only a person can help."""


class AddressGone(ChannelError):
    """The conversation no longer takes messages from us (blocked, kicked, deleted)."""


class MessageRejected(ChannelError):
    """The platform refuses this very message; repeating it is pointless."""


class AttachmentTooLarge(ChannelError):
    """The file is larger than the limit given."""


class ModelError(HubError):
    """A model call did not produce a usable reply."""


class ModelUnavailable(ModelError):
    """Transient failure: overload, rate limit, network. `retry_after_s` is the provider's own wish."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelRejected(ModelError):
    """The provider refuses this request; repeating it is pointless."""


class ModelAuthRejected(ModelError):
    """The provider refuses our key; only a person can help."""


class ContextOverflow(ModelError):
    """The prompt is longer than the model takes."""


class ModelReplyInvalid(ModelError):
    """The reply broke off or could not be understood."""


class AllowanceUsedUp(HubError):
    """This person has had all model calls of the day that their role allows."""


class ToolError(HubError):
    """A tool call did not produce its result."""


class ToolNotFound(ToolError):
    """No such tool is on offer."""


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
    """The call was cut off, not by the hub: how much of it took effect is not known."""


class ToolFailed(ToolError):
    """The tool ran and failed; the message is for the model."""


class VaultError(HubError):
    """A secret cannot be kept or read. The message names it, and never holds its value."""


class StoreError(HubError):
    """The database did something the caller must know about."""


class StoreUnavailable(StoreError):
    """The database takes no writes now (disk full, I/O error); nothing of the unit was kept."""


class StoreLocked(StoreError):
    """Another hub is running on this data directory."""


class SchemaTooNew(StoreError):
    """The database was written by a newer version of the hub."""


class StaleTurn(StoreError):
    """The turn was ended, stopped or taken over; nothing was written."""
