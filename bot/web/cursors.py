"""Where a page of a list ends, as a text that only the hub makes sense of."""

from typing import Annotated

from pydantic import Field

Cursor = Annotated[str, Field(pattern=r"^[0-9]{1,18}\.[0-9a-z-]{1,64}$", max_length=83)]


def cursor_of(at: int, row_id: str) -> str:
    """Behind the row of this time and id."""
    return f"{at}.{row_id}"


def position_of(cursor: str) -> tuple[int, str]:
    """The time and the id of the row that a cursor stands behind."""
    at, _, row_id = cursor.partition(".")
    return int(at), row_id
