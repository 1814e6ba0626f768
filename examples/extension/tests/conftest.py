"""The stage of the channel suite: a hub between the simulated platform and a model."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest_asyncio
from hubbub_testing.contracts.channel.subject import PlatformSubject, Shown
from hubbub_testing.harness.hub import LIMIT_S, AnyHub
from hubbub_testing.harness.simulators import open_simulators, section, write_config
from wire_simulator import LIMIT_CHARS, WireSimulator

OWNER = "7"


class WireSubject(PlatformSubject):
    """Wire, judged from the platform's side."""

    name = "wire"
    limit = LIMIT_CHARS
    posts = "post"

    def __init__(self, hub: AnyHub, platform: WireSimulator) -> None:
        super().__init__(hub, platform)
        self.wire = platform

    def says(self, text: str) -> None:
        self.wire.writes(OWNER, text)

    def delivered_again(self) -> None:
        self.wire.delivered_again()

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(one.id, one.page["text"], tuple(one.page.get("buttons", ())), len(one.page["text"]))
            for one in self.wire.messages.values()
        ]

    async def hears(self, text: str) -> Shown:
        await self.until(lambda: any(text in one.text for one in self.shown()))
        return next(one for one in reversed(self.shown()) if text in one.text)

    async def presses(self, shown: Shown, button: int, *, stranger: bool = False) -> str:
        event = self.wire.presses("8" if stranger else OWNER, self.wire.messages[shown.id], button)
        await self.until(lambda: event in self.wire.answers)
        return self.wire.answers[event] or ""

    async def settled(self) -> None:
        await self.until(self.is_acknowledged)

    def is_acknowledged(self) -> bool:
        return not self.wire.unacked

    def revoke(self) -> None:
        self.wire.token = "another"
        for writer in tuple(self.wire._open):
            writer.transport.abort()


def wire_section(wire: WireSimulator) -> str:
    """The hub's configuration of the channel."""
    options = f'options = {{ host = "127.0.0.1", port = "{wire.port}" }}\n'
    secrets = f'secrets = {{ token = "{wire.token}" }}\n'
    return section("wire", platform="extension", entry_point="wire", direct="open") + options + secrets


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[WireSubject]:
    async with WireSimulator() as wire, open_simulators() as around:
        hub = AnyHub(around, tmp_path)
        write_config(tmp_path, around.model_section(), wire_section(wire), owners=[f"wire:{OWNER}"])
        async with hub.open(start=False):
            subject = WireSubject(hub, wire)
            await subject.start()
            yield subject


__all__ = ["LIMIT_S", "OWNER", "WireSubject", "stage", "wire_section"]
