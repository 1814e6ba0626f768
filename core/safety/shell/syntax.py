"""A command line, parsed by bash's grammar into the simple commands it may run.

All commands are found, wherever they stand: in pipelines, conditions, functions, substitutions and here
documents. What the grammar can't read for certain is named as a problem, never guessed: the grammar
recovers from errors by inventing, and differs from bash in corners which are refused here.
"""

import functools
import re
from dataclasses import dataclass, field
from itertools import pairwise

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from core.safety.shell.corners import problems_in
from core.safety.shell.nodes import EXPANSIONS, all_nodes, text_of, word_of
from core.safety.shell.parsed import Assignment, ParsedLine, Redirect, SimpleCommand
from core.safety.shell.words import Word

LENGTH_LIMIT = 4096
"""Characters; the parser's time grows with the square of the length on hostile input."""
_NESTING_LIMIT = 100
"""Of each construct the parser is slow on."""
_SLOW_ON = ("|", "$[", "=(", "()", "<<", "${", "$((")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_WORDS = frozenset({"word", "raw_string", "string", "concatenation", "number", "array", "regex"}) | EXPANSIONS
_STRUCTURE = frozenset(
    {"program", "list", "pipeline", "redirected_statement", "subshell", "compound_statement", "comment"}
    | {"if_statement", "elif_clause", "else_clause", "for_statement", "c_style_for_statement", "do_group"}
    | {"while_statement", "case_statement", "case_item", "function_definition", "negated_command"}
    | {"test_command", "unary_expression", "binary_expression", "ternary_expression", "postfix_expression"}
    | {"parenthesized_expression", "test_operator", "extglob_pattern", "command", "command_name"}
    | {"variable_assignment", "variable_assignments", "variable_name", "special_variable_name"}
    | {"subscript", "declaration_command", "unset_command", "string_content", "file_redirect"}
    | {"file_descriptor", "heredoc_redirect", "heredoc_start", "heredoc_body", "heredoc_content"}
    | {"heredoc_end", "herestring_redirect"}
)
_KNOWN = _WORDS | _STRUCTURE


@functools.cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


def readings(line: str) -> tuple[str, ...]:
    """The texts to be parsed for one line: as it is, and with its lines joined at backslashes.

    The grammar separates words at an escaped line end where the shell joins them, except in comments
    and quoted here documents, where the shell doesn't. Both are looked at; the worse counts.
    """
    line = line.replace("\r\n", "\n")
    joined = _CONTINUATION.sub(r"\1", line)
    return (line,) if joined == line else (line, joined)


def parse(line: str) -> ParsedLine:
    """Parse one reading of a line; never raises."""
    if len(line) > LENGTH_LIMIT or any(line.count(token) > _NESTING_LIMIT for token in _SLOW_ON):
        return ParsedLine(problems=("it is too long or too deeply nested to be judged",))
    if _CONTROL.search(line):
        return ParsedLine(problems=("it contains control characters",))
    source = line.encode("utf-8", "replace")
    root = Parser(_language()).parse(source).root_node
    reader = _Reader()
    reader.read(root)
    alone = len(reader.commands) == 1 and not reader.assignments and _is_alone(root)
    return ParsedLine(
        commands=tuple(reader.commands),
        redirects=tuple(reader.redirects),
        assignments=tuple(reader.assignments),
        loose=tuple(reader.loose),
        here=tuple(reader.here),
        problems=tuple(reader.problems),
        bomb=reader.bomb,
        alone=alone,
    )


def _is_alone(root: Node) -> bool:
    """One command, possibly with redirects, nothing around it."""
    children = root.children
    if len(children) != 1:
        return False
    only = children[0]
    if only.type == "redirected_statement":
        only = only.child_by_field_name("body") or only
    return only.type == "command"


@dataclass
class _Reader:
    """Walks a syntax tree once."""

    commands: list[SimpleCommand] = field(default_factory=lambda: list[SimpleCommand]())
    redirects: list[Redirect] = field(default_factory=lambda: list[Redirect]())
    assignments: list[Assignment] = field(default_factory=lambda: list[Assignment]())
    loose: list[Word] = field(default_factory=lambda: list[Word]())
    here: list[str] = field(default_factory=lambda: list[str]())
    problems: list[str] = field(default_factory=lambda: list[str]())
    bomb: bool = False
    _strayed: set[int] = field(default_factory=lambda: set[int]())
    _claimed: set[int] = field(default_factory=lambda: set[int]())

    def read(self, root: Node) -> None:
        if root.has_error:
            self.problems.append("it can't be parsed")
        for node in all_nodes(root):
            if node.is_named and node.type not in _KNOWN and not node.is_error:
                self.problems.append("it uses syntax that isn't understood")
            self.problems += problems_in(node)
            self._read_one(node)
        if self._strayed - self._claimed:
            self.problems.append("it has words that belong to no command")

    def _read_one(self, node: Node) -> None:
        match node.type:
            case "command":
                self._read_command(node)
            case "declaration_command" | "unset_command":
                self._read_declaration(node)
            case "variable_assignment":
                self._read_assignment(node)
            case "file_redirect":
                self._read_redirect(node)
            case "herestring_redirect" | "heredoc_redirect":
                self._read_here(node)
            case "for_statement" | "array":
                self.loose.extend(word_of(child) for child in node.children if child.type in _WORDS)
            case "function_definition":
                self.bomb = self.bomb or _multiplies_itself(node)
            case _:
                pass

    def _read_command(self, node: Node) -> None:
        parts = [child for child in node.children if child.type not in _BESIDE_WORDS]
        strayed = [word for redirect in _redirects_after(node) for word in _strayed_words(redirect)]
        self._claimed.update(word.id for word in strayed)
        parts += strayed
        written = sorted([*parts, *_assignments(node)], key=lambda part: part.start_byte)
        if any(before.end_byte == after.start_byte for before, after in pairwise(written)):
            self.problems.append("its words can't be told apart")
        if any(_odd(part) for part in parts):
            self.problems.append("its quoting isn't understood")
        self.commands.append(SimpleCommand(tuple(word_of(part) for part in parts), _fed_by(node)))

    def _read_declaration(self, node: Node) -> None:
        words = [word_of(child) for child in node.children if child.type != "variable_assignment"]
        self.commands.append(SimpleCommand(tuple(words)))

    def _read_assignment(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        word = word_of(value) if value is not None else Word("")
        self.assignments.append(Assignment(text_of(name) if name is not None else "", word))
        self.loose.append(word)

    def _read_here(self, node: Node) -> None:
        self._strayed.update(word.id for word in _strayed_words(node))
        self.redirects.append(Redirect("<<", None))
        for child in node.children:
            if child.type == "heredoc_body":
                self.here.append(text_of(child))
            elif child.type in _WORDS and node.type == "herestring_redirect":
                self.here.append(word_of(child).text)

    def _read_redirect(self, node: Node) -> None:
        self._strayed.update(word.id for word in _strayed_words(node))
        operator = "".join(text_of(child) for child in node.children if not child.is_named)
        target = node.child_by_field_name("destination")
        word = word_of(target) if target is not None else None
        self.redirects.append(Redirect(operator, word, _redirected_words(node)))


_BESIDE_WORDS = frozenset({"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect"})


def _redirected_words(redirect: Node) -> tuple[Word, ...] | None:
    command = redirect.parent
    if command is not None and command.type == "redirected_statement":
        command = command.child_by_field_name("body")
        if command is None:
            return ()
    if command is None or command.type != "command":
        return None
    return tuple(word_of(child) for child in command.children if child.type not in _BESIDE_WORDS)


def _fed_by(command: Node) -> tuple[Word, ...] | None:
    """The words of what its input comes from through a pipe."""
    node, parent = command, command.parent
    while parent is not None and parent.type in ("redirected_statement", "negated_command"):
        node, parent = parent, parent.parent
    if parent is None or parent.type != "pipeline":
        return None
    before = [child for child in parent.named_children if child.end_byte <= node.start_byte]
    if not before:
        return None
    feeds = before[-1]
    return tuple(word_of(child) for child in feeds.children) if feeds.type == "command" else ()


def _strayed_words(redirect: Node) -> list[Node]:
    """Arguments that follow a redirect: the grammar hangs them on the redirect."""
    if redirect.type == "file_redirect":
        return redirect.children_by_field_name("destination")[1:]
    inner = [child for child in redirect.children if child.type == "file_redirect"]
    strayed = redirect.children_by_field_name("argument")
    return strayed + [word for one in inner for word in _strayed_words(one)]


def _redirects_after(command: Node) -> list[Node]:
    """Redirects of the statement this command is the last part of, and its own."""
    own = [child for child in command.children if child.type in ("file_redirect", "heredoc_redirect")]
    node = command
    while (parent := node.parent) is not None:
        if parent.type == "redirected_statement":
            after = [child for child in parent.children if child.start_byte >= command.end_byte]
            return own + [child for child in after if child.type in ("file_redirect", "heredoc_redirect")]
        if parent.type not in ("pipeline", "list", "negated_command") or parent.end_byte > node.end_byte:
            break
        node = parent
    return own


def _multiplies_itself(function: Node) -> bool:
    """A function that calls itself in a pipeline or in the background."""
    name = function.child_by_field_name("name")
    body = list(all_nodes(function))
    calls = [node for node in body if node.type == "command_name" and name and text_of(node) == text_of(name)]
    return bool(calls) and any(node.type in ("pipeline", "&") for node in body)


def _assignments(command: Node) -> list[Node]:
    return [child for child in command.children if child.type == "variable_assignment"]


def _odd(node: Node) -> bool:
    """What isn't a word to the grammar but is one to bash: `$"…"`, `==`, `=~`."""
    return not node.is_named or node.type == "regex"
