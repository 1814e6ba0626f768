"""Completion of what is typed: commands, and the ids they take."""

from collections.abc import Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from core.texts import COMMANDS

LEAVE = "quit"
OWN_COMMANDS: tuple[tuple[str, str], ...] = ((LEAVE, "leave this terminal"),)
_TAKE_IDS = ("/approve ", "/deny ")


class CommandCompleter(Completer):
    """`waiting`: the ids of the prompts that are open."""

    def __init__(self, waiting: Callable[[], Sequence[str]]) -> None:
        self._waiting = waiting

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """See Completer."""
        del complete_event
        text = document.text_before_cursor
        for command in _TAKE_IDS:
            if text.startswith(command):
                typed = text.removeprefix(command)
                found = [prompt_id for prompt_id in self._waiting() if prompt_id.startswith(typed)]
                yield from (Completion(prompt_id, -len(typed)) for prompt_id in found)
        if text.startswith("/") and not any(character.isspace() for character in text):
            for name, told in (*COMMANDS, *OWN_COMMANDS):
                if name.startswith(text[1:]):
                    yield Completion(f"/{name}", -len(text), display_meta=told)
