"""python-telegram-bot's errors as the hub's, separated by whether Telegram accepted the request.

The library's messages may quote the requested URL, which contains the token. For failed
connections, only the kind of failure is passed on.
"""

from datetime import timedelta

from telegram import error as ptb

from channels.channel import request_error
from core.errors import (
    AddressGone,
    AuthRejected,
    ChannelError,
    MessageRejected,
    RateLimited,
    Unanswered,
    Unavailable,
)

_GONE = (
    "chat not found",
    "chat_write_forbidden",
    "have no rights to send a message",
    "message thread not found",
    "not enough rights to send",
    "peer_id_invalid",
    "topic_closed",
    "topic_deleted",
    "user not found",
)
"""Parts of the descriptions of a 400 response, in lower case."""

_ANSWER_UNREADABLE = ". Parsing the server response"


class ChatMoved(AddressGone):
    """A request refused because the group became the supergroup `chat_id`. Nothing was accepted."""

    def __init__(self, chat_id: int) -> None:
        super().__init__(f"the group was upgraded to the supergroup {chat_id}")
        self.chat_id = chat_id


class AnswerTooLarge(Unanswered):
    """An answer that was too large and was not read. `update_id`: of its first update, if any."""

    def __init__(self, size: str, update_id: int | None) -> None:
        super().__init__(f"Telegram's response has {size}")
        self.size = size
        self.update_id = update_id


class WebhookSet(ChannelError):
    """A refused poll, because Telegram sends the updates to a webhook."""


def channel_error(error: ptb.TelegramError) -> ChannelError:
    """Return the hub's error for a failed request."""
    if isinstance(error.__cause__, ptb.InvalidToken):  # raised again by Bot.do_api_request
        error = error.__cause__
    text = error.message.partition(_ANSWER_UNREADABLE)[0]
    if isinstance(error.__cause__, ptb.TelegramError):  # an HTTP error whose body is not Telegram's
        return _answered(text)
    match error:
        case ptb.RetryAfter():
            wait = error.retry_after
            return RateLimited(wait.total_seconds() if isinstance(wait, timedelta) else float(wait))
        case ptb.InvalidToken() | ptb.EndPointNotFound():
            return AuthRejected("Telegram rejected the token")
        case ptb.Forbidden():
            return AddressGone(text)
        case ptb.ChatMigrated():
            return ChatMoved(error.new_chat_id)
        case ptb.Conflict():
            return _conflict(text)
        case ptb.BadRequest():
            return _refused(text)
        case ptb.NetworkError():
            cause = error.__cause__  # only this one shows whether anything was sent
            return _answered(text) if cause is None else request_error(cause, "Telegram")
        case _:
            return Unanswered(f"could not read Telegram's response: {text}")


def _conflict(text: str) -> ChannelError:
    if "webhook is active" in text:
        return WebhookSet(text)
    if "setwebhook" in text.lower():
        return ChannelError(f"another program set a webhook for this token ({text})")
    return ChannelError(f"another process is polling with this token ({text})")


def _refused(text: str) -> ChannelError:
    gone = any(words in text.lower() for words in _GONE)
    return AddressGone(text) if gone else MessageRejected(text)


def _answered(text: str) -> ChannelError:
    """Return the error for an HTTP status that does not concern the request, which was not accepted."""
    if text.startswith("Gateway Timeout"):  # the gateway gave up on a request that is still in progress
        return Unanswered(text)
    if text.startswith("Request Entity Too Large"):
        return MessageRejected(text)
    return Unavailable(text)
