"""Problems of a configuration as one line each, with the place and the remedy.

The shape of bot.config.schema tells what was meant, and what an example looks like.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bot.config.schema import PLANNED, PLANNED_VALUES, Config
from core.lazy import dataclass

# The shape of bot.config.schema: which keys a section has, and what type a key is.

Key = tuple[str | int, ...]
"""The steps to a value: names of sections and keys, and places in lists."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A section that is one of several, by its platform."""

    sections: Mapping[str, type[BaseModel]]

    @property
    def fields(self) -> Mapping[str, FieldInfo]:
        """The fields of all platforms."""
        return {
            name: found
            for one in reversed(list(self.sections.values()))  # of equal names the first section's
            for name, found in one.model_fields.items()
        }


def inner(annotation: Any) -> Any:
    """Return an annotation without its wrapping: `Annotated`, `| None`."""
    if get_origin(annotation) in (Union, UnionType):
        choices = [choice for choice in get_args(annotation) if choice is not type(None)]
        if len(choices) > 1 and not all(
            isinstance(one, type) and issubclass(one, BaseModel) for one in choices
        ):
            return annotation  # values of several kinds, not sections
        if len(choices) > 1:
            return OneOf({get_args(one.model_fields["platform"].annotation)[0]: one for one in choices})
        annotation = choices[0]
    return inner(get_args(annotation)[0]) if hasattr(annotation, "__metadata__") else annotation


def fields_of(section: Any) -> Mapping[str, FieldInfo]:
    """Return the keys of a section; empty for anything else."""
    if isinstance(section, OneOf):
        return section.fields
    is_section = isinstance(section, type) and issubclass(section, BaseModel)
    return section.model_fields if is_section else {}


def field_at(key: Key) -> FieldInfo | None:
    """Return the field at a key; None for entries of lists and tables, and for unknown keys."""
    return fields_of(annotation_at(key[:-1])).get(str(key[-1])) if key else None


def annotation_at(key: Key) -> Any:
    """Return the type expected at a key; None for an unknown key. A channel's key may contain its
    platform, as the models' refusals do."""
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
    """Return whether a key holds a list."""
    return get_origin(annotation_at(key)) is tuple


def _is_text(annotation: Any) -> bool:
    return annotation in (str, SecretStr, Path) or get_origin(annotation) is Literal


def typed(raw: str, key: Key) -> Any:
    """Return an environment variable's value as the file would have held it.

    Text is taken as it stands (or in TOML's quotes); everything else is TOML. Other values stay text, so
    that the models
    refuse them like any other wrong value.
    """
    if _is_text(annotation_at(key)) and raw[:1] not in ('"', "'"):
        return raw
    try:
        parsed = tomllib.loads(f"value = {raw}\n")
    except (ValueError, RecursionError, OverflowError):
        return raw
    return parsed["value"] if parsed.keys() == {"value"} else raw


def keys_below(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterable[tuple[str, ...]]:
    """Yield all keys of sections with fixed names."""
    for name, found in model.model_fields.items():
        section = inner(found.annotation)
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from keys_below(section, (*above, name))
        elif above:
            yield (*above, name)


PLATFORMS = ("telegram", "slack", "discord")
SHOWN_CHARACTERS = 40

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CREDENTIALS = re.compile(r"://[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with a key and its remedy. `located`: the text already names the place."""

    key: Key
    text: str
    located: bool = False


@dataclass(slots=True)
class Where:
    """The places of keys: lines of the file, or names of environment variables."""

    source: Path | None
    lines: Mapping[Key, int]
    variables: dict[Key, str] = field(default_factory=lambda: dict[Key, str]())

    def line(self, problem: Problem) -> str:
        """Describe a problem in one line: place, key, problem and advice."""
        if problem.located:
            return problem.text
        return f"{self._place(problem.key)}: {dotted(problem.key)}: {problem.text}"

    def _place(self, key: Key) -> str:
        """Return the nearest thing a person wrote: the key, else the table it should be in."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.variables:
                return self.variables[key[:length]]
            if key[:length] in self.lines:
                return f"{self.source}:{self.lines[key[:length]]}"
        below = [name for set_key, name in self.variables.items() if set_key[: len(key)] == key]
        return below[0] if below else str(self.source or "defaults")


def _near(found: str, choices: Sequence[str]) -> list[str]:
    """Return the choice that was probably meant, if there is one."""
    from difflib import get_close_matches  # most configurations hold no error

    return get_close_matches(found, choices, n=1)


def dotted(key: Key) -> str:
    """Return a key as people write it: `channels.telegram.token`, `models[0].name`."""
    text = ""
    for step in key:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if _BARE.fullmatch(step) else json.dumps(step, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


def syntax(source: Path, text: str, message: str) -> str:
    """Describe a file that is not TOML, in one line; `message` is tomllib's own."""
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = found.group(1) if found and found.group(1) else str(text.rstrip("\n").count("\n") + 1)
    what = message[: found.start()] if found else message
    what = " ".join(what.split())
    return f"{source}:{line}: not valid TOML: {what}; fix this line"


def explain(refused: ValidationError, hidden: set[Key]) -> list[Problem]:
    """Return the models' refusals in words. `hidden`: keys whose values must not be shown."""
    problems = [_explain(error, hidden) for error in refused.errors(include_url=False)]
    # What else a channel of an unknown platform says cannot be judged.
    strange = {problem.key[:2] for problem in problems if problem.key[::2] == ("channels", "platform")}
    return [one for one in problems if one.key[:2] not in strange or one.key[2:] == ("platform",)]


def _explain(error: ErrorDetails, hidden: set[Key]) -> Problem:
    key = tuple(step for step in error["loc"] if step != "[key]")
    plain = written(key)
    match error["type"]:
        case "extra_forbidden":
            return Problem(plain, _unknown(key))
        case "missing":
            return Problem(plain, f"missing; {_example(key)}")
        case "union_tag_not_found":
            return Problem((*plain, "platform"), f"missing; {_example((*key, 'platform'))}")
        case "union_tag_invalid":
            return Problem((*plain, "platform"), _platform(error))
        case "value_error":
            text = str(error["ctx"]["error"]) if "ctx" in error else error["msg"]
        case "literal_error":
            text = _choice(key, error["input"], shown=plain not in hidden)
        case _:
            text = f"{_expected(error)}; {_example(key)}"
    shown = _shown(key, error["input"]) if plain not in hidden else ""
    return Problem(plain, f"{shown}{text}")


def written(key: Key) -> Key:
    """Return a key as it is written in the file, without a channel's platform."""
    is_tagged = len(key) > 3 and key[0] == "channels" and key[2] in PLATFORMS
    return (*key[:2], *key[3:]) if is_tagged else key


def _platform(error: ErrorDetails) -> str:
    found = error["input"].get("platform") if isinstance(error["input"], Mapping) else None
    shown = _literal(found) if isinstance(found, str) else "this"
    choices = list(cast("OneOf", annotation_at(("channels", ""))).sections)
    listed = " or ".join(_literal(choice) for choice in choices)
    near = _near(str(found), choices)
    advice = f"did you mean {_literal(near[0])}?" if near else f"use {listed}"
    return f"{shown} is not one of the choices; {advice}"


def _shown(key: Key, value: object) -> str:
    """Return the refused value if it is short, plain and no secret."""
    if annotation_at(key) is SecretStr or not isinstance(value, str | int | float | bool):
        return ""
    if isinstance(value, str):
        value = _CREDENTIALS.sub("://***@", value)
    return f"{_literal(value)} "


_EXPECTED = {
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text in quotes",
    "tuple_type": "must be a list in brackets",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "is_instance_of": "must be text in quotes",
    "finite_number": "must be a finite number",
    "too_short": "must not be empty",
}


def _expected(error: ErrorDetails) -> str:
    limits = error.get("ctx", {})
    match error["type"]:
        case "greater_than":
            return f"must be more than {limits['gt']:g}"
        case "greater_than_equal":
            return f"must be at least {limits['ge']:g}"
        case "less_than_equal":
            return f"must be at most {limits['le']:g}"
        case kind:
            return _EXPECTED.get(kind, error["msg"].replace("\n", " "))


def _unknown(key: Key) -> str:
    plain = tuple(str(step) for step in key if not isinstance(step, int))
    if _general(plain) in PLANNED:
        return "is not supported in this version; remove it"
    names = list(fields_of(annotation_at(key[:-1])))
    near = _near(str(key[-1]), names)
    if near:
        return f"unknown key; did you mean {near[0]}?"
    homes = [home for home in keys_below(Config) if home[-1] == key[-1]]
    if len(homes) == 1:
        return f"unknown key here; it belongs to [{'.'.join(homes[0][:-1])}]"
    return f"unknown key; remove it, or use one of {', '.join(names)}"


def _general(plain: tuple[str, ...]) -> tuple[str, ...]:
    """Return a key without the name a person gave its section."""
    return (plain[0], plain[-1]) if plain[0] == "channels" else plain


def _choice(key: Key, value: object, *, shown: bool) -> str:
    plain = tuple(str(step) for step in key if not isinstance(step, int))
    choices = [str(choice) for choice in get_args(annotation_at(key))]
    listed = " or ".join(_literal(choice) for choice in choices)
    for later in PLANNED_VALUES.get(_general(plain), ()):
        if shown and str(value).startswith(later):
            return f"is not supported in this version; use {listed}"
    near = _near(str(value), choices) if shown else []
    advice = f"did you mean {_literal(near[0])}?" if near else f"use {listed}"
    return f"is not one of the choices; {advice}"


def _example(key: Key) -> str:
    """Return an example of a valid value, as advice."""
    found = field_at(key)
    if found is None:
        return f"fix the entry in {dotted(written(key)[:-1])}" if len(key) > 1 else "write it as a section"
    name = str(key[-1])
    if found.examples:
        return f"for example {name} = {_literal(found.examples[0])}"
    default = found.get_default(call_default_factory=True)
    if isinstance(default, BaseModel) or get_origin(inner(found.annotation)) is Mapping or name == "models":
        return f"write it as [{dotted(written(key))}]" if name != "models" else "write it as [[models]]"
    return f"for example {name} = {_literal(default)}"


def _literal(value: object) -> str:
    """Return a value as TOML writes it, on one line and not too long."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(_literal(entry) for entry in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_literal(entry)}' for name, entry in value.items())} }}"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    text = str(value)
    if len(text) > SHOWN_CHARACTERS:
        text = text[: SHOWN_CHARACTERS - 1] + "…"
    return json.dumps(text, ensure_ascii=False)
