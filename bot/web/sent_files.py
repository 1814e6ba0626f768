"""Files that were sent in a conversation, for whoever may see it: as they were when they were sent, or not at
all, since nobody agreed to show what they have become."""

import asyncio
import os
from typing import Annotated
from urllib.parse import quote

from pydantic import Field
from starlette.responses import Response

from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, Given
from bot.web.errors import ApiError, not_found
from bot.web.file_links import FileLinks, file_target
from bot.web.seeing import thread_seen_by
from core.errors import ToolDenied, ToolFailed
from core.messages import File
from core.safety.paths import PathGuard
from core.store.feed import Feeds, HubSaid

LIMIT_BYTES = 20 * 1024 * 1024
"""As much as people may attach; held in memory while it is sent."""
MEDIA_TYPE = "application/octet-stream"
"""Whatever the file says of itself: a browser is to keep it, not to show it."""
CSP = "default-src 'none'; sandbox"


class SentFileQuery(Given):
    """`seq`: of the line that it came with; `position`: among that line's files."""

    seq: Annotated[int, Field(ge=1, le=2**53)]
    position: Annotated[int, Field(ge=0, le=1000)] = 0


class FileLinkPage(Page):
    """An address that opens the file without a key: for whoever asked for it, and for a minute."""

    url: str


class SentFiles:
    """One method per endpoint."""

    def __init__(self, feeds: Feeds, workspace: PathGuard, links: FileLinks) -> None:
        self._feeds = feeds
        self._workspace = workspace
        self._links = links

    def endpoints(self) -> list[Endpoint]:
        """What is served."""
        return [
            Endpoint(
                "GET",
                "/threads/{id}/file",
                self.read,
                None,
                SentFileQuery,
                refusals=(404, 409),
                media_type=MEDIA_TYPE,
                by_link=True,
            ),
            Endpoint(
                "POST",
                "/threads/{id}/file",
                self.link,
                FileLinkPage,
                SentFileQuery,
                status=201,
                refusals=(404, 409),
            ),
        ]

    async def read(self, call: Call) -> Response:
        """A file that was sent in a conversation, as it was then."""
        _, file = await self._asked_for(call)
        content = await asyncio.to_thread(self._content, file)
        headers = {
            "content-disposition": f"attachment; filename*=utf-8''{quote(file.name, safe='')}",
            "content-security-policy": CSP,
            "cache-control": "private, no-store",
        }
        return Response(content, media_type=MEDIA_TYPE, headers=headers)

    async def link(self, call: Call) -> FileLinkPage:
        """Make an address that opens a file without a key, for a minute."""
        target, file = await self._asked_for(call)
        await asyncio.to_thread(self._content, file, 0)  # it is still there, as it was
        return FileLinkPage(url=self._links.link(target, call.caller.principal.user_id))

    async def _asked_for(self, call: Call) -> tuple[str, File]:
        """Return a file's own address and what was sent there. Raises ApiError."""
        query: SentFileQuery = call.query
        thread_id = (await thread_seen_by(self._feeds, call)).thread.id
        file = await self._sent(thread_id, query.seq, query.position)
        return file_target(thread_id, query.seq, query.position), file

    async def _sent(self, thread_id: str, seq: int, position: int) -> File:
        for item in await self._feeds.feed_before(thread_id, seq + 1, 1):
            if item.seq == seq and isinstance(item.shown, HubSaid):
                files = item.shown.message.files
                if position < len(files):
                    return files[position]
        raise not_found("no file was sent there")

    def _content(self, file: File, limit_bytes: int = LIMIT_BYTES) -> bytes:
        try:
            with self._workspace.reading(file.path) as opened:
                content = opened.read(limit_bytes)
                found = os.fstat(opened.fileno())
        except (ToolDenied, ToolFailed) as error:
            raise not_found(f"{file.name} is no longer there; ask for it again") from error
        if (found.st_size, found.st_mtime_ns) != (file.size_bytes, file.modified_ns):
            raise ApiError(409, "refused", f"{file.name} has changed since it was sent; ask for it again")
        if found.st_size > LIMIT_BYTES:
            raise ApiError(409, "refused", f"{file.name} is over {LIMIT_BYTES} bytes; it is in the workspace")
        return content
