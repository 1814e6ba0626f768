"""The hub's texts about pairing requests and linked accounts."""

NOT_PAIRED = "This assistant is private. Ask its owner to let you in."
TRY_LATER = "This assistant is private, and many people are asking to be let in. Please try again later."
YOU_ARE_IN = "You are in. Write to me and I will answer; /help lists the commands."
NOT_LET_IN = "The owner of this assistant did not let you in."
ONLY_OWNER_LETS_IN = "Only the owner of this assistant can let people in."
UNKNOWN_CODE = "I know no such code. Codes are good for 15 minutes and for one use."
CODE_USED = "This code was used already. Ask for a new one."
CODE_EXPIRED = "This code is no longer good. Ask for a new one."
TOO_MANY_CODES = "Too many wrong codes. Please try again in a quarter of an hour."
NO_SUCH_REQUEST = "Nobody waits under that id."
OWNER_KNOWN = "There is an owner already. Let this account in as a member, or as yourself."
KNOWN_ALREADY = (
    "This account is known here already, and a code cannot change whose it is. "
    "Send the code from the account you want to add."
)
GUESTS_CANNOT_LINK = "Only people who were let in by the owner can add an account."
CODES_IN_PRIVATE = "Codes are for private conversations. Write /link to me alone."


def ask_owner(channel: str, code: str) -> str:
    """Return the reply to a stranger: their code, and instructions for the owner."""
    return (
        "This assistant is private. Its owner can let you in, with this code:\n"
        f"{code}\n"
        f"They write to me: /approve {channel} {code}\n"
        f"or run: hubbub pair approve {code}\n"
        "It is good for 15 minutes."
    )


def let_in(name: str, role: str) -> str:
    """Return the confirmation to the owner who paired somebody, or an account of their own."""
    return f"{name} is in, as {'yourself' if role == 'owner' else 'a member'}."


def link_code(code: str) -> str:
    """Return the message with a person's code for another account of theirs."""
    return (
        f"Send me this from your other account: /link {code}\n"
        "It is good for 15 minutes and one use. Whoever sends it is you to me, so give it to nobody."
    )


def linked(name: str) -> str:
    """Return the notice to an account that was linked to a person."""
    return f"This account is yours too now: you are {name} here."


def link_used(name: str, channel: str) -> str:
    """Return the notice to the account that made the code."""
    return f"Your code was used: {name} on {channel} is one of your accounts now."


def unknown_channel(name: str) -> str:
    """Return the answer to an owner who names a channel that does not exist."""
    return f"I have no channel called {name}."
