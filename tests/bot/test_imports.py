"""Modules the hub does not load at start, and that they load when they are used."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.ids import RandomIds
from core.store.sqlite.store import open_store
from tests.harness.process import environment
from tests.harness.telegram_hub import TOKEN

NOT_BEFORE_THEY_ARE_NEEDED = {
    "click",
    "core.safety.shell.rating",
    "core.tools.leader",
    "difflib",
    "multiprocessing",
    "re2",
}
BUILD = """
import asyncio, sys
from bot.app import Seams, build
from bot.config.load import load

async def main():
    async with build(load(), Seams()):
        print(*sys.modules)

asyncio.run(main())
"""
CLIENTS = {"aiohttp", "httpx", "rich", "click", "pygments", "jsonschema", "docker", "cryptography"}
"""What only a hub that speaks to a platform, a provider or the web needs: a fifth of its memory."""
SCHEMAS = """
import asyncio
from bot.app import Seams, build
from bot.config.load import load
from core.tools import definition

made = []
arguments_model = definition._arguments_model
definition._arguments_model = lambda name, function: made.append(name) or arguments_model(name, function)

async def main():
    async with build(load(), Seams()) as app:
        print(*made)

asyncio.run(main())
"""
COMMAND_LINE = """
from bot.runtime import UVICORN_COMMAND_LINE, put_off

with put_off(*UVICORN_COMMAND_LINE):
    import uvicorn
    from uvicorn.server import Server

print("main" in vars(uvicorn), uvicorn.Server is Server, callable(uvicorn.run), callable(uvicorn.main))
"""


async def output_of(code: str, directory: Path) -> list[str]:
    """Return what a Python of its own prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        cwd=directory,
        env=environment(HUBBUB__HTTP__PORT="0"),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().split()


async def test_a_hub_loads_nothing_that_only_rare_paths_need(tmp_path: Path) -> None:
    (tmp_path / "hubbub.toml").write_text(
        f'[channels.telegram]\ntoken = "{TOKEN}"\n'
        '[[models]]\nname = "main"\nprovider = "openai"\nmodel = "m"\napi_key = "k"\n'
    )
    loaded = set(await output_of(BUILD, tmp_path))
    assert "telegram" in loaded
    assert "core.model.openai" in loaded
    assert loaded & NOT_BEFORE_THEY_ARE_NEEDED == set()


async def test_a_hub_on_the_demo_model_loads_no_client(tmp_path: Path) -> None:
    assert set(await output_of(BUILD, tmp_path)) & CLIENTS == set()


async def test_a_hub_makes_no_schema_of_a_tool_before_a_model_is_called(tmp_path: Path) -> None:
    assert await output_of(SCHEMAS, tmp_path) == []


async def test_a_deferred_value_is_made_when_asked_for(tmp_path: Path) -> None:
    assert await output_of(COMMAND_LINE, tmp_path) == ["False", "True", "True", "True"]


async def test_a_command_that_lists_through_the_running_hub_loads_no_store(tmp_path: Path) -> None:
    loaded = await output_of("import sys, bot.cli.unattended\nprint(*sys.modules)", tmp_path)
    assert "bot.cli.api" in loaded
    assert [name for name in loaded if name.startswith(("core.store.sql", "core.jobs.", "core.runs."))] == []


LISTING = """
import contextlib, io, sys
from pathlib import Path
from bot.cli import admin, groups, show

listing = {listing}
with contextlib.redirect_stdout(io.StringIO()):
    listing()
print(*sys.modules)
"""
JUDGES = ("pydantic", "pydantic_core", "httpx", "yarl", "bot.config.schema", "bot.config.load")
"""What judges a whole configuration or an answer of the hub: most of what a command would cost."""


@pytest.mark.parametrize(
    "listing",
    [
        "lambda: show.list_threads(None, 20, archived=False, as_json=False)",
        "lambda: show.list_approvals(None, as_json=False)",
        "lambda: admin.list_pairing(None, as_json=True)",
    ],
)
async def test_a_listing_from_the_database_judges_no_configuration(tmp_path: Path, listing: str) -> None:
    (tmp_path / "hubbub.toml").write_text('[hub]\ndata_dir = "kept"\n[http]\nport = "none"\n')
    (tmp_path / "hubbub.env").write_text("HUBBUB__HTTP__HOST=nowhere\n")
    (tmp_path / "kept").mkdir()
    store = await open_store(tmp_path / "kept" / "hub.db", SystemClock(), RandomIds())
    await store.close()
    loaded = await output_of(LISTING.format(listing=listing), tmp_path)
    assert "bot.config.place" in loaded
    assert set(JUDGES) & set(loaded) == set()
