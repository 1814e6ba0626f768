"""A Discord to test against: REST and gateway on the wire, a world behind them, a log that judges promises.

Written from https://docs.discord.com/developers/ (API v10); it imports nothing of the product. What only the
real platform can confirm is listed in ``docs/unverified/discord.md``.

As a process
------------
``python -m tests.simulators.discord --port 8083 --token MTAw….x.y --user 7`` prints one JSON line when
ready::

    {"url": …, "api_base_url": "…/api/v10", "gateway_url": "ws://…/gateway", "control_url": …, "pid": 4711}

Requests go to ``{url}/api/v10/…``, websockets to ``gateway_url``, files come from ``{url}/attachments/…``.
``control_url`` has a port of its own and stays up while the platform is "down". Options: ``--host --port
--control-port --token (repeatable) --user (repeatable) --log-limit --enforce-rate-limits``. SIGTERM ends it.

In a test
---------
::

    async with DiscordSimulator() as sim:
        sim.add_bot(TOKEN)                       # the bot's id is the token's first part, in base64
        sim.add_user(ANN, global_name="Ann")
        guild = sim.create_guild("house", [ANN])          # with the only bot in it
        hall = sim.create_channel(guild.id, "hall")
        await sim.wait_connected()
        sim.user_mentions_bot(ANN, "hello", hall.id)
        answer = await sim.wait_text(hall.id, "hello back")        # a Message of the bot, after edits
        pressed = sim.user_presses_button(ANN, answer.id, 0)       # first button; or custom_id="p:1:0"
        await sim.wait_interaction(pressed.id)                     # pressed.failure says if it failed
        sim.fail("drop", method="createMessage", when="after", count=1)

Everything runs on one event loop; from other processes use ``discord_process`` (or any HTTP client): every
operation is ``POST {control_url}/<operation>``, see ``tests.simulators.control``. Ids are numbers in Python
and text over HTTP; both are taken everywhere. ``bot`` is a token, id or username and may be left out when
there is one bot; ``channel_id=None`` of a person's action is the direct conversation with the bot.

Operations
----------
accounts and places
    ``add_bot(token, username="hub_bot", bot_id=None, message_content=True, …)``; ``add_user(user_id=None,
    username=None, global_name=None)``; ``create_guild(name, members, bots=None)``; ``create_role``;
    ``set_everyone(guild_id, permissions)``; ``join_guild``; ``leave_guild``; ``create_channel(guild_id, name,
    kind="text" | "forum" | "category" | "announcement", overwrites=None)``; ``set_overwrite``;
    ``delete_channel``; ``dm_channel(user_id)``; ``revoke_token(bot=None, token=None)``;
    ``set_message_content(on)``; ``configure(…)``: how long things live, rate limits
people
    ``user_sends_text(user_id, text, channel_id=None, reply_to=None, ping=True, files=None)``;
    ``user_mentions_bot(user_id, text, channel_id)``; ``user_edits_text``; ``user_deletes``; ``user_reacts``;
    ``user_starts_thread``; ``user_posts_in_forum``; ``user_archives_thread``; ``user_types``;
    ``user_blocks_bot``; ``user_presses_button(user_id, message_id, button=None, custom_id=None)``;
    ``user_chooses``; ``user_submits_modal(interaction_id, values)``; ``user_uses_command(user_id, "hub list",
    options=None, channel_id=None)``
gateway
    ``cut_gateway(duration_s=None)``; ``mend_gateway()``; ``close_gateway(code)``; ``ask_reconnect()``;
    ``ask_heartbeat()``; ``invalidate_sessions(resumable=False)``; ``forget_sessions()``; ``withhold_acks()``;
    ``redeliver(message_id, times=1)``; ``inject_event(name, data)``
faults (kinds in ``faults``)
    ``fail(kind, method="*", channel_id=None, bot=None, count=None, duration_s=None, skip=0, …)``;
    ``clear_faults``; ``release``; ``armed_faults``; ``go_down()``; ``come_up()``
judging (fields in ``log``, ``world.Message.state`` and ``interactions.Interaction.state``)
    ``requests(method=None, channel_id=None, bot=None, outcome=None, ok=None, since=0)``; ``events(name)``;
    ``gateway_log(what)``; ``log(since=0)`` (in Python ``whole_log``); ``messages(channel_id, by=None)``;
    ``visible_messages(user_id, channel_id)``; ``ephemeral_messages(user_id)``; ``message_state``;
    ``channel_state``; ``all_interactions``; ``commands(guild_id=None)``; ``is_connected``; ``last_number``
waiting (each ends with ``TimeoutError``, HTTP 408, after ``timeout_s``, 10 by default)
    ``wait_bot_messages(channel_id, count=1)``; ``wait_text(channel_id, contains)``; ``wait_requests(…)``;
    ``wait_number``; ``wait_held``; ``wait_connected``; ``wait_disconnected``;
    ``wait_gateway(what, count=1)``;
    ``wait_interaction(interaction_id)``. In Python also ``wait_for(predicate, timeout_s)``.

How to read the log
-------------------
A request is ``taken`` once it had its effect, ``ok`` if it was taken and accepted. ``outcome`` says what
became of the answer: ``answered`` means its bytes were handed to the open socket, not that the client has
read them. So a second copy of a message is excused only if an earlier request for it was ``taken`` and its
``outcome`` is not ``answered`` — or the client was killed right then; and never within the nonce's window. A
message's ``pings`` are whom it notified; ``text`` is what a person reads (``markdown``).
"""

from tests.simulators.discord.client import discord_process
from tests.simulators.discord.simulator import DiscordSimulator

__all__ = ["DiscordSimulator", "discord_process"]
