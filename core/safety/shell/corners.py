"""Corners in which the grammar reads a line differently from bash, without noticing: all refused.

Each was found by letting bash run what the grammar had read (see the tests) and is kept as narrow as is
safe.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from tree_sitter import Node

from core.safety.shell.nodes import text_of

_HIDES_SUBSTITUTION: dict[str, re.Pattern[str]] = {
    "word": re.compile(r"(?<!\\)(?:[$<>]\(|`|[ \t])|\n"),
    "regex": re.compile(r"[$<>]\(|`"),
    "extglob_pattern": re.compile(r"[$<>]\(|`"),
    "string_content": re.compile(r"(?<!\\)(?:\\\\)*(?:\$\(|`)"),
}
"""Texts the grammar takes as one piece although bash would find a substitution in them."""
_SIMPLE_DELIMITER = re.compile(r"(?P<quote>['\"]?)[A-Za-z_][\w-]*(?P=quote)")
_NOT_BLANK = re.compile(rb"[^ \t\n\\]|\\(?!\n)")
_ENDS_OR_NOT_BLANK = re.compile(rb"(?<!\\)\n|[^ \t\n\\]|\\(?!\n)")
_ON_ONE_LINE = frozenset(
    {"command", "redirected_statement", "declaration_command", "unset_command", "file_redirect"}
    | {"variable_assignments", "concatenation", "negated_command", "herestring_redirect"}
)
_WITHOUT_GAPS = frozenset(
    {"program", "command", "redirected_statement", "list", "pipeline", "subshell", "compound_statement"}
    | {"concatenation", "do_group", "if_statement", "while_statement", "for_statement", "case_statement"}
    | {"case_item", "command_substitution", "process_substitution", "declaration_command", "negated_command"}
    | {"test_command", "unary_expression", "binary_expression", "file_redirect", "elif_clause", "else_clause"}
    | {"function_definition", "array", "variable_assignment", "variable_assignments", "unset_command"}
    | {"herestring_redirect", "heredoc_redirect"}
)
_BEFORE_COMMENT = (b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")


def problems_in(node: Node) -> Iterator[str]:
    """What makes this node, not those below it, unreliable."""
    hidden = _HIDES_SUBSTITUTION.get(node.type)
    if hidden is not None and hidden.search(text_of(node)):
        yield "it hides a substitution"
    if node.type in _WITHOUT_GAPS and _has_gap(node):
        yield "part of it can't be read"
    check = _CHECKS.get(node.type)
    if check is not None and check(node):
        yield f"its {node.type.replace('_', ' ')} can't be read for certain"


def _mixes_backticks(node: Node) -> bool:
    text = text_of(node)
    return text.startswith("`") and ("\\" in text or text.count("`") > 2)


def _is_no_comment(node: Node) -> bool:
    """A `#` in the middle of a word begins no comment."""
    line = node.parent
    while line is not None and line.start_byte == node.start_byte:
        line = line.parent
    before = b"" if line is None else (line.text or b"")[: node.start_byte - line.start_byte]
    return bool(before) and before[-1:] not in _BEFORE_COMMENT


def _is_odd_descriptor(node: Node) -> bool:
    """`-a2>f` is the word `-a2`, not a descriptor."""
    return not text_of(node).isdecimal()


def _closes_and_goes_on(node: Node) -> bool:
    """`>&-2` closes, and `2` is a word of its own."""
    return re.search(r"&-.", text_of(node)) is not None


def _is_within_more(here: Node) -> bool:
    """Whether the substitution a here document stands in runs anything beside its command.

    Bash 5.2 writes substitutions anew before it runs them, and loses a `;` behind here documents then.
    """
    node = here
    while (outer := node.parent) is not None:
        if outer.type in ("command_substitution", "process_substitution"):
            return node.type != "redirected_statement" or outer.named_child_count != 1
        node = outer
    return False


def _is_odd_here_document(node: Node) -> bool:
    """Odd delimiters, backticks in the text, and words the text's first lines were taken for."""
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    if start is None:
        return True
    delimiter = _SIMPLE_DELIMITER.fullmatch(text_of(start))
    if delimiter is None or (not delimiter.group("quote") and "`" in text_of(node)):
        return True
    if _is_within_more(node):
        return True
    body = (node.text or b"").find(b"\n", start.end_byte - node.start_byte) + node.start_byte
    return any(
        word.start_byte == start.end_byte or word.start_byte > body
        for word in node.children_by_field_name("argument")
    )


_CHECKS: dict[str, Callable[[Node], bool]] = {
    "command_substitution": _mixes_backticks,
    "comment": _is_no_comment,
    "file_redirect": _closes_and_goes_on,
    "file_descriptor": _is_odd_descriptor,
    "heredoc_redirect": _is_odd_here_document,
}


def _has_gap(node: Node) -> bool:
    """Whether the grammar passed over anything but blanks between a node's parts; or, where a line's end
    would have begun another command, over that."""
    whole = node.text or b""
    overlooked = _ENDS_OR_NOT_BLANK if node.type in _ON_ONE_LINE else _NOT_BLANK
    return any(
        overlooked.search(whole[before.end_byte - node.start_byte : after.start_byte - node.start_byte])
        for before, after in pairwise(node.children)
    )
