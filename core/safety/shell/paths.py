"""What a path in a command line stands for: credentials, devices, the system, somebody's home."""

import posixpath
import re
from fnmatch import fnmatchcase
from itertools import pairwise

from core.safety.credential_names import names_credentials

_HOME = re.compile(r"^(?:\$\{HOME\}|\$HOME|~[\w.-]*)(?=/|$)")
_SECRET_PLACES = re.compile(
    r"/etc/(?:shadow|gshadow|sudoers|ssl/private|ssh/)|/proc/[^/\s]+/(?:environ|mem|fd|root|cwd|maps|stack)\b"
)
_BETWEEN_PATHS = re.compile(r"""[\s"'`=:,;()<>@|{}]+""")
_CODE = re.compile(r"[\s()|;{}]")
_ONLY_A_SUFFIX = re.compile(r"\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)")
_GLOB = re.compile(r"[*?\[]")
_WELL_KNOWN = (
    ".env",
    ".ssh",
    ".aws",
    ".kube",
    ".gnupg",
    ".netrc",
    ".npmrc",
    ".pypirc",
    "id_rsa",
    "id_ed25519",
)
_GIT_RUNS = re.compile(r"(?:^|[/=])\.git(?:/(?:modules/.+/)?(?:hooks|config|info/attributes).*)?/?$")
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
    """Whether a word names a place where secrets lie; it may be a path, `option=path`, or code."""
    if _SECRET_PLACES.search(text):
        return True
    code = _CODE.search(text) is not None
    return any(_leads_to_credentials(token, code) for token in _BETWEEN_PATHS.split(text))


def _leads_to_credentials(token: str, code: bool) -> bool:
    """`code`: the token is part of a program's text, where `d.key` is no file."""
    parts = token.split("/")
    if code and len(parts) == 1 and not token.startswith("."):
        return False
    return any(
        (names_credentials(part, folder) and not _ONLY_A_SUFFIX.fullmatch(part)) or _finds_well_known(part)
        for folder, part in pairwise(["", *parts])
    )


def _finds_well_known(part: str) -> bool:
    """Whether a pattern with some letters in it matches a well-known name: `.en*`, `id_r??`."""
    letters = len(re.sub(r"\[[^\]]*\]|[*?]", "", part))
    if letters < 2 or not _GLOB.search(part):
        return False
    return any(fnmatchcase(name, part) for name in _WELL_KNOWN)


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


def runs_by_git(text: str) -> bool:
    """Whether what stands there is run, or named to be run, by the next git command."""
    return _GIT_RUNS.search(text) is not None


def is_outside(text: str) -> bool:
    """Whether it leads out of the working directory, other than to scratch space or `/dev/null`."""
    path = normal(text)
    if _SCRATCH.match(path):
        return False
    return path[:1] in ("/", "~") or path == ".." or path.startswith("../")
