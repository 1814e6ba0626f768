"""What platforms and providers answered `hubbub doctor`, and what that means for the hub."""

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from bot.channel_settings import TelegramChannel
from bot.findings import Finding, broken, fine, warning
from channels.telegram.privacy import GroupRights, hints

SKEW_LIMIT_S = 60
"""Clocks of machines that are kept in time agree within a second; signed requests are good for minutes."""
READS_MESSAGES = 1 << 18 | 1 << 19
"""Application flags GATEWAY_MESSAGE_CONTENT and GATEWAY_MESSAGE_CONTENT_LIMITED (Application Resource)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`page`: the body where it is JSON."""

    status: int
    page: Any
    date: str | None


def telegram_bot(what: str, answer: Answer) -> Finding:
    """To getMe."""
    match answer.status, answer.page:
        case 200, {"ok": True, "result": {"username": str(username)}}:
            return fine(what, f"the token is good: @{username}")
        case ((401 | 404), {"ok": False}):
            return broken(what, "the platform refuses the token", "copy it again from @BotFather")
        case status, _:
            advice = "check api_base_url, or try again later"
            return broken(what, f"unexpected answer (HTTP {status})", advice)


def slack_bot(what: str, answer: Answer) -> Finding:
    """To auth.test with the bot token."""
    match answer.status, answer.page:
        case 200, {"ok": True, "user": str(user), "team": str(team)}:
            return fine(what, f"the token is good: {user} in {team}")
        case 200, {"ok": False, "error": str(error)}:
            advice = "copy the bot token again from api.slack.com/apps (Install App)"
            return broken(what, f"the platform refuses the token ({error})", advice)
        case status, _:
            return broken(
                what, f"unexpected answer (HTTP {status})", "check api_base_url, or try again later"
            )


def discord_bot(what: str, answer: Answer) -> Finding:
    """To Get Current User."""
    match answer.status, answer.page:
        case 200, {"id": str(), "username": str(username)}:
            return fine(what, f"the token is good: {username}")
        case 401, _:
            advice = "copy it again from discord.com/developers/applications (Bot, Reset Token)"
            return broken(what, "the platform refuses the token", advice)
        case status, _:
            return broken(
                what, f"unexpected answer (HTTP {status})", "check api_base_url, or try again later"
            )


def slack_app(what: str, answer: Answer) -> list[Finding]:
    """To apps.connections.open with the app-level token; nothing if it is good."""
    match answer.status, answer.page:
        case 200, {"ok": True}:
            return []
        case 200, {"ok": False, "error": str(error)}:
            advice = "copy it again from api.slack.com/apps (Basic Information), and switch Socket Mode on"
            return [broken(what, f"Slack refuses the app-level token ({error})", advice)]
        case status, _:
            problem = f"unexpected answer to the app-level token (HTTP {status})"
            return [broken(what, problem, "check api_base_url, or try again later")]


def discord_intents(what: str, answer: Answer) -> list[Finding]:
    """To Get Current Application; nothing if the bot is shown what people write."""
    match answer.status, answer.page:
        case 200, {"flags": int(flags)} if not flags & READS_MESSAGES:
            advice = "switch on Message Content Intent at discord.com/developers/applications (Bot)"
            return [broken(what, "Discord does not show the bot what people write", advice)]
        case _:
            return []


def telegram_groups(name: str, channel: TelegramChannel, answer: Answer) -> list[Finding]:
    """To getMe, of what the bot is shown in groups."""
    match answer.status, answer.page:
        case 200, {"ok": True, "result": {**me}}:
            found = hints(channel.groups, GroupRights.read(me))
        case _:
            return []
    what = f"groups of {name}"
    return [warning(what, hint.text, hint.fix) if hint.fix else fine(what, hint.text) for hint in found]


def provider(what: str, host: str, name: str, answer: Answer) -> Finding:
    """To the list of models."""
    match answer.status, answer.page:
        case ((401 | 403), _):
            return broken(what, f"{host} refuses the key", "set a valid api_key")
        case 200, {"data": [*models]}:
            known = [model.get("id") for model in models if isinstance(model, dict)]
            if name in known:
                return fine(what, f"{host} takes the key and knows {name}")
            return warning(what, f"{host} does not list {name}", "check the model's name")
        case status, _ if status >= 500:
            return broken(what, f"{host} has trouble (HTTP {status})", "try again later, or add a fallback")
        case status, _:
            advice = "base_url should end where /chat/completions begins, as a rule in /v1"
            return warning(what, f"{host} lists no models (HTTP {status})", advice)


def clock(host: str, date: str | None) -> list[Finding]:
    """To whatever was asked, of the time there."""
    try:
        skew_s = time.time() - parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        return []
    if abs(skew_s) <= SKEW_LIMIT_S:
        return [fine("clock", f"agrees with {host}")]
    word = "ahead of" if skew_s > 0 else "behind"
    return [broken("clock", f"{abs(skew_s):.0f} s {word} {host}", "set it, for example by NTP")]
