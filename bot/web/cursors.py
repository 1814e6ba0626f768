"""Where a page of a list ends, as a text that only the hub reads."""

import base64
import binascii

from bot.web.errors import ApiError


def position_of(cursor: str) -> tuple[int, str]:
    """What a cursor says. Raises ApiError."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        at, _, row_id = text.partition("/")
        number = int(at)
    except (ValueError, binascii.Error) as error:
        raise ApiError(400, "invalid", "is no cursor of ours", "before") from error
    if not -(2**63) <= number < 2**63:
        raise ApiError(400, "invalid", "is no cursor of ours", "before")
    return number, row_id


def cursor_of(at: int, row_id: str) -> str:
    """A cursor: read by `position_of` only."""
    return base64.urlsafe_b64encode(f"{at}/{row_id}".encode()).decode().rstrip("=")
