"""Letting others in, and other accounts of one's own: what the codes and commands for that mean."""

from typing import assert_never

from core.conversation import pairing_texts
from core.conversation.access import Access
from core.conversation.pairing import Claim, ClaimRules
from core.conversation.submission import LetPersonIn, Link, Start, Submission
from core.conversation.verdicts import refused
from core.ids import Ids, is_code, normalise_code
from core.messages import ChoiceAnswer, InboundMessage, plain
from core.store.accept import AcceptView, Verdict
from core.store.effects import NoteWrongCode, OfferLink, Say
from core.store.pairing import CODE_LIFE_US, ClaimRefused, LetIn, TurnDown
from core.users import Principal, Role


def code_of(event: InboundMessage | ChoiceAnswer, submission: Submission) -> str | None:
    """The code that somebody brings, from another account of theirs. In a group it is for all to see."""
    if not event.direct:
        return None
    match submission:
        case Link(code) if code:
            return code
        case Start(code) if is_code(normalise_code(code)):
            return normalise_code(code)
        case _:
            return None


def claimed(submission: LetPersonIn, principal: Principal, access: Access) -> str | None:
    """The channel whose requests an owner decides about."""
    known = submission.channel in access.channels
    return submission.channel if known and principal.role is Role.OWNER else None


def let_in(submission: LetPersonIn, view: AcceptView, access: Access, ids: Ids) -> Verdict:
    """An owner decides about somebody who waits; others are refused."""
    if view.claims is None:
        if view.principal.role is not Role.OWNER:
            return refused("only the owner lets people in", pairing_texts.ONLY_OWNER_LETS_IN)
        return refused("unknown channel", pairing_texts.unknown_channel(submission.channel))
    claim = Claim(submission.code, view.principal)
    decision = ClaimRules(access, ids).judge(claim, view.claims)
    match decision:
        case LetIn(request, principal):
            word = pairing_texts.let_in(request.sender.name, principal.role)
            return Verdict("command: /approve", (decision, Say(plain(word))))
        case ClaimRefused(reason, word, wrong_code):
            return refused(reason, word, *((NoteWrongCode(),) if wrong_code else ()))
        case TurnDown():
            raise TypeError("nobody is turned down by a message")
        case _:
            assert_never(decision)


def link(event: InboundMessage, code: str, view: AcceptView, ids: Ids, now: int) -> Verdict:
    """A code for another account of the same person."""
    if not event.direct:
        return refused("codes are for private conversations", pairing_texts.CODES_IN_PRIVATE)
    if code:
        return refused("known already", pairing_texts.KNOWN_ALREADY)
    if view.principal.role is Role.GUEST:
        return refused("guests cannot link", pairing_texts.GUESTS_CANNOT_LINK)
    offer = OfferLink(ids.code(), now + CODE_LIFE_US)
    return Verdict("command: /link", (offer, Say(plain(pairing_texts.link_code(offer.code)))))
