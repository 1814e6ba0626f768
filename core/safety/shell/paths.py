"""What a path in a command line stands for: credentials, devices, the system, somebody's home."""

import posixpath
import re

_HOME = re.compile(r"^(?:\$\{HOME\}|\$HOME|~[\w.-]*)(?=/|$)")
_CREDENTIALS = re.compile(
    r"""(?:^|[/\s"'=:@<>(])
    (?: \.(?:ssh|aws|gnupg|kube|azure|netrc|npmrc|pypirc|pgpass|my\.cnf|git-credentials|vault-token)\b
      | \.docker/config\.json
      | (?:gcloud|gh)/(?:credentials|hosts)
      | \.(?:ba|z|k)?sh_history | \.(?:python|mysql|psql|node_repl)_history
      | id_(?:rsa|dsa|ecdsa|ed25519)\b | authorized_keys | known_hosts
      | shadow-?(?=[\s"']|$) | gshadow-?(?=[\s"']|$) | sudoers\b
      | \.env (?! [\w.]*\.(?:example|template|sample|dist)\b) (?:\.[\w.-]+)? (?=[\s"',;:)]|$)
    )
    | [\w*?]\.(?:pem|p12|pfx|jks|keystore|ppk|kdbx)(?=[\s"',;:)]|$)
    | (?:^|/)[\w.*?-]+\.key(?=[\s"',;:)]|$)
    | /proc/[^/\s]+/(?:environ|mem|fd|root|cwd|maps|stack)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HIDDEN_GLOB = re.compile(r"(?:^|/)\.[^/]*[*?\[]|[*?\]][^/]*/\.|\.(?:s[*?\[]|\?)")
_SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "mnt", "media", "opt", "proc", "root"}
    | {"run", "sbin", "srv", "sys", "usr", "var", "Users", "System", "Library", "Applications", "private"}
)
_DEVICE = re.compile(
    r"^/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|md|dm-|mapper/|loop|sr|mem|kmem|port|nbd|ram|zram|mtd)"
)
_SCRATCH = re.compile(r"^/(?:tmp|var/tmp|private/tmp)/.|^/dev/(?:null|stdout|stderr|tty|fd/\d+|shm/.)")
_EVERYTHING_IN = re.compile(r"(?:/(?:\.?\*|\.\[!\.\]\*|\{\*,\.\*\}|\.\?\*|\*\*))+/?$")


def normal(text: str) -> str:
    """The path in one form: home is `~`, no `.`, `..`, doubled or trailing slashes."""
    text = _HOME.sub(_home, text)
    if not text:
        return text
    path = posixpath.normpath(text)
    return "/" + path.lstrip("/") if path.startswith("//") else path


def _home(match: re.Match[str]) -> str:
    return "~" if match.group(0).startswith("$") else match.group(0)


def is_credential(text: str) -> bool:
    """Whether a word names a place where secrets lie (examples such as `.env.example` don't count)."""
    return _CREDENTIALS.search(text) is not None or (
        text[:1] in "~/$" and _HIDDEN_GLOB.search(text) is not None
    )


def is_vital(text: str) -> bool:
    """Whether losing everything below this path means losing the system or a home."""
    path = normal(_EVERYTHING_IN.sub("/", text))
    if path in ("/", "~") or re.fullmatch(r"~[\w.-]*", path):
        return True
    parts = path.split("/")
    if len(parts) == 2 and not parts[0]:
        return parts[1] in _SYSTEM or any(c in parts[1] for c in "*?[{")
    return len(parts) == 3 and parts[1] in ("home", "Users") and not parts[0]


def is_device(text: str) -> bool:
    """Whether it is a disk, memory, or another device whose content would be destroyed by writing."""
    return _DEVICE.match(normal(text)) is not None


def is_outside(text: str) -> bool:
    """Whether it leads out of the working directory, other than to scratch space or `/dev/null`."""
    path = normal(text)
    if _SCRATCH.match(path):
        return False
    return path[:1] in ("/", "~") or path == ".." or path.startswith("../")
