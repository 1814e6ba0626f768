"""The shape of bot.settings: which keys a section has, and what type a key is."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from bot.settings import Config

Key = tuple[str | int, ...]
"""The steps to a value: names of sections and keys, and places in lists."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A section that is one of several, by its platform."""

    sections: Mapping[str, type[BaseModel]]

    @property
    def fields(self) -> Mapping[str, FieldInfo]:
        """Those of all of them."""
        return {
            name: found
            for one in reversed(list(self.sections.values()))  # of equal names the first section's
            for name, found in one.model_fields.items()
        }


def inner(annotation: Any) -> Any:
    """An annotation without its wrapping: `Annotated`, `| None`."""
    if get_origin(annotation) in (Union, UnionType):
        choices = [choice for choice in get_args(annotation) if choice is not type(None)]
        if len(choices) > 1:
            return OneOf({get_args(one.model_fields["platform"].annotation)[0]: one for one in choices})
        annotation = choices[0]
    return inner(get_args(annotation)[0]) if hasattr(annotation, "__metadata__") else annotation


def fields_of(section: Any) -> Mapping[str, FieldInfo]:
    """The keys of a section; none of anything else."""
    if isinstance(section, OneOf):
        return section.fields
    is_section = isinstance(section, type) and issubclass(section, BaseModel)
    return section.model_fields if is_section else {}


def field_at(key: Key) -> FieldInfo | None:
    """The field a key ends at; None for entries of lists and tables, and for keys there are none of."""
    return fields_of(annotation_at(key[:-1])).get(str(key[-1])) if key else None


def annotation_at(key: Key) -> Any:
    """The type expected at a key; None where there is no such key. The key of a channel may have its platform
    before what belongs to it, as the models' refusals do."""
    annotation: Any = Config
    for step in key:
        if isinstance(annotation, OneOf) and step in annotation.sections:
            annotation = annotation.sections[str(step)]
        elif fields := fields_of(annotation):
            found = fields.get(str(step))
            annotation = inner(found.annotation) if found else None
        elif get_origin(annotation) is Mapping:
            annotation = inner(get_args(annotation)[1])
        elif get_origin(annotation) is tuple:
            annotation = inner(get_args(annotation)[0])
        else:
            return None
    return annotation


def is_list(key: Key) -> bool:
    """Whether a key holds a list."""
    return get_origin(annotation_at(key)) is tuple


def _is_text(annotation: Any) -> bool:
    return annotation in (str, SecretStr, Path) or get_origin(annotation) is Literal


def typed(raw: str, key: Key) -> Any:
    """An environment variable's value as the file would have held it.

    Text is taken as it stands (or in TOML's quotes); everything else is TOML. What is neither stays text,
    so that the models refuse it like any other wrong value.
    """
    if _is_text(annotation_at(key)) and raw[:1] not in ('"', "'"):
        return raw
    try:
        parsed = tomllib.loads(f"value = {raw}\n")
    except (ValueError, RecursionError, OverflowError):
        return raw
    return parsed["value"] if parsed.keys() == {"value"} else raw


def keys_below(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterable[tuple[str, ...]]:
    """All keys of sections with fixed names."""
    for name, found in model.model_fields.items():
        section = inner(found.annotation)
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from keys_below(section, (*above, name))
        elif above:
            yield (*above, name)
