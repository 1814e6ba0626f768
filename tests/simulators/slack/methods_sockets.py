"""Opening a socket: https://docs.slack.dev/reference/methods/apps.connections.open."""

from typing import Any

from tests.simulators.slack.errors import SlackError
from tests.simulators.slack.registry import Call, method

Json = dict[str, Any]


@method("apps.connections.open", tier=1, token="app")
def open_connection(call: Call) -> Json:
    if call.app.mode != "socket":
        raise SlackError("socket_mode_not_enabled")
    ticket = call.sim.sockets.ticket(call.app.id)
    address = call.sim.url.replace("http", "ws", 1)
    return {"ok": True, "url": f"{address}/link/?ticket={ticket}&app_id={call.app.id}"}
