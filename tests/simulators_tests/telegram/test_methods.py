"""Every method the hub calls is also called by aiogram, so that the simulator fits two clients."""

import re
from pathlib import Path

from channels.telegram import client, outbound

SUITE = Path(__file__).parent
_METHOD = re.compile(r'"((?:get|set|send|edit|delete|answer|create)[A-Z][A-Za-z]+)"')
_CALLED = re.compile(r"\b(?:bot|client|\w+_bot)\.([a-z_]+)\(")


def test_a_second_client_drives_every_method_the_hub_calls() -> None:
    sources = [Path(str(module.__file__)).read_text() for module in (client, outbound)]
    called_by_hub = {
        re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
        for source in sources
        for name in _METHOD.findall(source)
    }
    if ".get_file(" in sources[0]:
        called_by_hub |= {"get_file", "download_file"}
    assert {"send_message", "get_updates", "set_webhook", "send_photo"} <= called_by_hub
    called_by_aiogram = {
        name for path in SUITE.glob("test_*.py") for name in _CALLED.findall(path.read_text())
    }
    assert called_by_hub - called_by_aiogram == set()
