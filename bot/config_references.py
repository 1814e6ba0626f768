"""Texts of the configuration that stand for something else: "env:NAME" and, for secrets, "vault:NAME"."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bot.config_document import Document
from bot.config_errors import Problem
from bot.config_shape import Key, annotation_at, typed
from bot.setting_types import Unopened

_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_SECRET = re.compile(r"vault:(.+)", re.DOTALL)


def apply_references(
    document: Document, environ: Mapping[str, str], *, secrets: bool = True
) -> Iterator[Problem]:
    """Replace each "env:NAME" by the variable's value; where no `secrets` are needed, one that is not set
    stays unopened."""
    for holder, step, key, found in _found(document, _VARIABLE):
        name = found.group(1)
        if name in environ:
            holder[step] = typed(environ[name], key)
            document.hidden.add(key)
        elif not secrets and _is_secret(key):
            holder[step] = Unopened(found.group())
        else:
            yield Problem(key, f"the environment variable {name} is not set; set it or write the value here")


def apply_vault(
    document: Document, data_dir: Path, environ: Mapping[str, str], *, secrets: bool = True
) -> Iterator[Problem]:
    """Replace each secret "vault:NAME" by what is kept under that name in the data directory."""
    from bot.vault_values import VaultValues

    values = VaultValues(data_dir, environ)
    for holder, step, key, found in _found(document, _SECRET):
        if not _is_secret(key):
            yield Problem(key, "is no secret, so it cannot come from the vault; write the value here")
        elif not secrets:
            holder[step] = Unopened(found.group())
        else:
            value = values.value(found.group(1))
            if isinstance(value, str):
                holder[step] = value
                document.hidden.add(key)
            else:
                yield Problem(key, value.text)


def _is_secret(key: Key) -> bool:
    return annotation_at(key) is SecretStr


def _found(document: Document, pattern: re.Pattern[str]) -> Iterator[tuple[Any, Any, Key, re.Match[str]]]:
    """Every text the pattern is all of: what holds it, the step to it from there, its key."""

    def visit(value: Any, key: Key) -> Iterator[tuple[Any, Any, Key, re.Match[str]]]:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for step, inner in list(entries):
            here = (*key, step)
            if isinstance(inner, dict | list):
                yield from visit(inner, here)
            elif isinstance(inner, str) and (found := pattern.fullmatch(inner)):
                yield value, step, here, found

    return visit(document.tree, ())
