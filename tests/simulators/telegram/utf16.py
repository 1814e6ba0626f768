"""Text as the platform measures it: in UTF-16 code units."""


def utf16_length(text: str) -> int:
    """Length of a text in UTF-16 code units."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for char in text if ord(char) > 0xFFFF)


def utf16_slice(text: str, offset: int, length: int) -> str:
    """The part of a text an entity of this offset and length (in code units) covers."""
    if text.isascii():
        return text[offset : offset + length]
    return text.encode("utf-16-le", "surrogatepass")[2 * offset : 2 * (offset + length)].decode(
        "utf-16-le", "replace"
    )
