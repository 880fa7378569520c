"""The register of erasures beside the blobs: what outlives a Postgres that is restored from before one.

Before anything of a subject is removed, an entry stands where the files are: a small object whose key says all of it,
and says nobody's name. None is ever removed, so the list of them is the register.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from uuid import UUID

from context_service.blobs.storage import REGISTER, BlobStorage, Declared
from service_runtime.erased import Erased

_KEY = re.compile(re.escape(REGISTER) + r"([0-9a-f]{32})/([0-9a-f]{32})-([0-9a-f]{64})")


class Register:
    """Entries of erasures.

    Args:
        storage: Where they are: written to the current provider, read from all.
    """

    def __init__(self, storage: BlobStorage) -> None:
        self._storage = storage

    async def enter(self, one: Erased) -> None:
        """Write an entry, unless it stands there.

        Raises:
            Unavailable: the provider does not answer; or another one is writing it just now.
        """
        key = _key(one)
        provider = self._storage.provider
        if await self._storage.is_stored(provider, key, unfinished=False):
            return
        await self._storage.delete(provider, key)  # what a kill left of writing it
        await self._storage.write(key, _content(one), declared=Declared())

    async def entries(self) -> list[Erased]:
        """Return all entries of all providers, the oldest first.

        Raises:
            ProviderNotConfigured, Unavailable: a provider does not answer.
        """
        found: set[Erased] = set()
        for provider in self._storage.providers():
            async with aclosing(self._storage.list_pages(provider, REGISTER, unfinished=False)) as pages:
                async for page in pages:
                    found.update(one for stat in page if (one := _entry(stat.key)))
        return sorted(found, key=lambda one: (one.erasure_id, one.tenant_id))

    async def copy(self, target: str) -> None:
        """Have all entries with a provider: another one is given up, perhaps.

        Raises:
            StorageFull, ProviderNotConfigured, Unavailable: so far and no further.
        """
        there = Register(self._storage.towards(target))
        for one in await self.entries():
            await there.enter(one)


def _key(one: Erased) -> str:
    return f"{REGISTER}{one.tenant_id.hex}/{one.erasure_id.hex}-{one.subject_sha256.hex()}"


def _entry(key: str) -> Erased | None:
    said = _KEY.fullmatch(key)
    if said is None:
        return None
    tenant_id, erasure_id, sha256 = said.groups()
    return Erased(tenant_id=UUID(tenant_id), erasure_id=UUID(erasure_id), subject_sha256=bytes.fromhex(sha256))


async def _content(one: Erased) -> AsyncIterator[bytes]:
    yield f"{one.line()}\n".encode()  # for people: the key says it, too
