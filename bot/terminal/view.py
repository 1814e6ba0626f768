"""A conversation in a terminal: lines that stay, and a few below them that change.

It knows nothing of how lines reach the screen.
"""

from collections.abc import Sequence
from typing import assert_never

from rich.text import Text as Line

from bot.terminal.talk import (
    OUTPUT_CHARS,
    Asked,
    Author,
    Began,
    Card,
    Cut,
    Event,
    ModelFailed,
    Moved,
    Rested,
    Resumed,
    Said,
    Settled,
    Stepped,
    StepState,
    Wrote,
)
from channels.terminal import DIM, TAB_COLUMNS, marked, prefixed, render, styled, visible, wrapped
from channels.text.markdown import parse
from core.events import Output
from core.gates import Option

WRITING_LIMIT_CHARS = 4_000
"""More is not shown of a reply before it is whole."""
OUTPUT_LINES = 8
"""Of a running call's output; its result may be longer."""
KEYS = {
    Option.APPROVE: "a",
    Option.DENY: "d",
    Option.ONE_BY_ONE: "o",
    Option.ALWAYS: "A",
    Option.HAPPENED: "h",
    Option.RETRY: "r",
    Option.SKIP: "s",
    Option.CONTINUE: "c",
    Option.STOP: "s",
}
EDIT_KEY = "e"
_DETAIL_CHARS = 100
_CARD_BAR = marked("┃ ", "yellow")


def keys_of(card: Card) -> Sequence[str]:
    """Return the key of each choice: a letter for a named one, otherwise its number from 1."""
    known = {str(option): key for option, key in KEYS.items()}
    return [known.get(choice.option, str(place)) for place, choice in enumerate(card.choices, start=1)]


class View:
    """One terminal's view. `cards` are the open ones, the oldest first; `menu`: the choices below the last
    line, if it has some."""

    def __init__(self) -> None:
        self.cards: dict[str, Card] = {}
        self.menu: Card | None = None
        self.running = False
        self.trouble = ""
        self._attempt = -1
        self._failure = ""
        self._writing, self._written_chars = "", 0
        self._steps: dict[str, Stepped] = {}
        self._outputs: dict[str, Output] = {}

    @property
    def card(self) -> Card | None:
        """The card that the keys answer."""
        return next(iter(self.cards.values()), self.menu)

    @property
    def confides(self) -> bool:
        """Return whether the next line is a requested secret."""
        return any(card.secret for card in self.cards.values())

    def take(self, event: Event, columns: int | None) -> list[Line]:
        """Return the lines of an event that stay on the screen."""
        match event:
            case Said():
                return self._said(event, columns)
            case Wrote():
                self._wrote(event)
                return []
            case Stepped():
                return self._stepped(event)
            case Output(call_id):
                self._outputs[call_id] = event.joined_to(self._outputs.get(call_id), OUTPUT_CHARS)
                return []
            case Asked(card):
                return self._asked(card, columns)
            case Settled():
                return self._settled(event)
            case Moved():
                return self._moved(columns)
            case _:
                return self._changed(event)

    def _changed(self, event: Began | Rested | ModelFailed | Cut | Resumed) -> list[Line]:
        match event:
            case Began():
                self.running = True
                self._attempt = -1
            case ModelFailed(text):
                self._failure = text
            case Rested():
                self.running = False
                self._failure = ""
                self._writing, self._written_chars = "", 0
                self._steps.clear()
                self._outputs.clear()
            case Cut(reason):
                self.trouble = reason
            case Resumed():
                self.trouble = ""
            case _:
                assert_never(event)
        return []

    # --- what changes ------------------------------------------------------------------------------------

    def live(self, columns: int | None, most: int) -> list[Line]:
        """Return the last lines of current text and steps, at most `most`."""
        lines: list[Line] = []
        if self._writing.strip():
            lines = render(parse(self._writing), columns)
        for call_id, step in self._steps.items():
            lines += [_step_line("…", step), *self._printed(call_id, columns)]
        if self._failure:
            lines.append(styled(self._failure, DIM))
        return lines[-most:] if most > 0 else []

    def _printed(self, call_id: str, columns: int | None) -> list[Line]:
        """Return the last lines that a running call printed, each on one line of the screen."""
        output = self._outputs.get(call_id)
        lines: list[Line] = []
        for text in [] if output is None else output.last_lines(OUTPUT_LINES):
            line = marked(f"  {visible(text)}".expandtabs(TAB_COLUMNS), DIM)
            if columns is not None:
                line.truncate(columns, overflow="ellipsis")
            lines.append(line)
        return lines

    def _wrote(self, event: Wrote) -> None:
        if event.attempt < self._attempt:
            return  # a late piece of what a later attempt replaced
        if event.attempt > self._attempt:
            self._attempt, self._writing, self._written_chars = event.attempt, "", 0
            self._failure = ""
        if event.offset == self._written_chars:  # else a piece of something that began before we looked
            self._writing = (self._writing + event.text)[-WRITING_LIMIT_CHARS:]
            self._written_chars += len(event.text)

    # --- what stays --------------------------------------------------------------------------------------

    def _said(self, said: Said, columns: int | None) -> list[Line]:
        if not said.past and said.author is Author.ASSISTANT:
            self._writing, self._written_chars = "", 0
        self.menu = None
        lines = render(said.blocks, None if columns is None else columns - 2)
        lines += [styled(f"file: {name}", DIM) for name in said.files]
        if said.undone:
            lines.append(styled("(undone)", DIM))
        if said.author in {Author.PERSON, Author.OPERATOR}:
            name = f"{said.name} " if said.name else ""
            first, *rest = lines or [Line()]
            mark = styled(f"{name}›", "bold") + Line(" ")
            lines = [mark + first, *prefixed(rest, Line("  "))]
        if said.past:
            for line in lines:
                line.stylize(DIM)
        return [*lines, Line()] if lines else []

    def _stepped(self, step: Stepped) -> list[Line]:
        match step.state:
            case StepState.STARTED:
                self._steps[step.call_id] = step
                self._writing, self._written_chars = "", 0
                return []
            case StepState.WAITING:
                self._steps.pop(step.call_id, None)
                return []
            case StepState.ENDED:
                self._outputs.pop(step.call_id, None)
                begun = self._steps.pop(step.call_id, step)
                detail = step.detail or begun.detail
                shown = Stepped(step.call_id, step.tool, step.state, detail, step.outcome)
                return [_step_line("✓" if step.outcome in {"", "ok"} else "✗", shown)]
            case _:
                assert_never(step.state)

    def _asked(self, card: Card, columns: int | None) -> list[Line]:
        if self.cards.get(card.gate_id) == card:
            return []
        if card.menu:
            self.menu = card
            return [*wrapped(self.choices(card), columns), Line()]
        self.cards[card.gate_id] = card
        lines = render(card.blocks, None if columns is None else columns - 2)
        return [*prefixed([*lines, self.choices(card)], _CARD_BAR), Line()]

    def choices(self, card: Card) -> Line:
        """Return a line such as `a approve · d deny`, with the keys in bold."""
        offered = list(zip(keys_of(card), (choice.label for choice in card.choices), strict=True))
        if card.arguments is not None:
            offered.append((EDIT_KEY, "edit, then approve"))
        line = Line()
        for place, (key, label) in enumerate(offered):
            line += Line.assemble(("  ·  ", DIM) if place else "", (key, "bold yellow"), " ") + styled(label)
        if card.free_text:
            line.append("  ·  or type your answer" if offered else "type your answer", DIM)
        return line

    def _settled(self, settled: Settled) -> list[Line]:
        if self.cards.pop(settled.gate_id, None) is None:
            return []
        return [marked("┗ ", "yellow") + styled(settled.outcome or "Closed.", "bold"), Line()]

    def _moved(self, columns: int | None) -> list[Line]:
        """Return how to answer the gates of the conversation that was left, once: no key answers
        them any more."""
        left = list(self.cards.values())
        self.cards.clear()
        self.menu = None
        self._changed(Rested())
        if not left:
            return []
        count = "1 request is" if len(left) == 1 else f"{len(left)} requests are"
        ids = ", ".join(card.gate_id for card in left)
        text = (
            f"{count} open in the previous conversation: answer in the console,"
            f" or type /approve or /deny followed by the ID ({ids})."
        )
        return [*wrapped(styled(text, DIM), columns), Line()]


def _step_line(mark: str, step: Stepped) -> Line:
    line = marked(f"{mark} ", DIM) + styled(step.tool, DIM)
    if step.detail:
        shown = styled(step.detail, DIM)
        shown.truncate(_DETAIL_CHARS, overflow="ellipsis")
        line += Line(" ") + shown
    if step.outcome and step.outcome != "ok":
        line += Line(" ") + styled(step.outcome, "bold")
    return line
