"""What lasts beyond a conversation, as units of the store."""

from collections.abc import Sequence

from core.store.kept import Document, MemoryNote, SealedSecret
from core.store.sqlite import halting, memory, secrets
from core.store.sqlite.onlooking import Onlooking


class KeptUnits(Onlooking):
    """Implements core.store.kept.Kept; every method is described there."""

    async def halt_tools(self, by: str, *, halted: bool) -> bool:
        """See Kept."""
        return await self._writer.run(lambda tx: halting.halt_tools(tx, by, halted=halted))

    async def tools_halted(self) -> bool:
        """See Kept."""
        return await self._reader.run(halting.tools_halted)

    async def count_model_call(self, user_id: str, day: str, most: int) -> bool:
        """See Kept."""
        return await self._writer.run(lambda tx: halting.count_model_call(tx, user_id, day, most))

    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        """See Kept."""
        return await self._queries.secrets(own=own)

    async def keep_secrets(self, sealed: Sequence[SealedSecret], *, by: str | None = None) -> None:
        """See Kept."""
        await self._writer.run(lambda tx: secrets.keep(tx, sealed, by))

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        """See Kept."""
        return await self._writer.run(lambda tx: secrets.drop(tx, name, by))

    async def write_memory(self, user_id: str, key: str, text: str) -> None:
        """See Kept."""
        await self._writer.run(lambda tx: memory.write_memory(tx, user_id, key, text))

    async def write_document(
        self, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> Document | None:
        """See Kept."""
        return await self._writer.run(
            lambda tx: memory.write_document(tx, user_id, key, path, text, append=append, most=most)
        )

    async def document(self, user_id: str, path: str) -> MemoryNote | None:
        """See Kept."""
        return await self._reader.run(lambda tx: memory.document(tx, user_id, path))

    async def documents(self, user_id: str, folder: str, limit: int) -> Sequence[Document]:
        """See Kept."""
        return await self._reader.run(lambda tx: memory.documents(tx, user_id, folder, limit))

    async def search_memory(self, user_id: str, query: str, limit: int) -> Sequence[MemoryNote]:
        """See Kept."""
        return await self._reader.run(lambda tx: memory.search_memory(tx, user_id, query, limit))
