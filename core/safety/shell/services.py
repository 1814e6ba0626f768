"""Programs that reach beyond the files at hand: other machines, histories, containers, clouds, databases."""

import re

from core.safety.shell.files import copy_or_move
from core.safety.shell.findings import Finding, high
from core.safety.shell.paths import is_outside
from core.safety.shell.words import Args

_SQL_ACTS = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|user|role|view|index|owned|column|collection)|truncate|delete\s+from"
    r"|alter\s+(?:table|user|role|system)|grant\s|revoke\s|update\s+\S+\s+set|reassign\s+owned|flushall|flushdb"
    r"|execute\s|do\s+(?:language\s|\$|')|prepare\s|replace\s+into|merge\s+into|pg_(?:terminate|cancel|reload|read)_"
    r"|lo_export|load_extension|writefile\s*\(|writable_schema"
    r"|shutdown|config\s+set|dropdatabase|deletemany|deleteone|\.drop\s*\(|\.remove\s*\(|copy\s.*\sprogram)"
    r"|(?:^|\s)\\(?:!|o\s|w\s|copy\s|g\s*[|/\w])"
    r"|(?:^|\s)\.(?:shell|system|import|output|once|save|restore|clone|load|excel)\b|\binto\s+(?:out|dump)file\b",
    re.IGNORECASE,
)
_SQL_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*\n", re.DOTALL)
_SQL_MARKS = re.compile(r"/\*!?\d*|\*/")
"""What MySQL runs although it stands in a comment."""
_KEYS_ACT = frozenset(
    {"del", "unlink", "getdel", "rename", "expire", "pexpire", "flushall", "flushdb", "eval", "evalsha"}
    | {"fcall", "script", "function", "debug", "shutdown", "config", "migrate", "restore", "slaveof", "acl"}
    | {"replicaof", "module", "ltrim", "lpop", "rpop", "spop", "srem", "zrem", "hdel", "xdel", "xtrim"}
    | {"swapdb", "failover"}
)
_GIT_RUNS = re.compile(
    r"alias\.|pager|editor|sshcommand|hookspath|fsmonitor|helper|textconv|filter\.|command|\.cmd|\.path|proxy"
    r"|insteadof|include|protocol\.|^!|askpass|gpg.*program",
    re.IGNORECASE,
)
_REMOTE = re.compile(r"^(?:[\w.-]+@)?[\w.-]+:(?!\\)|^rsync://")
_ELSEWHERE = re.compile(r"://|^[\w.-]+@[\w.-]+:")
_ADDRESS = re.compile(
    r"(?:\S+ ?@ ?)?(?:git\+\w+|git|https?|ssh|github|gitlab|bitbucket):(?!$)", re.IGNORECASE
)
_HOST_MOUNT = re.compile(
    r"^/(?::|$)|docker\.sock|(?:source|src)=/(?:,|$)|^/(?:etc|root|home|var|usr|proc|sys|dev|boot)\b.*:|^~/?:"
    r"|(?:source|src)=(?:~|/(?:etc|root|home|var|usr|proc|sys|dev|boot)\b)"
)


def fetch(args: Args) -> Finding | None:
    if any(word.substituted for word in args.words):
        return high("sends the output of a command away")
    if args.has("TFK", "upload-file", "form", "config", "post-file", "body-file", "execute", "use-askpass"):
        return high("sends a file away")
    data = [
        text
        for text in args.texts
        if text.startswith("@") or re.match(r"^(?:-d|--data[\w-]*=?)@|^[\w-]+@", text)
    ]
    if data and args.has("d", "data", "data-binary", "data-raw", "data-urlencode", "json"):
        return high("sends a file away")
    methods = (args.value_of("--request", "--method"), args.behind("X"), args.subcommand)
    if any((method or "").upper() in ("DELETE", "PUT", "PATCH") for method in methods):
        return high("changes something on another machine")
    targets = (args.value_of("--output", "--output-document", "-P", "--directory-prefix"), args.behind("o"))
    outside = any(is_outside(target or "") for target in (*targets, args.value_of("-O")))
    return high("writes outside the workspace") if outside else None


def resolves(args: Args) -> Finding | None:
    return high("sends the output of a command away") if any(w.substituted for w in args.words) else None


def git(args: Args) -> Finding | None:
    texts = args.texts
    if args.has("", "exec-path", "receive-pack", "upload-pack") and "push" in texts:
        return high("runs a program")
    if "push" in texts and any(text[:1] in "+:" for text in args.positionals):
        return high("overwrites or deletes what others see")
    if "checkout" in texts and ("--" in texts or "." in args.positionals):
        return high("throws away changes")
    if (found := _git_subcommand(texts, args)) is not None:
        return found
    configured = (
        args.value_of("-c", "--config-env") if "-c" in texts[:4] or "--config-env" in texts[:4] else None
    )
    if configured is not None and _GIT_RUNS.search(configured):
        return high("makes git run a program")
    if args.subcommand == "config" and any(map(_GIT_RUNS.search, args.positionals[1:])):
        return high("makes git run a program")
    return high("runs a program") if any(text.startswith("ext::") for text in texts) else None


def _git_subcommand(texts: tuple[str, ...], args: Args) -> Finding | None:
    at = 0
    while texts[at : at + 1] and texts[at].startswith("-"):
        at += 2 if texts[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
    subcommand, rest = "".join(texts[at : at + 1]), Args(args.words[at + 1 :])
    if subcommand in ("fetch", "pull") and any(text[:1] == "+" for text in rest.positionals):
        return high("overwrites branches")
    if subcommand == "push" and any(map(_ELSEWHERE.search, rest.positionals)):
        return high("copies to another machine")
    if subcommand == "checkout" and len(rest.positionals) > 1 and not rest.has("bBt", "track", "orphan"):
        return high("throws away changes")  # files are put back, no branch is gone to
    written = (
        "--output",
        "--output-directory",
        *(("-o",) if subcommand in ("archive", "format-patch") else ()),
    )
    return high("writes outside the workspace") if is_outside(rest.value_of(*written) or "") else None


def installs(args: Args) -> Finding | None:
    """Package managers: what they fetch from an address is not what their registry vouches for."""
    elsewhere = any(map(_ADDRESS.match, args.texts))
    return high("installs programs from another place") if elsewhere else None


def container(args: Args) -> Finding | None:
    volumes = (re.sub(r"^(?:-\w*?v=?|--volume=|--mount=)", "", text) for text in args.texts)
    mounts = any(map(_HOST_MOUNT.search, volumes))
    if mounts and {"run", "create"} & set(args.positionals[:4]):
        return high("gives a container the host's files")
    return None


def cloud(args: Args) -> Finding | None:
    acts = re.compile(
        r"^(?:delete|terminate|remove|destroy|purge|deregister|revoke|stop|reset|detach|disable)-"
    )
    if any(acts.match(text) for text in args.positionals) or args.has("", "delete"):
        return high("deletes or stops something")
    return None


def send_away(args: Args) -> Finding | None:
    if any(_REMOTE.match(text) for text in args.positionals):
        return high("copies to or from another machine")
    return copy_or_move(args)


_STATEMENT_FILES = re.compile(r"^\s*(?:\\ir?|\.read|source|\\\.)\s", re.IGNORECASE)


def database(args: Args) -> Finding | None:
    """A database's client: what it is told to do, as far as that can be seen."""
    if args.opaque or any(map(acts_on_data, args.texts)):
        return high("changes or deletes data")
    told = args.value_of("-f", "--file", "--init", "-init", "--queries-file", "-i")
    if told is not None or any(map(_STATEMENT_FILES.match, args.texts)):
        return high("runs statements that can't be seen")
    return None


def keys(args: Args) -> Finding | None:
    """A client of a store of keys, whose commands are words."""
    acts = args.opaque or any(text.lower() in _KEYS_ACT for text in args.positionals)
    return high("changes or deletes data") if acts else database(args)


def acts_on_data(text: str) -> bool:
    """Whether a text contains SQL, or another database's words, that destroy or change data."""
    return any(map(_SQL_ACTS.search, (text, _SQL_COMMENT.sub(" ", text), _SQL_MARKS.sub(" ", text))))
