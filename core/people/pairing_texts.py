"""The hub's texts about pairing requests and linked accounts."""

NOT_PAIRED = "This assistant is private. Ask its owner for access."
TRY_LATER = "This assistant is private, and too many access requests are open. Please try again later."
ACCESS_GRANTED = "You now have access. Send me a message and I will answer. Type /help for the commands."
REQUEST_DENIED = "The owner of this assistant denied your request."
ONLY_OWNER_PAIRS = "Only the owner of this assistant can pair people."
UNKNOWN_CODE = "Unknown code. A code works once and expires after 15 minutes."
CODE_USED = "This code has already been used. Ask for a new one."
CODE_EXPIRED = "This code has expired. Ask for a new one."
TOO_MANY_CODES = "Too many wrong codes. Please try again in 15 minutes."
NO_SUCH_REQUEST = "No pairing request has that ID."
OWNER_EXISTS = "There is already an owner. Pair this account as a member, or as yourself."
KNOWN_ALREADY = (
    "This account already belongs to a user, and a code can't change that. "
    "Send the code from the account you want to add."
)
GUESTS_CANNOT_LINK = "Guests can't link accounts. Ask the owner to pair you first."
CODES_IN_PRIVATE = "Codes work in private conversations only. Send me /link in a direct message."

ONLY_OWNER_INVITES = "Only the owner of this assistant can invite people."
INVITE_IN_PRIVATE = "Invitations are made in private conversations only. Send me /invite in a direct message."
INVITE_USAGE = "Type /invite and the name of the new member."
INVITE_NEEDS_ADDRESS = (
    "Only the hub's machine can open the console. Set public_url in [http] first, or run there: "
    "hubbub users invite NAME"
)


def invitation(name: str, url: str) -> str:
    """Return the message to the owner with a new member's link."""
    return f"This link lets {name} into the console. It works once and expires in 3 days.\n{url}"


def ask_owner(channel: str, code: str) -> str:
    """Return the reply to a stranger: their code, and instructions for the owner."""
    return (
        "This assistant is private. Its owner can give you access with this code:\n"
        f"{code}\n"
        f"The owner sends me: /approve {channel} {code}\n"
        f"or runs: hubbub pair approve {code}\n"
        "The code expires in 15 minutes."
    )


def approved(name: str, role: str) -> str:
    """Return the confirmation to the owner who paired somebody, or an account of their own."""
    if role == "owner":
        return f"{name} is now one of your accounts."
    return f"{name} now has access as a member."


def link_code(code: str) -> str:
    """Return the message with a person's code for another account of theirs."""
    return (
        f"Send me this from your other account: /link {code}\n"
        "The code works once and expires in 15 minutes. Anyone who sends it can act as you. Don't share it."
    )


def linked(name: str) -> str:
    """Return the notice to an account that was linked to a person."""
    return f"This account is now linked: you are {name} here."


def link_used(name: str, channel: str) -> str:
    """Return the notice to the account that made the code."""
    return f"Your code was used: {name} on {channel} is now one of your accounts."


def unknown_channel(name: str) -> str:
    """Return the answer to an owner who names a channel that does not exist."""
    return f"There is no channel named {name}."
