"""Files, to and from Slack: they travel beside the Web API's methods."""

from typing import Final

import aiohttp

from channels.downloads import downloaded
from channels.slack.client import SlackClient, in_thread
from core.errors import MessageRejected, Unavailable

FILE_TIMEOUT_S: Final = 120.0


class Files:
    """Those one bot sends and fetches. Every method raises ChannelError, nothing else."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client

    async def upload(self, channel: str, thread_ts: str | None, name: str, content: bytes) -> str:
        """Show a file in a conversation; returns its id."""
        asked = await self._client.look("files.getUploadURLExternal", filename=name, length=len(content))
        url, file_id = self._client.read(lambda: (str(asked["upload_url"]), str(asked["file_id"])))
        try:
            async with self._client.session.post(
                url, data=content, timeout=aiohttp.ClientTimeout(total=FILE_TIMEOUT_S)
            ) as answer:
                if answer.status != 200:
                    raise MessageRejected(f"Slack refuses the file (HTTP {answer.status})")
        except (aiohttp.ClientError, TimeoutError) as error:
            # Nobody sees it yet: what is uploaded and never completed is dropped.
            raise Unavailable(f"the file could not be uploaded ({type(error).__name__})") from error
        await self._client.call(
            "files.completeUploadExternal",
            files=[{"id": file_id, "title": name}],
            channel_id=channel,
            **in_thread(thread_ts),
        )
        return file_id

    async def delete(self, file_id: str) -> bool:
        """files.delete; False if Slack does not let us."""
        try:
            await self._client.call("files.delete", file=file_id)
        except MessageRejected:
            return False
        return True

    async def download(self, url: str, limit_bytes: int) -> bytes:
        """A file people sent: Slack gives it to who brings the bot's token."""
        timeout = aiohttp.ClientTimeout(total=FILE_TIMEOUT_S)
        request = self._client.session.get(
            url, headers=self._client.authorization, timeout=timeout, allow_redirects=False
        )
        return await downloaded(request, limit_bytes, "Slack")
