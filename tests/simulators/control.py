"""The control API: every operation of the simulator over HTTP, as JSON.

``POST /_control/<operation>`` with a JSON object of the operation's keyword arguments (or ``GET`` with a
query string) answers ``{"ok": true, "result": …}``, or ``{"ok": false, "error": "…"}`` with status 400 (wrong
arguments), 404 (no such operation, chat, user, …) or 408 (a wait ran out). ``GET /_control/`` lists the
operations. ``GET /_control/log`` answers ``{"requests": […], "updates": […]}``; ``?since=N`` starts after
request N.
"""

import asyncio
import inspect
import json
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar, get_type_hints

from aiohttp import web

Json = dict[str, Any]
T = TypeVar("T")


def operation(function: T) -> T:
    """Marks a method of a simulator that its control API offers under the same name."""
    function.is_operation = True  # type: ignore[attr-defined]
    return function


class ControlApi:
    """Dispatches control requests to the simulator's operations."""

    def __init__(self, sim: object) -> None:
        self._operations = {
            name: member
            for name, member in inspect.getmembers(sim, callable)
            if getattr(member, "is_operation", False)
        }
        self._operations["log"] = self._operations.pop("whole_log")

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Answers one control request."""
        name = request.path.removeprefix("/_control").strip("/")
        if name == "wait":
            name = f"wait_{request.query.get('for', '')}"
        if not name:
            return _answer({"operations": {n: _describe(f) for n, f in self._operations.items()}})
        function = self._operations.get(name)
        if function is None:
            return _failure(404, f"no operation {name!r}; GET /_control/ lists them")
        try:
            arguments = await _arguments(request, function)
            result = function(**arguments)
            if asyncio.iscoroutine(result):
                result = await result
        except LookupError as error:
            return _failure(404, str(error))
        except TimeoutError:
            return _failure(408, f"{name} ran out of time")
        except (TypeError, ValueError) as error:
            return _failure(400, str(error))
        return _answer(result)


async def _arguments(request: web.BaseRequest, function: Any) -> Json:
    body = await request.read() if request.body_exists else b""
    if body:
        arguments = json.loads(body)
        if not isinstance(arguments, dict):
            raise ValueError("the body must be a JSON object of keyword arguments")
        return arguments
    hints = get_type_hints(function)
    given = {name: value for name, value in request.query.items() if name != "for"}
    return {name: _from_text(value, str(hints.get(name, ""))) for name, value in given.items()}


def _from_text(value: str, hint: str) -> Any:
    """A query string's value: JSON unless the argument is meant to be text."""
    if "str" in hint and "int" not in hint:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _describe(function: Any) -> Json:
    return {"signature": str(inspect.signature(function)), "about": inspect.getdoc(function)}


def to_json(value: Any) -> Any:
    """Anything an operation returns, as plain JSON values."""
    if callable(getattr(value, "state", None)):
        return value.state()
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return to_json(asdict(value))
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    return value


def _answer(result: Any) -> web.Response:
    return web.json_response({"ok": True, "result": to_json(result)})


def _failure(status: int, error: str) -> web.Response:
    return web.json_response({"ok": False, "error": error}, status=status)
