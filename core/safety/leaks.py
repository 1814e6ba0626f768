"""Credentials in text: found on the way in, on the way out, and in what tools return.

Two kinds are found: values the hub itself was given (its configuration's), and what has the unmistakable
shape of a token or a private key. Ordinary words, numbers and hashes have no such shape and are left alone. A
text without any of the letters that such shapes begin with is passed on after one look; the shapes are
compiled when a text first needs them.
"""

import base64
import functools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

REMOVED = "[REDACTED]"
SHORTEST_KNOWN = 8
"""Shorter values of the configuration would tear holes into ordinary words."""

_IN_A_WORD = frozenset(string.digits + string.ascii_letters + "!#$%&*+-./:=?@^_~")
"""What a credential may consist of. Where a text's last word has only these, it may not be over yet."""
_WORD_CHARS = "".join(sorted(_IN_A_WORD))
_SHAPES = (
    ("private-key", "PRIVATE", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?P<key>[\s\S]*?)(?=-----END|\Z)"),
    ("private-key", "AGE-SECRET", r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    ("api-key", "sk-", r"\bsk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}"),
    ("payment-key", "k_live_ k_test_", r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("repository-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{30,}"),
    ("repository-token", "github_pat_ glpat-", r"\bgithub_pat_\w{40,}|\bglpat-[A-Za-z0-9_-]{20,}"),
    ("cloud-key", "AKIA ASIA", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("cloud-key", "AIza ya29.", r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}"),
    ("cloud-key", "dop_v1_", r"\bdop_v1_[a-f0-9]{40,}"),
    ("workspace-token", "xox xapp-", r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}"),
    ("bot-token", ":AA", r"(?<![A-Za-z0-9])\d{6,12}:AA[A-Za-z0-9_-]{30,}"),
    ("bot-token", ".", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    ("mail-key", "SG.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("phone-key", "SK", r"\bSK[0-9a-f]{32}\b"),
    ("package-token", "npm_ pypi-", r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{40,}"),
    ("model-token", "gsk_ hf_", r"\bgsk_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}"),
    ("signed-token", "eyJ", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    ("bearer-token", "earer", r"(?<=[Bb]earer )(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{20,}"),
    ("login", "asic", r"(?<=[Bb]asic )(?=[A-Za-z+/]*[\d=])[A-Za-z0-9+/]{16,}={0,2}"),
    ("login", "://", r"(?<=://)[A-Za-z0-9._~%+-]{0,64}:[A-Za-z0-9!#$%&*+._~^=-]{3,}(?=@)"),
    ("login", "://", r"(?<=://)(?=[A-Za-z._~%+-]*\d)[A-Za-z0-9._~%+-]{20,}(?=@)"),
    (
        "service-token",
        "whsec_ hvs. dckr_pat_ shpat_ xai- r8_ lin_api_ ATATT3 glsa_",
        r"\b(?:whsec_|hvs\.|dckr_pat_|shpat_|xai-|r8_|lin_api_|ATATT3|glsa_)(?=[A-Za-z+/=_-]*\d)[\w+/=-]{20,}",
    ),
    (
        "header",
        "pi-key pi-Key PI-KEY th-token th-Token TH-TOKEN te-token te-Token TE-TOKEN",
        r"(?i)(?:api-key|auth-token|private-token)[\"']?[:=] {0,4}[\"']?"
        r"(?P<key>(?=[a-z._~+/=-]*\d)[\w.~+/=-]{16,})",
    ),
    ("webhook", "/services/T", r"/services/(?P<key>T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,})"),
    ("webhook", "/api/webhooks/", r"/api/webhooks/\d{15,}/(?P<key>[\w-]{40,})"),
)
"""What it is, what such a text always contains, and its shape (`key`: only that part of it)."""
_ANCHORED = tuple((kind, tuple(anchors.split()), shape) for kind, anchors, shape in _SHAPES)
_ANCHORS = tuple({anchor for _, anchors, _ in _ANCHORED for anchor in anchors if anchor not in {".", "://"}})
_DOTTED = re.compile(r"\.[A-Za-z0-9_-]{6}\.")
_SHORTEST_DOTTED = 59
_CONTEXT_CHARS = 64
"""More than any shape looks back."""
_SHORTEST_ENCODED = 12
"""Bytes; of shorter ones too few letters are their own."""
_LONG_ENOUGH_TO_CUT = 1024


@dataclass(frozen=True, slots=True)
class Leak:
    """A credential in a text: where it is, and what it looks like (`known`: a value of the hub's own)."""

    start: int
    end: int
    kind: str


class LeakDetector:
    """Finds credentials. `known`: values the hub was given, whatever they look like."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known: tuple[str, ...] = ()
        self.learn(known)

    def learn(self, known: Iterable[str]) -> None:
        """Find these as well from now on."""
        distinct = {*self._known, *(one for one in known if len(one) >= SHORTEST_KNOWN)}
        self._known = tuple(sorted(distinct, key=len, reverse=True))
        self._encoded = tuple({one for known in self._known for one in _encodings(known)})
        self._shortest_encoded = min(map(len, self._encoded), default=0)
        self._odd = tuple(one for one in self._known if not _IN_A_WORD.issuperset(one))
        self._anchors = (*_ANCHORS, *self._known)

    def find(self, text: str) -> tuple[Leak, ...]:
        """All of them, in order, none overlapping; () for nearly every text."""
        if not self._may_contain(text):
            return ()
        kept: list[Leak] = []
        for leak in sorted(self._matches(text), key=lambda leak: (leak.start, -leak.end)):
            if not kept or leak.start >= kept[-1].end:
                kept.append(leak)
        return tuple(kept)

    def redacted(self, text: str) -> str:
        """The text without them."""
        leaks = self.find(text)
        return replaced(text, leaks, lambda _: REMOVED) if leaks else text

    def settled(self, text: str) -> int:
        """How much of a text that is still being written can become part of a credential no more: all but
        its last word."""
        end = len(text.rstrip(_WORD_CHARS))
        for one in self._odd:
            lengths = range(min(len(one) - 1, len(text)), 0, -1)
            begun = next((length for length in lengths if text.endswith(one[:length])), 0)
            end = min(end, len(text) - begun)
        return end

    def _may_contain(self, text: str) -> bool:
        if any(map(text.__contains__, self._anchors)):
            return True
        if len(text) >= self._shortest_encoded and any(map(text.__contains__, self._encoded)):
            return True
        if "://" in text and "@" in text:  # most addresses have nobody's login in them
            return True
        return len(text) >= _SHORTEST_DOTTED and _DOTTED.search(text) is not None

    def _matches(self, text: str) -> Iterator[Leak]:
        for one in (*self._known, *self._encoded):
            for match in re.finditer(re.escape(one), text):
                yield Leak(match.start(), match.end(), "known")
        for kind, anchors, shape in _ANCHORED:
            if not any(map(text.__contains__, anchors)):
                continue
            for match in _compiled(shape).finditer(text):
                start, end = match.span("key" if "key" in match.re.groupindex else 0)
                if end > start:
                    yield Leak(start, end, kind)


def _encodings(known: str) -> Iterator[str]:
    """How a value is written where it is hidden or packed: in base64, wherever it begins in what is encoded;
    in hexadecimal digits; for an address."""
    raw = known.encode("utf-8", "surrogatepass")
    if len(raw) < _SHORTEST_ENCODED:
        return
    yield from (raw.hex(), raw.hex().upper())
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        # Letters that stand also for what is before or behind it are not its own.
        own = whole[-(-before * 4 // 3) : len(whole) if (before + len(raw)) % 3 == 0 else len(whole) - 1]
        yield from {own, own.replace("+", "-").replace("/", "_")}
    if (quoted := quote(known, safe="", errors="surrogatepass")) != known:
        yield quoted


@functools.cache
def _compiled(shape: str) -> re.Pattern[str]:
    return re.compile(shape, re.ASCII)


def replaced(text: str, leaks: Iterable[Leak], by: Callable[[Leak], str]) -> str:
    """The text with something else in the place of each leak."""
    pieces: list[str] = []
    at = 0
    for leak in leaks:
        pieces += [text[at : leak.start], by(leak)]
        at = leak.end
    return "".join([*pieces, text[at:]])


class RedactedStream:
    """A text that comes in pieces, told without credentials: its last word is held back until it is over.

    What was told is never changed: all that is told, put together, is `LeakDetector.redacted` of the whole.
    """

    def __init__(self, detector: LeakDetector) -> None:
        self._detector = detector
        self._text = ""
        self._told_of_it = 0
        self.told_chars = 0

    def add(self, piece: str) -> str:
        """The next piece; returns what can be told because of it (may be empty)."""
        self._text += piece
        return self._tell(self._detector.settled(self._text))

    def rest(self) -> str:
        """What is left when the text is over."""
        return self._tell(len(self._text))

    def _tell(self, settled: int) -> str:
        leaks = self._detector.find(self._text)
        for leak in leaks:
            if leak.start < settled < leak.end:
                settled = leak.start
        whole = [leak for leak in leaks if leak.end <= settled]
        clean = replaced(self._text[:settled], whole, lambda _: REMOVED)
        new = clean[self._told_of_it :]
        self._told_of_it += len(new)
        self.told_chars += len(new)
        self._forget(settled - _CONTEXT_CHARS, leaks)
        return new

    def _forget(self, border: int, leaks: Sequence[Leak]) -> None:
        """Drop what no shape can look back to any more, so that each piece is looked at in a short text."""
        if border > _LONG_ENOUGH_TO_CUT and (not leaks or leaks[-1].end <= border):
            self._text, self._told_of_it = self._text[border:], _CONTEXT_CHARS
