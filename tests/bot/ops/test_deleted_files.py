"""Files of deleted conversations that somebody uses again while they are removed."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from bot.web.files import DeletedFiles, FileUploads
from core.clock import SystemClock
from core.ids import RandomIds
from core.store.feed import DeletedFile, FileKind

OLIVIA = "olivia"


class Threads:
    """The notes of one upload. `meanwhile`: what happens once they are read."""

    def __init__(self, handle: str, meanwhile: Callable[[], None]) -> None:
        self.handle = handle
        self.meanwhile = meanwhile
        self.wanted = False
        self.noted = True

    async def deleted_files(self, limit: int) -> Sequence[DeletedFile]:
        del limit
        found = [DeletedFile(FileKind.UPLOAD, self.handle, self.wanted)] if self.noted else []
        self.meanwhile()
        return found

    async def unknown_calls(self, call_ids: Sequence[str]) -> Sequence[str]:
        return call_ids

    async def files_removed(self, files: Sequence[DeletedFile]) -> None:
        self.noted = self.noted and not files


class Bench:
    """An uploaded file of a deleted conversation."""

    def __init__(self, directory: Path) -> None:
        self.uploads = FileUploads(directory / "uploads", SystemClock(), RandomIds())
        self.directory = directory

    async def noted(self, meanwhile: Callable[[], None] = lambda: None) -> Threads:
        async def content() -> AsyncIterator[bytes]:
            yield b"content"

        handle, _ = await self.uploads.keep(OLIVIA, "a.txt", "text/plain", content())
        threads = Threads(handle, meanwhile)
        self.deleted = DeletedFiles(threads, self.uploads, self.directory, self.directory / "outputs")
        return threads

    async def is_there(self, threads: Threads) -> bool:
        return await self.uploads.of(OLIVIA, threads.handle) is not None


async def test_a_file_attached_to_an_unstored_message_is_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    threads = await bench.noted()
    with bench.uploads.taking([threads.handle]):
        await bench.deleted.look()
        assert await bench.is_there(threads)
        assert threads.noted
        threads.wanted = True  # it is stored
    await bench.deleted.look()
    assert await bench.is_there(threads)
    assert not threads.noted


async def test_a_file_attached_after_the_scan_is_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def stored() -> None:
        threads.wanted = True

    threads = await bench.noted(stored)
    await bench.deleted.look()
    assert await bench.is_there(threads)


async def test_a_file_under_removal_cannot_be_attached(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    threads = await bench.noted()
    with bench.uploads.leaving([threads.handle]) as free:
        assert free == [threads.handle]
        assert not await bench.is_there(threads)
    assert await bench.is_there(threads), "it could not be removed"
    await bench.deleted.look()
    assert not await bench.is_there(threads)
