"""Which threads a caller of the API may know of."""

from bot.web.endpoints import Call
from bot.web.errors import not_found
from core.store.feed import Feeds, ThreadGlance


async def thread_seen_by(feeds: Feeds, call: Call) -> ThreadGlance:
    """The thread the path names. Raises ApiError; another person's is as if it were not there."""
    glance = await feeds.thread_glance(call.thread_id)
    caller = call.caller
    if glance is None or not (caller.is_owner or glance.owner.user_id == caller.principal.user_id):
        raise not_found("no thread has this id")
    return glance
