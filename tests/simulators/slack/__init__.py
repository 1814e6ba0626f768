"""A Slack to test against: Web API, Socket Mode, Events API and interactivity on the wire, a workspace
behind them, and a log that judges promises.

Written from https://docs.slack.dev and what people have reported about the platform; it imports nothing of
the product. What only the real platform can confirm is listed in ``docs/unverified/slack.md``.

As a process
------------
``python -m tests.simulators.slack --port 8083 --bot-token xoxb-1 --app-token xapp-1 --user U0ANN`` prints one
JSON line when ready::

    {"url": "http://127.0.0.1:8083", "control_url": "http://127.0.0.1:40123/_control", "pid": 4711}

The Web API is ``{url}/api/<method>`` (SDKs take ``{url}/api/`` as base URL). ``control_url`` has a port of
its own and stays up while Slack is "down". Options: ``--host --port --control-port --bot-token --app-token
--signing-secret --mode socket|http --command (repeatable) --user (repeatable) --log-limit
--enforce-rate-limits``. SIGTERM ends it.

In a test
---------
::

    async with SlackSimulator() as sim:
        sim.add_app("xoxb-1", "xapp-1", commands=["/hubbub"])
        sim.add_user("U0ANN", name="ann")
        dm = sim.direct_channel("U0ANN").id
        sim.user_sends_text("U0ANN", "hello")             # in the direct conversation with the only app
        answer = await sim.wait_text(dm, "hello back")    # a Message of the app, after edits
        sim.user_presses_button("U0ANN", dm, answer.ts, "Allow")   # by label, position, action_id or value
        sim.fail("drop", method="chat.postMessage", when="after", count=1)
        await sim.wait_for(lambda: sim.requests("chat.postMessage", outcome="dropped"), timeout_s=5)

Everything runs on one event loop; from other processes use ``tests.simulators.control_client`` (or any HTTP
client): every operation below is ``POST {control_url}/<operation>`` with a JSON object of its arguments, see
``tests.simulators.control``. ``app`` is an id, name or token and may be left out when there is one app;
``channel`` an id or name; times end in ``_s`` and are seconds.

Operations
----------
accounts
    ``add_app(bot_token, app_token=None, signing_secret=…, name="hub", mode="socket" | "http", commands=None,
    events=None, scopes=None)``; ``add_user(user_id=None, name="ann", …)``; ``set_request_urls(events_url,
    interactivity_url, commands_url, app=None, verify=True)`` → whether the URL verification passed;
    ``revoke_token(token, error="token_revoked")``; ``renew_token(token, new_token)``; ``set_scopes(scopes)``
conversations
    ``create_channel(name, members, channel_id=None, private=False, apps=None)``; ``direct_channel(user_id)``;
    ``open_group_dm(members)``; ``user_invites_app(user_id, channel)``; ``user_removes_app``;
    ``channel_is_archived(channel)``
people
    ``user_sends_text(user_id, text, channel=None, thread_ts=None)``; ``user_mentions(user_id, text, channel,
    thread_ts=None)``: ``message`` and ``app_mention`` of one ts; ``user_sends_file(user_id, name, content,
    text="", channel=None, thread_ts=None, size_bytes=None)``; ``user_edits(user_id, channel, ts, text)``;
    ``user_deletes``; ``user_reacts(user_id, channel, ts, name)``
interactions (each gives the record of its delivery, whose ``state`` ends ``acked`` or ``failed``)
    ``user_presses_button(user_id, channel, ts, button=None, action_id=None, value=None)``;
    ``user_chooses(user_id, channel, ts, option)``; ``user_runs_command(user_id, command, text="",
    channel=None)``; ``user_submits_view(user_id, view_id, values)``; ``user_closes_view(user_id, view_id)``
deliveries
    ``redeliver(delivery_id=None, times=1)``; ``inject_event(event)``; ``configure(ack_timeout_s,
    retry_delays_s, trigger_ttl_s, response_url_ttl_s, enforce_rate_limits, mention_first,
    stream_ttl_s, stream_kinds)``
sockets
    ``close_sockets(reason="refresh_requested" | "warning" | "link_disabled", connection=None, after_s=0)``;
    ``cut_sockets(duration_s=0, connection=None)``: for that long none can be opened; ``connections()``
faults (kinds in ``faults``)
    ``fail(kind, method="*", channel=None, count=None, duration_s=None, skip=0, …)``; ``clear_faults``;
    ``release``; ``armed_faults``; ``go_down()``; ``come_up()``
judging (fields in ``log``)
    ``requests(method, channel, app, outcome, ok, since)``; ``deliveries(kind, what, app, state)``;
    ``messages(channel, by=None, thread_ts=None, deleted=False)``; ``ephemerals(user_id)``;
    ``open_views(user_id)``; ``visible(channel, ts)``: a message as a person reads it; ``pings(channel, ts)``:
    what in it may notify people; ``channel_state(channel)``; ``log(since=0)`` (in Python ``whole_log``);
    in Python also ``look(message)`` → text, code, links, buttons
waiting (each ends with ``TimeoutError``, HTTP 408, after ``timeout_s``, 10 by default)
    ``wait_bot_messages(channel, count=1)``; ``wait_text(channel, contains)``; ``wait_ephemeral(user_id,
    contains)``; ``wait_view(user_id)``; ``wait_requests(…, count=1)``; ``wait_number``; ``wait_held``;
    ``wait_connected(count=1)``; ``wait_settled(delivery_id)``; ``wait_acked()``; in Python also
    ``wait_for(predicate, timeout_s)``, looked at after every change

How to read the log
-------------------
A request is ``taken`` once it had its effect, ``ok`` if it was taken and accepted. ``outcome`` says what
became of the answer: ``answered`` means its bytes were handed to the open socket, not that the client has
read them. So a second copy of a message is excused only if an earlier request for it was ``taken`` and its
``outcome`` is not ``answered`` — or the client was killed right then. An event was accepted by its app when
its ``state`` is ``acked``.
"""

from tests.simulators.slack.simulator import SlackSimulator

__all__ = ["SlackSimulator"]
