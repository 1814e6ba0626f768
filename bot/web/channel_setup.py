"""New channels from the console: tokens are tried, stored in the vault, and named in the configuration."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, SecretStr

from bot.config.document import KeyPath
from bot.config.edits import PLATFORMS, PlatformSetup, Value
from bot.config.schema import Config
from bot.operator.config_file import SettingsFile
from bot.operator.settings import SettingsService
from bot.ops.probes import Finding, Health, channel_trial
from bot.runtime import AdminError
from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, ShortText
from bot.web.responses import Given
from core.lazy import dataclass
from core.store.facets import Secrets

Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$", max_length=500)]
Token = Annotated[SecretStr, Field(min_length=1, max_length=500)]


class WantedTokenPage(Page):
    """A token that a platform wants, and where to find it."""

    key: str
    about: str


class PlatformPage(Page):
    """A platform that can be added. `steps`: how to make a bot there."""

    name: str
    steps: str
    tokens: tuple[WantedTokenPage, ...]


class NewChannel(Given):
    """A channel to add. `tokens`: by key, all that the platform wants; `api_base_url`: of a server in the
    place of the platform's."""

    platform: ShortText
    tokens: dict[ShortText, Token] = Field(max_length=5)
    api_base_url: Url | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChannelView:
    """The outcome. `added`: the configuration names the channel now; otherwise nothing was changed, and
    `findings` say why. `next_start`: changed keys that wait for a restart of the hub. `gate_id`: of the
    approval that it waits for, null if it waits for none; its tokens are tried then."""

    added: bool
    findings: tuple[Finding, ...]
    next_start: tuple[str, ...] = ()
    gate_id: str | None = None


class ChannelSetupApi:
    """One method per endpoint. For the owner only."""

    def __init__(self, file: SettingsFile, settings: SettingsService, secrets: Secrets) -> None:
        self._file = file
        self._settings = settings
        self._secrets = secrets

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "GET",
                "/channels/platforms",
                self.platforms,
                list[PlatformPage],
                refusals=(409,),
                owner_only=True,
            ),
            Endpoint(
                "POST",
                "/channels",
                self.add,
                NewChannelView,
                body=NewChannel,
                refusals=(409, 422, 503),
                owner_only=True,
            ),
        ]

    async def platforms(self, call: Call) -> list[PlatformPage]:
        """Return the platforms of which no channel is configured."""
        del call
        config = await self._file.with_values({})
        return [
            PlatformPage(
                name=one.name,
                steps=one.steps,
                tokens=tuple(WantedTokenPage(key=secret.key, about=secret.told) for secret in one.secrets),
            )
            for one in PLATFORMS.values()
            if one.name not in config.channels
        ]

    async def add(self, call: Call) -> NewChannelView:
        """Try a channel's tokens, and add it to the configuration if the platform accepts them. Another
        server than the platform's gets them once the owner has approved that."""
        body: NewChannel = call.body
        platform = _platform(body)
        place: KeyPath = ("channels", platform.name)
        await self._file.require_none_waiting()  # before anything is tried and stored for it
        if platform.name in (await self._file.with_values({})).channels:
            raise AdminError("refused", f"there is a channel named {platform.name} already", "platform")
        address = {} if body.api_base_url is None else {"api_base_url": body.api_base_url}
        tokens = {key: value.get_secret_value().strip() for key, value in body.tokens.items()}
        drafted = await self._drafted(
            platform.name, {(*place, key): value for key, value in (address | tokens).items()}
        )
        findings = () if address else tuple(await channel_trial(drafted, platform.name))
        if any(one.health is Health.BROKEN for one in findings):
            return NewChannelView(added=False, findings=findings)
        names = await self._kept(platform.name, tokens)
        values = address | {key: f"vault:{name}" for key, name in names.items()}
        try:
            view = await self._file.add_channel(platform.name, values, tuple(names.values()))
        except AdminError:
            for name in names.values():
                await self._settings.drop_secret(name)
            raise
        return NewChannelView(
            added=view.waiting is None,
            findings=findings,
            next_start=view.next_start,
            gate_id=view.waiting and view.waiting.gate_id,
        )

    async def _drafted(self, name: str, values: Mapping[KeyPath, Value | None]) -> Config:
        try:
            return await self._file.with_values(values)
        except AdminError as error:  # which names a line that the file doesn't have
            _, found, why = str(error).partition(f"channels.{name}.")
            raise AdminError("unusable", why, "tokens") if found else error from error

    async def _kept(self, channel: str, tokens: Mapping[str, str]) -> Mapping[str, str]:
        """Store the tokens under names that nothing else uses. Return the names."""
        known = {one.name for one in await self._secrets.secrets()}
        names: dict[str, str] = {}
        for key, value in tokens.items():
            name, number = f"{channel}_{key}", 1
            while name in known:
                number += 1
                name = f"{channel}_{key}_{number}"
            await self._settings.set_secret(name, value)
            names[key] = name
        return names


def _platform(body: NewChannel) -> PlatformSetup:
    """Return the platform. Raises AdminError unless the tokens are those it wants."""
    platform = PLATFORMS.get(body.platform)
    if platform is None:
        raise AdminError("unusable", f"use one of {', '.join(PLATFORMS)}", "platform")
    wanted = [one.key for one in platform.secrets]
    if sorted(body.tokens) != sorted(wanted):
        raise AdminError("unusable", f"give {' and '.join(wanted)}", "tokens")
    return platform
