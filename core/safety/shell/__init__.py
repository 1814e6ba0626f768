"""Command lines: what is plain, what it stands for, and what needs a person.

A plain line is read, expanded and judged here, and run by us from its argv. Any other line is run by bash,
only where a person approved that exact text.
"""

from core.safety.shell.rating import Level, ShellRating, judge
from core.safety.wildcards import LineFails

__all__ = ["Level", "LineFails", "ShellRating", "judge"]
