"""The parts that parsers of all markups share: building plain text with entities in UTF-16 offsets."""

from typing import Any

from tests.simulators.telegram.utf16 import utf16_length

Entity = dict[str, Any]


class Builder:
    """Plain text that grows, and entities over it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._entities: list[Entity] = []
        self.offset = 0

    def add(self, text: str) -> None:
        """Appends plain text."""
        self._parts.append(text)
        self.offset += utf16_length(text)

    def since(self, offset: int) -> str:
        """The text after an offset."""
        return "".join(self._parts).encode("utf-16-le")[2 * offset :].decode("utf-16-le")

    def mark(self, kind: str, start: int, **extra: Any) -> None:
        """An entity from an offset to the end of the text; empty ones are left out."""
        if self.offset > start:
            self._entities.append({"type": kind, "offset": start, "length": self.offset - start, **extra})

    def link(self, start: int, url: str) -> None:
        """A link, a mention by id (``tg://user?id=``) or, for no usable address, nothing."""
        prefix = "tg://user?id="
        if url.lower().startswith(prefix) and url[len(prefix) :].isdigit():
            self.mark("text_mention", start, user={"id": int(url[len(prefix) :])})
        elif checked := checked_link(url):
            self.mark("text_link", start, url=checked)

    def result(self) -> tuple[str, list[Entity]]:
        """The text and its entities in order."""
        return "".join(self._parts), sorted(self._entities, key=lambda e: (e["offset"], -e["length"]))


def checked_link(url: str) -> str:
    """A link as the platform stores it; empty if it takes none of it."""
    url = url.strip()
    scheme, separator, rest = url.partition("://")
    if separator:
        host = rest.partition("/")[0]
        if scheme.lower() not in {"http", "https", "ftp", "tg", "ton"} or not host:
            return ""
        return url if "/" in rest or scheme.lower() in {"tg", "ton"} else f"{url}/"
    host = url.partition("/")[0]
    if "." not in host.strip(".") or any(char.isspace() for char in host):
        return ""
    return f"http://{url}" if "/" in url else f"http://{url}/"


def byte_offset(text: str, position: int) -> int:
    """The UTF-8 offset of a position, as the platform's errors count."""
    return len(text[:position].encode("utf-8", "surrogatepass"))
