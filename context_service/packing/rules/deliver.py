"""Delivery of packs: with references to files, with the bytes of files, or as a stream.

A pack is kept with references, so its prefix stays small and stable. Bytes are inserted only into the answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from uuid import UUID

from context_service.packing.model import Pack, Prefix
from context_service.packing.pure.body.lay_out import PACK_BYTES_MAX
from context_service.packing.rules.pack import Packing
from context_service.working_memory.room import FileContents, StoredFile, size_with_files
from contextkeep.errors import AnswerTooLarge
from service_runtime.rpc.principal import Principal


class Delivery:
    """Delivers packs; each call acts for its principal.

    Args:
        packing: Makes the packs.
        contents: Reads the bytes of files.
    """

    def __init__(self, packing: Packing, contents: FileContents) -> None:
        self._packing = packing
        self._contents = contents

    async def pack(
        self, window_id: UUID, *, principal: Principal, recalls: bool, prefix: Prefix, is_inline: bool
    ) -> Pack:
        """Return a pack. With `is_inline` its body has the bytes of its files.

        Raises:
            AnswerTooLarge: the body with these bytes does not fit one answer.
            RecordNotFound: a file was deleted meanwhile.
            ContextKeepError: those of `Packing.pack`.
        """
        pack = await self._packing.pack(
            window_id, principal=principal, recalls=recalls, prefix=prefix, is_inline=is_inline
        )
        if not is_inline or not pack.files:
            return pack
        size_bytes = size_with_files(len(pack.messages_json), pack.files)
        if size_bytes > PACK_BYTES_MAX:
            raise AnswerTooLarge(
                f"the pack has {size_bytes:,} bytes with its files; an answer may have up to {PACK_BYTES_MAX:,}: ask"
                " for files=REFERENCES, or call PackBody",
                use="PackBody",
                size_bytes=size_bytes,
                size_bytes_max=PACK_BYTES_MAX,
            )
        files = [file.within("", -pack.offset_bytes) for file in pack.files]
        stored = await self._stored(pack, principal)
        body = await self._contents.whole(pack.messages_json, files, stored)
        return replace(pack, messages_json=body, files=())

    async def pack_and_body(
        self, window_id: UUID, *, principal: Principal, recalls: bool
    ) -> tuple[Pack, AsyncGenerator[bytes, None]]:
        """Return a pack without its body, and the body with the bytes of its files, in chunks of up to 1 MiB.

        Raises:
            ContextKeepError: those of `Packing.pack`; the chunks raise those of `FileContents.chunks`.
        """
        pack = await self._packing.pack(window_id, principal=principal, recalls=recalls)
        chunks = self._contents.chunks(pack.messages_json, pack.files, await self._stored(pack, principal))
        return replace(pack, messages_json=b"", files=()), chunks

    async def _stored(self, pack: Pack, principal: Principal) -> dict[str, StoredFile]:
        """Return the stored files of a pack, by the ids of their records."""
        record_ids = {file.working_memory_id for file in pack.files}
        return await self._contents.files_of(record_ids, principal=principal, context_id=pack.window.context_id)
