"""The script of the model: scripted replies, standing rules, queued faults, and the built-in rules.

Order for an accepted request: the first queued fault that matches is taken; then the first queued reply
that matches, else the first standing rule (the latest added is asked first), else the built-in rules, else
the echo `You said: <user text>`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tests.simulators.model.faults import Fault, Hold
from tests.simulators.model.replies import Reply, ToolCall
from tests.simulators.model.wire import Prompt

On = Literal["user", "tool", "any"]
"""When an entry applies: the request ends with the user's words, with tool results, or either."""

Answer = Reply | Callable[[Prompt], Reply]

RESULT_CHARS = 200
"""How much of a tool's result the built-in `Done:` answer repeats."""


@dataclass(slots=True)
class Entry:
    """A scripted reply or rule. `match` searches the user text; None matches everything."""

    answer: Answer
    match: re.Pattern[str] | None = None
    on: On = "any"
    fault: Fault | None = None

    def applies(self, prompt: Prompt) -> bool:
        ending = "tool" if prompt.tool_results else "user"
        return self.on in ("any", ending) and (
            self.match is None or bool(self.match.search(prompt.user_text))
        )

    def reply_to(self, prompt: Prompt) -> Reply:
        return self.answer if isinstance(self.answer, Reply) else self.answer(prompt)


@dataclass(slots=True)
class FaultEntry:
    """A fault for the next `times` matching requests; None for all until cleared."""

    fault: Fault
    times: int | None
    match: re.Pattern[str] | None


@dataclass(slots=True)
class Choice:
    """The choice for one request. `entry` is the queued reply it used up, if any."""

    reply: Reply
    fault: Fault | None
    entry: Entry | None = None


@dataclass(slots=True)
class Script:
    """Holds what was scripted. A queued reply is used once; `undo` puts it back if it was not delivered."""

    queue: list[Entry] = field(default_factory=list)
    rules: list[Entry] = field(default_factory=list)
    faults: list[FaultEntry] = field(default_factory=list)

    def choose(self, prompt: Prompt) -> Choice:
        fault = self._next_fault(prompt)
        for position, entry in enumerate(self.queue):
            if entry.applies(prompt):
                del self.queue[position]
                return Choice(entry.reply_to(prompt), fault or entry.fault, entry)
        for rule in reversed(self.rules):
            if rule.applies(prompt):
                return Choice(rule.reply_to(prompt), fault or rule.fault)
        reply, hold = built_in(prompt)
        return Choice(reply, fault or hold)

    def undo(self, choice: Choice) -> None:
        """Return a queued reply that did not reach its client, unless its own fault was the point of it."""
        if choice.entry is not None and choice.entry.fault is None:
            self.queue.insert(0, choice.entry)

    def clear(self) -> None:
        self.queue.clear()
        self.rules.clear()
        self.faults.clear()

    def _next_fault(self, prompt: Prompt) -> Fault | None:
        for position, entry in enumerate(self.faults):
            if entry.match is None or entry.match.search(prompt.user_text):
                if entry.times is not None:
                    entry.times -= 1
                    if entry.times == 0:
                        del self.faults[position]
                return entry.fault
        return None


RUN = re.compile(r"please run: *(.+)", re.IGNORECASE)
CALL = re.compile(r"please call: *([a-zA-Z0-9_-]+) *(\{.*\})?", re.IGNORECASE)
SLOW = re.compile(r"\bslow (\d+(?:\.\d+)?): *(.*)", re.IGNORECASE)
SAY = re.compile(r"\bsay: ?(.*)", re.IGNORECASE | re.DOTALL)
WRITE = re.compile(r"\bwrite (\d+) characters", re.IGNORECASE)


def built_in(prompt: Prompt) -> tuple[Reply, Hold | None]:
    """The standing behaviour, described in the package's docstring."""
    if prompt.tool_results:
        return Reply(text=f"Done: {' | '.join(prompt.tool_results)[:RESULT_CHARS]}"), None
    if calls := _asked_calls(prompt.user_text):
        unknown = [call.name for call in calls if call.name not in prompt.tool_names]
        if unknown:
            return Reply(text=f"I have no tool named {', '.join(sorted(set(unknown)))}."), None
        return Reply(calls=tuple(calls)), None
    if slow := SLOW.search(prompt.user_text):
        return Reply(text=slow[2]), Hold(at_most_s=float(slow[1]), gate="slow")
    if say := SAY.search(prompt.user_text):
        return Reply(text=say[1]), None
    if write := WRITE.search(prompt.user_text):
        return Reply(text=numbered_text(int(write[1])), chunk_chars=200), None
    return Reply(text=f"You said: {prompt.user_text}"), None


def numbered_text(length_chars: int) -> str:
    """Text of exactly that many characters whose every part can be told apart: numbered short lines."""
    lines: list[str] = []
    have = 0
    while have < length_chars:
        lines.append(f"line {len(lines) + 1:06d} of the text that was asked for\n")
        have += len(lines[-1])
    return "".join(lines)[:length_chars]


def _asked_calls(user_text: str) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for line in user_text.splitlines():
        if run := RUN.search(line):
            calls.append(ToolCall("shell", {"command": run[1].strip()}))
        elif call := CALL.search(line):
            try:
                arguments = json.loads(call[2] or "{}")
            except ValueError:
                arguments = call[2]
            calls.append(ToolCall(call[1], arguments))
    return calls
