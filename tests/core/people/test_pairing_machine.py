"""Codes in any order of asking, deciding, bringing, revoking and waiting, against a model of who is in.

Whatever happens: nobody is in whom no decision or code let in; a code works once, in its time, for whom it is
meant; and every event has the outcome the model foresees.
"""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.people.pairing import GUESSES_EACH, GUESSES_IN_ALL, KEPT_PER_MINUTE, OPEN_CODES, PairAs
from core.store.accounts import CODE_LIFE_US, ClaimRefused, PairingApproved, PairingDenied
from tests.contracts.store.bench import SECOND
from tests.contracts.store.conftest import in_memory
from tests.core.inbound.front import CHANNEL, OWNER, OWNER_ACCOUNT, Front

T = TypeVar("T")

LIFE_S = CODE_LIFE_US // SECOND
PEOPLE = ("ann", "bob", "cy", "dee", "eve")
WRONG = "ABCDEFGH"
DESK = "the desk"


@dataclass
class Request:
    """A pairing code; `closed_at` None while it may be good."""

    code: str
    person: str
    made_at: int
    state: str = "open"
    closed_at: int | None = None


@dataclass
class Offer:
    """A linking code of the user whose account `root` vouches."""

    code: str
    user: str
    root: str
    made_at: int
    used: bool = False


@dataclass
class Bound:
    """The binding of an account. `root`: the account that vouches for a linked one."""

    user: str
    via: str
    root: str | None = None


class Doors(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(dir=in_memory())
        self.runner = asyncio.Runner()
        self.front = self.run(Front.open(Path(self.directory.name)))
        self.now = 0
        self.bound: dict[str, Bound] = {OWNER_ACCOUNT: Bound(OWNER.user_id, "config")}
        self.requests: list[Request] = []
        self.offers: list[Offer] = []
        self.wrong: list[tuple[str, int]] = []
        self.kept: list[tuple[str, int]] = []
        self.put_off: dict[str, int] = {}

    def run(self, unit: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(unit)

    def teardown(self) -> None:
        self.run(self.front.store.close())
        self.runner.close()
        self.directory.cleanup()

    # --- what should be ----------------------------------------------------------------------------------

    def user(self, person: str) -> str | None:
        """Whom an account is let in as."""
        bound = self.bound.get(person)
        if bound is None or bound.via == "revoked":
            return None
        if bound.root is None:
            return bound.user
        root = self.bound[bound.root]
        return bound.user if root.user == bound.user and root.via in {"config", "paired"} else None

    def is_good(self, made: Request) -> bool:
        return made.state == "open" and self.now < made.made_at + LIFE_S

    def may_guess(self, guesser: str) -> bool:
        late = [who for who, at in self.wrong if at > self.now - LIFE_S]
        return late.count(guesser) < GUESSES_EACH and len(late) < GUESSES_IN_ALL

    def floods(self, person: str) -> bool:
        return [who for who, at in self.kept if at > self.now - 60].count(person) >= KEPT_PER_MINUTE

    def foreseen_answer(self, person: str) -> str:
        """The outcome of a stranger's plain message; a code is expected where it says so."""
        own = next((one for one in reversed(self.requests) if one.person == person), None)
        if own is not None and own.state == "rejected" and self.now - (own.closed_at or 0) < 24 * 3600:
            return "told"
        if own is not None and self.is_good(own):
            return "told"
        if sum(self.is_good(one) for one in self.requests) < OPEN_CODES:
            return "code"
        put_off = self.put_off.get(person)
        return "put off" if put_off is None or self.now - put_off >= LIFE_S else "noise"

    def foreseen_decision(self, code: str, guesser: str) -> str | Request:
        if not self.may_guess(guesser):
            return "too many wrong codes"
        late = [one for one in self.requests if one.made_at > self.now - 3600]
        found = next((one for one in late if one.code == code), None)
        if found is None:
            self.wrong.append((guesser, self.now))
            return "unknown code"
        if found.state in {"approved", "rejected"}:
            return "code already used"
        return found if self.is_good(found) else "code expired"

    def let_in(self, request: Request, user: str) -> None:
        request.state, request.closed_at = "approved", self.now
        self.bound[request.person] = Bound(user, "paired")
        self.put_off.pop(request.person, None)

    # --- what happens ------------------------------------------------------------------------------------

    @rule(person=st.sampled_from(PEOPLE))
    def write(self, person: str) -> None:
        heard = len(self.front.heard(person))
        accepted = self.run(self.front.says(person))
        said = self.front.heard(person)[heard:]
        user = self.user(person)
        if user is not None:
            thread = self.run(self.front.store.threads.thread(accepted.thread_id or ""))
            assert thread is not None
            assert thread.owner_id == user
            return
        assert accepted.thread_id is None
        if self.floods(person):
            assert (accepted.outcome, said) == ("refused: too many messages", [])
            return
        foreseen = self.foreseen_answer(person)
        if foreseen == "noise":
            assert (accepted.outcome, said) == ("refused: too many access requests", [])
            return
        self.kept.append((person, self.now))
        if foreseen == "put off":
            self.put_off[person] = self.now
            assert (accepted.outcome, len(said)) == ("refused: too many access requests", 1)
        elif foreseen == "told":
            assert (accepted.outcome, said) == ("refused: not paired", [])
        else:
            assert (accepted.outcome, len(said)) == ("refused: not paired", 1)
            self.requests.append(Request(said[0].split("\n")[1], person, self.now))

    def some_code(self, data: st.DataObject) -> str:
        requests, offers = [one.code for one in self.requests], [one.code for one in self.offers]
        return data.draw(st.sampled_from([*reversed([WRONG, *requests[-4:], *offers[-3:]])]))

    @rule(data=st.data())
    def owner_approves(self, data: st.DataObject) -> None:
        code = self.some_code(data)
        accepted = self.run(self.front.says(OWNER_ACCOUNT, f"/approve {CHANNEL} {code}"))
        foreseen = self.foreseen_decision(code, OWNER_ACCOUNT)
        if isinstance(foreseen, str):
            assert accepted.outcome == f"refused: {foreseen}"
            return
        assert accepted.outcome == "command: /approve"
        self.check_member(foreseen)

    def check_member(self, request: Request) -> None:
        """A new person, or who they were until they were revoked."""
        before = self.bound.get(request.person)
        user = self.run(self.front.user_of(request.person))
        assert user is not None
        assert user != OWNER.user_id
        users = {bound.user for bound in self.bound.values()}
        if before is not None and before.via == "revoked" and before.user != OWNER.user_id:
            assert user == before.user
        else:
            assert user not in users
        self.let_in(request, user)

    @rule(data=st.data(), pair_as=st.sampled_from(PairAs))
    def desk_approves(self, data: st.DataObject, pair_as: PairAs) -> None:
        code = self.some_code(data)
        decision = self.run(self.front.desk.approve(code, by=OWNER, pair_as=pair_as))
        foreseen = self.foreseen_decision(code, DESK)
        if not isinstance(foreseen, str) and pair_as is PairAs.OWNER:
            foreseen = "there is already an owner"
        if isinstance(foreseen, str):
            assert isinstance(decision, ClaimRefused)
            assert decision.reason == foreseen
            return
        assert isinstance(decision, PairingApproved)
        if pair_as is PairAs.ME:
            self.let_in(foreseen, OWNER.user_id)
        else:
            self.check_member(foreseen)

    @rule(data=st.data())
    def desk_rejects(self, data: st.DataObject) -> None:
        code = self.some_code(data)
        decision = self.run(self.front.desk.reject(code, by=OWNER))
        foreseen = self.foreseen_decision(code, DESK)
        if isinstance(foreseen, str):
            assert isinstance(decision, ClaimRefused)
            assert decision.reason == foreseen
            return
        assert isinstance(decision, PairingDenied)
        foreseen.state, foreseen.closed_at = "rejected", self.now

    @rule(person=st.sampled_from((*PEOPLE, OWNER_ACCOUNT)))
    def revoke(self, person: str) -> None:
        bound = self.bound.get(person)
        revocable = bound is not None and bound.via in {"paired", "linked"}
        assert (self.run(self.front.desk.revoke(CHANNEL, person)) is not None) is revocable
        if bound is not None and revocable:
            bound.via, bound.root = "revoked", None

    @rule(data=st.data())
    def ask_for_a_link(self, data: st.DataObject) -> None:
        people = [person for person in (*PEOPLE, OWNER_ACCOUNT) if self.user(person) is not None]
        person = data.draw(st.sampled_from(people))
        code = self.run(self.front.link_code(person))
        user, bound = self.user(person) or "", self.bound[person]
        self.offers = [
            one
            for one in self.offers
            if one.made_at + LIFE_S >= self.now - 3600 and (one.used or one.user != user)
        ]
        self.offers.append(Offer(code, user, bound.root or person, self.now))

    @rule(data=st.data(), person=st.sampled_from(PEOPLE), verb=st.sampled_from(("/link", "/start")))
    def bring_a_code(self, data: st.DataObject, person: str, verb: str) -> None:
        code = self.some_code(data)
        accepted = self.run(self.front.says(person, f"{verb} {code}"))
        assert accepted.outcome == self.foreseen_joining(person, code)

    def foreseen_joining(self, person: str, code: str) -> str:
        if self.user(person) is not None:
            return "refused: already known"
        if self.floods(person):
            return "refused: too many messages"
        offer = next((one for one in self.offers if one.code == code), None)
        outcome = self.judged_offer(person, offer)
        if outcome != "linked" or offer is None:
            self.kept.append((person, self.now))
            return outcome
        offer.used = True
        for request in self.requests:
            if request.person == person and request.state == "open":
                request.state, request.closed_at = "withdrawn", self.now
        self.bound[person] = Bound(offer.user, "linked", offer.root)
        self.put_off.pop(person, None)
        return outcome

    def judged_offer(self, person: str, offer: Offer | None) -> str:
        if not self.may_guess(person):
            return "refused: too many wrong codes"
        if offer is None:
            self.wrong.append((person, self.now))
            return "refused: unknown code"
        if offer.used:
            return "refused: code already used"
        root = self.bound[offer.root]
        vouched = root.user == offer.user and root.via in {"config", "paired"}
        return "linked" if vouched and self.now < offer.made_at + LIFE_S else "refused: code expired"

    @rule(seconds=st.sampled_from((1, 59, 60, LIFE_S - 1, LIFE_S, 3600, 24 * 3600)))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.front.clock.advance(seconds)

    @invariant()
    def whoever_can_be_let_in_is_listed(self) -> None:
        listed = {(one.code, one.sender.platform_user_id) for one in self.run(self.front.desk.requests())}
        assert listed == {(one.code, one.person) for one in self.requests if self.is_good(one)}


TestDoors = Doors.TestCase
TestDoors.settings = settings(max_examples=max(12, settings().max_examples // 3), stateful_step_count=50)
