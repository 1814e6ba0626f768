"""The check of docs/facts.md finds what it is there to find."""

import pytest

from tests.architecture.facts import problems

THIS = "tests/architecture/test_facts.py"


@pytest.mark.parametrize(
    "line, found",
    [
        (f"| Something holds | `{THIS}::test_a_fact_needs_a_test_that_exists` |", 0),
        (f"| Something holds | `{THIS}::test_a_fact_needs_a_test_that_exists[1]` |", 0),
        (f"| Something holds | `{THIS}::test_nobody_wrote` |", 1),
        ("| Something holds | `tests/nowhere.py::test_nobody_wrote` |", 1),
        ("| Something holds | by reading |", 1),
        ("Something holds", 1),
    ],
)
def test_a_fact_needs_a_test_that_exists(line: str, found: int) -> None:
    assert len(list(problems(f"| Fact | Test |\n|---|---|\n{line}\n"))) == found
