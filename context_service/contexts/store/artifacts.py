"""The SQL of artifacts: a row for each version, and its passages next to those of messages.

A write first locks the task. It takes the next number of the context's changes; for a new version this number, negated,
is also the place of its passages, where no message is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

from context_service.contexts.model import ARTIFACT_ROLE, Artifact, NewArtifact, PassageText
from context_service.contexts.store import pointed_records
from context_service.contexts.store.log import SQL as LOG_SQL
from context_service.contexts.store.log import Log
from context_service.contexts.store.log_passages import audience_of
from context_service.kernel.parts import of_json, to_json
from context_service.retrieval.model import Passage, PassageScope
from context_service.retrieval.room import Passages
from service_runtime.postgres import Across, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

ARTIFACTS_MAX = 10_000  # artifacts of a context, with all versions
ARTIFACTS_OF_TASK_MAX = 500
KIND = "artifact"  # the kind of passages of artifacts

SQL = SqlFile.of(__file__, log=LOG_SQL)
_BEGIN = SQL["begin"]
_EXTEND = SQL["extend"]
_NEWEST = SQL["newest"]
_COUNT = SQL["count"]
_LIST = SQL["list"]
_READ = SQL["read"]
_READ_AT = SQL["read_at"]
_CHANGED = SQL["changed"]
_AT = SQL["at"]
_OF_TASKS = SQL["of_tasks"]


_WHY = "an administrator reads all of the tenant"
_CHANGED_SEEN = Across(sql=_CHANGED, administrators=True, why=_WHY)
_LIST_SEEN = Across(sql=_LIST, administrators=True, why=_WHY)
_READ_SEEN = Across(sql=_READ, administrators=True, why=_WHY)
_READ_AT_SEEN = Across(sql=_READ_AT, administrators=True, why=_WHY)


class ArtifactRows:
    """The artifacts of tasks.

    Args:
        log: The contexts of the artifacts; its checks of writes apply.
        passages: The search index, which gets the passages of new versions.
    """

    def __init__(self, log: Log, passages: Passages) -> None:
        self._log = log
        self._passages = passages

    async def newest(
        self, transaction: Transaction, context_id: UUID, task_id: UUID, artifact_id: str
    ) -> Artifact | None:
        """Return the newest version of an artifact of a locked task; None if there is none."""
        rows = await transaction.query(_NEWEST, (transaction.tenant_id, context_id, task_id, artifact_id))
        return _artifact(rows[0]) if rows else None

    async def count(self, transaction: Transaction, context_id: UUID, task_id: UUID) -> int:
        """Return how many artifacts a task has."""
        (row,) = await transaction.query(_COUNT, (transaction.tenant_id, context_id, task_id))
        return int(row.artifacts)

    async def put(
        self,
        transaction: Transaction,
        context_id: UUID,
        task_id: UUID,
        new: NewArtifact,
        numbers: Sequence[Sequence[int]],
        *,
        before: Artifact | None,
        created_by: str,
    ) -> Artifact | None:
        """Write a version, or a chunk of the newest one, with its passages; those of the version before are removed.

        Args:
            transaction: The transaction that has locked the task.
            context_id: The id of the context.
            task_id: The id of the task that makes the artifact.
            new: The artifact or chunk to write, with its passages.
            numbers: For each passage, the numbers of its indexed terms.
            before: The newest version before this write; None if there is none.
            created_by: The subject of the caller, stored with the version.

        Returns:
            None, and nothing is written, if the context does not exist, is closed, or has too many artifacts.
        """
        draft = new.draft
        parameters = {
            "context_id": context_id,
            "task_id": task_id,
            "added": 0 if draft.append else 1,
            "artifacts_max": ARTIFACTS_MAX,
            "part_count": len(draft.parts),
            "passage_count": len(new.passages),
            "tokens": new.tokens,
            "size_bytes": new.size_bytes,
            "is_complete": draft.is_last,
            "artifact_id": draft.artifact_id,
            "parts": to_json(draft.parts),
        }
        if draft.append:
            rows = await transaction.query(_EXTEND, parameters)
        else:
            described = {"created_by": created_by, "name": draft.name, "description": draft.description}
            metadata = draft.metadata_json or None
            rows = await transaction.query(_BEGIN, {**parameters, **described, "metadata": metadata})
        if not rows:
            return None
        written, scope = _artifact(rows[0]), PassageScope.of_context(context_id)
        if before and not draft.append:
            pointed = await pointed_records.forget(transaction, context_id, before.place)
            if pointed or before.passage_count:
                await self._passages.remove(transaction, scope, [before.place])
        first = written.passage_count - len(new.passages)
        passages = [
            placed(passage_text, written, ordinal=first + number, numbers=numbers[number])
            for number, passage_text in enumerate(new.passages)
        ]
        await self._passages.put(transaction, scope, audience_of(rows[0]), passages)
        records = pointed_records.pointed_in(draft.parts, parts_before=written.part_count - len(draft.parts))
        await pointed_records.owe(transaction, context_id, rows[0], {written.place: records})
        return written

    async def of_task(self, context_id: UUID, task_id: UUID, *, principal: Principal) -> list[Artifact]:
        """Return the newest versions of the artifacts of a task, without their parts, the oldest first."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_LIST_SEEN, (tenant.tenant_id, context_id, task_id))
        return [_artifact(row) for row in rows]

    async def read(
        self, context_id: UUID, task_id: UUID, artifact_id: str, *, version: int, principal: Principal
    ) -> list[Artifact] | None:
        """Return a list with a version of an artifact; `version` 0 is the newest.

        The list is empty if there is no such version. The result is None if there is no such task.
        """
        tenant = self._log.of(principal, context_id)
        parameters = {"context_id": context_id, "task_id": task_id, "artifact_id": artifact_id, "version": version}
        rows = await tenant.query(_READ_SEEN, parameters)
        return [artifact_of(row) for row in rows if row.version] if rows else None

    async def read_at(self, context_id: UUID, place: int, *, principal: Principal) -> list[Artifact] | None:
        """Return a list with the version at a place.

        The list is empty if there is no such version. The result is None if there is no such context.
        """
        tenant = self._log.of(principal, context_id)
        parameters = {"context_id": context_id, "place": place}
        rows = await tenant.query(_READ_AT_SEEN, parameters)
        return [artifact_of(row) for row in rows if row.version] if rows else None

    async def changed(
        self, context_id: UUID, *, after: int, upto: int, count: int, principal: Principal
    ) -> list[tuple[int, Artifact]]:
        """Return the newest versions that changed after one change number and up to another, without their parts.

        Each version comes with the number of its change.
        """
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_CHANGED_SEEN, (tenant.tenant_id, context_id, after, upto, count))
        return [(row.change, _artifact(row)) for row in rows]

    async def at(self, context_id: UUID, places: Sequence[int], *, principal: Principal) -> dict[int, Artifact]:
        """Return the artifacts at some places, except versions that a newer version has replaced."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_AT, (tenant.tenant_id, context_id, list(places)))
        return {row.place: _artifact(row) for row in rows}

    async def places(
        self, context_id: UUID, task_ids: Sequence[UUID], *, principal: Principal
    ) -> dict[UUID, list[int]]:
        """Return the places of the artifacts of tasks, by task; tasks of other contexts are left out."""
        tenant = self._log.of(principal, context_id)
        places_by_task: dict[UUID, list[int]] = {}
        for row in await tenant.query(_OF_TASKS, (tenant.tenant_id, context_id, list(task_ids))):
            places = places_by_task.setdefault(row.task_id, [])
            if row.place is not None:
                places.append(row.place)
        return places_by_task


def placed(passage_text: PassageText, of: Artifact, *, ordinal: int, numbers: Sequence[int] | None = None) -> Passage:
    """Return a passage of an artifact at its place; `numbers` as in `Passage`."""
    return Passage(
        seq=of.place,
        ordinal=ordinal,
        session=of.place,  # an artifact is a document of its own
        text=passage_text.text,
        terms=passage_text.terms,
        numbers=numbers,
        kind=KIND,
        said_at=of.created_at,
        is_said=False,
        marks=passage_text.marks,
        role=ARTIFACT_ROLE,
        part=passage_text.part,
        task_id=of.task_id,
        source_id=uuid5(of.task_id, of.artifact_id),
    )


_FIELDS = tuple(name for name in Artifact.__slots__ if name not in ("parts", "metadata_json"))


def _fields(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _FIELDS}


def _artifact(row: Row) -> Artifact:
    return Artifact(**_fields(row))


def artifact_of(row: Row) -> Artifact:
    """Return the artifact of a row that has its parts."""
    return Artifact(**_fields(row), parts=of_json(row.parts), metadata_json=row.metadata or "")
