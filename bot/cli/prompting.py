"""`hubbub threads show ID --prompt`: what the model would be told first in a thread's next turn."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.cli.ending import CommandFailed
from bot.cli.looking import asked, row_id
from bot.cli.printing import print_json, printable, printable_lines
from bot.config import Loaded, load
from bot.tools import build_laws, build_tools
from core.agent.prompt import PromptFacts, system_prompt
from core.clock import SystemClock
from core.prompts import ToolSetting
from core.tools.pipeline import INTERACTIVE

if TYPE_CHECKING:
    from core.store.sqlite.queries import SqliteReader


@dataclass(frozen=True, slots=True)
class PromptView:
    """A thread's system prompt as of now, and whom it is about."""

    thread_id: str
    user_id: str
    prompt: str


def show_prompt(path: Path | None, thread_id: str, *, as_json: bool) -> None:
    """Assembled by what assembles it for a turn, on the configuration and the thread as they are now."""
    loaded = load(path)
    view = asked(path, lambda reader: _prompt(reader, loaded, row_id(thread_id)))
    if view is None:
        raise CommandFailed(f"No thread has the id {printable(thread_id)}; `hubbub threads list` names them.")
    if as_json:
        print_json(view)
    else:
        typer.echo(printable_lines(view.prompt))


async def _prompt(reader: "SqliteReader", loaded: Loaded, thread_id: str) -> PromptView | None:
    thread = await reader.thread(thread_id)
    owner = None if thread is None else await reader.user(thread.owner_id)
    if thread is None or owner is None:
        return None
    said = await reader.tool_settings(owner.user_id)
    disabled = frozenset(one.tool for one in said if one.setting is ToolSetting.DISABLED)
    clock, config = SystemClock(), loaded.config
    tools = build_tools(loaded, None, clock).specs(owner, INTERACTIVE, build_laws(config).policy(), disabled)
    facts = PromptFacts(
        configured=config.agent.system_prompt,
        speaker=owner,
        channel=thread.channel,
        now=clock.now(),
        timezone=config.hub.timezone,
        tools=[tool.name for tool in tools],
    )
    return PromptView(thread_id=thread.id, user_id=owner.user_id, prompt=system_prompt(facts))
