"""The syntax tree's nodes: their text, their order, and the words they stand for."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from core.safety.shell.words import Word

_SPREADS = re.compile(r"(?<!\\)(?:\\\\)*[*?\[{]")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
EXPANSIONS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution"}
    | {"arithmetic_expansion", "brace_expression", "ansi_c_string", "translated_string"}
)


def text_of(node: Node) -> str:
    """The node's part of the line."""
    return (node.text or b"").decode("utf-8", "replace")


def all_nodes(root: Node) -> Iterator[Node]:
    """Every node, in the order of the text; without recursion, for lines can be nested deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def word_of(node: Node) -> Word:
    """The word a node stands for."""
    text = text_of(node)
    match node.type:
        case "command_name":
            return word_of(node.children[0]) if node.children else Word(text)
        case "raw_string":
            return Word(text[1:-1])
        case "string":
            return _quoted(node, text[1:-1])
        case "concatenation":
            return _joined([word_of(child) for child in node.children])
        case kind if kind in EXPANSIONS:
            return Word(text, known=False, spread=True, substituted=_substitutes(node))
        case "array" | "regex" | "subscript":
            return Word(text, known=False)
        case _:
            spread = text.startswith("~") or _SPREADS.search(text) is not None
            known = not (spread and _BRACES.search(text))
            return Word(re.sub(r"\\(.)", r"\1", text), known=known, spread=spread)


def _quoted(node: Node, inside: str) -> Word:
    expands = any(child.type in EXPANSIONS for child in node.children)
    text = re.sub(r'\\([$`"\\])', r"\1", inside)
    return Word(text, known=not expands, substituted=_substitutes(node))


def _joined(parts: list[Word]) -> Word:
    text = "".join(part.text for part in parts)
    spread = any(part.spread for part in parts)
    return Word(
        text,
        known=all(part.known for part in parts) and not (spread and _BRACES.search(text)),
        spread=spread,
        substituted=any(part.substituted for part in parts),
    )


def _substitutes(node: Node) -> bool:
    return any(one.type in ("command_substitution", "process_substitution") for one in all_nodes(node))
