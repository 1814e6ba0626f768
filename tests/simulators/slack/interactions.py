"""Presses, commands and submissions, and how apps answer them.

https://docs.slack.dev/reference/interaction-payloads/block_actions-payload,
https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload,
https://docs.slack.dev/interactivity/implementing-slash-commands,
https://docs.slack.dev/interactivity/handling-user-interaction.
"""

from typing import Any

from tests.simulators.slack import limits
from tests.simulators.slack.content import message_content
from tests.simulators.slack.deliveries import Deliveries
from tests.simulators.slack.errors import SlackError
from tests.simulators.slack.log import DeliveryRecord
from tests.simulators.slack.methods_views import checked_view
from tests.simulators.slack.params import Params
from tests.simulators.slack.state import Ephemeral, ResponseUrl, Trigger, View
from tests.simulators.slack.world import App, Channel, Message, User

Json = dict[str, Any]


class Interactions(Deliveries):
    """Makes interactions, and applies what apps answer to them."""

    def interact(
        self, app: App, kind: str, what: str, payload: Json, *, accepts_response: bool = False
    ) -> DeliveryRecord:
        """Hands an interaction to its app."""
        record = DeliveryRecord(
            self.ids.object("Ix"),
            app.id,
            kind,
            what,
            payload,
            self.clock(),
            accepts_response=accepts_response,
        )
        self.log.deliveries.append(record)
        self.deliver(record)
        self.changed()
        return record

    def new_trigger(self, app: App, user: User) -> str:
        """A permission to open a view, for a few seconds."""
        number = self.ids.secret()
        trigger = Trigger(
            f"{int(number[:8], 16)}.{int(number[8:14], 16)}.{number}",
            app.id,
            user.id,
            self.clock() + self.trigger_ttl_s,
        )
        self.triggers[trigger.id] = trigger
        return trigger.id

    def new_response_url(
        self,
        app: App,
        channel: Channel,
        user: User,
        message: Message | Ephemeral | None = None,
        thread_ts: str | None = None,
    ) -> str:
        """A URL that answers this interaction, for half an hour."""
        key = self.ids.secret()
        expires_at = self.clock() + self.response_url_ttl_s
        self.response_urls[key] = ResponseUrl(
            key, app.id, channel.id, user.id, expires_at, message, thread_ts
        )
        return f"{self.url}/actions/{self.world.team_id}/{key}"

    def about_user(self, user: User) -> Json:
        """The ``user`` of an interaction."""
        return {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id}

    def about_team(self) -> Json:
        """The ``team`` of an interaction."""
        return {"id": self.world.team_id, "domain": self.world.team_domain}

    # -- answers

    async def _try_once(self, record: DeliveryRecord, retry: int, reason: str) -> str:
        result = await super()._try_once(record, retry, reason)
        if result == "acked" and isinstance(record.response, dict | str) and record.response:
            try:
                self._answered(record, record.response)
            except SlackError as error:
                # the person is shown that the app did not answer properly
                record.state, record.deliveries[-1]["refused"] = "failed", error.error
            self.changed()
        return result

    def _answered(self, record: DeliveryRecord, response: Json | str) -> None:
        """An app may answer a command with a message and a submission with errors or another view."""
        if record.kind == "slash_commands":
            key = record.payload["response_url"].rpartition("/")[2]
            body = {"text": response} if isinstance(response, str) else response
            self._respond(self.response_urls[key], body)
        elif record.what == "view_submission" and isinstance(response, dict):
            self._after_submission(self.views[record.payload["view"]["id"]], response)

    def _after_submission(self, view: View, response: Json) -> None:
        match response.get("response_action"):
            case "errors":
                view.is_open, view.errors = True, response.get("errors", {})
            case "update" | "push":
                body = checked_view(response.get("view"), self.ids)
                view.is_open, view.body, view.errors = True, {**view.body, **body}, {}
            case "clear":
                view.is_open = False

    def use_response_url(self, key: str, body: Json) -> None:
        """An app answers by URL. Raises ``SlackError`` if it may not (any more)."""
        link = self.response_urls.get(key)
        if link is None:
            raise SlackError("invalid_url")
        if self.clock() > link.expires_at:
            raise SlackError("expired_url")
        if link.uses >= limits.RESPONSE_URL_USES:
            raise SlackError("used_url")
        link.uses += 1
        self._respond(link, body)

    def _respond(self, link: ResponseUrl, body: Json) -> None:
        params = Params(body)
        target = link.message
        if params.flag("delete_original"):
            self._take_away(target)
            return
        content, _ = message_content(params, self.ids)
        app, channel = self.world.apps[link.app_id], self.world.channels[link.channel]
        if target is not None and params.flag("replace_original"):
            self._replace(target, content)
        elif params.text("response_type") == "in_channel":
            thread_ts = params.text("thread_ts") or link.thread_ts
            self.post(channel, app.user.id, content, app=app, thread_ts=thread_ts, request=0)
        else:
            ts = self.world.timestamps.next(self.clock())
            shown = Ephemeral(ts, channel.id, link.user_id, app.id, content, "response", link.thread_ts)
            self.ephemeral_messages.append(shown)
            link.message = link.message or shown
        self.changed()

    def _replace(self, target: Message | Ephemeral, content: Json) -> None:
        if isinstance(target, Message):
            self.change(target, _without_content(target.body) | content, mark=False)
        else:
            target.history.append(target.body)
            target.body = content

    def _take_away(self, target: Message | Ephemeral | None) -> None:
        if isinstance(target, Message):
            self.delete(target)
        elif target is not None:
            target.deleted = True
            self.changed()


def _without_content(body: Json) -> Json:
    return {name: value for name, value in body.items() if name not in {"text", "blocks", "attachments"}}
