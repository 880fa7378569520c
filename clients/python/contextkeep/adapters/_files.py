"""Text files of an entity: records of working memory, whose names are paths."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid5

from contextkeep.adapters._steps import Ask, Steps
from contextkeep.errors import RecordArchived, RecordExists, RecordNotFound, VersionConflict
from contextkeep.memory_types import MemoryType
from contextkeep.values import Record

_ENTITIES = UUID("6c0f4c0e-7a3b-5d5e-9a52-2f6f3f0b8f1d")  # namespace that turns names into UUIDs
_PAGE = 1_000
_ATTEMPTS = 200  # attempts to change a file; each failed one means that another caller's change was written


def entity_of(name: str | UUID, *, system: str) -> str:
    """Return the id of an entity: a UUID unchanged, and for any other name always the same UUID.

    Args:
        name: A UUID, or a name.
        system: Namespace of the name; the same name in another system is another entity.
    """
    try:
        return str(UUID(str(name)))
    except ValueError:
        return str(uuid5(_ENTITIES, f"{system}/{name}"))


class Files:
    """The files of an entity. A folder exists as long as a file is in it."""

    def __init__(self, entity_node_id: str, *, purpose: str) -> None:
        """Name the entity and the purpose of its files. Makes no call.

        Args:
            entity_node_id: Id of the entity; the node need not exist.
            purpose: Semantic purpose of the records; records of the entity with another purpose are no files here.
        """
        self.entity_node_id = entity_node_id
        self._purpose = purpose

    def find(self, path: str) -> Steps[Record | None]:
        """Return a file with its text, or None if there is none; if two callers created it, the older one."""
        records: list[Record] = yield lambda client: client.records.list_by_entity(
            self.entity_node_id, names=[path], semantic_purposes=[self._purpose], with_content=True
        )
        return records[-1] if records else None

    def below(self, folder: str) -> Steps[list[Record]]:
        """Return the files in a folder and in its folders, in the order of their paths, without their texts."""
        records: list[Record] = yield lambda client: client.records.list_by_entity(
            self.entity_node_id, name_prefix=f"{folder}/", semantic_purposes=[self._purpose], page_size=_PAGE
        )
        return sorted(records, key=lambda record: record.name.split("/"))

    def is_taken(self, path: str) -> Steps[bool]:
        """Return whether a path is a file or a folder."""
        return bool((yield from self.find(path)) or (yield from self.below(path)))

    def file_above(self, path: str) -> Steps[str | None]:
        """Return the path of a file that stands where this path needs a folder, or None."""
        segments = path.split("/")
        # A path begins with a slash and its root: the first two segments are the empty text and the root folder.
        above = ["/".join(segments[:count]) for count in range(2, len(segments))]
        if not above:
            return None
        records: list[Record] = yield lambda client: client.records.list_by_entity(
            self.entity_node_id, names=above, semantic_purposes=[self._purpose]
        )
        return records[0].name if records else None

    def create(self, path: str, text: str) -> Steps[bool]:
        """Write a new file, and return whether it was written: False if the path is taken.

        Of callers that write the same path at the same time, exactly one writes its file.
        """
        # The id follows from the path and from the number of files that had the path before, so the second of two
        # callers is refused. The count is only where to begin: a file that had the path may be gone, or moved.
        earlier: list[Record] = yield lambda client: client.records.list_by_entity(
            self.entity_node_id, names=[path], semantic_purposes=[self._purpose], include_archived=True
        )
        number = len(earlier)
        while not (yield from self.is_taken(path)):
            record_id = uuid5(_ENTITIES, f"{self.entity_node_id}/{self._purpose}/{number}{path}")
            try:
                yield _insertion(record_id, path, text, entity_node_id=self.entity_node_id, purpose=self._purpose)
            except RecordExists:
                number += 1
            else:
                return True
        return False

    def rewrite(self, path: str, edit: Callable[[str], str]) -> Steps[str]:
        """Change the text of a file, and return the new text. Changes of other callers are not overwritten.

        Args:
            path: Path of the file.
            edit: Returns the changed text; called again if another caller changed the file first.

        Raises:
            RecordNotFound: there is no such file.
            VersionConflict: other callers changed the file during each of `_ATTEMPTS` attempts.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            record = yield from self.find(path)
            if record is None:
                break
            text = edit(record.content_text)
            try:
                yield _change(record, content_text=text)
            except (RecordArchived, RecordNotFound):
                break
            except VersionConflict:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return text
        raise RecordNotFound(f"there is no file {path}")

    def move(self, path: str, to: str) -> Steps[int]:
        """Move a file, or all files of a folder one by one, to another path; return how many were moved."""
        record = yield from self.find(path)
        moved = [record] if record else (yield from self.below(path))
        for item in moved:
            yield _change(item, name=to + item.name.removeprefix(path))
        return len(moved)

    def delete(self, path: str) -> Steps[int]:
        """Archive a file, or all files of a folder, and return how many; they can be restored during the retention."""
        record = yield from self.find(path)
        gone = [record] if record else (yield from self.below(path))
        for item in gone:
            yield _archived(item)
        return len(gone)


def _insertion(record_id: UUID, path: str, text: str, *, entity_node_id: str, purpose: str) -> Ask:
    return lambda client: client.records.insert(
        MemoryType.FILE,
        path,
        content_text=text,
        content_type="text/plain",
        working_memory_id=record_id,
        entity_node_id=entity_node_id,
        semantic_purpose=purpose,
    )


def _change(record: Record, **changes: str) -> Ask:
    return lambda client: client.records.update(record.working_memory_id, expected_version=record.version, **changes)


def _archived(record: Record) -> Ask:
    return lambda client: client.records.delete(record.working_memory_id)
