"""Programs that run code: shells, interpreters, and what the code they are given does."""

import re
from collections.abc import Callable

from core.safety.shell.findings import CHANGES, READS, Finding, high
from core.safety.shell.paths import is_outside
from core.safety.shell.words import Args

_CODE_ACTS = re.compile(
    r"""rmtree|unlink|remove|rmdir|delete|truncate|rename|replace\(|move\(|chmod|chown|kill|system|popen|spawn
    |exec|eval|fork|subprocess|socket|urllib|requests|http|fetch|ftp|smtp|shutil|pty|ctypes|child_process
    |__(?!name__)\w|import_?(?:module|lib)|getattr|globals|locals|vars\s*\(|compile|marshal|pickle|base64|decode
    |fromhex|write|open\s*\(|os\.|environ|FileUtils|File\.|Dir\.|IO\.|`|\\x|chr\(|qx|fs\.|inplace|extract
    |execute|constructor|\bFunction\b|binding|modules|fromCharCode|\bchr\b|\bpack\b|\\[0-7]{2}|\\u|\\N\{|\$\w+\s*\(
    |\b(?:public_)?send\b|method\s*\(|instance_|%x|const_get|Kernel|&\{|&\$|/\w*ee\w*\b|os\[|\b_G\b
    |(?<![.\w])load(?:string|file)?\s*\(|(?:require|import)\s*\(\s*(?:[^"'\s]|["'][^"']*["']\s*\+)
    |\brm\w*\s*\(|\bcp\w*\s*\(|['"](?:node:)?(?:fs|net|tls|dgram|cluster|vm|worker_threads)(?:/\w+)?['"]""",
    re.VERBOSE | re.IGNORECASE,
)
_OPENS_TO_READ = re.compile(
    r"""\bopen\s*\(\s*(?:"[^"|]*"|'[^'|]*')\s*(?:,\s*["']r[bt]?["']\s*)?"""
    r"""(?:,\s*(?:encoding|errors|newline)\s*=\s*["'][\w-]*["']\s*)*\)"""
)
"""In Python alone: elsewhere `open` may run what it is given."""
_FROM_ELSEWHERE = re.compile(r"/dev/|(?:--\w+=)?(?:https?|data|blob):", re.IGNORECASE)
_MODULES_THAT_RUN_CODE = ("timeit", "pdb", "cProfile", "profile", "trace")
_RUNS_SCRIPTS_NAMED_BY_OPTIONS = ("--test", "--check", "--run")


def source(args: Args) -> Finding | None:
    """`source` and `.`: a script of the workspace is like running it."""
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
    if any(text.startswith(("--command", "--init-command")) for text in args.texts):
        return high("runs text as commands")  # fish
    if any(re.match(r"^-[a-z]*c", text) for text in args.texts):
        return CHANGES
    if args.has("s") or not args.positionals or args.opaque or args.positionals[0] == "-":
        return high("runs whatever it is given")
    return CHANGES


def interpreter(letters: str, reads: re.Pattern[str] | None = None) -> Callable[[Args], Finding | None]:
    """An interpreter whose options with one of `letters` take code; `reads`: what in code does no harm."""

    def acts(code: str) -> bool:
        return _CODE_ACTS.search(code if reads is None else reads.sub("", code)) is not None

    def check(args: Args) -> Finding | None:
        if args.texts[:1] and args.texts[0] in ("--version", "-V", "-v", "--help", "-h"):
            return READS
        if any(word.substituted or _FROM_ELSEWHERE.match(word.text) for word in args.words):
            return high("runs code from an unknown place")
        code = [i for i, text in enumerate(args.texts) if _takes_code(text, letters)]
        if code:
            given = args.words[code[0] :]
            unseen = any(not word.known for word in given)
            risky = unseen or any(acts(word.text) for word in given)
            return high("runs code given on the command line") if risky else CHANGES
        if "-m" in args.texts and "m" not in letters:
            timed = args.value_of("-m") in _MODULES_THAT_RUN_CODE and any(map(acts, args.texts))
            return high("runs code given on the command line") if timed else CHANGES
        if args.texts[:1] and args.texts[0] in _RUNS_SCRIPTS_NAMED_BY_OPTIONS:
            return CHANGES
        if not args.positionals or args.positionals[0] == "-" or args.words[0].text in ("-", "-i"):
            return high("runs whatever it is given")
        return high("runs code from an unknown place") if args.opaque else CHANGES

    return check


def python() -> Callable[[Args], Finding | None]:
    """Python: opening a file that is named, to read it, does no harm."""
    return interpreter("c", _OPENS_TO_READ)


def make(args: Args) -> Finding | None:
    """`make`: like a script of the workspace, unless it is told another shell or unseen rules."""
    if any(re.match(r"\.?SHELL\w*:*=|MAKEFLAGS", text) for text in args.texts):
        return high("changes which programs run")
    told = args.value_of("-f", "--file", "--makefile")
    unseen = told is not None and (told in ("-", "") or told.startswith(("/dev/", "<(")))
    return high("runs whatever it is given") if unseen or args.opaque else None


def pager(args: Args) -> Finding | None:
    """Programs that take their own commands behind a `+`, as less and vim do."""
    runs = any(text[:1] == "+" and not re.fullmatch(r"\+\d*[FGg]?|\+/[^|!]*", text) for text in args.texts)
    return high("runs commands") if runs else None


def _takes_code(text: str, letters: str) -> bool:
    if text in ("--eval", "--print", "--execute", "eval") or text.startswith(("--eval=", "--print=")):
        return True
    return (
        text.startswith("-") and not text.startswith("--") and any(letter in text[1:] for letter in letters)
    )
