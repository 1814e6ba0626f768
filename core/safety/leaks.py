"""Secrets in text: found in input, in output, and in tool results.

Two kinds are found: values from the hub's own configuration, and texts with the unmistakable shape of a
token or a private key. Ordinary words, numbers and hashes have no such shape. A text without any of the
letters that such shapes begin with passes after one look; the shapes are compiled when a text first needs
them.
"""

import base64
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from urllib.parse import quote

from core.lazy import dataclass
from core.safety.linear_patterns import as_bytes, byte_pattern

REMOVED = "[REDACTED]"
KNOWN = "known"
"""The kind of leaks that are values the hub was given."""
SHORTEST_KNOWN = 8
"""Shorter configured values would cut holes into ordinary words."""

_IN_A_WORD = frozenset(string.digits + string.ascii_letters + "!#$%&*+-./:=?@^_~")
"""The characters of secrets. A text's last word of only these may continue."""
_WORD_CHARS = "".join(sorted(_IN_A_WORD))


@dataclass(frozen=True, slots=True)
class Leak:
    """A credential in a text: its position, and its kind (`known`: a value of the hub's own)."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Shape:
    """A shape: the texts it always contains, and its RE2 pattern.

    The secret is group 1, or the whole match without groups; it counts only if one of the bytes `needs` is
    in the last
    group.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    needs: bytes
    groups: int

    def find(self, text: bytes) -> Iterator[Leak]:
        """Yield each match in the text. After a match, the search goes back as far as the introduction of
        the next may overlap it."""
        search, at, done = byte_pattern(self.pattern).search, 0, 0
        while (match := search(text, at)) is not None:
            start, end = match.span(min(self.groups, 1))
            at = match.span(0)[0] + 1
            if start < done:
                continue
            if end > start and self._has_what_it_needs(text, *match.span(self.groups)):
                yield Leak(start, end, self.kind)
                done = end
            at = max(at, end - _LONGEST_INTRODUCTION)

    def _has_what_it_needs(self, text: bytes, start: int, end: int) -> bool:
        return not self.needs or len(text[start:end].translate(None, self.needs)) < end - start


def _shape(kind: str, anchors: str, pattern: str, needs: bytes = b"") -> _Shape:
    return _Shape(kind, tuple(anchors.split()), pattern, needs, pattern.count("(") - pattern.count("(?"))


_LONGEST_INTRODUCTION = 20
"""Characters before a shape's credential that may also end the previous credential."""
_DIGITS = b"0123456789"
_SHAPES = (
    _shape(
        "private-key",
        "PRIVATE",
        r"(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(.*?)(?:-----END|\z)",
    ),
    _shape("private-key", "AGE-SECRET", r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    _shape("api-key", "sk-", r"\bsk-[A-Za-z0-9_-]{20,}", _DIGITS),
    _shape("payment-key", "k_live_ k_test_", r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _shape("repository-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{30,}"),
    _shape("repository-token", "github_pat_ glpat-", r"\bgithub_pat_\w{40,}|\bglpat-[A-Za-z0-9_-]{20,}"),
    _shape("cloud-key", "AKIA ASIA", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _shape("cloud-key", "AIza ya29.", r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}"),
    _shape("cloud-key", "dop_v1_", r"\bdop_v1_[a-f0-9]{40,}"),
    _shape(
        "workspace-token",
        "xox xapp-",
        r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",
    ),
    _shape("bot-token", ":AA", r"(?:^|[^A-Za-z0-9])([0-9]{6,12}:AA[A-Za-z0-9_-]{30,})"),
    _shape("bot-token", ".", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    _shape("mail-key", "SG.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shape("phone-key", "SK", r"\bSK[0-9a-f]{32}\b"),
    _shape("package-token", "npm_ pypi-", r"\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{40,}"),
    _shape("model-token", "gsk_ hf_", r"\bgsk_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}"),
    _shape(
        "signed-token",
        "eyJ",
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    ),
    _shape("bearer-token", "earer", r"[Bb]earer ([A-Za-z0-9._~+/=-]{20,})", _DIGITS),
    _shape("login", "asic", r"[Bb]asic ([A-Za-z0-9+/]{16,}={0,2})", _DIGITS + b"="),
    _shape("login", "://", r"://([A-Za-z0-9._~%+-]{0,64}:[A-Za-z0-9!#$%&*+._~^=-]{3,})@"),
    _shape("login", "://", r"://([A-Za-z0-9._~%+-]{20,})@", _DIGITS),
    _shape(
        "service-token",
        "whsec_ hvs. dckr_pat_ shpat_ xai- r8_ lin_api_ ATATT3 glsa_",
        r"\b((?:whsec_|hvs\.|dckr_pat_|shpat_|xai-|r8_|lin_api_|ATATT3|glsa_)([\w+/=-]{20,}))",
        _DIGITS,
    ),
    _shape(
        "header",
        "pi-key pi-Key PI-KEY th-token th-Token TH-TOKEN te-token te-Token TE-TOKEN",
        r"(?i)(?:api-key|auth-token|private-token)[\"']?[:=] {0,4}[\"']?([\w.~+/=-]{16,})",
        _DIGITS,
    ),
    _shape("webhook", "/services/T", r"/services/(T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,})"),
    _shape("webhook", "/api/webhooks/", r"/api/webhooks/[0-9]{15,}/([\w-]{40,})"),
)
_ANCHORS = tuple({anchor for one in _SHAPES for anchor in one.anchors if anchor not in {".", "://"}})
_RISING = ")(\"zqjx_=YKJVUGWFBHLRODNPMECSTAI'/:9876543201-,.kvbywgpfmucdlhrsnioate "
"""Characters by their frequency in texts; all others are rarer."""
_DOTTED_CHARS = 6
"""Length between the two dots of a bot token."""
_SHORTEST_DOTTED = 59
_CONTEXT_CHARS = 64
"""Longer than any shape looks back."""
_SHORTEST_ENCODED = 12
"""Length in bytes; of a shorter value too few encoded letters are its own."""
_LONG = 256
"""Length of a stream, in characters, from which sent text is dropped."""
_KEY_ENDS = "-----END"


class LeakDetector:
    """Detector of credentials. `known`: values the hub was given, of any form."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known: tuple[str, ...] = ()
        self._kinds: dict[str, str] = {}
        self.learn(known)

    def learn(self, known: Iterable[str], kind: str = KNOWN) -> None:
        """Add known values. `kind`: of the leaks they are found as."""
        known = tuple(known)
        if kind != KNOWN:
            self._kinds.update(dict.fromkeys(known, kind))
        distinct = {*self._known, *(one for one in known if len(one) >= SHORTEST_KNOWN)}
        self._known = tuple(sorted(distinct, key=len, reverse=True))
        self._encoded = tuple({one for known in self._known for one in _encodings(known)})
        self._shortest_encoded = min(map(len, self._encoded), default=0)
        self._odd = tuple(one for one in self._known if not _IN_A_WORD.issuperset(one))
        anchors = (*_ANCHORS, *self._known)
        self._anchors = _by_rarest(anchors)
        self._anchors_and_encoded = _by_rarest((*anchors, *self._encoded))

    def find(self, text: str) -> tuple[Leak, ...]:
        """Return all credentials, in order, without overlap; () for nearly every text."""
        if not self._may_contain(text):
            return ()
        kept: list[Leak] = []
        for leak in sorted(self._matches(text), key=lambda leak: (leak.start, -leak.end)):
            if not kept or leak.start >= kept[-1].end:
                kept.append(leak)
        return tuple(kept)

    def redacted(self, text: str) -> str:
        """Return the text without credentials."""
        leaks = self.find(text)
        return replaced(text, leaks, lambda _: REMOVED) if leaks else text

    def settled(self, text: str) -> int:
        """Return the length of an unfinished text that can no longer become part of a secret: all but its
        last word."""
        end = len(text.rstrip(_WORD_CHARS))
        return min([end, *(_begins_at_end(one, text) for one in self._odd)])

    def _may_contain(self, text: str) -> bool:
        wanted = self._anchors if len(text) < self._shortest_encoded else self._anchors_and_encoded
        for rare, anchors in wanted:  # loops are the fastest: nearly every text contains none of them
            if rare in text:
                for one in anchors:
                    if one in text:
                        return True
        if "://" in text and "@" in text:  # most addresses have no login in them
            return True
        if len(text) < _SHORTEST_DOTTED or text.count(".") < 2:
            return False
        return _DOTTED_CHARS in map(len, text.split(".")[1:-1])

    def _matches(self, text: str) -> Iterator[Leak]:
        for one in (*self._known, *self._encoded):
            at = -len(one)
            while (at := text.find(one, at + len(one))) >= 0:
                yield Leak(at, at + len(one), self._kinds.get(one, KNOWN))
        data = as_bytes(text)
        for shape in _SHAPES:
            if any(map(text.__contains__, shape.anchors)):
                yield from shape.find(data)


def _by_rarest(anchors: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the anchors by a character of each that few texts contain."""
    grouped: dict[str, list[str]] = {}
    for one in anchors:
        grouped.setdefault(min(one, key=_RISING.find), []).append(one)
    return tuple((rare, tuple(some)) for rare, some in grouped.items())


def _begins_at_end(one: str, text: str) -> int:
    """Return where the text's end is the beginning of `one`, or the end itself."""
    at = max(len(text) - len(one) + 1, 0)
    while (at := text.find(one[0], at)) >= 0:
        if one.startswith(text[at:]):
            return at
        at += 1
    return len(text)


def _encodings(known: str) -> Iterator[str]:
    """Yield the encodings of a value: base64 at every offset, hexadecimal, percent-encoded."""
    raw = known.encode("utf-8", "surrogatepass")
    if len(raw) < _SHORTEST_ENCODED:
        return
    yield from (raw.hex(), raw.hex().upper())
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        # Letters that also encode neighboring bytes are not the value's own.
        own = whole[-(-before * 4 // 3) : len(whole) if (before + len(raw)) % 3 == 0 else len(whole) - 1]
        yield from {own, own.replace("+", "-").replace("/", "_")}
    if (quoted := quote(known, safe="", errors="surrogatepass")) != known:
        yield quoted


def replaced(text: str, leaks: Iterable[Leak], by: Callable[[Leak], str]) -> str:
    """Return the text with a replacement for each leak."""
    pieces: list[str] = []
    at = 0
    for leak in leaks:
        pieces += [text[at : leak.start], by(leak)]
        at = leak.end
    return "".join([*pieces, text[at:]])


class RedactedStream:
    """A text that arrives in pieces, passed on without secrets: its last word is held back until it is
    complete.

    Text that was passed on never changes: put together, it is `LeakDetector.redacted` of the whole. Each
    search covers a
    short text: passed-on text is dropped except for what a shape looks back to, a word that continues is
    searched when
    it ends, and a private key without an end only when it has grown by a quarter.
    """

    def __init__(self, detector: LeakDetector) -> None:
        self._detector = detector
        self._text = ""
        self._told_of_it: int = 0
        self._pieces: list[str] = []
        self._pieces_chars = 0
        self._tail = ""
        self._look_at_chars = 0
        self.told_chars = 0
        self.found = False
        """Whether a secret was found."""

    def add(self, piece: str) -> str:
        """Add the next piece; return the text it releases (may be empty)."""
        due = self._is_due(piece)
        self._pieces.append(piece)
        self._pieces_chars += len(piece)
        self._tail = (self._tail + piece)[-2 * len(_KEY_ENDS) :]
        if not due:
            return ""
        self._join()
        return self._tell(self._detector.settled(self._text), len(self._text))

    def look_chars(self, piece: str = "") -> int:
        """Return the number of characters to search if this piece comes, or if the text ends."""
        return self._held_chars(piece) if not piece or self._is_due(piece) else 0

    def _held_chars(self, piece: str) -> int:
        return len(self._text) + self._pieces_chars + len(piece)

    def _is_due(self, piece: str) -> bool:
        """Return whether text may be passed on once this piece is there."""
        if not piece.rstrip(_WORD_CHARS):  # the last word continues
            return False
        return self._held_chars(piece) >= self._look_at_chars or _KEY_ENDS in self._tail + piece

    def rest(self) -> str:
        """Return the rest when the text ends."""
        self._join()
        return self._tell(len(self._text), len(self._text) + 1)

    def _join(self) -> None:
        self._text += "".join(self._pieces)
        self._pieces.clear()
        self._pieces_chars = 0

    def _tell(self, settled: int, open_end: int) -> str:
        """Release the text up to `settled`, except the beginning of an unfinished leak: one that reaches
        farther, or to `open_end`."""
        told = self._told_of_it
        if settled <= told:
            return ""
        leaks = [leak for leak in self._detector.find(self._text) if leak.end > told]
        self.found = self.found or bool(leaks)
        begun = (
            leak.start for leak in leaks if leak.start < settled and leak.end >= min(settled + 1, open_end)
        )
        border = max(next(begun, settled), told)
        new = self._clean(told, border, leaks)
        self.told_chars += len(new)
        is_long = len(self._text) > _LONG
        self._look_at_chars = len(self._text) * 5 // 4 if border < settled and is_long else 0
        self._told_of_it = border
        if border - _CONTEXT_CHARS > _LONG:
            self._text, self._told_of_it = self._text[border - _CONTEXT_CHARS :], _CONTEXT_CHARS
        return new

    def _clean(self, start: int, end: int, leaks: Iterable[Leak]) -> str:
        """Return the text between two positions, without the leaks between them."""
        within = (
            replace(leak, start=leak.start - start, end=leak.end - start)
            for leak in leaks
            if start <= leak.start and leak.end <= end
        )
        return replaced(self._text[start:end], within, lambda _: REMOVED)
