"""The register of erasures beside the blobs: whatever is killed, each erasure is in it once, and for good."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from context_service.blobs.local import LocalBackend
from context_service.blobs.storage import BlobStorage
from context_service.erasure.rules.register import Register
from contextkeep.errors import InvalidArgument
from service_runtime.erasure.erased import Erased, hash_of, named_by, read
from service_runtime.values.ids import new_id


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[BlobStorage]:
    with ThreadPoolExecutor(2) as threads:
        backends = {name: LocalBackend(tmp_path / name, threads) for name in ("here", "there")}
        yield BlobStorage(backends, provider="here")


def an_erasure(subject: str = "ada") -> Erased:
    erasure_id = new_id()
    return Erased(tenant_id=uuid.uuid4(), erasure_id=erasure_id, subject_sha256=hash_of(erasure_id, subject))


async def test_an_erasure_is_entered_once_also_where_a_kill_left_half_an_entry(storage: BlobStorage, tmp_path: Path):
    register, one, other = Register(storage), an_erasure(), an_erasure()
    await register.enter(one)
    await register.enter(one)
    (whole,) = [path for path in (tmp_path / "here").rglob("*") if path.is_file()]
    await register.enter(other)
    whole.rename(f"{whole}.part")
    assert await register.entries() == [other]
    await register.enter(one)
    assert await register.entries() == [one, other]


async def test_a_copy_to_another_provider_has_all_of_it(storage: BlobStorage):
    register, one = Register(storage), an_erasure()
    await register.enter(one)
    await register.copy("there")
    assert await register.entries() == [one]
    assert await Register(BlobStorage({"there": storage._backend("there")}, provider="there")).entries() == [one]


def test_a_line_names_who_was_erased_to_whoever_has_the_name(tmp_path: Path):
    one, other = an_erasure("ada"), an_erasure("bob")
    path = tmp_path / "erasures.ndjson"
    path.write_text(f"{one.line()}\n\n{other.line()}\n{one.line()}\n")
    assert read(path) == [one, other]
    assert named_by([one, other], ["eve", "bob"]) == {other.erasure_id: "bob"}


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"tenant_id": 1, "erasure_id": 2, "subject_sha256": "00"}'])
def test_what_is_no_line_of_a_register_is_refused_with_its_place(line: str, tmp_path: Path):
    path = tmp_path / "erasures.ndjson"
    path.write_text(f"{an_erasure().line()}\n{line}\n")
    with pytest.raises(InvalidArgument, match="line 2"):
        read(path)
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read(tmp_path / "none")
