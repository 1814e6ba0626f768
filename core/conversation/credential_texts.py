"""What the hub says about credentials that it asked for."""

IN_DOUBT = (
    "I was about to ask you for a credential and cannot tell whether this was it, so I kept nothing of your "
    "message. Please send it again."
)
ELSEWHERE = (
    "I am waiting for a credential and cannot tell whether this was it: you replied to something else "
    "or changed an earlier message. I kept nothing of it. Send the credential as a new message, or press "
    "Cancel on the card that asks for it."
)
WHICH = (
    "I am waiting for more than one credential and cannot tell which this was, so I kept nothing of your "
    "message. Reply to the card that asks for it, or send it in that conversation."
)
IN_PRIVATE = (
    "I am waiting for something that only you should send, in our private conversation. In case this was it, "
    "I kept nothing of your message. Answer or cancel there, then send this again."
)
NO_LONGER_WAITED_FOR = (
    "I had asked you for a credential and no longer wait for it. In case this was it, I kept nothing of your "
    "message. Send it again if it was meant for me to read."
)
UNUSABLE = "That is nothing I can keep as a credential. Send it as text, at most 8 kB of it."
TOO_LATE = (
    "I had asked you for a credential, and this came too late. I kept nothing of your message; please send "
    "it again if it was meant for something else."
)
NOT_KEPT = "The vault could not take it, and I kept nothing of it. My operator finds the reason in the log."
DELETE_YOUR_MESSAGE = "I may not delete your message here. Please delete it."


def still_waited_for(name: str) -> str:
    """Return what is said after a command while a request is open."""
    return (
        f"I still wait for the credential “{name}”: what you write next goes into the vault. "
        "To end that, press Cancel on its card."
    )


def ended(name: str) -> str:
    """Return what is said when a person stopped the turn that asked."""
    return f"I no longer wait for the credential “{name}”. Do not send it."


def kept(name: str) -> str:
    """Said to who sent it, and on the card."""
    return f"It is in the vault now, as {name}."


def in_its_place(name: str) -> str:
    """What stands for it in the journal, and for the model."""
    return f"[it is in the vault, under the name {name}]"
