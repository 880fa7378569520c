"""Callers that take archives out and put them in, for tests."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import grpc

from context_service.transfer.pure import FIRST_SEAL, ArchivePiece, pieces, sealed
from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.context.v1.transfer_pb2_grpc import TransferStub
from service_runtime.rpc.principal import Principal
from tests.conftest import PRINCIPAL, Addresses
from tests.context_service.contexts.callers import Caller
from tests.context_service.contexts.test_erasing import Stack
from tests.errors import raised


@dataclass(frozen=True, kw_only=True)
class Opened(Stack):
    addresses: Addresses
    keys: dict[str, Principal]  # more may come

    def administrator(self) -> Caller:
        """Return a caller of a tenant of its own."""
        key = str(uuid.uuid4())
        self.keys[key] = replace(PRINCIPAL, tenant_id=uuid.uuid4())
        return self.caller.of(key)


async def export(caller: Caller, resume_token: str = "", /, **scope: Any) -> bytes:
    """Return an archive, or the rest of one."""
    return b"".join([data async for data, _ in messages(caller, resume_token, **scope)])


async def messages(caller: Caller, resume_token: str = "", /, **scope: Any) -> AsyncIterator[tuple[bytes, str]]:
    request = pb.ExportArchiveRequest(scope=pb.ArchiveScope(**scope), resume_token=resume_token)
    try:
        async for one in TransferStub(caller.channel).ExportArchive(request, metadata=caller.metadata):
            yield one.data, one.resume_token
    except grpc.aio.AioRpcError as error:
        raise raised(error) from None


async def put(
    caller: Caller, archive: bytes, *, import_id: str | None = None, offset: int = 0, dry_run: bool = False,
    chunk_bytes: int = 1024 * 1024,
) -> pb.ImportedArchive:  # fmt: skip
    """Put an archive in, or the rest of one."""
    named = "" if dry_run else import_id or str(uuid.uuid4())
    header = pb.ImportArchiveHeader(import_id=named, offset_bytes=offset, dry_run=dry_run)

    async def requests() -> AsyncIterator[pb.ImportArchiveRequest]:
        yield pb.ImportArchiveRequest(header=header)
        for start in range(offset, len(archive), chunk_bytes):
            yield pb.ImportArchiveRequest(data=archive[start : start + chunk_bytes])

    try:
        answer = await TransferStub(caller.channel).ImportArchive(requests(), metadata=caller.metadata)
    except grpc.aio.AioRpcError as error:
        raise raised(error) from None
    return answer.imported


async def get(caller: Caller, import_id: str) -> pb.ImportedArchive:
    request = pb.GetImportRequest(import_id=import_id)
    try:
        return (await TransferStub(caller.channel).GetImport(request, metadata=caller.metadata)).imported
    except grpc.aio.AioRpcError as error:
        raise raised(error) from None


def counts(done: pb.ImportedArchive) -> dict[str, tuple[int, int, int]]:
    """Return how many rows of each table were written, present and in conflict."""
    return {row.table: (row.written, row.present, row.conflicts) for row in done.rows}


async def cut(archive: bytes) -> list[ArchivePiece]:
    """Return the pieces of an archive."""

    async def whole() -> AsyncIterator[bytes]:
        yield archive

    return [piece async for piece in pieces(whole(), number=0, seal=FIRST_SEAL, offset_bytes=0)]


def joined(those: list[ArchivePiece]) -> bytes:
    """Return an archive of pieces that were changed, numbered and sealed anew: nobody could tell by its checksums."""
    made, seal = [], FIRST_SEAL
    for number, piece in enumerate(those):
        says = {name: value for name, value in piece.says.items() if name not in ("bytes", "seal")}
        one, seal = sealed(seal, {**says, "piece": number, "kind": piece.kind}, piece.data)
        made.append(one)
    return b"".join(made)
