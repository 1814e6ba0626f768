"""How dangerous a shell command line is: a real parse, what every command in it means, the worst counts.

Anything that can't be understood needs a person every time. The rating is a judgement on text, not a
cage: a script in the workspace may do anything once a person let it run.
"""

from core.safety.shell.closed import ClosedPlaces
from core.safety.shell.rating import ShellRating, rate_command_line

__all__ = ["ClosedPlaces", "ShellRating", "rate_command_line"]
