"""Typed access to a JSON body that collects every mistake before it refuses.

Texts of the mistakes: https://docs.discord.com/developers/reference#error-messages shows some; the rest are
the ones clients report.
"""

from collections.abc import Collection
from typing import Any

from tests.simulators.discord.errors import FormErrors, Path

Json = dict[str, Any]


class Form:
    """One object of a body. Fields that are absent or null read as None."""

    def __init__(self, values: Any, errors: FormErrors, path: Path = ()) -> None:
        self.errors = errors
        self.path = path
        if not isinstance(values, dict):
            errors.add(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            values = {}
        self.values: Json = values

    def wrong(self, name: str, code: str, message: str) -> None:
        """Notes a mistake in a field."""
        self.errors.add((*self.path, name), code, message)

    def _given(self, name: str, required: bool) -> Any:
        value = self.values.get(name)
        if value is None and required:
            self.wrong(name, "BASE_TYPE_REQUIRED", "This field is required")
        return value

    def text(self, name: str, most: int, *, least: int = 0, required: bool = False) -> str | None:
        """A text of ``least`` to ``most`` characters."""
        value = self._given(name, required)
        if value is None:
            return None
        if not isinstance(value, str):
            self.wrong(name, "STRING_TYPE_CONVERT", f'Could not interpret "{value}" as string.')
            return None
        self.length(name, len(value), least, most)
        return value

    def length(self, name: str, size: int, least: int, most: int) -> None:
        """Notes a size beyond its limits."""
        if least <= size <= most:
            return
        if least:
            self.wrong(name, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")
        else:
            self.wrong(name, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")

    def integer(
        self, name: str, least: int, most: int, *, default: int | None = None, required: bool = False
    ) -> int | None:
        """A whole number, also as text (as in a query)."""
        value = self._given(name, required)
        if value is None:
            return default
        try:
            number = int(value)
        except (TypeError, ValueError):
            self.wrong(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')
            return default
        if number < least:
            message = f"int value should be greater than or equal to {least}."
            self.wrong(name, "NUMBER_TYPE_MIN", message)
        if number > most:
            self.wrong(name, "NUMBER_TYPE_MAX", f"int value should be less than or equal to {most}.")
        return number

    def snowflake(self, name: str, *, required: bool = False) -> int | None:
        """An id, as text or number."""
        value = self._given(name, required)
        if value is None:
            return None
        try:
            return int(value)
        except (TypeError, ValueError):
            self.wrong(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
            return None

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.wrong(name, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
            return default
        return value

    def choice(self, name: str, allowed: Collection[Any], *, default: Any = None) -> Any:
        """One of a few values; without a default the field is required."""
        value = self._given(name, default is None)
        if value is None:
            return default
        if value not in allowed:
            listed = ", ".join(repr(one) for one in allowed)
            self.wrong(name, "BASE_TYPE_CHOICES", f"Value must be one of ({listed}).")
            return default
        return value

    def items(self, name: str, most: int, *, least: int = 0, required: bool = False) -> list[Any] | None:
        """A list of ``least`` to ``most`` values."""
        value = self._given(name, required)
        if value is None:
            return None
        if not isinstance(value, list):
            self.wrong(name, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
            return None
        self.length(name, len(value), least, most)
        return value

    def forms(self, name: str, most: int, *, least: int = 0, required: bool = False) -> list["Form"] | None:
        """A list of objects."""
        values = self.items(name, most, least=least, required=required)
        if values is None:
            return None
        return [Form(value, self.errors, (*self.path, name, n)) for n, value in enumerate(values)]

    def form(self, name: str) -> "Form | None":
        """An object in a field."""
        value = self.values.get(name)
        return None if value is None else Form(value, self.errors, (*self.path, name))
