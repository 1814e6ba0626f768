"""Delivery of payloads to the inbox, from any source: live or missed, with people's names, and in order
within each conversation."""

import asyncio
import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from channels.channel import CatchUpBarrier, HeldConversations, KeyedLock, KeyedLocks
from channels.slack.addresses import address_of, is_person, parse_address, ref_of, ts_of
from channels.slack.client import Json, SlackClient
from channels.slack.inbound import (
    Account,
    MessageEvent,
    Submission,
    read_command,
    read_event,
    read_message,
    read_press,
    unread_envelope,
)
from channels.text.blocks import showable
from core import texts
from core.clock import SECOND_US, Clock
from core.errors import AuthRejected, ChannelError, RateLimited, Unanswered, Unavailable
from core.messages import ChoiceAnswer, EditForm, FormField, InboundEvent, InboundMessage, Sender, as_taken
from core.ports import Acceptance, Inbox, Seen

# Editing of a call's arguments in a modal (https://docs.slack.dev/surfaces/modals): its content and
# its submission. Pure.

CALLBACK = "edit"
MAX_INPUT_CHARS = 3_000
"""Block Kit, plain-text input: initial_value and max_length."""
MAX_INPUTS = 20
"""The limit on separate inputs. More share one JSON input; a view may have 100 blocks (Views, blocks)."""
MAX_BLOCK_ID_CHARS = 255
WHOLE = "(JSON)"
"""The name of the single input that replaces too many fields."""
TOO_LONG = "The arguments are too long for a form here. Edit them in the console."


def view_of(answer: ChoiceAnswer, form: EditForm) -> dict[str, object] | None:
    """Return the modal for a form, or None if it does not fit into Slack's limits."""
    fields = _few(form.fields)
    if any(len(field.value) > MAX_INPUT_CHARS or len(field.name) > MAX_BLOCK_ID_CHARS for field in fields):
        return None
    where = {
        "gate": answer.gate_id,
        "choice": form.choice,
        "address": answer.address,
        "ref": answer.ref,
    }
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": json.dumps(where),
        "title": _plain("Edit the call"),
        "submit": _plain("Approve edited call"),
        "close": _plain("Cancel"),
        "blocks": [_input(field) for field in fields],
    }


def read_submission(payload: object, account: Account, channel: str, now: int) -> ChoiceAnswer | None:
    """Return the submitted answer, or None for other forms and unreadable data."""
    try:
        given = Submission.model_validate(payload)
        where = json.loads(given.view.private_metadata or "{}")
        gate_id = where.get("gate") or where["prompt"]  # its name in forms opened before an upgrade
        choice = int(where.get("choice", 0))
        address, ref = where["address"], where["ref"]
    except (ValidationError, ValueError, LookupError, TypeError):
        return None
    if given.view.callback_id != CALLBACK:
        return None
    values = {
        block: next(iter(actions.values())).value or "" for block, actions in given.view.state.values.items()
    }
    form = values.get(WHOLE) or json.dumps(values, ensure_ascii=False, sort_keys=True)
    said = hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    target, _, thread_ts = str(address).partition(":")
    user = given.user
    return ChoiceAnswer(
        key=f"sl:{account.team_id}:v:{given.view.id}:{said}",
        channel=channel,
        address=address_of(target, thread_ts or None),
        sender=Sender(user.id, showable(as_taken(user.name or user.username or user.id)), user.username),
        gate_id=str(gate_id),
        choice=choice,
        sent_at=now,
        direct=target.startswith("D"),
        ref=ref_of(*str(ref).split(":", 1)) if isinstance(ref, str) and ":" in ref else None,
        form=form,
    )


def errors_of(payload: Mapping[str, object], refusal: str) -> dict[str, object]:
    """Return the answer to a refused submission, shown below the input concerned, else below the first."""
    view = cast("Mapping[str, Any]", payload.get("view") or {})
    blocks = [str(block.get("block_id")) for block in view.get("blocks") or ()]
    named = refusal.partition(":")[0]
    block = named if named in blocks else (blocks or [WHOLE])[0]
    return {"response_action": "errors", "errors": {block: refusal}}


def _few(fields: Sequence[FormField]) -> Sequence[FormField]:
    if len(fields) <= MAX_INPUTS:
        return fields
    whole = {field.name: field.value for field in fields}
    return [FormField(WHOLE, json.dumps(whole, ensure_ascii=False, indent=1))]


def _input(field: FormField) -> dict[str, object]:
    element: dict[str, object] = {
        "type": "plain_text_input",
        "action_id": "value",
        "multiline": True,
        "max_length": MAX_INPUT_CHARS,
    }
    if field.value:
        element["initial_value"] = field.value
    return {
        "type": "input",
        "block_id": field.name,
        "optional": True,
        "label": _plain(field.name),
        "element": element,
    }


def _plain(text: str) -> dict[str, object]:
    return {"type": "plain_text", "text": text, "emoji": False}


logger = logging.getLogger(__name__)

NAMES_KEPT = 2_000
NAME_TIMEOUT_S = 1.0
"""The longest wait for a name, which is optional: an event must be acknowledged within 3 s."""
WHISPER_TIMEOUT_S = 10.0
PATIENCE_S = 1.5
"""The longest wait of a command for earlier missed messages. Slack shows a failure after 3 s."""


class People:
    """The names of people by user id, each requested once."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._names: OrderedDict[str, str] = OrderedDict()

    async def name(self, user_id: str) -> str:
        """Return the person's name, or the id if Slack does not provide it soon."""
        if (known := self._names.get(user_id)) is not None:
            self._names.move_to_end(user_id)
            return known
        try:
            async with asyncio.timeout(NAME_TIMEOUT_S):
                name = await self._client.person(user_id)
        except (ChannelError, TimeoutError) as error:
            logger.info("slack.name_unknown user=%s error=%s", user_id, error)
            return user_id
        self._names[user_id] = name
        if len(self._names) > NAMES_KEPT:
            self._names.popitem(last=False)
        return name


class EventHandler:
    """A handler that passes events to the inbox.

    Each method returns once its input is durable or does not concern the hub. It raises
    InboxUnavailable if the input must be delivered again.
    `heard`: called with each message."""

    def __init__(
        self,
        client: SlackClient,
        name: str,
        account: Account,
        inbox: Inbox,
        clock: Clock,
        heard: Callable[[InboundMessage], None],
    ) -> None:
        self._client = client
        self._name = name
        self._account = account
        self._inbox = inbox
        self._clock = clock
        self._heard = heard
        self._people = People(client)
        self._lanes = KeyedLocks()
        self._whispers: set[asyncio.Task[None]] = set()
        self._gate = CatchUpBarrier()

    @property
    def account(self) -> Account:
        """The bot it reads for."""
        return self._account

    def hold(self) -> HeldConversations:
        """Hold the live events of each conversation until it is released, so that missed ones come first."""
        return self._gate.hold()

    def lane(self, channel_id: str) -> KeyedLock:
        """Return the lock that gives exclusive access to a conversation."""
        return self._lanes.lane(channel_id)

    async def event(self, payload: Mapping[str, object]) -> None:
        """Handle a payload of the Events API."""
        await self._accept(read_event(payload, self._account, self._name, self._clock.now()))

    async def unread(self, envelope_id: str, why: str) -> None:
        """Record an event that was not read."""
        await self._accept(unread_envelope(envelope_id, why, self._account, self._name, self._clock.now()))

    async def command(self, form: Mapping[str, str]) -> Acceptance | None:
        """Handle a slash command. It is refused if it would wait too long for earlier missed messages."""
        event = read_command(form, self._account, self._name, self._clock.now())
        if isinstance(event, InboundMessage):
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self._gate.passed(parse_address(event.address).channel)
            except TimeoutError:
                logger.warning("slack.command_refused channel=%s reason=catching_up", self._name)
                return Acceptance("not now", texts.NOT_NOW)
        return await self._accept(event)

    async def press(self, payload: Mapping[str, object]) -> dict[str, object] | None:
        """Handle a pressed button or a submitted form, and return the response to the request, if any.

        The person is notified of a result that is not visible otherwise."""
        if payload.get("type") == "view_submission":
            return await self._submission(payload)
        event = read_press(payload, self._account, self._name, self._clock.now())
        acceptance = await self._accept(event)
        if acceptance is None or not isinstance(event, ChoiceAnswer):
            return None
        if acceptance.form is not None:
            self._aside(self._show_form(event, acceptance.form, str(payload.get("trigger_id", ""))), event)
        elif acceptance.answer and not acceptance.plain:
            self._aside(self._say_aside(event, acceptance.answer), event)
        return None

    async def _submission(self, payload: Mapping[str, object]) -> dict[str, object] | None:
        event = read_submission(payload, self._account, self._name, self._clock.now())
        acceptance = await self._accept(event)
        if acceptance is None or acceptance.answers:
            return None
        return errors_of(payload, acceptance.answer or acceptance.outcome)

    async def missed(self, channel_id: str, message: Mapping[str, object]) -> None:
        """Handle a message of the history. The caller holds the conversation's lock."""
        try:
            event = MessageEvent.model_validate({"channel": channel_id, "type": "message", **message})
        except ValueError as error:
            logger.warning("catch_up.message_unreadable conversation=%s error=%s", channel_id, error)
            return
        if (read := read_message(event, self._account, self._name)) is not None:
            await self._inbox.accept(await self._named(read))

    async def close(self) -> None:
        """Cancel notifications in progress."""
        for task in list(self._whispers):
            task.cancel()
        await asyncio.gather(*self._whispers, return_exceptions=True)

    async def _accept(self, event: InboundEvent | None) -> Acceptance | None:
        if event is None:
            return None
        if not isinstance(event, InboundMessage):
            # A press does not wait for missed events: Slack wants it acknowledged within 3 s and does not
            # deliver it again.
            return await self._inbox.accept(event)
        self._heard(event)
        channel_id = parse_address(event.address).channel
        await self._gate.passed(channel_id)
        async with self._lanes.lane(channel_id):
            return await self._inbox.accept(await self._named(event))

    async def _named(self, event: InboundEvent) -> InboundEvent:
        if not isinstance(event, InboundMessage) or event.sender.name != event.sender.platform_user_id:
            return event
        name = await self._people.name(event.sender.platform_user_id)
        return replace(event, sender=replace(event.sender, name=name))

    def _aside(self, saying: Coroutine[Any, Any, None], event: ChoiceAnswer) -> None:
        task = asyncio.create_task(saying, name=f"answer to {event.key}")
        self._whispers.add(task)
        task.add_done_callback(self._whispers.discard)

    async def _show_form(self, event: ChoiceAnswer, form: EditForm, trigger_id: str) -> None:
        view = view_of(event, form)
        if view is None:
            await self._say_aside(event, TOO_LONG)
            return
        try:
            async with asyncio.timeout(WHISPER_TIMEOUT_S):
                await self._client.open_view(trigger_id, view)
        except (ChannelError, TimeoutError) as error:  # another press requests it again
            logger.info("slack.form_failed event=%s error=%s", event.key, error)

    async def _say_aside(self, event: ChoiceAnswer, text: str) -> None:
        target = parse_address(event.address)
        try:
            async with asyncio.timeout(WHISPER_TIMEOUT_S):
                await self._client.whisper(
                    target.channel, target.thread_ts, event.sender.platform_user_id, text
                )
        except (ChannelError, TimeoutError) as error:
            logger.info("slack.reply_failed event=%s error=%s", event.key, error)


# Messages written while the hub was not connected: read from Slack's history, each conversation from the
# last message the hub has seen of it.
#
# Bounded by age and count, and in order. A message that came live as well is known by its key. A hub that
# has received nothing before has missed nothing.

MAX_AGE_S = 3 * 24 * 3600
MAX_CONVERSATIONS = 100
MAX_MESSAGES = 500
"""Of one conversation, the newest."""
HISTORY_PATIENCE_S = 120.0
"""The longest wait for Slack and its rate limit; a conversation that can't be read by then is left out."""
AGAIN_AFTER_S = 2.0

T = TypeVar("T")


@dataclass(slots=True)
class _Known:
    """The newest `ts` seen of a conversation, and of each of its threads."""

    newest: str = ""
    threads: dict[str, str] = field(default_factory=dict[str, str])


class CatchUp:
    """Reads the history of one bot's conversations."""

    def __init__(self, client: SlackClient, reader: EventHandler, name: str, clock: Clock) -> None:
        self._client = client
        self._reader = reader
        self._name = name
        self._clock = clock

    async def run(self, seen: Sequence[Seen], held: HeldConversations) -> None:
        """Bring every conversation up to date and release it. Raises AuthRejected and InboxUnavailable."""
        try:
            if seen:
                await self._all(seen, held)
        finally:
            held.release_all()

    async def _all(self, seen: Sequence[Seen], held: HeldConversations) -> None:
        oldest_ts = _ts(self._clock.now() - MAX_AGE_S * SECOND_US)
        known = _known(seen)
        newest = max(ts_of(one.order_key) for one in seen)
        for channel_id in await self._conversations(known):
            there = known.get(channel_id, _Known(newest))
            try:
                async with self._reader.lane(channel_id):
                    await self._conversation(channel_id, there, oldest_ts)
            except AuthRejected:
                raise
            except ChannelError as error:
                logger.warning(
                    "catch_up.conversation_failed channel=%s conversation=%s error=%s",
                    self._name,
                    channel_id,
                    error,
                )
            held.release(channel_id)

    async def _conversations(self, known: Mapping[str, _Known]) -> Sequence[str]:
        """Return conversations with known messages, most recent first, then the others the bot is
        in."""
        found = sorted(known, key=lambda channel_id: known[channel_id].newest, reverse=True)
        try:
            joined = await self._patiently(lambda: self._client.conversations(MAX_CONVERSATIONS))
        except AuthRejected:
            raise
        except ChannelError as error:
            logger.warning("catch_up.list_failed channel=%s error=%s", self._name, error)
            joined = ()
        found += [channel_id for channel_id in joined if channel_id not in known]
        return [channel_id for channel_id in found if not is_person(channel_id)][:MAX_CONVERSATIONS]

    async def _conversation(self, channel_id: str, there: _Known, oldest_ts: str) -> None:
        since = max(there.newest, oldest_ts)
        messages = await self._history(channel_id, None, since)
        threads = {root: ts for root, ts in there.threads.items() if ts > oldest_ts}
        for message in messages:
            if message.get("reply_count"):
                threads.setdefault(str(message.get("ts")), str(message.get("ts")))
            await self._reader.missed(channel_id, message)
        for root, last in threads.items():
            for message in await self._history(channel_id, root, max(last, oldest_ts)):
                await self._reader.missed(channel_id, message)

    async def _history(self, channel_id: str, thread_ts: str | None, since: str) -> Sequence[Json]:
        return await self._patiently(
            lambda: self._client.history(channel_id, oldest=since, thread_ts=thread_ts, limit=MAX_MESSAGES)
        )

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        waited_s = 0.0
        while True:
            try:
                return await ask()
            except (RateLimited, Unavailable, Unanswered) as error:
                pause_s = error.retry_after_s if isinstance(error, RateLimited) else AGAIN_AFTER_S
                waited_s += pause_s
                if waited_s > HISTORY_PATIENCE_S:
                    raise
                await self._clock.sleep(pause_s)


def _known(seen: Sequence[Seen]) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for one in seen:
        target, ts = parse_address(one.address), ts_of(one.order_key)
        there = known.setdefault(target.channel, _Known())
        if target.thread_ts is None or target.thread_ts == ts:  # a message that opened its thread
            there.newest = max(there.newest, ts)
        if target.thread_ts is not None:
            there.threads[target.thread_ts] = max(there.threads.get(target.thread_ts, ""), ts)
            there.newest = max(there.newest, target.thread_ts)
    return known


def _ts(micros: int) -> str:
    return f"{max(micros, 0) // SECOND_US}.{max(micros, 0) % SECOND_US:06d}"
