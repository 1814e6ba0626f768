"""Builds the prompts of chat turns from the configuration and the workspace."""

from collections.abc import Callable, Sequence
from functools import partial

from bot.config.load import Loaded
from bot.config.schema import Config
from bot.platforms import rendering_hint
from bot.runtime import version
from bot.tools import workspace_of
from core.runs.prompts import ChatPrompts, PromptSettings
from core.runs.workspace_texts import WorkspaceTexts
from core.safety.leaks import LeakDetector
from core.users import Principal


def build_texts(loaded: Loaded, leaks: LeakDetector) -> WorkspaceTexts:
    """Build the reader of the workspace's identity documents and skills."""
    return WorkspaceTexts(workspace_of(loaded), leaks, loaded.config.workspace.trusted_skills)


def build_prompts(
    config: Config, texts: WorkspaceTexts, unattended: Callable[[Principal], Sequence[str]]
) -> ChatPrompts:
    """Build the maker of prompts. `unattended`: the tools of a person that need no approval."""
    settings = PromptSettings(
        configured=config.agent.system_prompt,
        timezone=config.hub.timezone,
        version=version(),
        models={model.name: model.model or model.name for model in config.models},
    )
    return ChatPrompts(settings, texts, unattended, partial(rendering_hint, config))
