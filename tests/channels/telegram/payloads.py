"""Updates as Telegram sends them, shaped after https://core.telegram.org/bots/api#update."""

import json
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[2] / "payloads" / "telegram"
NAMES = sorted(path.stem for path in DIRECTORY.glob("*.json"))


def payload(name: str) -> dict[str, Any]:
    """A fresh copy of an update."""
    return json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
