"""People press buttons, choose, submit forms and use commands."""

from typing import Any

from tests.simulators.control import operation
from tests.simulators.discord.commands import CHAT_INPUT, GROUP, SUBCOMMAND
from tests.simulators.discord.components import BUTTON, LINK_STYLE, text_inputs
from tests.simulators.discord.interactions import COMMAND, COMPONENT, MODAL_SUBMIT, Interaction
from tests.simulators.discord.people import Id, PeopleActions
from tests.simulators.discord.permissions import VIEW_CHANNEL, can
from tests.simulators.discord.state import BotName
from tests.simulators.discord.world import Bot, Channel, Message

Json = dict[str, Any]


class InteractionActions(PeopleActions):
    """The actions that make an interaction. Each gives the ``Interaction`` to look at (``failure``, answers,
    modal)."""

    def _seen(self, user_id: Id, message_id: Id) -> Message:
        """A message somebody sees: others' ephemeral ones are not there."""
        user, message = self.person(user_id), self.message(message_id)
        hidden = message.ephemeral_for not in {None, user.id} or message.deleted
        if hidden or not can(message.channel, user.id, VIEW_CHANNEL):
            raise LookupError(f"user {user_id} sees no message {message_id}")
        return message

    @operation
    def user_presses_button(
        self, user_id: Id, message_id: Id, button: int | None = None, custom_id: str | None = None
    ) -> Interaction:
        """A person presses a button: the N-th (from 0, row by row), or any with this id.

        ``custom_id`` need not be on the message any more: an old client may still show old buttons.
        """
        message = self._seen(user_id, message_id)
        if custom_id is None:
            custom_id = self._custom_id(message, button)
        shown = next((b for b in message.buttons() if b.get("custom_id") == custom_id), {})
        data = {"custom_id": custom_id, "component_type": BUTTON, "id": shown.get("id", 0)}
        bot = self.world.bots[message.author.id]
        return self.begin(bot, self.person(user_id), message.channel, COMPONENT, data, message)

    def _custom_id(self, message: Message, button: int | None) -> str:
        found = message.buttons()
        if button is None or not 0 <= button < len(found):
            raise LookupError(f"message {message.id} has {len(found)} buttons, not button {button}")
        wanted = found[button]
        if wanted.get("disabled") or wanted.get("style") == LINK_STYLE:
            raise ValueError(f"button {button} of message {message.id} cannot be pressed")
        return str(wanted["custom_id"])

    @operation
    def user_chooses(self, user_id: Id, message_id: Id, custom_id: str, values: list[str]) -> Interaction:
        """A person chooses in a select menu."""
        message = self._seen(user_id, message_id)
        found = next((c for c in message.buttons() if c.get("custom_id") == custom_id), None)
        if found is None:
            raise LookupError(f"message {message_id} has no menu {custom_id!r}")
        data = {"custom_id": custom_id, "component_type": found["type"], "values": values, "id": found["id"]}
        bot = self.world.bots[message.author.id]
        return self.begin(bot, self.person(user_id), message.channel, COMPONENT, data, message)

    @operation
    def user_submits_modal(self, interaction_id: Id, values: dict[str, str]) -> Interaction:
        """The person whose interaction was answered with a modal fills it in, by field id, and submits."""
        asked = self.interactions.get(int(interaction_id))
        if asked is None or asked.modal is None:
            raise LookupError(f"interaction {interaction_id} shows no modal")
        rows = []
        for n, field in enumerate(text_inputs(asked.modal)):
            value = values.get(field["custom_id"]) or str(field.get("value") or "")
            if not value and field.get("required", True):
                raise ValueError(f"field {field['custom_id']!r} is required")
            if len(value) > field.get("max_length", 4000):
                raise ValueError(f"field {field['custom_id']!r} takes {field['max_length']} characters")
            part = {"type": 4, "custom_id": field["custom_id"], "value": value, "id": 2 * n + 2}
            rows.append({"type": 1, "id": 2 * n + 1, "components": [part]})
        data = {"custom_id": asked.modal["custom_id"], "components": rows}
        bot = self.world.bots[asked.bot_id]
        return self.begin(bot, asked.user, asked.channel, MODAL_SUBMIT, data, asked.message)

    @operation
    def user_uses_command(
        self,
        user_id: Id,
        command: str,
        options: dict[str, Any] | None = None,
        channel_id: Id | None = None,
        bot: BotName = None,
    ) -> Interaction:
        """A person uses a slash command: ``"hub"``, or with subcommands ``"hub threads list"``.

        Raises ``LookupError`` if the platform would not offer it, ``ValueError`` for options it would refuse.
        """
        user, channel = self._place(user_id, channel_id, bot)
        account = self.bot(bot)
        name, *steps = command.removeprefix("/").split()
        found = self._command(account, channel, name)
        data: Json = {"id": found["id"], "name": name, "type": CHAT_INPUT}
        given = _options(found, steps, options or {})
        if given:
            data["options"] = given
        if "guild_id" in found:
            data["guild_id"] = found["guild_id"]
        return self.begin(account, user, channel, COMMAND, data)

    def _command(self, bot: Bot, channel: Channel, name: str) -> Json:
        offered = list(bot.commands.get(None, []))
        context = 1 if channel.guild is None else 0
        offered = [c for c in offered if c.get("contexts") is None or context in c["contexts"]]
        if channel.guild is None:
            offered = [c for c in offered if c.get("dm_permission", True)]
        else:
            offered = bot.commands.get(channel.guild.id, []) + offered
        for command in offered:
            if (command["type"], command["name"]) == (CHAT_INPUT, name):
                return command
        raise LookupError(f"no command /{name} is offered here")


def _options(level: Json, steps: list[str], given: dict[str, Any]) -> list[Json]:
    """The options as they are sent: subcommands by name, then what was filled in."""
    declared = {option["name"]: option for option in level.get("options", [])}
    nested = {name for name, option in declared.items() if option["type"] in {SUBCOMMAND, GROUP}}
    if steps:
        if steps[0] not in nested:
            raise LookupError(f"no subcommand {steps[0]!r}")
        inner = declared[steps[0]]
        return [{"name": inner["name"], "type": inner["type"], "options": _options(inner, steps[1:], given)}]
    if nested:
        raise ValueError(f"choose one of {', '.join(sorted(nested))}")
    unknown = set(given) - set(declared)
    missing = {name for name, option in declared.items() if option.get("required")} - set(given)
    if unknown or missing:
        raise ValueError(f"unknown options {sorted(unknown)}, missing options {sorted(missing)}")
    filled = [(declared[name], value) for name, value in given.items()]
    for option, value in filled:
        choices = [choice["value"] for choice in option.get("choices", [])]
        if choices and value not in choices:
            raise ValueError(f"option {option['name']!r} takes one of {choices}")
    return [{"name": option["name"], "type": option["type"], "value": value} for option, value in filled]
