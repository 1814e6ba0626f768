"""The secrets among the values of the configuration."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, SecretStr


def secret_values(config: BaseModel) -> frozenset[str]:
    """The text of every secret set, for redaction."""
    found: set[str] = set()
    for value in _leaves(config):
        if isinstance(value, SecretStr) and value.get_secret_value():
            found.add(value.get_secret_value())
    return frozenset(found)


def _leaves(value: object) -> Iterator[object]:
    match value:
        case BaseModel():
            for _, inner in value:
                yield from _leaves(inner)
        case Mapping():
            for inner in value.values():
                yield from _leaves(inner)
        case tuple():
            for inner in value:
                yield from _leaves(inner)
        case _:
            yield value
