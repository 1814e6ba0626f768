"""Asks Python's `re` in a process of its own: some patterns would take it for ever.

Reads lines of JSON `[pattern, [text, …]]` and answers each with one: for every text the whole match and the
groups, or null where nothing matches; null for a pattern that takes too long, a text for one `re` refuses.
"""

import json
import re
import signal
import sys
import warnings

LIMIT_S = 0.5
"""Of this process' own time: how busy the machine is makes no difference."""


class TooLong(Exception):
    """The time is over."""


def over(_signal: int, _frame: object) -> None:
    """Ends what `re` is at."""
    raise TooLong


def answer(pattern: str, texts: list[str]) -> object:
    """One line."""
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        compiled = re.compile(pattern)
        found = [compiled.search(text) for text in texts]
        return [None if match is None else [match.group(), *match.groups()] for match in found]
    except TooLong:
        return None
    except re.error as error:
        return str(error)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def main() -> None:
    """Until the input ends."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, over)
    for line in sys.stdin:
        pattern, texts = json.loads(line)
        sys.stdout.write(json.dumps(answer(pattern, texts)) + "\n")


if __name__ == "__main__":
    main()
