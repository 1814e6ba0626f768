"""Lines of a conversation that stay on a terminal, and the lines below it that change."""

from bot.terminal.talk import (
    Asked,
    Author,
    Began,
    Card,
    CardChoice,
    Cut,
    Event,
    Moved,
    Rested,
    Resumed,
    Said,
    Settled,
    Stepped,
    StepState,
    Wrote,
)
from bot.terminal.view import View, keys_of
from channels.terminal import painted
from channels.text.blocks import Paragraph, Text
from channels.text.markdown import parse
from core.events import Output

APPROVAL = Card(
    "k3f9a7mzq2",
    parse("Run ls?"),
    (CardChoice("Approve", "approve"), CardChoice("Deny", "deny"), CardChoice("Always allow", "always")),
    arguments={"command": "ls"},
)


def stays(view: View, *events: Event, columns: int = 60) -> str:
    """Return what is printed for the events."""
    return "".join(painted(view.take(event, columns), colours=False) for event in events)


def changes(view: View, rows: int = 10) -> str:
    """Return what stands below it now."""
    return painted(view.live(60, rows), colours=False)


def said(text: str, author: Author = Author.ASSISTANT, **more: str) -> Said:
    return Said(author, (Paragraph(Text(text)),), **more)  # type: ignore[arg-type]


def test_a_reply_is_updated_in_place_until_it_is_complete() -> None:
    view = View()
    assert stays(view, Began(), Wrote("t", 0, 0, "Hel"), Wrote("t", 0, 3, "lo **you**")) == ""
    assert changes(view) == "Hello you\n"
    assert stays(view, said("Hello you"), Rested()) == "Hello you\n\n"
    assert changes(view) == ""
    assert not view.running


def test_pieces_of_a_reply_that_began_before_are_not_shown() -> None:
    view = View()
    stays(view, Wrote("t", 0, 5, "lost"))
    assert changes(view) == ""
    stays(view, Wrote("t", 0, 0, "all so far"), Wrote("t", 0, 10, "."), Wrote("t", 1, 0, "again"))
    assert changes(view) == "again\n"
    stays(view, Wrote("t", 0, 11, " late"), Wrote("t", 0, 0, "late"))
    assert changes(view) == "again\n", "a late piece of an earlier attempt is dropped"


def test_only_the_last_lines_of_a_long_reply_are_shown() -> None:
    view = View()
    stays(view, Wrote("t", 0, 0, "\n\n".join(f"line {number}" for number in range(50))))
    assert changes(view, rows=3) == "line 48\n\nline 49\n"
    assert changes(view, rows=0) == ""


def test_each_step_is_one_line() -> None:
    view = View()
    stays(view, Stepped("c", "shell", StepState.STARTED, "ls\n-l \x1b[31m"))
    assert changes(view) == "… shell ls -l [31m\n"
    assert stays(view, Stepped("c", "shell", StepState.ENDED)) == "✓ shell ls -l [31m\n"
    assert stays(view, Stepped("d", "http", StepState.ENDED, "x" * 500, "error")) == (
        f"✗ http {'x' * 99}… error\n"
    )
    assert changes(view) == ""


def test_the_output_of_a_running_call_is_shown_below_it_until_it_ends() -> None:
    view = View()
    stays(view, Stepped("c", "shell", StepState.STARTED, "make"), Output("c", 0, "one\n\n\x1b[31m  two\n"))
    assert changes(view) == "… shell make\n  one\n  [31m  two\n"
    stays(view, Output("c", 0, "one\n"), Output("c", 16, f"three\n{'x' * 99}\n"))
    assert changes(view) == f"… shell make\n  one\n  [31m  two\n  three\n  {'x' * 57}…\n"
    stays(view, Output("c", 9_000, "".join(f"{number}\n" for number in range(20))))
    assert changes(view) == "… shell make\n" + "".join(f"  {number}\n" for number in range(12, 20))
    assert stays(view, Stepped("c", "shell", StepState.ENDED, "make")) == "✓ shell make\n"
    assert changes(view) == ""


def test_the_speaker_is_shown() -> None:
    view = View()
    assert stays(view, said("hello\nyou", Author.PERSON, name="Ann")) == "Ann › hello\n  you\n\n"
    assert stays(view, said("I am sorry", Author.OPERATOR, name="ow\x1bner")) == "owner › I am sorry\n\n"
    assert stays(view, Said(Author.HUB, (), files=("a\x1b[2J.txt",))) == "file: a[2J.txt\n\n"


def test_a_card_is_shown_once_with_its_keys_until_it_is_settled() -> None:
    view = View()
    shown = stays(view, Asked(APPROVAL), Asked(APPROVAL))
    assert shown == "┃ Run ls?\n┃ a Approve  ·  d Deny  ·  A Always allow  ·  e edit, then approve\n\n"
    assert view.card == APPROVAL
    assert stays(view, Settled(APPROVAL.gate_id, "Denied by Ann")) == "┗ Denied by Ann\n\n"
    assert stays(view, Settled(APPROVAL.gate_id, "Denied by Ann")) == ""
    assert view.card is None


def test_no_key_answers_a_card_of_a_conversation_that_was_left() -> None:
    view = View()
    stays(view, Began(), Wrote("t", 0, 0, "Hel"), Asked(APPROVAL))
    assert stays(view, Moved(), columns=200) == (
        "1 request is open in the previous conversation: answer in the console, or type /approve or /deny"
        f" followed by the ID ({APPROVAL.gate_id}).\n\n"
    )
    assert (view.card, view.running, changes(view)) == (None, False, "")
    assert stays(view, Moved()) == ""


def test_keys_are_letters_for_known_answers_and_numbers_for_others() -> None:
    assert keys_of(APPROVAL) == ["a", "d", "A"]
    assert keys_of(Card("p", (), (CardChoice("Red"), CardChoice("Blue")))) == ["1", "2"]
    assert keys_of(Card("p", (), (CardChoice("Go on", "continue"), CardChoice("Stop", "stop")))) == ["c", "s"]


def test_a_lost_connection_is_reported_until_it_is_restored() -> None:
    view = View()
    stays(view, Cut("no hub"))
    assert view.trouble == "no hub"
    stays(view, Resumed())
    assert view.trouble == ""
