"""What words, redirects and assignments mean, whatever the program they stand beside."""

import re
from collections.abc import Sequence

from core.safety.shell import names
from core.safety.shell.findings import CHANGES, Finding, blocked, high, worst
from core.safety.shell.insight import into_processes
from core.safety.shell.parsed import Redirect
from core.safety.shell.paths import is_credential, is_device, is_outside, runs_by_git
from core.safety.shell.words import Word

_PRINT_NOTHING = (["cat", "/dev/null"], ["echo", "-n"], ["echo", "-n", ""], ["printf", ""])
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/")
_SUBSCRIPT_RUNS = re.compile(r"\[[^\]]*(?:\$\(|`)")


def of_word(word: Word) -> Finding | None:
    """What a word tells, whatever program it is for."""
    if is_credential(word.text):
        return high("touches credentials or keys")
    if (running := into_processes(word.text)) is not None:
        return running
    if _SOCKET.search(word.text):
        return high("talks to another machine")
    if word.known and _SUBSCRIPT_RUNS.search(word.text):
        return high("may run a command hidden in an index")
    return None


def of_assignment(name: str) -> Finding | None:
    """What setting a variable of this name does to the commands that follow."""
    if name in names.RISKY_VARIABLES or name.startswith(("LD_", "DYLD_")):
        return high(f"changes which programs run, by {name}")
    return None


def of_redirect(redirect: Redirect) -> Finding | None:
    """What a redirect does to its target; where it has none, or only another descriptor, nothing."""
    target = redirect.target
    if target is None or ">" not in redirect.operator:
        return of_word(target) if target is not None else None
    if leaves_no_trace(redirect):
        return None
    if is_device(target.text):
        return blocked("it would overwrite a device")
    if not target.known:
        return high("writes to a file it computes")
    if is_outside(target.text):
        return high("writes outside the workspace")
    if runs_by_git(target.text):
        return high("changes what git runs")
    if ">>" not in redirect.operator and redirect.words is not None and is_silent(redirect.words):
        return high("empties a file")
    return worst([CHANGES, of_word(target)])


def is_silent(words: Sequence[Word]) -> bool:
    """Whether the command prints nothing, so that redirecting it only empties the target."""
    texts = [word.text for word in words]
    return texts[:1] in ([], [":"], ["true"]) or texts in _PRINT_NOTHING


def leaves_no_trace(redirect: Redirect) -> bool:
    """`2>&1`, `>&-`, `> /dev/null`."""
    target = redirect.target
    if target is None:
        return False
    duplicates = redirect.operator in (">&", ">&-", "<&") and (target.text.isdecimal() or target.text == "-")
    return duplicates or target.text == "/dev/null"
