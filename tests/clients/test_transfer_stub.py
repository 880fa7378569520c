"""Archives through the generated stub: a claim for each RPC."""

from __future__ import annotations

import uuid

import grpc
import pytest

from contextkeep.context.v1 import administration_pb2, contexts_pb2
from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.context.v1.administration_pb2_grpc import AdministrationStub
from contextkeep.context.v1.contexts_pb2_grpc import ContextsStub
from contextkeep.context.v1.transfer_pb2_grpc import TransferStub
from tests.conftest import METADATA, OTHERS
from tests.errors import raised

STUB = TransferStub


@pytest.fixture
def context_id(grpc_addr: str) -> str:
    with grpc.insecure_channel(grpc_addr) as channel:
        said = contexts_pb2.MessageInput(content="hello")
        sent = ContextsStub(channel).SendMessage(contexts_pb2.SendMessageRequest(message=said), metadata=METADATA)
        return str(sent.context_id)


def exported(grpc_stub, context_id: str) -> bytes:
    request = pb.ExportArchiveRequest(scope=pb.ArchiveScope(context_id=context_id))
    return b"".join(one.data for one in grpc_stub.ExportArchive(request, metadata=METADATA))


def imported(grpc_stub, archive: bytes, *, metadata=OTHERS, **header) -> pb.ImportedArchive:
    requests = [
        pb.ImportArchiveRequest(header=pb.ImportArchiveHeader(**header)),
        pb.ImportArchiveRequest(data=archive),
    ]
    return grpc_stub.ImportArchive(iter(requests), metadata=metadata).imported


def test_ExportArchive_is_among_the_calls_of_administrators(grpc_stub, grpc_addr, context_id):
    exported(grpc_stub, context_id)
    with grpc.insecure_channel(grpc_addr) as channel:
        request = administration_pb2.ListAdministrativeCallsRequest(page_size=5)
        (call, *_) = AdministrationStub(channel).ListAdministrativeCalls(request, metadata=METADATA).calls
    assert (call.method, call.status) == ("contextkeep.context.v1.Transfer/ExportArchive", "OK")
    assert context_id in str(call)


def test_ExportArchive_ends_where_it_can_be_gone_on_with(grpc_stub, context_id):
    request = pb.ExportArchiveRequest(scope=pb.ArchiveScope(context_id=context_id))
    *_, last = grpc_stub.ExportArchive(request, metadata=METADATA)
    request.resume_token = last.resume_token
    assert list(grpc_stub.ExportArchive(request, metadata=METADATA)) == []
    request.scope.context_id = str(uuid.uuid4())
    with pytest.raises(grpc.RpcError) as refused:
        list(grpc_stub.ExportArchive(request, metadata=METADATA))
    assert raised(refused.value).reason == "INVALID_PAGE_TOKEN"


def test_ImportArchive_writes_it_into_another_tenant_once(grpc_stub, context_id):
    archive = exported(grpc_stub, context_id)
    for written in (1, 0):
        done = imported(grpc_stub, archive, import_id=str(uuid.uuid4()))
        (messages,) = (row for row in done.rows if row.table == "message")
        assert (messages.written, messages.present, messages.conflicts) == (written, 1 - written, 0)
        assert done.state == pb.IMPORT_STATE_DONE
    assert imported(grpc_stub, archive, dry_run=True).dry_run


def test_GetImport_says_how_far_it_is(grpc_stub, context_id):
    archive, import_id = exported(grpc_stub, context_id), str(uuid.uuid4())
    with pytest.raises(grpc.RpcError) as refused:
        imported(grpc_stub, archive[: len(archive) // 2], import_id=import_id)
    assert raised(refused.value).reason == "ARCHIVE_REFUSED"
    half = grpc_stub.GetImport(pb.GetImportRequest(import_id=import_id), metadata=OTHERS).imported
    assert half.state == pb.IMPORT_STATE_RUNNING and 0 < half.offset_bytes < len(archive)
    rest = archive[half.offset_bytes :]
    assert imported(grpc_stub, rest, import_id=import_id, offset_bytes=half.offset_bytes).offset_bytes == len(archive)
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.GetImport(pb.GetImportRequest(import_id=import_id), metadata=METADATA)
    assert raised(refused.value).reason == "IMPORT_NOT_FOUND"
