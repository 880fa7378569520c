"""The register of erasures, stored with the blobs: it survives the restore of a Postgres backup.

Before any data of a subject is removed, an entry is written where the files are: a small object whose key is the whole
entry, with a hash instead of the subject's name. Entries are never removed, so their list is the register.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from uuid import UUID

from context_service.blobs.storage import REGISTER, BlobStorage, Declared
from service_runtime.erasure.erased import Erased

_KEY = re.compile(re.escape(REGISTER) + r"([0-9a-f]{32})/([0-9a-f]{32})-([0-9a-f]{64})")


class Register:
    """Writes and reads the entries of erasures.

    Args:
        storage: Entries are written to the current provider, and read from all.
    """

    def __init__(self, storage: BlobStorage) -> None:
        self._storage = storage

    async def enter(self, entry: Erased) -> None:
        """Write an entry, unless it exists.

        Raises:
            Unavailable: the provider does not answer, or another process is writing the entry.
        """
        key = _key(entry)
        provider = self._storage.provider
        if await self._storage.is_stored(provider, key, unfinished=False):
            return
        await self._storage.delete(provider, key)  # the remains of a killed write
        await self._storage.write(key, _content(entry), declared=Declared())

    async def entries(self) -> list[Erased]:
        """Return all entries of all providers, the oldest first.

        Raises:
            ProviderNotConfigured, Unavailable: a provider does not answer.
        """
        entries: set[Erased] = set()
        for provider in self._storage.providers():
            async with aclosing(self._storage.list_pages(provider, REGISTER, unfinished=False)) as pages:
                async for page in pages:
                    entries.update(entry for stat in page if (entry := _entry(stat.key)))
        return sorted(entries, key=lambda entry: (entry.erasure_id, entry.tenant_id))

    async def copy(self, target: str) -> None:
        """Copy all entries to a provider, such as one that replaces another.

        Raises:
            StorageFull, ProviderNotConfigured, Unavailable: the copy stopped; run it again for the rest.
        """
        target_register = Register(self._storage.towards(target))
        for entry in await self.entries():
            await target_register.enter(entry)


def _key(entry: Erased) -> str:
    """Return the key of an entry, which contains the whole entry."""
    return f"{REGISTER}{entry.tenant_id.hex}/{entry.erasure_id.hex}-{entry.subject_sha256.hex()}"


def _entry(key: str) -> Erased | None:
    """Return the entry that a key contains; None if it is not the key of an entry."""
    match = _KEY.fullmatch(key)
    if match is None:
        return None
    tenant_id, erasure_id, sha256 = match.groups()
    return Erased(tenant_id=UUID(tenant_id), erasure_id=UUID(erasure_id), subject_sha256=bytes.fromhex(sha256))


async def _content(entry: Erased) -> AsyncIterator[bytes]:
    yield f"{entry.line()}\n".encode()  # only people read it, because the key has the same content
