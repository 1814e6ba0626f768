"""The control API under `/_control`: what a test does in-process, for a simulator in its own process."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.simulators.model.faults import fault_from_json
from tests.simulators.model.replies import reply_from_json

if TYPE_CHECKING:
    from tests.simulators.model.simulator import ModelSimulator

SETTINGS = ("api_key", "models", "context_tokens", "max_output_tokens")
WAIT_LIMIT_S = 60.0

Fields = dict[str, Any]


def control_routes(simulator: "ModelSimulator") -> list[web.RouteDef]:
    control = Control(simulator)
    actions: dict[str, Callable[[Fields], Fields]] = {
        "/_control/replies": control.enqueue,
        "/_control/rules": control.rule,
        "/_control/faults": control.fault,
        "/_control/release": control.release,
        "/_control/reset": control.reset,
        "/_control/settings": control.settings,
    }
    return [
        *(web.post(path, _action(action)) for path, action in actions.items()),
        web.delete("/_control/faults", control.clear_faults),
        web.get("/_control/log", control.log),
        web.get("/_control/wait", control.wait),
    ]


def _action(perform: Callable[[Fields], Fields]) -> Callable[[web.Request], Any]:
    """A handler for a JSON object; what does not fit is answered 400 with the reason."""

    async def handle(request: web.Request) -> web.Response:
        try:
            data = await request.json() if request.can_read_body else {}
            if not isinstance(data, dict):
                return _refused("the body must be an object")
            return web.json_response(perform(data))
        except (ValueError, KeyError, TypeError, re.error) as error:
            return _refused(f"{type(error).__name__}: {error}")

    return handle


class Control:
    """Each method takes the request's fields and returns the answer's."""

    def __init__(self, simulator: "ModelSimulator") -> None:
        self._simulator = simulator

    def enqueue(self, data: Fields) -> Fields:
        fault = fault_from_json(data["fault"]) if data.get("fault") else None
        reply = reply_from_json(data["reply"])
        self._simulator.enqueue(reply, match=data.get("match"), on=data.get("on", "any"), fault=fault)
        return {"queued": len(self._simulator.script.queue)}

    def rule(self, data: Fields) -> Fields:
        fault = fault_from_json(data["fault"]) if data.get("fault") else None
        reply = reply_from_json(data["reply"])
        self._simulator.rule(data["match"], reply, on=data.get("on", "user"), fault=fault)
        return {"rules": len(self._simulator.script.rules)}

    def fault(self, data: Fields) -> Fields:
        self._simulator.fault(
            fault_from_json(data["fault"]), times=data.get("times", 1), match=data.get("match")
        )
        return {"faults": len(self._simulator.script.faults)}

    def release(self, data: Fields) -> Fields:
        return {"released": self._simulator.release(number=data.get("number"), gate=data.get("gate"))}

    def reset(self, data: Fields) -> Fields:
        del data
        self._simulator.reset()
        return {}

    def settings(self, data: Fields) -> Fields:
        provider = self._simulator.provider
        for name, value in data.items():
            if name not in SETTINGS:
                raise ValueError(f"unknown setting {name}; known are {', '.join(SETTINGS)}")
            setattr(provider, name, tuple(value) if name == "models" else value)
        return {name: getattr(provider, name) for name in SETTINGS if name != "api_key"}

    async def clear_faults(self, request: web.Request) -> web.Response:
        del request
        self._simulator.clear_faults()
        return web.json_response({})

    async def log(self, request: web.Request) -> web.Response:
        try:
            query = _Query(request)
        except (ValueError, re.error) as error:
            return _refused(str(error))
        log = self._simulator.log
        found = log.select(**query.selection, limit=query.limit)
        return web.json_response(
            {"taken": log.taken, "exchanges": [exchange.as_json() for exchange in found]}
        )

    async def wait(self, request: web.Request) -> web.Response:
        """Answers 200 as soon as enough exchanges fit, 408 when the time is up."""
        try:
            query = _Query(request)
        except (ValueError, re.error) as error:
            return _refused(str(error))
        simulator = self._simulator
        try:
            found = await simulator.wait_requests(query.count, timeout_s=query.timeout_s, **query.selection)
        except TimeoutError as error:
            return web.json_response({"error": str(error)}, status=408)
        return web.json_response(
            {"taken": simulator.log.taken, "exchanges": [exchange.as_json() for exchange in found]}
        )


class _Query:
    """The query parameters of `log` and `wait`. Raises ValueError."""

    def __init__(self, request: web.Request) -> None:
        query = request.query
        match = query.get("match")
        if match is not None:
            re.compile(match)
        self.selection: dict[str, Any] = {
            "state": query.get("state"),
            "match": match,
            "after": int(query.get("after", 0)),
        }
        self.limit = int(query["limit"]) if "limit" in query else None
        self.count = int(query.get("count", 1))
        self.timeout_s = min(float(query.get("timeout_s", 10)), WAIT_LIMIT_S)


def _refused(message: str) -> web.Response:
    return web.json_response({"error": message}, status=400)
