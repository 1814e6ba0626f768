"""What lets a command look at secrets of others: running programs, whole homes, keepers of credentials; and
what takes it out of the hub's own sight.
"""

import re
from fnmatch import fnmatchcase
from itertools import takewhile

from core.safety.shell.findings import Finding, high
from core.safety.shell.paths import is_vital
from core.safety.shell.words import Args

_BETWEEN = re.compile(r"""[\s"'`=:,;()<>@|{}]+""")
_ABOUT_THE_MACHINE = re.compile(
    r"(?:cpuinfo|meminfo|loadavg|uptime|version|stat|vmstat|mounts|filesystems|partitions|swaps|diskstats"
    r"|interrupts|modules|devices|net/\w+|sys/[\w./-]+|pressure/\w+"
    r"|(?:self|\d+|\$\w+|\$\$)/(?:status|statm?|comm|limits|cgroup|io|mounts|mountinfo|oom_\w+))"
)
"""What of /proc tells nothing of what programs were given, nor of what is in their memory."""
_GLOBBED_ROOT = re.compile(r"/[^/\s]*[*?\[][^/\s]*/")
_RUNNING = high("may look into running programs, where passwords are")
_PRINTS = high("may show credentials")

_KEEPERS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "git": r"credential (?:fill|approve|reject|get)\b",
        "gh": r"auth (?:token|status .*(?:-t\b|--show-token))|(?:secret|variable) (?:set|delete)\b",
        "aws": r"configure (?:get|export-credentials)|ecr get-login-password|sts get-\w+-token"
        r"|secretsmanager get-secret-value|ssm get-parameter",
        "gcloud": r"auth (?:application-default )?print-(?:access|identity)-token|secrets versions access",
        "az": r"account get-access-token|keyvault secret (?:show|download)",
        "kubectl": r"(?:.* )?(?:get|describe|edit) secrets?\b|create token\b|config view .*--raw",
        "vault": r"(?:kv get|read|print token|token lookup)\b",
        "op": r"(?:read|item get|inject|run)\b",
        "bw": r"(?:get|export|unlock|list)\b",
        "pass": r"(?!ls\b|find\b|git\b|insert\b|help\b)\S",
        "gopass": r"(?:show|cat|export)\b",
        "security": r"(?:find-[\w-]*password|dump-keychain|export)\b",
        "secret-tool": r"(?:lookup|search)\b",
        "gpg": r".*--export-secret|.*--decrypt|-d\b",
        "heroku": r"auth:token|config(?::get)?\b",
        "doctl": r"auth token",
        "docker-credential-pass": r"get",
        "npm": r"token\b",
    }.items()
}
"""What each is told, to print or to change what it keeps."""

_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep"})
_SEARCH_ALL = frozenset({"rg", "ag", "ack", "tar", "zip", "7z"})
_MARK = "HUBBUB_CALL"
_INTO_PROCESSES = frozenset(
    {"gdb", "lldb", "strace", "ltrace", "perf", "gcore", "py-spy", "rbspy", "jmap", "jstack", "bpftrace"}
)


def into_processes(text: str) -> Finding | None:
    """What a word tells that leads below /proc, whatever program it is for."""
    may = "/proc" in text or _GLOBBED_ROOT.search(text) is not None
    return _RUNNING if may and any(map(_leads_into, _BETWEEN.split(text))) else None


def shows_secrets(program: str, args: Args) -> Finding | None:
    """What a program may show of what is nobody's business."""
    keeper = _KEEPERS.get(program)
    if keeper is not None and keeper.match(" ".join(_from_subcommand(args))):
        return _PRINTS
    if program in _INTO_PROCESSES and args.has("p", "pid"):
        return _RUNNING
    searches = program in _SEARCH_ALL or (program in _SEARCHERS and args.may_have("rR", "recursive"))
    if searches and any(map(is_vital, args.positionals)):
        return high("goes through whole homes or systems, credentials among them")
    return None


def outlives_its_call(program: str, args: Args) -> Finding | None:
    """Whether it takes off the mark by which what a call leaves behind is found, see tools.processes."""
    options = tuple(takewhile(lambda text: text.startswith("-"), args.texts))
    bare = {"env": {"-i", "-", "--ignore-environment"}, "exec": {"-c", "-cl", "-lc"}}.get(program, set[str]())
    if bare.intersection(options) or any(_MARK in text for text in args.texts):
        return high("hides what it leaves running")
    return None


def _from_subcommand(args: Args) -> tuple[str, ...]:
    """Without global options before it."""
    first = next((at for at, text in enumerate(args.texts) if not text.startswith("-")), len(args.texts))
    return args.texts[first:] or args.texts


def _leads_into(token: str) -> bool:
    root, _, rest = token.partition("/")
    if root or not rest:
        return False
    place, _, below = rest.lstrip("/").partition("/")
    if place != "proc" and not (
        below and fnmatchcase("proc", place)
    ):  # `/*` is judged by what is done with it
        return False
    return _ABOUT_THE_MACHINE.fullmatch(below.rstrip("/")) is None
