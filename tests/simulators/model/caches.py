"""What a provider remembers of the beginnings of earlier prompts.

OpenAI remembers every prompt of at least 1,024 tokens, in steps of 128 (docs, "Prompt caching"). Anthropic
remembers a prompt up to each of the request's marks, if that is at least 1,024 tokens, and looks for what it
remembers at the marks and up to 20 blocks before each (docs, "Prompt caching").
"""

import hashlib
from collections.abc import Sequence

from tests.simulators.model.replies import CHARS_PER_TOKEN, tokens_in

LEAST_TOKENS = 1024
STEP_TOKENS = 128
BLOCKS_LOOKED_BACK = 20


class PrefixCache:
    """OpenAI's: by the prompt's text."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def read(self, prompt: str) -> int:
        """The tokens that an earlier prompt began with too; this one is remembered."""
        step = STEP_TOKENS * CHARS_PER_TOKEN
        digest, found, number = hashlib.sha256(), 0, 0
        for number in range(len(prompt) // step):
            digest.update(prompt[number * step : (number + 1) * step].encode("utf-8", "replace"))
            tokens = (number + 1) * STEP_TOKENS
            if tokens < LEAST_TOKENS:
                continue
            key = digest.copy().digest()
            if key in self._known:
                found = tokens
            self._known.add(key)
        return found


class MarkCache:
    """Anthropic's: by the blocks of a prompt, and the positions of those that carry a mark."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def read(self, blocks: Sequence[str], marks: Sequence[int]) -> tuple[int, int]:
        """The tokens read from the cache, and those written to it."""
        digest, tokens, ends = hashlib.sha256(), 0, list[tuple[bytes, int]]()
        for block in blocks:
            digest.update(block.encode("utf-8", "replace") + b"\0")
            tokens += tokens_in(block)
            ends.append((digest.copy().digest(), tokens))
        read = 0
        for mark in marks:
            for key, until in ends[max(0, mark - BLOCKS_LOOKED_BACK) : mark + 1]:
                if key in self._known:
                    read = max(read, until)
        written = 0
        for mark in marks:
            key, until = ends[mark]
            if until >= LEAST_TOKENS and key not in self._known:
                self._known.add(key)
                written = max(written, until - read)
        return read, written
