"""One key answers a card; the first letter of a sentence does not."""

from collections.abc import Callable
from dataclasses import replace

from prompt_toolkit.buffer import Buffer

from bot.terminal.talk import Card
from bot.terminal.terminal import CardKeys
from tests.bot.terminal.test_view import APPROVAL


class Timers:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self._running: list[tuple[Timers.Running, Callable[[], None]]] = []

    class Running:
        """See bot.terminal.terminal.Timer."""

        cancelled = False

        def cancel(self) -> None:
            """See Timer."""
            self.cancelled = True

    def later(self, seconds: float, act: Callable[[], None]) -> Running:
        """Start a timer."""
        timer = Timers.Running()
        self._running.append((timer, act))
        return timer

    def pass_by(self) -> None:
        """All timers run out."""
        running, self._running = self._running, []
        for timer, act in running:
            if not timer.cancelled:
                act()


class Line:
    """A line editor, a card beside it, and what was answered."""

    def __init__(self, card: Card | None = APPROVAL) -> None:
        self.card = card
        self.answered: list[int | None] = []
        self.buffer = Buffer()
        self.timers = Timers()
        self.keys = CardKeys(
            self.buffer, lambda: self.card, lambda _, choice: self.answered.append(choice), self.timers.later
        )

    def type(self, text: str) -> None:
        """One key after the other."""
        for character in text:
            self.buffer.insert_text(character)


def test_a_key_alone_answers() -> None:
    line = Line()
    for key, choice in (("a", 0), ("d", 1), ("A", 2), ("e", None)):
        line.type(key)
        assert line.answered == []
        line.timers.pass_by()
        assert line.answered == [choice]
        assert line.buffer.text == ""
        line.answered.clear()


def test_a_key_sent_with_enter_answers_at_once() -> None:
    line = Line()
    assert line.keys.answers("d")
    assert line.answered == [1]
    assert not line.keys.answers("dear hub")
    assert not line.keys.answers("x")


def test_a_word_of_several_letters_is_not_a_key() -> None:
    line = Line()
    line.type("and")
    line.timers.pass_by()
    assert (line.answered, line.buffer.text) == ([], "and")


def test_keys_typed_before_the_card_do_not_answer_it() -> None:
    line = Line(card=None)
    line.type("a")
    line.card = APPROVAL
    line.keys.shown()
    line.timers.pass_by()
    assert not line.keys.answers("a")
    line.buffer.insert_text("b")
    line.buffer.delete_before_cursor()
    line.timers.pass_by()
    assert line.answered == []
    line.buffer.delete_before_cursor()
    line.type("a")
    line.timers.pass_by()
    assert line.answered == [0]


def test_a_key_for_a_card_that_is_gone_answers_nothing() -> None:
    line = Line()
    line.type("a")
    line.card = None
    line.timers.pass_by()
    assert (line.answered, line.buffer.text) == ([], "a")
    assert not line.keys.answers("a")


def test_a_key_for_one_card_does_not_answer_the_next_one() -> None:
    line = Line()
    line.type("a")
    line.card = replace(APPROVAL, gate_id="another")
    line.timers.pass_by()
    assert (line.answered, line.buffer.text) == ([], "a")


def test_editing_is_for_calls_whose_arguments_are_known() -> None:
    line = Line(Card("p", (), APPROVAL.choices))
    line.type("e")
    line.timers.pass_by()
    assert (line.answered, line.buffer.text) == ([], "e")
