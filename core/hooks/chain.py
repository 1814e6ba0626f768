"""The hooks of one point, asked one after the other; a hook that fails or is slow is one that its own setting
speaks for."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never, cast

from core.hooks.values import STRUCK_OUT, Change, Hook, HookEvent, Point, Reject
from core.safety.leaks import LeakDetector

TEXT_LIMIT_CHARS = 100_000
DEFAULT_PRIORITY = 100
DEFAULT_TIMEOUT_S = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Registered:
    """A hook and what is laid down about it. Those with a lower `priority` are asked first; `closed`: where
    it fails, or says nothing for `timeout_s`, that is a refusal."""

    name: str
    points: frozenset[Point]
    hook: Hook
    priority: int = DEFAULT_PRIORITY
    timeout_s: float = DEFAULT_TIMEOUT_S
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """It goes on, as it is here; `changed`: other than it came."""

    event: HookEvent
    changed: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """It goes no further."""

    hook: str
    reason: str


Judged = Passed | Rejected


class Chain:
    """The hooks of one point. `leaks`: what none of them is told."""

    def __init__(self, hooks: Iterable[Registered], leaks: LeakDetector) -> None:
        self._hooks = tuple(sorted(hooks, key=lambda one: one.priority))
        self._leaks = leaks

    async def judge(self, event: HookEvent, fixed: frozenset[str] = frozenset()) -> Judged:
        """Ask them all, each what the one before made of it, until one rejects. `fixed`: arguments that no
        hook is shown or may change."""
        now = event
        for one in self._hooks:
            try:
                async with asyncio.timeout(one.timeout_s):
                    reply = await one.hook(self._shown(now, fixed))
                match reply:
                    case None:
                        continue
                    case Reject(reason):
                        return Rejected(one.name, reason)
                    case Change():
                        now = _changed(now, reply, fixed)
                    case _:
                        assert_never(reply)
            except TimeoutError:
                failed = f"it said nothing for {one.timeout_s:g} s"
                logger.warning("hook %s at %s: %s", one.name, event.point, failed)
            except Exception as error:  # a hook is not our code: what it does must not end more than itself
                failed = "it failed"
                logger.warning("hook %s at %s failed", one.name, event.point, exc_info=error)
            else:
                continue
            if one.closed:
                return Rejected(one.name, failed)
        return Passed(now, changed=(now.text, now.arguments) != (event.text, event.arguments))

    def _shown(self, event: HookEvent, fixed: frozenset[str]) -> HookEvent:
        arguments = event.arguments
        if arguments is not None:
            arguments = {
                name: STRUCK_OUT if name in fixed else self._clean(value) for name, value in arguments.items()
            }
        return replace(event, text=self._leaks.redacted(event.text), arguments=arguments)

    def _clean(self, value: Any) -> Any:
        match value:
            case str():
                return self._leaks.redacted(value)
            case list():
                return [self._clean(one) for one in cast("list[Any]", value)]
            case dict():
                return {name: self._clean(one) for name, one in cast("dict[str, Any]", value).items()}
            case _:
                return value


def _changed(event: HookEvent, change: Change, fixed: frozenset[str]) -> HookEvent:
    """Raises ValueError for what is no change of such an event."""
    if change.text is not None:
        if event.arguments is not None or len(change.text) > TEXT_LIMIT_CHARS:
            raise ValueError("a text was given that is too long, or for what has none")
        event = replace(event, text=change.text)
    if change.arguments is not None:
        event = replace(event, arguments=_patched(event.arguments, change.arguments, fixed))
    return event


def _patched(
    arguments: Mapping[str, Any] | None, patch: Mapping[str, Any], fixed: frozenset[str]
) -> Mapping[str, Any]:
    if arguments is None:
        raise ValueError("arguments were given for what has none")
    if named := fixed.intersection(patch):
        raise ValueError(f"{', '.join(sorted(named))} may not be changed")
    return {**arguments, **patch}
