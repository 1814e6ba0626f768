"""Random command lines of three harmless programs, in all the ways bash has to run something."""

import random

PROGRAMS = ("alpha", "beta", "gamma")

_WORDS = (
    *("x", "-a", "yy", "a=b", "3", "~", "*", "E"),
    *("''", "'a b'", "'#'", "'$x'", "';'", "'\\'", "'`'", "'\"'"),
)
_ODD_WORDS = (
    *("\\\n", "#x", "#", "!", "==", "=~", "[", "]", "{", "}", "then", "-"),
    *("\\ ", "a\\;b", "{a,b}", "$'a\\'b'"),
)
_REDIRECTS = (">f", "<f", ">>f", "2>&1", "&>f", ">|f", "2>f", "<>f", ">&2", "<<<x", "-a2>f")
_JOINS = (";", "&&", "||", "|", "&", "\n", " ; ", " | ", " &\n", "|&")
_BETWEEN = (" # ", "#", "\n# ", "\\\n", " \\\n ", "\r\n")
_SOUP = (
    *(*PROGRAMS, *PROGRAMS, *PROGRAMS),
    *" \t\n;|&`\"'#(){}<>!=~*?[]$\\^%E-",
    *(
        "\\\n",
        "$(",
        "$((",
        "))",
        "${x}",
        '"$(',
        "<(",
        ">(",
        "{a,b}",
        "\\;",
        '\\"',
        "''",
        '""',
        " #",
        "\r",
        "\u00a0",
    ),
    *("<<E", "\nE\n", "<<'E'", "<<-E", "<<<", "2>&1", "&>f", "|&"),
    *("if ", "; then ", "; fi", "for i in a; do ", "; done", "while false; do ", "[[ ", " ]]", "f() {"),
    *("case a in a) ", ";; esac", "coproc ", "time ", "A=", "+=", "A=(", "let ", "export "),
)
_DEEPEST = 4


class Lines:
    """Lines from a seed; the same seed gives the same lines."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def next(self) -> str:
        """A line: grammatical, grammatical with small damage, or a soup of tokens."""
        if self._random.random() < 0.3:
            return "".join(self._random.choices(_SOUP, k=self._random.randint(2, 12)))
        line = self._line(0)
        for _ in range(self._random.choice([0, 0, 0, 1, 2])):
            at = self._random.randint(0, len(line))
            line = line[:at] + self._random.choice(_SOUP) + line[at + self._random.choice([0, 0, 1]) :]
        return line

    def _line(self, depth: int) -> str:
        if depth >= _DEEPEST:
            return self._random.choice(PROGRAMS)
        part = self._random.choice([self._command, self._line])
        shapes = (
            *["%s"] * 6,
            *[f"%s{join}%s" for join in self._random.choices(_JOINS, k=6)],
            f"%s{self._random.choice(_BETWEEN)}%s",
            "(%s)",
            "{ %s; }",
            "if %s; then %s; fi",
            "if %s; then %s; else %s; fi",
            "for i in 1 2; do %s; done",
            "case x in x) %s;; *) %s;; esac",
            "f() { %s; }; f",
            "[[ -n $(%s) ]]",
            '[ -n "$(%s)" ]',
            "(( 1 + $(%s) ))",
            "export A=$(%s)",
            "A=$(%s)",
            "A=$(%s) %s",
        )
        shape = self._random.choice(shapes)
        if shape == "%s":
            return self._random.choice([self._command, self._here_document])(depth)
        return shape % tuple(part(depth + 1) for _ in range(shape.count("%s")))

    def _command(self, depth: int) -> str:
        lead = self._random.choice(
            [*[""] * 9, "A=1 ", ">f ", "! ", "time ", "A=(1 2) ", "command ", "coproc "]
        )
        words = [self._word(depth) for _ in range(self._random.choice([0, 0, 1, 1, 2, 3]))]
        return lead + " ".join([self._random.choice(PROGRAMS), *words])

    def _word(self, depth: int) -> str:
        kind = self._random.random()
        if kind < 0.6 or depth >= _DEEPEST:
            return self._random.choice(_WORDS)
        if kind < 0.7:
            return self._random.choice(_ODD_WORDS)
        if kind < 0.8:
            return self._random.choice(_REDIRECTS)
        shape = self._random.choice(
            ["$(%s)", '"$(%s)"', '"a `%s` b"', "`%s`", "<(%s)", ">(%s)", "${x:-$(%s)}"]
        )
        return shape % self._line(depth + 1)

    def _here_document(self, depth: int) -> str:
        mark = self._random.choice(["E", "'E'", '"E"'])
        dash = self._random.choice(["", "-"])
        after = self._random.choice(["", " >f", " x y", " | %s", " && %s", "; %s"])
        text = self._random.choice(["text", "$(%s)", "a `%s`", "it's", "# no", "\\\n", "\tE"])
        end = self._random.choice(["", "\t"]) if dash else ""
        shape = f"%s <<{dash}{mark}{after}\n{text}\n{end}E\n%s"
        return shape % tuple(self._command(depth + 1) for _ in range(shape.count("%s")))
