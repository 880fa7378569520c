"""Text files of an entity: records of working memory, whose names are paths."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid5

from contextkeep.adapters._steps import Ask, Steps
from contextkeep.errors import RecordArchived, RecordNotFound, VersionConflict
from contextkeep.memory_types import MemoryType
from contextkeep.values import Record

_ENTITIES = UUID("6c0f4c0e-7a3b-5d5e-9a52-2f6f3f0b8f1d")  # namespace that turns names into UUIDs
_PAGE = 1_000
_ATTEMPTS = 5  # to change what others change, too


def entity_of(name: str | UUID, *, system: str) -> str:
    """Return the id of an entity: a UUID as it is; of any other name always the same one.

    Args:
        name: What a caller says.
        system: In which the name is one; another system has another entity of that name.
    """
    try:
        return str(UUID(str(name)))
    except ValueError:
        return str(uuid5(_ENTITIES, f"{system}/{name}"))


class Files:
    """The files of an entity. A folder is there while it has a file."""

    def __init__(self, entity_node_id: str, *, purpose: str) -> None:
        """Remember where they are.

        Args:
            entity_node_id: Whose; the node need not exist.
            purpose: What the records are for: their semantic purpose. Others of the entity are left alone.
        """
        self.entity_node_id = entity_node_id
        self._purpose = purpose

    def find(self, path: str) -> Steps[Record | None]:
        """Return a file with its text, or None if there is none. If two callers created one, it is the older."""
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
        """Return what would have to be a folder for this path, and is a file."""
        segments = path.split("/")
        above = ["/".join(segments[:count]) for count in range(2, len(segments))]
        if not above:
            return None
        records: list[Record] = yield lambda client: client.records.list_by_entity(
            self.entity_node_id, names=above, semantic_purposes=[self._purpose]
        )
        return records[0].name if records else None

    def create(self, path: str, text: str) -> Steps[bool]:
        """Write a new file; return whether it is new. Of two that do so at once, one at most does."""
        if (yield from self.is_taken(path)):
            return False
        record: Record = yield lambda client: client.records.insert(
            MemoryType.FILE,
            path,
            content_text=text,
            content_type="text/plain",
            entity_node_id=self.entity_node_id,
            semantic_purpose=self._purpose,
        )
        others: list[Record] = yield lambda client: client.records.list_by_entity(
            self.entity_node_id, names=[path], semantic_purposes=[self._purpose]
        )
        if len(others) > 1:
            yield lambda client: client.records.delete(record.working_memory_id, purge=True)
            return False
        return True

    def rewrite(self, path: str, edit: Callable[[str], str]) -> Steps[str]:
        """Change the text of a file, and return the new one; what others write meanwhile is not lost.

        Args:
            path: Which.
            edit: Changes the text of the file; called again if another caller changed the file first.

        Raises:
            RecordNotFound: there is none.
            VersionConflict: others were faster five times.
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
        """Give a file, or each of a folder, another path; return how many there are. A folder goes file by file."""
        record = yield from self.find(path)
        moved = [record] if record else (yield from self.below(path))
        for item in moved:
            yield _change(item, name=to + item.name.removeprefix(path))
        return len(moved)

    def delete(self, path: str) -> Steps[int]:
        """Archive a file, or all of a folder; return how many. Until their retention ends they can be restored."""
        record = yield from self.find(path)
        gone = [record] if record else (yield from self.below(path))
        for item in gone:
            yield _archived(item)
        return len(gone)


def _change(record: Record, **changes: str) -> Ask:
    return lambda client: client.records.update(record.working_memory_id, expected_version=record.version, **changes)


def _archived(record: Record) -> Ask:
    return lambda client: client.records.delete(record.working_memory_id)
