"""Models are called at the metering point alone: nothing else can get hold of one."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.house import PACKAGES
from tests.tree import ROOT

METERING = "core/runs/metering.py"
OPENERS = {
    "bot/models/builder.py",
    "bot/app.py",
    "bot/recordings/recorder.py",
    "bot/recordings/replayer.py",
    "bot/extensions/python.py",
}
HOLDERS = {METERING, "core/runs/model_list.py", *OPENERS}
"""The metering point, the list that it is given models by, and those that open or wrap models for it."""
ADAPTERS = {"OpenAIModel", "AnthropicModel", "DemoModel", "CliModel", "cli_model", "python_model"}
BUILDER = "bot/models/builder.py"
OPENING = {
    "CliModel": {"bot/models/cli.py"},  # whose `cli_model` is watched in its place
    "cli_model": {"bot/ops/model_trial.py"},  # doctor's trial asks a server of its own: nobody's tokens
}
"""The adapters that others than the builder may open."""


def around_the_meter(path: str, source: str) -> Iterator[str]:
    """What in a module may call a model without a row."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="core.model.base", names=names) if path not in HOLDERS:
                yield from (f"{path} holds models" for name in names if name.name == "Model")
            case ast.ImportFrom(names=names):
                yield from (f"{path} opens {one.name}" for one in names if _is_barred(one.name, path))
            case ast.Attribute(attr=name) if _is_barred(name, path):
                yield f"{path}:{node.lineno} opens {name}"
            case ast.Call(func=ast.Attribute(attr="with_key")) if path != METERING:
                yield f"{path}:{node.lineno} takes a model from the list"
            case ast.Attribute(attr="_per_key") if path != "core/runs/model_list.py":
                yield f"{path}:{node.lineno} takes a model from the list"
            case _:
                pass


def _is_barred(name: str, path: str) -> bool:
    return name in ADAPTERS and path not in {BUILDER, *OPENING.get(name, ())}


def test_no_module_calls_a_model_around_the_metering_point() -> None:
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 100
    named = ((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in files)
    assert [found for path, source in named for found in around_the_meter(path, source)] == []


@pytest.mark.parametrize(
    "source",
    [
        "from core.model.base import Model",
        "from core.model.base import ModelReply, Model as Asked",
        "from core.model.openai import OpenAIModel",
        "from core.model.cli import CliModel",
        "from bot.models import cli\nmodel = cli.cli_model(settings, key)",
        "from bot import extensions\nmodel = extensions.python_model(settings, key)",
        "async def ask(candidate):\n    return candidate.with_key(0).reply(request)",
        "def first(candidate):\n    return candidate._per_key[0]",
    ],
)
def test_importing_a_model_around_the_metering_point_is_found(source: str) -> None:
    assert len(list(around_the_meter("core/jobs/anything.py", source))) == 1
