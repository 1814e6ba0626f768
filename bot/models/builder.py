"""Opens the configured models, each once for each of its keys."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.config.schema import Config
from bot.config.schema import Model as ModelSettings
from bot.runtime import HTTPX_COMMAND_LINE, Certificates, StartError, left_out
from core.clock import Clock
from core.ids import Ids
from core.lazy import LazyModule
from core.model.base import KnownModel, Model, Price, ThinkingStyle, known_model
from core.model.demo import DemoModel
from core.runs.metering import Metering
from core.runs.model_list import ConfiguredModel, ModelList
from core.usage import Expected
from core.users import Thinking

if TYPE_CHECKING:
    import httpx

    from bot.extensions import python as extensions
    from bot.models import cli
    from core.model.cli import Bridge
else:
    cli = LazyModule("bot.models.cli")
    extensions = LazyModule("bot.extensions.python")

FIRST_PROMPT_TOKENS = 32_000
"""The bound, in bytes, on the instructions and tools of a conversation's first request."""


class ModelOpener:
    """Opens configured models for as long as `opened` is. A model whose settings have not changed is not
    opened again.

    `wrapped`: replaces each of them. `read_timeout_s`: see `_provider_client`. `environment`: the hub's own,
    of which agent CLIs see the harmless part."""

    def __init__(
        self,
        clock: Clock,
        certificates: Certificates,
        ids: Ids,
        opened: contextlib.AsyncExitStack,
        wrapped: Callable[[Model], Model] | None = None,
        read_timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._clock = clock
        self._certificates = certificates
        self._ids = ids
        self._opened = opened
        self._wrapped = wrapped
        self._read_timeout_s = read_timeout_s
        self._environment = environment or {}
        self._bridge: Bridge | None = None
        self._known: list[tuple[ModelSettings, ConfiguredModel]] = []

    async def configured(self, config: Config) -> Sequence[ConfiguredModel]:
        """Return the configured models in order. Raises StartError."""
        known = [self._of(settings) for settings in config.models]
        new = [settings for settings, model in zip(config.models, known, strict=True) if model is None]
        client = await _provider_client(new, self._certificates, self._read_timeout_s, self._opened)
        if self._bridge is None and any(settings.provider == "cli" for settings in new):
            self._bridge = await self._opened.enter_async_context(cli.open_bridge())
        self._known = [
            (settings, model or self._open(settings, config, client))
            for settings, model in zip(config.models, known, strict=True)
        ]
        return [model for _, model in self._known]

    def _of(self, settings: ModelSettings) -> ConfiguredModel | None:
        return next((model for of, model in self._known if of == settings), None)

    def _open(
        self, settings: ModelSettings, config: Config, client: "httpx.AsyncClient | None"
    ) -> ConfiguredModel:
        per_key = [
            _agent(settings, key, config, self._environment, self._ids, self._bridge, self._opened)
            if settings.provider == "cli"
            else _model(settings, key, client, self._clock)
            for key in settings.keys
        ]
        return ConfiguredModel(
            settings.name,
            settings.provider,
            per_key[0].abilities.context_tokens or config.agent.context_tokens,
            tuple(per_key if self._wrapped is None else map(self._wrapped, per_key)),
            known(settings).price,
            Thinking(settings.thinking),
        )


@contextlib.asynccontextmanager
async def open_models(
    config: Config,
    clock: Clock,
    certificates: Certificates,
    metering: Metering,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[ModelList]:
    """Open the configured models in order, for a command."""
    async with contextlib.AsyncExitStack() as opened:
        opener = ModelOpener(clock, certificates, metering.ids, opened, environment=environment)
        yield await listed(opener, config, clock, metering)


async def listed(opener: ModelOpener, config: Config, clock: Clock, metering: Metering) -> ModelList:
    """Return the list of the configured models. Raises StartError."""
    return ModelList(await opener.configured(config), clock, metering, temperature=config.agent.temperature)


async def _provider_client(
    models: Sequence[ModelSettings],
    certificates: Certificates,
    read_timeout_s: float | None,
    opened: contextlib.AsyncExitStack,
) -> "httpx.AsyncClient | None":
    """Open the HTTP client of the models behind APIs, if there are any.

    `read_timeout_s`: the longest silence of a provider; None for the default of `model_client`."""
    remote = [settings for settings in models if settings.provider not in ("demo", "cli", "extension")]
    if not remote:
        return None
    with left_out(HTTPX_COMMAND_LINE):
        from core.model.provider_http import READ_TIMEOUT_S, model_client
    contexts = [certificates.for_url(settings.api_url) for settings in remote]
    tls = next((context for context in contexts if context is not None), None)
    return await opened.enter_async_context(
        model_client(
            tls=tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            read_timeout_s=read_timeout_s or READ_TIMEOUT_S,
        )
    )


def _agent(
    settings: ModelSettings,
    key: str,
    config: Config,
    environment: Mapping[str, str],
    ids: Ids,
    bridge: "Bridge | None",
    opened: contextlib.AsyncExitStack,
) -> Model:
    able = known(settings).abilities
    model = cli.cli_model(settings, key, config.hub.data_dir, environment, ids, able, bridge)
    opened.push_async_callback(model.close)
    return model


def _model(settings: ModelSettings, key: str, client: "httpx.AsyncClient | None", clock: Clock) -> Model:
    if settings.provider == "extension":
        return extensions.python_model(settings, key)
    if settings.provider == "demo" or client is None:
        return DemoModel(settings.name)
    if settings.provider == "anthropic":
        from core.model.anthropic import AnthropicModel as provider_model
    else:
        from core.model.openai import OpenAIModel as provider_model
    found = known(settings)
    try:
        return provider_model(
            name=settings.name,
            model=settings.model,
            base_url=settings.api_url,
            api_key=key,
            client=client,
            clock=clock,
            abilities=found.abilities,
            thinking=Thinking(settings.thinking),
            stream=settings.stream,
        )
    except ValueError as error:
        raise StartError(f"{error}; fix its [[models]] section") from error


def known(settings: ModelSettings) -> KnownModel:
    """Return the limits, abilities and price of a model: those configured, else those in the table."""
    found = known_model(settings.provider, settings.model)
    written = {
        "context_tokens": settings.context_tokens,
        "max_output_tokens": settings.max_output_tokens,
        "images": settings.images,
        "max_temperature": settings.max_temperature,
    }
    able = replace(found.abilities, **{name: value for name, value in written.items() if value is not None})
    style = able.thinking
    if (
        style is ThinkingStyle.NONE and settings.thinking != "off"
    ):  # an operator who asks for it knows that it thinks
        style = ThinkingStyle.ADAPTIVE if settings.provider == "anthropic" else ThinkingStyle.EFFORT
    able = replace(able, max_temperature=able.max_temperature or None, thinking=style)
    price = found.price
    if settings.priced:
        price = Price(settings.input_usd_per_million, settings.output_usd_per_million)
    return KnownModel(able, price)


def first_call(config: Config) -> Expected:
    """Return what the first call of a conversation is expected to be: as long a prompt as most hubs have, and
    the longest answer."""
    first, answer_tokens = config.models[0], config.agent.answer_tokens
    price = known(first).price
    micro_usd = 0 if price is None else price.at_most(FIRST_PROMPT_TOKENS, answer_tokens)
    return Expected(first.name, first.provider, FIRST_PROMPT_TOKENS + answer_tokens, micro_usd)
