"""A provider for long conversations: it counts with a tokenizer of its own, and summarizes by rule."""

import re
from collections.abc import Sequence
from typing import Any

from tests.simulators.model import Exchange, ModelSimulator, Prompt, Reply

_TOKEN = re.compile(r"[A-Za-z0-9]{1,4}|[!-/:-@\[-`{-~]{1,3}|[^\sA-Za-z0-9]")
_SENTENCE = re.compile(r"[^.!?。!?\n]+[.!?。!?\n]")
FIGURE = re.compile(r"\b\d{3,}\b")
SUMMARIZED = r'<tool_output name="conversation"'


def tokens_by_rule(text: str) -> int:
    """Count a token for every four letters or digits, every three ASCII signs, and any other sign."""
    return len(_TOKEN.findall(text))


def summary_by_rule(prompt: Prompt) -> Reply:
    """Return all figures and every tenth sentence of the text that was handed over, in this order. The wire
    cuts it at the length asked for."""
    text = prompt.user_text.partition("\n")[2]  # without the fence
    figures = dict.fromkeys(FIGURE.findall(text))
    sentences = [one.strip() for one in _SENTENCE.findall(text)][::10]
    return Reply(f"Figures: {' '.join(figures)}\n" + "\n".join(sentences), chunk_chars=4000)


def summarizes(model: ModelSimulator, reply: Any = summary_by_rule, **options: Any) -> None:
    """Let the provider answer requests for a summary."""
    model.rule(SUMMARIZED, reply, **options)


def summary_requests(model: ModelSimulator, state: str | None = "answered") -> Sequence[Exchange]:
    """Return the requests for summaries so far, in order."""
    return model.log.select(match=SUMMARIZED, state=state)


def words_of(exchange: Exchange) -> str:
    """Return everything that a request says to the model."""
    return "\n".join(str(message.get("content")) for message in exchange.body["messages"])
