"""Programs whose danger lies in their arguments, one rule for each kind."""

import re
from collections.abc import Callable

from core.safety.shell.findings import CHANGES, READS, Finding, blocked, high
from core.safety.shell.names import DATABASES, FETCHERS, INTERPRETERS, SHELLS
from core.safety.shell.paths import is_device, is_outside, is_vital
from core.safety.shell.words import Args

Check = Callable[[Args], Finding | None]

_WORLD = re.compile(r"^[0-7]*[2367]$|^[2-7][0-7]{3}$|^0?[2-7]\d{3}$")
_SYMBOLIC = re.compile(r"(?:^|,)[ugoa]*[+=][rwxXt]*s|(?:^|,)(?:[ug]*[oa][ugoa]*)?[+=][rxXt]*w")
_MODE = re.compile(r"^[-+=0-7ugoarwxXst,]+$")
_SED_ACTS = re.compile(
    r"(?:^|[;{}\n/$\d])\s*[wW]\s+\S|(?:^|[;{}\n/$\d])\s*e(?:\s|$)|s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpimIM\d]*[ew]"
)
_AWK_ACTS = re.compile(
    r"system\s*\(|print[^;}\n]*>|\|\s*\"|\|\s*getline|\"\s*\|\s*&?|@load|@include|close\s*\("
)
_CODE_ACTS = re.compile(
    r"""rmtree|unlink|remove|rmdir|delete|truncate|rename|replace\(|move\(|chmod|chown|kill|system|popen|spawn
    |exec|eval|fork|subprocess|socket|urllib|requests|http|fetch|ftp|smtp|shutil|pty|ctypes|child_process
    |__import__|import_module|getattr|globals|compile|marshal|pickle|base64|decode|fromhex|write|open\s*\(
    |os\.|environ|FileUtils|File\.|Dir\.|IO\.|`|\\x|chr\(|qx|fs\.""",
    re.VERBOSE | re.IGNORECASE,
)
_SQL_ACTS = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|user|role|view|index|owned|column|collection)|truncate|delete\s+from"
    r"|alter\s+(?:table|user|role|system)|grant\s|revoke\s|update\s+\S+\s+set|reassign\s+owned|flushall|flushdb"
    r"|shutdown|config\s+set|dropdatabase|deletemany|deleteone|\.drop\s*\(|\.remove\s*\(|copy\s.*\sprogram)"
    r"|(?:^|\s)\\!|(?:^|\s)\.(?:shell|system|import)\b|\binto\s+(?:out|dump)file\b",
    re.IGNORECASE,
)
_GIT_RUNS = re.compile(
    r"alias\.|pager|editor|sshcommand|hookspath|fsmonitor|helper|textconv|filter\.|command|\.cmd|\.path|proxy"
    r"|insteadof|include|protocol\.|^!|askpass|gpg.*program",
    re.IGNORECASE,
)
_REMOTE = re.compile(r"^(?:[\w.-]+@)?[\w.-]+:(?!\\)|^rsync://")
_HOST_MOUNT = re.compile(
    r"^/(?::|$)|docker\.sock|source=/(?:,|$)|^/(?:etc|root|home|var|usr|proc|sys)\b.*:|^~/?:"
)


def _rm(args: Args) -> Finding | None:
    if args.has("", "no-preserve-root"):
        return blocked("it would delete the whole system")
    if args.may_have("rR", "recursive", "dir") and any(is_vital(path) for path in args.positionals):
        return blocked("it would delete the system or a home directory")
    if any(is_device(path) for path in args.positionals):
        return blocked("it would destroy a device")
    return high("deletes files")


def _change_rights(args: Args) -> Finding | None:
    if args.has("R", "recursive") and any(is_vital(path) for path in args.positionals):
        return blocked("it would change the rights of the whole system")
    modes = [text for text in args.texts if _MODE.match(text)]
    if args.may_have("R", "recursive", "reference"):
        return high("changes rights recursively")
    if any(_WORLD.search(mode) or _SYMBOLIC.search(mode) for mode in modes):
        return high("gives rights to everyone")
    return high("changes rights outside the workspace") if any(map(is_outside, args.positionals)) else None


def _dd(args: Args) -> Finding | None:
    targets = [text[3:] for text in args.texts if text.startswith("of=")]
    if any(is_device(target) for target in targets):
        return blocked("it would overwrite a device")
    return high("overwrites a file or device") if targets or args.opaque else None


def _copy_or_move(args: Args) -> Finding | None:
    paths = args.positionals
    target = args.value_of("-t", "--target-directory") or (paths[-1] if paths else "")
    if is_device(target):
        return blocked("it would overwrite a device")
    if any(path in ("/dev/null", "/dev/zero") for path in paths):
        return high("destroys a file's content")
    return high("writes outside the workspace") if is_outside(target) else None


def _move(args: Args) -> Finding | None:
    if any(is_vital(path) for path in args.positionals[:-1]):
        return blocked("it would move away the system or a home directory")
    if any(is_outside(path) for path in args.positionals):
        return high("moves files in or out of the workspace")
    return _copy_or_move(args)


def _tee(args: Args) -> Finding | None:
    if any(is_device(path) for path in args.positionals):
        return blocked("it would overwrite a device")
    return high("writes outside the workspace") if any(map(is_outside, args.positionals)) else None


def _sed(args: Args) -> Finding | None:
    if args.has("i", "in-place") or any(word.spread and not word.known for word in args.words):
        return high("edits files in place")
    return high("writes or runs from its script") if any(map(_SED_ACTS.search, args.texts)) else None


def _awk(args: Args) -> Finding | None:
    return high("writes or runs from its script") if any(map(_AWK_ACTS.search, args.texts)) else None


def _find(args: Args) -> Finding | None:
    deletes = "-delete" in args.texts or (args.opaque and "{}" not in args.texts)
    if deletes and any(is_vital(text) for text in args.texts[:3]):
        return blocked("it would delete the system or a home directory")
    if deletes:
        return high("deletes files")
    writes = any(text.startswith(("-fprint", "-fls")) for text in args.texts)
    runs = any(text.startswith(("-exec", "-ok")) for text in args.texts)
    return high("writes files") if writes else CHANGES if runs else READS


def _fetch(args: Args) -> Finding | None:
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
    if (args.value_of("-X", "--request", "--method") or "GET").upper() in ("DELETE", "PUT", "PATCH"):
        return high("changes something on another machine")
    target = args.value_of("-o", "--output", "-O", "--output-document", "-P", "--directory-prefix") or ""
    return high("writes outside the workspace") if is_outside(target) else None


def _resolves(args: Args) -> Finding | None:
    return high("sends the output of a command away") if any(w.substituted for w in args.words) else None


def _git(args: Args) -> Finding | None:
    texts = args.texts
    if args.has("", "exec-path", "receive-pack", "upload-pack") and "push" in texts:
        return high("runs a program")
    if "push" in texts and any(text[:1] in "+:" for text in args.positionals):
        return high("overwrites or deletes what others see")
    if "checkout" in texts and ("--" in texts or "." in args.positionals):
        return high("throws away changes")
    configured = (
        args.value_of("-c", "--config-env") if "-c" in texts[:4] or "--config-env" in texts[:4] else None
    )
    if configured is not None and _GIT_RUNS.search(configured):
        return high("makes git run a program")
    if args.subcommand == "config" and any(map(_GIT_RUNS.search, args.positionals[1:])):
        return high("makes git run a program")
    return high("runs a program") if any(text.startswith("ext::") for text in texts) else None


def _container(args: Args) -> Finding | None:
    mounts = any(
        _HOST_MOUNT.search(text.partition("=")[2] or text)
        for text in args.texts
        if text.startswith(("/", "-v", "--", "source", "type", "~"))
    )
    if mounts and args.positionals[:1] in (("run",), ("create",)):
        return high("gives a container the host's files")
    return None


def _cloud(args: Args) -> Finding | None:
    acts = re.compile(
        r"^(?:delete|terminate|remove|destroy|purge|deregister|revoke|stop|reset|detach|disable)-"
    )
    if any(acts.match(text) for text in args.positionals) or args.has("", "delete"):
        return high("deletes or stops something")
    return None


def _kill(args: Args) -> Finding | None:
    forced = [text for text in args.texts if text.upper() in ("-9", "-KILL", "-SIGKILL", "-STOP", "-SIGSTOP")]
    named = (args.value_of("-s", "-n", "--signal") or "").upper().removeprefix("SIG") in ("9", "KILL", "STOP")
    everyone = any(text in ("-1", "0", "1") for text in args.texts)
    return high("ends processes by force") if forced or named or everyone or args.opaque else None


def _unpack(args: Args) -> Finding | None:
    into = args.value_of("-C", "--directory", "-d") or ""
    return high("writes outside the workspace") if is_outside(into) else None


def _send_away(args: Args) -> Finding | None:
    if any(_REMOTE.match(text) for text in args.positionals):
        return high("copies to or from another machine")
    return _copy_or_move(args)


def _processes(args: Args) -> Finding | None:
    bundle = args.texts[0] if args.texts else ""
    shows = bundle and not bundle.startswith("-") and "e" in bundle and not bundle.isdecimal()
    return high("shows other programs' environment") if shows else None


def _writes_second(args: Args) -> Finding | None:
    return CHANGES if len(args.positionals) > 1 else None


def _hostname(args: Args) -> Finding | None:
    return high("renames the machine") if args.positionals else None


def _source(args: Args) -> Finding | None:
    first = args.words[0] if args.words else None
    if first is None or not first.plain or first.text.startswith("/dev/"):
        return high("runs commands from an unknown place")
    return high("runs commands from outside the workspace") if is_outside(first.text) else CHANGES


def shell(args: Args) -> Finding | None:
    """A shell with a script is like the script; without one it runs what it is given."""
    if any(word.substituted or word.text.startswith("/dev/") for word in args.words):
        return high("runs commands from an unknown place")
    if args.has("", "help", "version"):
        return READS
    if any(re.match(r"^-[a-z]*c", text) for text in args.texts):
        return CHANGES
    if args.has("s") or not args.positionals or args.opaque or args.positionals[0] == "-":
        return high("runs whatever it is given")
    return CHANGES


def interpreter(letters: str) -> Check:
    """An interpreter whose options with one of `letters` take code."""

    def check(args: Args) -> Finding | None:
        if args.texts[:1] and args.texts[0] in ("--version", "-V", "-v", "--help", "-h"):
            return READS
        if any(word.substituted or word.text.startswith("/dev/") for word in args.words):
            return high("runs code from an unknown place")
        code = [i for i, text in enumerate(args.texts) if _takes_code(text, letters)]
        if code:
            given = args.words[code[0] :]
            unseen = any(not word.known for word in given)
            acts = any(_CODE_ACTS.search(word.text) for word in given)
            return high("runs code given on the command line") if unseen or acts else CHANGES
        if "-m" in args.texts and "m" not in letters:
            return CHANGES
        if not args.positionals or args.positionals[0] == "-" or args.words[0].text in ("-", "-i"):
            return high("runs whatever it is given")
        return high("runs code from an unknown place") if args.opaque else CHANGES

    return check


def _takes_code(text: str, letters: str) -> bool:
    if text in ("--eval", "--print", "--execute", "eval") or text.startswith(("--eval=", "--print=")):
        return True
    return (
        text.startswith("-") and not text.startswith("--") and any(letter in text[1:4] for letter in letters)
    )


def acts_on_data(text: str) -> bool:
    """Whether a text contains SQL, or another database's words, that destroy or change data."""
    return _SQL_ACTS.search(text) is not None


CHECKS: dict[str, Check] = {
    "rm": _rm,
    "unlink": _rm,
    "shred": _rm,
    "srm": _rm,
    "chmod": _change_rights,
    "chown": _change_rights,
    "chgrp": _change_rights,
    "dd": _dd,
    "cp": _copy_or_move,
    "install": _copy_or_move,
    "ln": _copy_or_move,
    "mv": _move,
    "tee": _tee,
    "sponge": _tee,
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "find": _find,
    "gfind": _find,
    "git": _git,
    "docker": _container,
    "podman": _container,
    "aws": _cloud,
    "gcloud": _cloud,
    "az": _cloud,
    "kill": _kill,
    "rsync": _send_away,
    "rclone": _send_away,
    "tar": _unpack,
    "unzip": _unpack,
    "ps": _processes,
    "uniq": _writes_second,
    "xxd": _writes_second,
    "hostname": _hostname,
    "source": _source,
    ".": _source,
    **dict.fromkeys(("dig", "nslookup", "host", "ping", "traceroute"), _resolves),
    **dict.fromkeys(FETCHERS, _fetch),
    **dict.fromkeys(SHELLS, shell),
    **{name: interpreter(letters) for name, letters in INTERPRETERS.items()},
}


def by_arguments(program: str, args: Args) -> Finding | None:
    """What a program's own rule says of its arguments; None: nothing in particular."""
    check = CHECKS.get(program)
    if check is not None:
        return check(args)
    if program in DATABASES and (args.opaque or any(map(acts_on_data, args.texts))):
        return high("changes or deletes data")
    return None
