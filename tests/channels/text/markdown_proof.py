"""The proof that every renderer of Markdown must pass: documents of the grammar, counted by what they held,
and
the examples of the specification."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from tests.channels.text.markdown_constructs import CONSTRUCTS, constructs
from tests.channels.text.markdown_grammar import documents

SPEC: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[2] / "payloads" / "commonmark-spec.json").read_text("utf-8")
)
EXAMPLES: list[str] = [example["markdown"] for example in SPEC["examples"]]
LEAST_SHARE = 0.05

ALWAYS = (
    "a few words that come one after the other " * 12,
    "```python\n" + "print('a line of code')\n" * 20 + "```\n\nand after it",
    "ping @everyone, @here, @nobody, <@100000000000000007>, <@U0OLIVIA>, <!channel>, /start and a\\@bcdefgh",
    "🙂 and **🙂 bold 🙂** and *👩‍👩‍👧 🙂* and `🙂`, " * 6,
)
"""What every run checks, whatever the others are made from: cuts, code that is cut, what notifies people, and
what has more units than characters."""

Check = Callable[[str, int], None]
"""Renders a document within a message's limit, in the platform's units, and judges what came out."""


def whole(source: str) -> str:
    """Return what is no text, half of a surrogate pair, is replaced before anything is read into it."""
    return source.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def check_documents(
    check: Check, limit: int, few: tuple[int, int], count: int, *phases: Phase, the_same: bool = False
) -> dict[str, float]:
    """Check ALWAYS and so many other documents (`the_same` in every run of the same program), each within
    `limit` and within a number of units between those of `few`; the share of the others that held each
    construct."""
    for source in ALWAYS:
        for units in (limit, *few):
            check(source, units)
    held: Counter[str] = Counter()
    cases = 0
    always = settings(derandomize=True, database=None) if the_same else settings()

    @settings(always, max_examples=count, phases=(Phase.reuse, Phase.generate, *phases))
    @given(documents, st.integers(*few))
    def run(source: str, few_units: int) -> None:
        nonlocal cases
        cases += 1
        for construct in constructs(source):
            event(construct)
            held[construct] += 1
        check(source, limit)
        check(source, few_units)

    run()
    return {construct: held[construct] / cases for construct in sorted(CONSTRUCTS)}


def percent(shares: Mapping[str, float]) -> dict[str, float]:
    """For the record."""
    return {construct: round(100 * share, 1) for construct, share in shares.items()}


def rare(shares: Mapping[str, float], least: float = LEAST_SHARE) -> dict[str, float]:
    """Return what too few documents held."""
    return {construct: share for construct, share in shares.items() if share < least}


JUMBLE = st.text(
    st.sampled_from("ab12 \n\t*_`~[]()<>!#-+=|\\&;:@/.中é\u0301👍\u200d\r\x00\ud83d\ude00"), max_size=60
)
"""Marks in any order."""
