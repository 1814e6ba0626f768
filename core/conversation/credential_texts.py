"""What the hub says about credentials that it asked for."""

IN_DOUBT = (
    "I was about to ask you for a credential and cannot tell whether this was it, so I kept nothing of your "
    "message. Please send it again."
)
UNUSABLE = "That is nothing I can keep as a credential. Send it as text, at most 8 kB of it."
TOO_LATE = (
    "I had asked you for a credential, and this came too late. I kept nothing of your message; please send "
    "it again if it was meant for something else."
)
NOT_KEPT = "The vault could not take it, and I kept nothing of it. My operator finds the reason in the log."
DELETE_YOUR_MESSAGE = "I may not delete your message here. Please delete it."


def kept(name: str) -> str:
    """Said to who sent it, and on the card."""
    return f"It is in the vault now, as {name}."


def in_its_place(name: str) -> str:
    """What stands for it in the journal, and for the model."""
    return f"[it is in the vault, under the name {name}]"
