"""A Telegram to test against: the Bot API on the wire, a world behind it, and a log that judges promises.

Written from https://core.telegram.org/bots/api, https://core.telegram.org/bots/features and the behaviour of
the open Bot API server; it imports nothing of the product. What only the real platform can confirm is listed
in ``docs/unverified/telegram.md``.

As a process
------------
``python -m tests.simulators.telegram --port 8081 --token 123456:AAA --user 7`` prints one JSON line when
ready::

    {"url": "http://127.0.0.1:8081", "control_url": "http://127.0.0.1:40123/_control", "pid": 4711}

Requests of bots go to ``{url}/bot<token>/<METHOD>``, files to ``{url}/file/bot<token>/<path>``.
``control_url`` has a port of its own and stays up while the Bot API is "down"; ``{url}/_control`` works too
while it is up. Options: ``--host --port --control-port --token (repeatable) --user (repeatable) --log-limit
--enforce-rate-limits --enforce-poll-pacing``. SIGTERM ends it.

In a test
---------
::

    async with TelegramSimulator() as sim:
        sim.add_bot("123456:AAA")                       # the bot's id is the number before the colon
        sim.add_user(7, first_name="Ann")
        sim.user_sends_text(7, "hello")                 # private chat with the only bot; chat id = user id =
        7 answer = await sim.wait_text(7, "hello back")   # a Message of the bot, after edits
        sim.user_presses_button(7, answer.id, 0)        # first button; or data="p:1:0" sim.fail("drop",
        method="sendMessage", when="after", count=1) await sim.wait_for(lambda: sim.requests("sendMessage",
        outcome="dropped"), timeout_s=5)

Everything runs on one event loop; from other processes use
``tests.simulators.control_client`` (or any HTTP client).

Over HTTP
---------
Every operation below is ``POST {control_url}/<operation>`` with a JSON object of its arguments (GET with a
query string works for plain ones) and answers ``{"ok": true, "result": …}`` or ``{"ok": false, "error":
"…"}`` with status 400 (bad arguments), 404 (unknown operation, user, chat, message …) or 408 (a wait ran out
of time). ``GET {control_url}/`` lists all operations with signatures; ``GET {control_url}/log?since=N`` is
the whole log. ``bot`` is a token, id or username and may be left out when there is one bot; ``chat_id`` of a
private chat is the person's id (and may be left out); times end in ``_s`` and are seconds.

Operations
----------
accounts
    ``add_bot(token, username=None, first_name="Bot", can_read_all_group_messages=False, …)``;
    ``add_user(user_id=None, first_name="Ann", last_name=None, username=None, language_code="en")``
chats (``bots=None`` is the only bot; the first member is the creator)
    ``create_group(title, members, bots=None, admins=None, chat_id=None)``;
    ``create_supergroup(title, members, bots=None, admins=None, is_forum=False, username=None,
    chat_id=None)``; ``create_channel(title, owner, bots=None, username=None)``; ``channel_posts(chat_id,
    text)``; ``set_member(chat_id, user_id, status, by=None)``; ``user_joins(user_id, chat_id)``;
    ``user_leaves``; ``bot_is_added(chat_id, bot=None)``; ``bot_is_kicked(chat_id, bot=None)``;
    ``group_migrates(chat_id, is_forum=False)`` → the new supergroup; ``topic_created(chat_id, name,
    by=None)`` → ``{"id", …}``; ``topic_closed(chat_id, topic_id)``; ``topic_reopened``; ``topic_deleted``;
    ``message_deleted(chat_id, message_id)``
people
    ``user_sends_text(user_id, text, chat_id=None, bot=None, topic_id=None, reply_to=None, entities=None,
    quote=None)``; ``user_sends_photo(user_id, content=None, caption=None, size_bytes=None, …)``;
    ``user_sends_document(user_id, name="notes.txt", content=None, media_type="text/plain", caption=None,
    size_bytes=None, …)``; ``user_sends_voice(user_id, content=None, duration_s=3, …)``;
    ``user_sends_album(user_id, count=2, caption=None, kind="photo" | "document", …)``;
    ``user_sends(user_id, content, …)``: any other message (sticker, location …) by its fields;
    ``user_edits_text(user_id, message_id, text, chat_id=None, bot=None)``;
    ``user_presses_button(user_id, message_id, button=None, data=None, chat_id=None, bot=None)`` → callback
    query; ``user_reacts(user_id, message_id, emoji, chat_id=None, bot=None)``; ``user_blocks_bot(user_id,
    bot=None)``; ``user_unblocks_bot``; ``user_is_deactivated(user_id)`` (``content`` is bytes, over HTTP
    base64; ``size_bytes`` makes a file bigger without its memory)
updates
    ``redeliver(update_id=None, bot=None, times=1, new_ids=False)``: the same update again, under its old id
    whatever offset the bot asks with, or as new ones; ``inject_update(payload, bot=None, update_id=None)``:
    anything as an update
faults (kinds in ``faults``)
    ``fail(kind, method="*", chat_id=None, bot=None, count=None, duration_s=None, skip=0, …)`` → ``{"id",
    …}``; ``clear_faults(fault_id=None)``; ``release(fault_id=None)`` (held requests go on);
    ``armed_faults()``; ``go_down()``; ``come_up()``; ``configure(…)``: how long updates and queries live,
    rate limits on or off
judging (fields in ``log`` and ``world.Message.state``)
    ``requests(method=None, chat_id=None, bot=None, outcome=None, ok=None, since=0)``;
    ``updates(bot=None, kind=None)``; ``log(since=0)`` (in Python ``whole_log``);
    ``messages(chat_id, bot=None, by=None, topic_id=None, deleted=False)``; ``chat_state(chat_id, bot=None)``;
    ``callback_queries()``; ``commands(bot=None)``; ``is_polling(bot=None)``; ``all_confirmed(bot=None)``;
    ``last_number()``
waiting (each ends with ``TimeoutError``, HTTP 408, after ``timeout_s``, 10 by default)
    ``wait_bot_messages(chat_id, count=1)``; ``wait_text(chat_id, contains)``;
    ``wait_requests(method=None, count=1, chat_id=None, outcome=None, ok=None, since=0)``;
    ``wait_number(number)``; ``wait_held(count=1)``; ``wait_polling(bot=None)``; ``wait_confirmed(bot=None)``;
    ``wait_callback_answer(query_id)``. ``GET {control_url}/wait?for=held&count=1`` is the same as
    ``wait_held``. In Python also ``wait_for(predicate, timeout_s)``, looked at after every change.

How to read the log
-------------------
A request is ``taken`` once it had its effect, ``ok`` if it was taken and accepted. ``outcome`` says what
became of the answer: ``answered`` means its bytes were handed to the open socket, not that the client has
read them. So a second copy of a message is excused only if an earlier request for it was ``taken`` and its
``outcome`` is not ``answered`` — or the client was killed right then. An update is confirmed
(``confirmed_at``) by a higher offset or a webhook's 2xx.
"""

from tests.simulators.telegram.simulator import TelegramSimulator

__all__ = ["TelegramSimulator"]
