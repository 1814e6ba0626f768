"""The models whose limits, abilities and prices are known, from `models.toml` beside this module."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.lazy_dataclass import dataclass
from core.model.base import ModelAbilities, Price, ThinkingStyle

TABLE = Path(__file__).with_name("models.toml")
ANTHROPIC_MAX_TEMPERATURE = 1.0


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A row of the table, or what is assumed of a model that has none."""

    abilities: ModelAbilities
    price: Price | None = None


def known_model(provider: str, model: str) -> KnownModel:
    """Return what is known of a provider's model. `provider`: the API through which it is called."""
    name = model.lower().rpartition("/")[2].replace(".", "-")
    fitting = (start for start in _table() if _begins(name, start))
    row = _table().get(max(fitting, key=len, default=""), KnownModel(ModelAbilities()))
    able = row.abilities
    assumed = row.abilities == ModelAbilities()
    if provider == "cli":
        style = able.thinking
    elif provider == "anthropic":
        style = able.thinking if able.thinking is ThinkingStyle.BUDGET else ThinkingStyle.ADAPTIVE
        highest = able.max_temperature
        highest = None if highest is None else min(highest, ANTHROPIC_MAX_TEMPERATURE)
        able = replace(able, max_temperature=highest)
    else:
        style = ThinkingStyle.EFFORT
    if assumed or able.thinking is not ThinkingStyle.NONE:
        able = replace(able, thinking=style)
    return KnownModel(able, None if model.endswith(":free") else row.price)


def _begins(name: str, start: str) -> bool:
    """Return whether the name is the start, or goes on with anything but a letter or digit."""
    return name.startswith(start) and not name[len(start) : len(start) + 1].isalnum()


@lru_cache(1)
def _table() -> Mapping[str, KnownModel]:
    rows: Mapping[str, Mapping[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {start: _row(row) for start, row in rows.items()}


def _row(row: Mapping[str, Any]) -> KnownModel:
    abilities = ModelAbilities(
        context_tokens=row["context"],
        max_output_tokens=row["output"],
        images=row.get("images", False),
        max_temperature=row.get("temperature"),
        thinking=ThinkingStyle(row.get("thinking", "none")),
    )
    return KnownModel(abilities, Price(*row["usd"]) if "usd" in row else None)
