"""What people see of a command's output while it runs is the beginning of what its result says."""

from hypothesis import given
from hypothesis import strategies as st

from core.events import Output
from core.runs.reply_stream import MORE, SHOWN_LIMIT_CHARS, LiveOutput
from core.safety.fencing import sanitise
from core.safety.leaks import LeakDetector

KNOWN = "correct horse\nbattery"
TOKEN = "ghp_" + "a" * 36
PARTS = st.sampled_from(["x", " ", "\n", "\r", "\r\n", "\x1b[31m", "é", TOKEN, TOKEN[:20], TOKEN[20:], KNOWN])


@given(st.lists(PARTS, max_size=30), st.lists(st.integers(1, 40), max_size=30))
def test_live_output_is_the_beginning_of_the_result_in_whatever_pieces_it_arrives(
    parts: list[str], cuts: list[int]
) -> None:
    whole, leaks, shown = "".join(parts), LeakDetector([KNOWN]), list[Output]()
    live, data = LiveOutput("call", leaks, shown.append), whole.encode()
    for cut in [*cuts, len(data)]:
        live.add(data[:cut])
        data = data[cut:]
    text = "".join(one.text for one in shown)
    assert leaks.redacted(sanitise(whole)).startswith(text)
    assert [one.offset for one in shown] == [
        sum(len(before.text) for before in shown[:at]) for at in range(len(shown))
    ]


def test_live_output_ends_at_its_limit_and_says_so() -> None:
    shown = list[Output]()
    live = LiveOutput("call", LeakDetector(), shown.append)
    for _ in range(40):
        live.add(b"a line\n" * 500)
    text = "".join(one.text for one in shown)
    assert text.endswith(MORE)
    assert SHOWN_LIMIT_CHARS - 100 < len(text) < SHOWN_LIMIT_CHARS + 100
