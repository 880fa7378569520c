"""Blobs over gRPC: what goes in comes out, and nothing else."""

from __future__ import annotations

import hashlib

import pytest

from tests.context_service.working_memory import KIB, MIB, Caller, an_id, noise


@pytest.mark.parametrize("size_bytes", [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 5])
async def test_a_blob_comes_back_as_it_was(caller: Caller, size_bytes: int):
    content = noise(size_bytes)
    sha256 = hashlib.sha256(content).hexdigest()

    stored = await caller.upload(content, header={"size_bytes": size_bytes, "sha256": sha256}, name="a.bin")

    assert (stored.size_bytes, stored.sha256) == (size_bytes, sha256)
    record, back = await caller.download(working_memory_id=stored.working_memory_id)
    assert back == content
    assert record == stored.record
    assert (record.provider, record.content_type, record.blob_key) == (
        "local",
        "application/octet-stream",
        stored.blob_key,
    )
    assert (await caller.download(blob_key=stored.blob_key))[1] == content
    listed = await caller.fetch(stored.working_memory_id)
    assert listed == record
