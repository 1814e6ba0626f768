"""python-telegram-bot and discord.py are used by public names only: nothing private, misspelt or patched."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import discord
import pytest
import telegram
from discord import gateway as discord_gateway
from discord import http as discord_http
from telegram import request as telegram_request

from channels.discord import client as discord_client
from channels.discord import gateway
from channels.telegram import client as telegram_client
from channels.telegram.outbound import DOCUMENT, PHOTO
from tests.tree import ROOT

SDKS = ("telegram", "discord")
MODULES = [path for sdk in SDKS for path in sorted((ROOT / "channels" / sdk).glob("*.py"))]
SUBCLASSES = [
    (telegram_client.BotRequest, telegram_request.BaseRequest),
    (telegram_client.OverSize, telegram.error.TelegramError),
    (discord_client.DiscordHttp, discord_http.HTTPClient),
    (vars(discord_client)["_Bucket"], discord_http.Ratelimit),
    (vars(gateway)["_Socket"], discord_gateway.DiscordWebSocket),
    (vars(gateway)["_Sdk"], discord.Client),
]
OURS = {"OverSize": {"update_id"}, "BotRequest": {"answer_date"}, "_Sdk": {"receive"}}
"""Public names that our subclasses add. Every other one overrides the library's, so it has to be there."""


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield what a module imports from the libraries: the local name, and the full one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.asname or name.name, name.name) for name in node.names)
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((name.asname or name.name, f"{node.module}.{name.name}") for name in node.names)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def misuses(source: str) -> list[str]:
    """Return uses of private names, except an object's own, and changes of what the libraries define."""
    tree = ast.parse(source)
    of_sdks = {local: full for local, full in _imported(tree) if full.partition(".")[0] in SDKS}
    found = [full for full in of_sdks.values() if any(map(_is_private, full.split(".")))]
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name) if _is_private(name):
                found.append(ast.unparse(node))
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                root = ast.unparse(node).partition(".")[0]
                found += [ast.unparse(node)] if root in of_sdks else []
            case ast.Call(func=ast.Name(id="setattr" | "delattr")):
                found.append(ast.unparse(node))
            case _:
                pass
    return found


def _own_names(kind: type) -> set[str]:
    """Return the private names a class reads and writes on itself, and those it defines."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    return {name for name in used | set(vars(kind)) if _is_private(name) and not name.startswith("_abc_")}


def _methods(module: ModuleType) -> set[str]:
    """Return the Bot API's methods that a module names in its constants."""
    return {
        value
        for name, value in vars(module).items()
        if name.isupper()
        and isinstance(value, str)
        and f"await self._call({name}" in inspect.getsource(module)
    }


@pytest.mark.parametrize("path", MODULES, ids=[f"{path.parent.name}/{path.name}" for path in MODULES])
def test_no_private_name_or_patched_attribute_of_a_library_is_used(path: Path) -> None:
    assert misuses(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from discord.http import _x",
        "import discord\ndiscord.Client.http = None",
        "from discord.http import Route\nRoute.BASE = ''",
        "def f(client):\n    client._connection.x()",
        "import telegram\nsetattr(telegram.Bot, 'send', None)",
    ],
)
def test_each_misuse_of_a_library_is_found(source: str) -> None:
    assert misuses(source)


@pytest.mark.parametrize("ours, theirs", SUBCLASSES, ids=lambda kind: kind.__name__)
def test_a_subclass_overrides_existing_methods_and_no_private_name(ours: type, theirs: type) -> None:
    assert issubclass(ours, theirs)
    public = {name for name, value in vars(ours).items() if callable(value) or isinstance(value, property)}
    events = {name for name in public if name.startswith("on_") and theirs is discord.Client}
    added = OURS.get(ours.__name__, set())
    assert {
        name for name in public - events - added if not name.startswith("_") and not hasattr(theirs, name)
    } == set()
    for event in events:
        assert f"'{event.removeprefix('on_')}'" in inspect.getsource(discord_gateway)
    inherited = set[str]().union(
        *(_own_names(kind) for kind in theirs.__mro__[:-1] if kind.__module__ != "builtins")
    )
    assert _own_names(ours) & inherited == set()


def test_every_method_of_the_bot_api_is_one_the_library_has() -> None:
    named = _methods(telegram_client) | {PHOTO.method, DOCUMENT.method}
    assert len(named) > 10
    assert {name for name in named if not callable(getattr(telegram.Bot, name, None))} == set()
