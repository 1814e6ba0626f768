"""Programs no list knows: what a verb among their first words, or an option, says they would do.

Every trade has its own tools, and nearly all of them name the harmful thing alike: `minikube delete`,
`rake db:drop`, `nomad job stop`, `mongorestore --drop`.
"""

import re
from itertools import dropwhile, takewhile

from core.safety.shell.findings import Finding, high
from core.safety.shell.unknown import is_known
from core.safety.shell.words import Args

_FIRST = 2
"""A verb stands first, or behind the noun it is said of; further on a word is an argument."""
_VERB = (
    "delete|del|destroy|drop|purge|wipe|erase|terminate|uninstall|remove|rm|unregister|unregistervm|undeploy"
    "|decommission|truncate|reset|flush|stop|kill|shutdown|disable|downgrade|rollback|revoke|unpublish|prune|nuke"
)
_SAYS = re.compile(rf"(?:{_VERB})(?:[-_][a-z]+)*|(?:[a-z]+[:.])+(?:{_VERB}|fresh|refresh)(?:[-:_][a-z]+)*")
_OPTION = re.compile(
    r"--(?:(?:delete|drop|purge|wipe|destroy|erase)(?:-(?:all|data|db|database))?|remove|uninstall|force-reset|accept-data-loss)"
    r"(?:=.*)?"
)
_CARRIES_VALUE = re.compile(r"--[\w-]+=")
"""Behind other options a word may be their value."""
_ONLY_SPEAK = frozenset(
    {"ack", "tldr", "cheat", "say", "notify-send", "figlet", "tput", "apt-cache", "xdg-open"}
)
"""To them such a word is something to look for, or to say."""


def by_verbs(program: str, args: Args) -> Finding | None:
    """What the words of a program that has no rule of its own say; None: nothing in particular."""
    if is_known(program) or program in _ONLY_SPEAK:
        return None
    words = dropwhile(_CARRIES_VALUE.match, args.texts)
    first = tuple(takewhile(lambda text: not text.startswith("-"), words))[:_FIRST]
    if any(map(_SAYS.fullmatch, first)) or any(map(_OPTION.fullmatch, args.texts)):
        return high("deletes, stops or resets something")
    return None
