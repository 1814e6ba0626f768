"""Answers to interactions: https://docs.discord.com/developers/interactions/receiving-and-responding.

These need no bot token: the interaction's own token in the path is the right to answer.
"""

from typing import Any

from tests.simulators.discord import errors
from tests.simulators.discord.components import read_modal
from tests.simulators.discord.drafts import Draft, check_says_something, read_draft
from tests.simulators.discord.errors import ApiError, FormErrors
from tests.simulators.discord.forms import Form
from tests.simulators.discord.interactions import COMPONENT, MODAL_SUBMIT, Interaction
from tests.simulators.discord.mentions import pings
from tests.simulators.discord.registry import NO_CONTENT, Call, route
from tests.simulators.discord.routes_messages import apply_edit
from tests.simulators.discord.world import COMMAND_ANSWER, EPHEMERAL, LOADING, REPLY, Message

Json = dict[str, Any]
PONG, SAY, DEFER, DEFER_UPDATE, UPDATE, MODAL = 1, 4, 5, 6, 7, 9
CALLBACK_TYPES = (PONG, SAY, DEFER, DEFER_UPDATE, UPDATE, MODAL)
WEBHOOK = "/webhooks/{application_id}/{token}"
WEBHOOK_MESSAGE = WEBHOOK + "/messages/{message_id}"


@route("respondToInteraction", "POST", "/interactions/{interaction_id}/{token}/callback", needs_token=False)
def respond(call: Call) -> Any:
    """…#create-interaction-response: once, within 3 seconds. 204, or 200 for ``with_response``."""
    interaction = call.sim.interactions.get(call.number("interaction_id"))
    if interaction is None or interaction.token != call.path["token"]:
        raise errors.unknown_interaction()
    if interaction.acknowledged:
        raise errors.already_acknowledged()
    if interaction.failure is not None:
        raise errors.unknown_interaction()
    call.act_as(call.sim.world.bots[interaction.bot_id], interaction.channel)
    form, collected = call.form()
    kind = form.choice("type", _possible(interaction))
    collected.refuse_if_any()
    _answer(call, interaction, kind, form)
    call.sim.acknowledge(interaction, kind)
    if call.query.get("with_response", "").lower() not in {"true", "1"}:
        return NO_CONTENT
    return _response(call, interaction, kind)


def _possible(interaction: Interaction) -> tuple[int, ...]:
    """The kinds of answer this interaction may have."""
    kinds: tuple[int, ...] = (SAY, DEFER)
    if interaction.type == COMPONENT or (
        interaction.type == MODAL_SUBMIT and interaction.message is not None
    ):
        kinds += (DEFER_UPDATE, UPDATE)
    return kinds if interaction.type == MODAL_SUBMIT else (*kinds, MODAL)


def _answer(call: Call, interaction: Interaction, kind: int, form: Form) -> None:
    data: Json = form.values.get("data") or {}
    if kind == MODAL:
        collected = FormErrors()
        modal = read_modal(Form(data, collected, ("data",)))
        collected.refuse_if_any()
        interaction.modal = modal
    elif kind == DEFER:
        flags = LOADING | (int(data.get("flags") or 0) & EPHEMERAL)
        interaction.original = _post(call, interaction, None, flags)
        interaction.deferred = True
    elif kind == SAY:
        draft = read_draft(call.body, "data")
        check_says_something(draft)
        interaction.original = _post(call, interaction, draft, draft.flags)
    else:
        interaction.original = interaction.message
        if kind == UPDATE and interaction.message is not None:
            apply_edit(call, interaction.message, read_draft(call.body, "data"))


def _post(call: Call, interaction: Interaction, draft: Draft | None, flags: int) -> Message:
    """A message that answers an interaction."""
    content = (draft.content or "") if draft is not None else ""
    bot, channel = call.sim.world.bots[interaction.bot_id], interaction.channel
    fields: Json = {}
    if draft is not None:
        fields = {
            "embeds": draft.embeds or [],
            "components": draft.components or [],
            "attachments": [call.sim.store(upload, about) for upload, about in draft.uploads],
            "pings": pings(content, channel, bot.user, call.sim.world.users, allowed=draft.allowed),
        }
    if interaction.type == COMPONENT and interaction.message is not None:
        fields |= {"type": REPLY, "reply_to": interaction.message, "reply_to_id": interaction.message.id}
    elif interaction.type != COMPONENT:
        fields["type"] = COMMAND_ANSWER
    message = call.sim.post(
        channel,
        bot.user,
        content,
        flags=flags,
        request=call.record.number,
        application_id=bot.id,
        interaction=call.sim.metadata(interaction),
        ephemeral_for=interaction.user.id if flags & EPHEMERAL else None,
        **fields,
    )
    return call.touched(message)


def _response(call: Call, interaction: Interaction, kind: int) -> Json:
    told: Json = {"id": str(interaction.id), "type": interaction.type}
    resource: Json = {"type": kind}
    message = interaction.original
    if message is not None:
        told |= {
            "response_message_id": str(message.id),
            "response_message_loading": bool(message.flags & LOADING),
            "response_message_ephemeral": bool(message.flags & EPHEMERAL),
        }
        if kind in {SAY, UPDATE}:
            resource["message"] = call.shown(message)
    return {"interaction": told, "resource": resource}


# -- follow-ups


def _interaction(call: Call) -> Interaction:
    """The interaction whose token is in the path. Raises ``ApiError`` 10015, 50027 after 15 minutes."""
    found = call.sim.interaction_of_token(call.path["token"])
    if found is None or str(found.bot_id) != call.path["application_id"] or not found.acknowledged:
        raise errors.unknown_webhook()
    if call.sim.token_is_old(found):
        raise ApiError(401, 50027, "Invalid Webhook Token")
    call.act_as(call.sim.world.bots[found.bot_id], found.channel)
    return found


def _own_message(call: Call, interaction: Interaction) -> Message:
    """A message of this interaction: ``@original`` or by id. Raises ``ApiError`` 10008."""
    name = call.path["message_id"]
    if name == "@original":
        found = interaction.original
    else:
        found = next((m for m in interaction.messages() if str(m.id) == name), None)
    if found is None or found.deleted:
        raise errors.unknown_message()
    return found


@route("createFollowup", "POST", WEBHOOK, needs_token=False)
def create_followup(call: Call) -> Json:
    """…#create-followup-message. Right after a deferral it fills the loading message instead."""
    interaction = _interaction(call)
    draft = read_draft(call.body)
    check_says_something(draft)
    if interaction.deferred and interaction.original is not None and interaction.original.flags & LOADING:
        return _filled(call, interaction.original, draft)
    message = _post(call, interaction, draft, draft.flags)
    interaction.followups.append(message)
    call.sim.changed()
    return call.shown(message)


def _filled(call: Call, message: Message, draft: Draft) -> Json:
    """Edits a message, which then loads no longer."""
    message.flags &= ~LOADING
    return call.shown(apply_edit(call, message, draft))


@route("getFollowup", "GET", WEBHOOK_MESSAGE, needs_token=False)
def get_followup(call: Call) -> Json:
    """…#get-original-interaction-response, …#get-followup-message."""
    return call.shown(_own_message(call, _interaction(call)))


@route("editFollowup", "PATCH", WEBHOOK_MESSAGE, needs_token=False)
def edit_followup(call: Call) -> Json:
    """…#edit-original-interaction-response, …#edit-followup-message."""
    message = _own_message(call, _interaction(call))
    return _filled(call, message, read_draft(call.body))


@route("deleteFollowup", "DELETE", WEBHOOK_MESSAGE, needs_token=False)
def delete_followup(call: Call) -> object:
    """…#delete-original-interaction-response, …#delete-followup-message."""
    message = _own_message(call, _interaction(call))
    call.sim.remove(call.touched(message))
    return NO_CONTENT
