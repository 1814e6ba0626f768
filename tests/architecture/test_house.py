"""The figures of `make lint`, on a house of five modules."""

from pathlib import Path

from tests.architecture.house import LIMITS, figures

FILES = {
    "core/values.py": '"""Values."""\n',
    "core/store.py": '"""The store."""\n\nfrom core.values import One\n',
    "core/keeping.py": '"""What is kept, so many of them."""\n\nfrom core import values\n',
    "core/safety/shell/lexer.py": '"""Lines."""\n',
    "bot/app.py": '"""The hub."""\n\n\ndef run():\n    from core import store\n',
    "bot/views.py": (
        'ROWS = 1\n"""How many rows."""\n\n\n'
        'class View:\n    """See Page."""\n\n'
        '    @property\n    def at(self):\n        """The time."""\n\n'
        '    def of(self):\n        """The same."""\n\n\n'
        'def show():\n    """Show it."""\n'
    ),
    "core/__init__.py": "",
    "bot/__init__.py": '"""The program."""\n',
}


def test_a_house_is_counted(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert figures(tmp_path) == {
        "modules": 6,
        "lines": 30,
        "median_module_lines": 3,
        "largest_module_lines": 17,
        "imported_by_one_percent": 100 / 6,
        "imports_inside_functions": 1,
        "gerund_modules": 1,
        "modules_at_the_top_of_bot": 2,
        "lines_that_judge_command_lines": 1,
        "docstrings_that_open_relative_percent": 100 * 2 / 10,
        "docstrings_that_refer_elsewhere": 1,
        "function_docstrings_without_a_verb_percent": 50,
        "stock_phrases_per_10k_words": 10_000 * 2 / 24,
    }


def test_the_limits_are_those_of_the_house() -> None:
    assert LIMITS == {
        "modules": 330,
        "largest_module_lines": 450,
        "imported_by_one_percent": 20,
        "imports_inside_functions": 40,
        "gerund_modules": 8,
        "modules_at_the_top_of_bot": 12,
        "lines_that_judge_command_lines": 900,
        "docstrings_that_open_relative_percent": 2,
        "docstrings_that_refer_elsewhere": 0,
        "function_docstrings_without_a_verb_percent": 2,
        "stock_phrases_per_10k_words": 15,
    }
