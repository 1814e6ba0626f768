"""Tools, hooks and clients of servers send by HTTP through the run's interceptor: nothing else connects."""

import ast
from collections.abc import Iterator

import pytest

from tests.tree import ROOT

FROM = ("core/tools", "core/hooks", "core/routines", "core/runs", "bot/mcp", "bot/extensions")
"""Where nothing may connect by itself."""
CONNECTS = {"core/tools/web_client.py": "aiohttp", "bot/mcp/http.py": "httpx2"}
"""The modules that do, each by one client that asks the interceptor."""
CLIENTS = {"aiohttp", "httpx", "httpx2", "requests", "urllib3", "urllib.request", "http.client"}
OPENED_BY = {
    "WebClient": "core/tools/builtin/web_tools.py",
    "AsyncHTTPTransport": "bot/mcp/http.py",
}
"""What makes a client, and the one module that may call it."""


def around_the_interceptor(path: str, source: str) -> Iterator[str]:
    """What in a module may connect without an interceptor."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found = {name.name for name in names} & CLIENTS
            case ast.ImportFrom(module="aiohttp", names=[ast.alias(name="web")]):
                found = set[str]()  # a server
            case ast.ImportFrom(module=str(module)):
                found = {module, module.partition(".")[0]} & CLIENTS
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in OPENED_BY:
                found = set[str]() if OPENED_BY[name] == path else {name}
            case _:
                continue
        yield from (f"{path} uses {name}" for name in found if CONNECTS.get(path) != name)


def test_nothing_that_tools_send_goes_around_the_interceptor() -> None:
    files = [ROOT / "bot/hooks.py", *(file for place in FROM for file in (ROOT / place).rglob("*.py"))]
    assert len(files) > 60
    named = ((file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")) for file in files)
    assert [found for path, source in named for found in around_the_interceptor(path, source)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import httpx",
        "from aiohttp import ClientSession",
        "import urllib.request",
        "def client(guard, tls):\n    return WebClient(guard, tls)",
        "def transport():\n    return httpx2.AsyncHTTPTransport()",
    ],
)
def test_opening_a_connection_around_the_interceptor_is_found(source: str) -> None:
    assert len(list(around_the_interceptor("core/tools/builtin/anything.py", source))) == 1
