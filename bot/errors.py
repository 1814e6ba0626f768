"""Errors of the program itself."""


class StartError(Exception):
    """The hub cannot start; the message says what is wrong and what to do."""
