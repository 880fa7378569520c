"""WorkingMemory through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import hashlib

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import NoDownloadUrl
from contextkeep.ids import new_id
from tests.conftest import METADATA
from tests.errors import raised

CONTENT = b"what was uploaded"


STUB = WorkingMemoryStub


@pytest.fixture
def record(grpc_stub) -> pb.WMRecord:
    said = pb.WMRecordInput(memory_type="data/json", name="plan", content_json='{"a": 1}', entity_node_id=new_id())
    return grpc_stub.InsertWMRecord(pb.InsertWMRecordRequest(record=said), metadata=METADATA).record


@pytest.fixture
def uploaded(grpc_stub) -> pb.UploadBlobResponse:
    said = pb.WMRecordInput(memory_type="file", name="notes.txt", entity_node_id=new_id())
    messages = [pb.UploadBlobRequest(header=pb.UploadHeader(record=said)), pb.UploadBlobRequest(chunk=CONTENT)]
    return grpc_stub.UploadBlob(iter(messages), metadata=METADATA)


def test_InsertWMRecord_keeps_content_as_it_came(record):
    assert (record.provider, record.content_json) == ("postgres", '{"a": 1}')


def test_FetchWMRecord_answers_what_was_written(grpc_stub, record):
    request = pb.FetchWMRecordRequest(working_memory_id=record.working_memory_id)
    assert grpc_stub.FetchWMRecord(request, metadata=METADATA).record == record


def test_UpdateWMRecord_changes_what_the_mask_names(grpc_stub, record):
    said = pb.WMRecordInput(working_memory_id=record.working_memory_id, name="better plan", description="not named")
    request = pb.UpdateWMRecordRequest(record=said, update_mask=FieldMask(paths=["name"]))
    answer = grpc_stub.UpdateWMRecord(request, metadata=METADATA).record
    assert (answer.name, answer.description, answer.version) == ("better plan", "", 2)


def test_FetchWMRecordsByEntity_lists_an_entity(grpc_stub, record):
    request = pb.FetchWMRecordsByEntityRequest(entity_node_id=record.entity_node_id, with_content=True)
    assert list(grpc_stub.FetchWMRecordsByEntity(request, metadata=METADATA).records) == [record]


def test_DeleteWMRecord_archives_or_purges(grpc_stub, record):
    request = pb.DeleteWMRecordRequest(working_memory_id=record.working_memory_id)
    archived = grpc_stub.DeleteWMRecord(request, metadata=METADATA).record
    assert (archived.status, archived.version) == (pb.RECORD_STATUS_ARCHIVED, 2)
    request.purge = True
    assert not grpc_stub.DeleteWMRecord(request, metadata=METADATA).HasField("record")
    read = pb.FetchWMRecordRequest(working_memory_id=record.working_memory_id, include_archived=True)
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.FetchWMRecord(read, metadata=METADATA)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


def test_RestoreWMRecord_brings_a_record_back(grpc_stub, record):
    name = {"working_memory_id": record.working_memory_id}
    grpc_stub.DeleteWMRecord(pb.DeleteWMRecordRequest(**name), metadata=METADATA)
    restored = grpc_stub.RestoreWMRecord(pb.RestoreWMRecordRequest(**name), metadata=METADATA).record
    assert (restored.status, restored.version) == (pb.RECORD_STATUS_ACTIVE, 3)


def test_ListWMRecordActions_tells_what_happened(grpc_stub, record):
    request = pb.ListWMRecordActionsRequest(working_memory_id=record.working_memory_id)
    (action,) = grpc_stub.ListWMRecordActions(request, metadata=METADATA).actions
    assert (action.kind, action.principal) == (pb.RECORD_ACTION_KIND_CREATED, "first")
    assert action.created_at == record.created_at


def test_UploadBlob_answers_size_and_checksum(uploaded):
    assert (uploaded.size_bytes, uploaded.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    assert uploaded.record.blob_key == uploaded.blob_key


@pytest.fixture
def upload_id(grpc_stub) -> str:
    said = pb.WMRecordInput(memory_type="file", name="large.bin")
    return grpc_stub.StartUpload(pb.StartUploadRequest(record=said), metadata=METADATA).upload.upload_id


@pytest.fixture
def appended(grpc_stub, upload_id) -> pb.Upload:
    header = pb.AppendHeader(upload_id=upload_id)
    messages = [pb.AppendUploadRequest(header=header), pb.AppendUploadRequest(chunk=CONTENT)]
    return grpc_stub.AppendUpload(iter(messages), metadata=METADATA).upload


def test_StartUpload_begins_at_the_first_byte(grpc_stub):
    said = pb.WMRecordInput(memory_type="file", name="large.bin")
    upload = grpc_stub.StartUpload(pb.StartUploadRequest(record=said, size_bytes=5), metadata=METADATA).upload
    assert (upload.offset_bytes, upload.size_bytes, upload.part_bytes_max) == (0, 5, 64 * 1024 * 1024)


def test_AppendUpload_answers_where_the_next_part_begins(appended):
    assert appended.offset_bytes == len(CONTENT)


def test_GetUpload_answers_the_same(grpc_stub, appended):
    request = pb.GetUploadRequest(upload_id=appended.upload_id)
    assert grpc_stub.GetUpload(request, metadata=METADATA).upload == appended


def test_FinishUpload_makes_the_record(grpc_stub, appended):
    request = pb.FinishUploadRequest(upload_id=appended.upload_id)
    answer = grpc_stub.FinishUpload(request, metadata=METADATA)
    assert (answer.size_bytes, answer.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    read = pb.GetContentRequest(blob_key=answer.blob_key)
    assert grpc_stub.GetContent(read, metadata=METADATA).content == CONTENT


def test_GetBlob_streams_the_record_and_then_the_bytes(grpc_stub, uploaded):
    first, *rest = grpc_stub.GetBlob(pb.GetBlobRequest(blob_key=uploaded.blob_key), metadata=METADATA)
    assert first.record == uploaded.record
    assert b"".join(message.chunk for message in rest) == CONTENT


def test_FetchWMManifest_groups_the_records_of_an_entity(grpc_stub, record):
    request = pb.FetchWMManifestRequest(root_node_id=record.entity_node_id)
    (entity,) = grpc_stub.FetchWMManifest(request, metadata=METADATA).entities
    assert (entity.entity_node_id, list(entity.path)) == (record.entity_node_id, [record.entity_node_id])
    (group,) = entity.groups
    assert (group.memory_type, group.record_count, group.size_bytes) == ("data/json", 1, 8)
    assert [one.working_memory_id for one in group.records] == [record.working_memory_id]


def test_SearchWMRecords_finds_by_words_and_by_vector(grpc_stub, record):
    said = pb.WMRecordInput(working_memory_id=record.working_memory_id, embedding=pb.Embedding(values=[1] * 1536))
    update = pb.UpdateWMRecordRequest(record=said, update_mask=FieldMask(paths=["embedding"]))
    grpc_stub.UpdateWMRecord(update, metadata=METADATA)
    request = pb.SearchWMRecordsRequest(
        text="plans", embedding=pb.Embedding(values=[2] * 1536), entity_node_ids=[record.entity_node_id]
    )
    (hit,) = grpc_stub.SearchWMRecords(request, metadata=METADATA).hits
    assert hit.record.working_memory_id == record.working_memory_id
    assert (hit.text_place, hit.vector_place, round(hit.similarity, 3)) == (1, 1, 1)


def test_QueryWMRecords_answers_rows_of_json(grpc_stub, record):
    request = pb.QueryWMRecordsRequest(
        select=["name", "count(*)"],
        group_by=["name"],
        where_json=f'{{"entity_node_id": "{record.entity_node_id}"}}',
    )
    answer = grpc_stub.QueryWMRecords(request, metadata=METADATA)
    assert list(answer.rows_json) == ['{"name":"plan","count(*)":1}']


def test_GetContent_answers_blobs_and_inline_content(grpc_stub, record, uploaded):
    for working_memory_id, content in ((uploaded.working_memory_id, CONTENT), (record.working_memory_id, b'{"a": 1}')):
        request = pb.GetContentRequest(working_memory_id=working_memory_id)
        assert grpc_stub.GetContent(request, metadata=METADATA).content == content


def test_CreateDownloadUrl_has_none_for_a_file(grpc_stub, uploaded):
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.CreateDownloadUrl(pb.CreateDownloadUrlRequest(blob_key=uploaded.blob_key), metadata=METADATA)
    assert isinstance(raised(error.value), NoDownloadUrl)


def test_DeleteBlob_archives_its_record(grpc_stub, uploaded):
    request = pb.DeleteBlobRequest(blob_key=uploaded.blob_key)
    assert grpc_stub.DeleteBlob(request, metadata=METADATA).working_memory_id == uploaded.working_memory_id
    read = pb.FetchWMRecordRequest(working_memory_id=uploaded.working_memory_id, include_archived=True)
    assert grpc_stub.FetchWMRecord(read, metadata=METADATA).record.status == pb.RECORD_STATUS_ARCHIVED


def test_ListBlobs_lists_the_blobs_of_an_entity(grpc_stub, uploaded):
    request = pb.ListBlobsRequest(entity_node_id=uploaded.record.entity_node_id)
    (entry,) = grpc_stub.ListBlobs(request, metadata=METADATA).blobs
    assert (entry.blob_key, entry.name) == (uploaded.blob_key, "notes.txt")
