"""Working memory against a dictionary: whatever is done in whatever order, both say the same.

On a folder and on Azurite, where blobs also move between the two, are swept and are checked in between.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from context_service.commands import maintenance
from context_service.settings import Settings
from contextkeep import ContextClient
from contextkeep.errors import (
    ContextKeepError,
    RangePastEnd,
    RecordArchived,
    RecordExists,
    RecordHasBlob,
    RecordHasNoBlob,
    RecordNotFound,
    VersionConflict,
)
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running_in_a_thread
from tests.conftest import KEY, Urls, cloned
from tests.context_service.working_memory.callers import MIB
from tests.emulators.azurite import ACCOUNT, Azurite
from tests.emulators.azurite import KEY as AZURE_KEY
from tests.noise import noise

# Some are equal, so that records share bytes; the borders of a block and of a part are among the sizes.
CONTENTS = [noise(size) for size in (0, 1, 1000, MIB, MIB + 1, 4 * MIB + 1)]
contents = st.sampled_from(CONTENTS)
names = st.sampled_from(["a.txt", "b.json", "ü"])


@dataclass(slots=True)
class Entry:
    """What the model knows of a record."""

    name: str
    content: bytes
    is_blob: bool
    version: int = 1
    archived: bool = False
    log: list[str] = field(default_factory=lambda: ["created"])


class MemoryMachine(RuleBasedStateMachine):
    """The machine; `client` and `operator` are set by the test."""

    client: ContextClient
    operator: Settings
    providers: tuple[str, ...]

    records = Bundle("records")

    def __init__(self) -> None:
        super().__init__()
        self.entity = str(uuid.uuid4())
        self.entries: dict[str, Entry] = {}

    @rule(target=records, name=names, content=contents)
    def upload(self, name: str, content: bytes) -> str:
        record = self.client.blobs.upload(content, name=name, entity_node_id=self.entity)
        assert (record.size_bytes, record.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        self.entries[record.working_memory_id] = Entry(name, content, is_blob=True)
        return record.working_memory_id

    @rule(target=records, name=names, number=st.integers())
    def insert(self, name: str, number: int) -> str:
        record = self.client.records.insert("data/json", name, content=number, entity_node_id=self.entity)
        self.entries[record.working_memory_id] = Entry(name, str(number).encode(), is_blob=False)
        return record.working_memory_id

    @rule(record=records, content=contents)
    def upload_with_a_taken_id(self, record: str, content: bytes) -> None:
        if record in self.entries:
            with pytest.raises(RecordExists):
                self.client.blobs.upload(content, name="x", working_memory_id=record)

    @rule(record=records, name=names, stale=st.booleans())
    def rename(self, record: str, name: str, stale: bool) -> None:
        entry = self.entries.get(record)
        version = (entry.version if entry else 1) - stale
        error = self.error_of_a_write(record) or (VersionConflict if stale else None)
        if error:
            with pytest.raises(error):
                self.client.records.update(record, name=name, expected_version=version)
            return
        assert entry is not None
        entry.version += 1
        entry.name = name
        entry.log.append("updated")
        assert self.client.records.update(record, name=name, expected_version=version).version == entry.version

    @rule(record=records)
    def write_inline_content(self, record: str) -> None:
        entry = self.entries.get(record)
        error = self.error_of_a_write(record) or (RecordHasBlob if entry and entry.is_blob else None)
        if error:
            with pytest.raises(error):
                self.client.records.update(record, content=[1])
            return
        assert entry is not None
        self.client.records.update(record, content_json="[1]")
        entry.content = b"[1]"
        entry.version += 1
        entry.log.append("updated")

    @rule(record=records)
    def archive(self, record: str) -> None:
        if self.is_gone(record, lambda: self.client.records.delete(record)):
            return
        self.client.records.delete(record)
        entry = self.entries[record]
        if not entry.archived:
            entry.archived = True
            entry.version += 1
            entry.log.append("archived")

    @rule(record=records)
    def restore(self, record: str) -> None:
        if self.is_gone(record, lambda: self.client.records.restore(record)):
            return
        self.client.records.restore(record)
        entry = self.entries[record]
        if entry.archived:
            entry.archived = False
            entry.version += 1
            entry.log.append("restored")

    @rule(record=records)
    def purge(self, record: str) -> None:
        self.client.records.delete(record, purge=True)  # again is harmless
        self.entries.pop(record, None)

    @rule(record=records, start=st.integers(0, 5 * MIB), length=st.integers(0, 2 * MIB))
    def read_a_range(self, record: str, start: int, length: int) -> None:
        entry = self.entries.get(record)
        error: type[ContextKeepError] | None = None
        if entry is None:
            error = RecordNotFound
        elif entry.archived:
            error = RecordArchived
        elif not entry.is_blob:
            error = RecordHasNoBlob
        elif start and start >= len(entry.content):
            error = RangePastEnd
        try:
            with self.client.blobs.get(uuid.UUID(record), offset_bytes=start, length_bytes=length) as blob:
                back = b"".join(blob)
        except ContextKeepError as raised:
            assert type(raised) is error, raised
        else:
            assert error is None and entry is not None
            assert back == entry.content[start : start + length if length else None]

    @rule(ends=st.permutations(["local", "azure"]))
    def copy(self, ends: list[str]) -> None:
        if len(self.providers) < 2:
            return
        operator = maintenance.copy_blobs
        done = asyncio.run(operator(self.operator, *ends, dry_run=False, on_progress=lambda done: None))
        assert (done.blobs, done.blobs_damaged) == (done.to_do.blobs, 0)

    @rule()
    def sweep(self) -> None:
        assert asyncio.run(maintenance.sweep(self.operator)).blobs_failed == 0

    @rule()
    def check(self) -> None:
        fsck = maintenance.fsck(self.operator, quick=False, repair=False, on_progress=lambda report: None)
        assert asyncio.run(fsck).problems == []

    @invariant()
    def lists_say_what_is_there(self) -> None:
        for include_archived in (False, True):
            listed = self.client.records.list_by_entity(
                self.entity, include_archived=include_archived, with_content=True, page_size=3
            )
            found = {record.working_memory_id: record for record in listed}
            assert set(found) == {one for one, entry in self.entries.items() if include_archived or not entry.archived}
            for one, record in found.items():
                entry = self.entries[one]
                assert (record.name, record.version) == (entry.name, entry.version)
                assert (record.size_bytes, bool(record.blob_key)) == (len(entry.content), entry.is_blob)
                assert entry.is_blob or (record.content_json or "").encode() == entry.content

    def teardown(self) -> None:
        for one, entry in self.entries.items():
            if entry.is_blob:
                with self.client.blobs.get(uuid.UUID(one), include_archived=True) as blob:
                    assert b"".join(blob) == entry.content
            kinds = [action.kind for action in self.client.records.list_actions(one)]
            assert [kind for kind in kinds if kind != "moved"] == entry.log
            self.client.records.delete(one, purge=True)

    def is_gone(self, record: str, call: Any) -> bool:
        """Expect that a purged record is said to be none; say whether it is purged."""
        if record in self.entries:
            return False
        with pytest.raises(RecordNotFound):
            call()
        return True

    def error_of_a_write(self, record: str) -> type[ContextKeepError] | None:
        entry = self.entries.get(record)
        if entry is None:
            return RecordNotFound
        return RecordArchived if entry.archived else None


@pytest.fixture
def own_database(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as urls:
        yield urls


def check_model(urls: Urls, folder: Path, *, examples: int, steps: int, **variables: str) -> None:
    """Run the machine against services that keep their blobs where the variables say."""
    with (
        running_in_a_thread(urls.service, folder, sweep_interval_s=0.5, **variables) as addresses,
        ContextClient(addresses.context, api_key=KEY) as client,
    ):

        class Machine(MemoryMachine):
            pass

        Machine.client = client
        Machine.operator = Settings(database_url=urls.service, working_memory_storage_path=folder, **variables)
        Machine.providers = ("local", "azure") if "working_memory_storage_account" in variables else ("local",)
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                phases=[Phase.generate],  # a failure is the same each time; to shrink it takes minutes
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_working_memory_on_a_folder_is_a_dictionary(own_database: Urls, tmp_path: Path):
    check_model(own_database, tmp_path, examples=3, steps=20, working_memory_storage_provider="local")


def test_working_memory_on_azure_is_a_dictionary(own_database: Urls, tmp_path: Path, azurite: Azurite):
    check_model(
        own_database,
        tmp_path,
        examples=3,
        steps=20,
        working_memory_storage_provider="azure",
        working_memory_storage_account=ACCOUNT,
        working_memory_storage_key=AZURE_KEY,
        working_memory_storage_container=f"model-{uuid.uuid4().hex}",
        working_memory_storage_endpoint=azurite.endpoint(),
        working_memory_storage_create_container="true",
    )
