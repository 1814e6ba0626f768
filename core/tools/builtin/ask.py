"""`ask_user`: a question to the person the model works for, and their answer as the call's result."""

import unicodedata
from typing import Annotated

from pydantic import Field

from core.errors import InvalidArguments, ToolDenied
from core.prompts import Replies
from core.safety.fencing import sanitise
from core.tool import Arguments, CallContext, Data, Effect, Question, Requirement, Tool
from core.tools.definition import tool

MOST_CHOICES = 10
QUESTION_LIMIT_CHARS = 1_000
"""With its choices a question fits one message of every platform."""
LABEL_LIMIT_CHARS = 60
"""Platforms cut what does not fit a button on a phone."""

_VISIBLE = frozenset("LMNPS")
"""First letters of the Unicode categories of which something is seen."""

Label = Annotated[str, Field(min_length=1, max_length=LABEL_LIMIT_CHARS)]


def ask_user_tool() -> Tool:
    """The tool. Its calls wait in the store as prompts; it is run only where nobody can be asked."""

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE, asks=question_of)
    async def ask_user(
        call: CallContext,
        question: Annotated[
            str, "the question, on its own", Field(min_length=1, max_length=QUESTION_LIMIT_CHARS)
        ],
        choices: Annotated[
            list[Label] | None, "answers to choose from, a few words each", Field(max_length=MOST_CHOICES)
        ] = None,
        free_text: Annotated[
            bool, "whether other words are an answer too; always so without choices"
        ] = False,
    ) -> str:
        """Ask the person you are talking to, and wait for their answer.

        Use it when you cannot go on without knowing what they want. Permission to use a tool is asked for by
        itself, when you call that tool.
        """
        del call, question, choices, free_text
        raise ToolDenied("There is nobody here who could be asked.")

    return ask_user


def question_of(arguments: Arguments) -> Question:
    """What validated arguments ask. Raises InvalidArguments where a person could not answer it."""
    text = sanitise(arguments["question"]).strip()
    if not _is_visible(text):
        raise InvalidArguments("question: there is nothing in it to be read")
    labels = tuple(" ".join(sanitise(label).split()) for label in arguments["choices"] or ())
    if not all(map(_is_visible, labels)):
        raise InvalidArguments("choices: each needs some words")
    if len({label.casefold() for label in labels}) < len(labels):
        raise InvalidArguments("choices: two of them say the same")
    return Question(text, Replies(labels, free_text=arguments["free_text"] or not labels))


def _is_visible(text: str) -> bool:
    return any(unicodedata.category(character)[0] in _VISIBLE for character in text)
