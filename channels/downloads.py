"""Files that platforms serve over HTTP."""

from contextlib import AbstractAsyncContextManager

import aiohttp

from core.errors import AttachmentTooLarge, MessageRejected, Unanswered

CHUNK_BYTES = 64 * 1024


async def downloaded(
    request: AbstractAsyncContextManager[aiohttp.ClientResponse], limit_bytes: int, platform: str
) -> bytes:
    """Return the file that `request` fetches. Content is discarded once it exceeds the limit.

    Raises MessageRejected if the platform does not provide it, AttachmentTooLarge, Unanswered.
    """
    try:
        async with request as answer:
            if answer.status != 200:
                raise MessageRejected(f"{platform} refused the download (HTTP {answer.status})")
            content = bytearray()
            async for piece in answer.content.iter_chunked(CHUNK_BYTES):
                content += piece
                if len(content) > limit_bytes:
                    raise AttachmentTooLarge(f"the file is larger than {limit_bytes} bytes")
    except (aiohttp.ClientError, TimeoutError) as error:
        raise Unanswered(f"could not download the file ({type(error).__name__})") from error
    return bytes(content)
