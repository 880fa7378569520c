"""What the soak writes. To add an operation: a subclass, and its place in `OPERATIONS`.

Each write is of one item, whose ids and contents come from the item alone: so it can be looked up whether or not the
write was acknowledged, by a run that knows nothing else of it.
"""

from __future__ import annotations

import hashlib
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import MappingNotFound, NodeNotFound, RecordNotFound
from contextkeep.inputs import EdgeInput, NodeInput

_NAMESPACE = uuid.UUID("5eed0000-0000-4000-8000-000000000000")
MIB = 1024 * 1024
MOVED = "moved"  # by a copy between providers, which runs beside everything else


class Broken(Exception):
    """An item is neither there nor not there."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The two services, as any agent calls them."""

    entity: AsyncEntityClient
    context: AsyncContextClient


@dataclass(frozen=True, slots=True)
class Item:
    """What one write is about."""

    name: str  # unique in all runs with the same seed
    size: float  # 0 to 1: how large it is

    def id(self, part: object = "") -> str:
        """Return the id of the item, or of a part of it."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.name}/{part}"))

    def noise(self, size_bytes: int) -> bytes:
        """Return bytes of its own."""
        return hashlib.shake_128(self.name.encode()).digest(size_bytes)

    def text(self, chars: int) -> str:
        """Return text of its own."""
        return self.noise((chars + 1) // 2).hex()[:chars]


class Operation(ABC):
    """One kind of write."""

    name: ClassVar[str]

    @abstractmethod
    async def write(self, clients: Clients, item: Item) -> None:
        """Write the item; what makes this return is the acknowledgement.

        Raises:
            ContextKeepError: nobody knows whether it was written.
        """

    @abstractmethod
    async def is_written(self, clients: Clients, item: Item) -> bool:
        """Say whether all of the write is there (True) or nothing of it (False).

        Raises:
            Broken: a part of it is.
        """


def _whole(**parts: bool) -> bool:
    """Return what all parts agree on: there, or not there.

    Raises:
        Broken: they do not agree.
    """
    if len(set(parts.values())) > 1:
        raise Broken(f"half of it is there: {parts}")
    return all(parts.values())


def _same(**pairs: tuple[object, object]) -> bool:
    """Return True.

    Raises:
        Broken: what was found is not what was written.
    """
    for what, (found, written) in pairs.items():
        if found != written:
            raise Broken(f"{what} is {str(found)[:80]!r}, not {str(written)[:80]!r}")
    return True


class CreateNode(Operation):
    name = "create_node"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.entity.graph.create_node("Turn", id=item.id(), data={"text": item.text(500)})

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            node = await clients.entity.graph.get_node(item.id())
        except NodeNotFound:
            return False
        return _same(data=(node.data, {"text": item.text(500)}), version=(node.version, 1))


class WriteGraph(Operation):
    """A session with its turns: all or none."""

    name = "write_graph"

    async def write(self, clients: Clients, item: Item) -> None:
        nodes = [NodeInput("Turn", id=one, data={"text": item.text(1000)}) for one in self._ids(item)]
        edges = [EdgeInput(item.id(), node.id, "Contains") for node in nodes]
        await clients.entity.graph.write([NodeInput("Session", id=item.id()), *nodes], edges)

    async def is_written(self, clients: Clients, item: Item) -> bool:
        ids = self._ids(item)
        found = await clients.entity.graph.get_nodes([item.id(), *ids])
        if len(found.nodes) not in (0, len(ids) + 1):
            raise Broken(f"{len(found.nodes)} of {len(ids) + 1} nodes are there")
        if not found.nodes:
            return False
        reached = [one.node.id async for one in clients.entity.graph.traverse(item.id(), edge_types=["Contains"])]
        return _same(turns=(reached, ids))

    def _ids(self, item: Item) -> list[str]:
        return [item.id(number) for number in range(1 + int(item.size * 99))]


class UpdateNode(Operation):
    """Twice in one repeat would be version 3."""

    name = "update_node"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.entity.graph.create_node("Turn", id=item.id(), data={"a": 1})
        await clients.entity.graph.update_node_data(item.id(), {"b": item.text(2000)})
        await clients.entity.graph.update_node_status(item.id(), "Completed", expected_status="Created")

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            node = await clients.entity.graph.get_node(item.id())
        except NodeNotFound:
            return False
        states = {1: ({"a": 1}, "Created"), 2: ({"a": 1, "b": item.text(2000)}, "Created")}
        states[3] = (states[2][0], "Completed")
        if node.version not in states:
            raise Broken(f"version {node.version} of a node that was changed twice")
        return _same(state=((node.data, node.status), states[node.version])) and node.version == 3


class SetNodeIO(Operation):
    name = "set_node_io"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.entity.graph.create_node("Turn", id=item.id())
        await clients.entity.graph.set_node_io(item.id(), input=[item.text(100)], output={"text": item.text(3000)})

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            io = await clients.entity.graph.get_node_io(item.id())
        except NodeNotFound:
            return False
        if not _whole(input=bool(io.input_json), output=bool(io.output_json)):
            return False
        return _same(io=((io.input, io.output), ([item.text(100)], {"text": item.text(3000)})))


class InsertRecord(Operation):
    name = "insert_record"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.context.records.insert(
            "data/json",
            item.name,
            working_memory_id=item.id(),
            entity_node_id=item.id("entity"),
            content={"text": item.text(int(item.size * 20_000))},
            tags=["soak"],
            embedding=[0.5] * 1536,
        )

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            record = await clients.context.records.get(item.id())
        except RecordNotFound:
            return False
        listed = [one.working_memory_id async for one in clients.context.records.list_by_entity(item.id("entity"))]
        actions = [one.kind async for one in clients.context.records.list_actions(item.id()) if one.kind != MOVED]
        return _same(
            content=(record.content, {"text": item.text(int(item.size * 20_000))}),
            version=(record.version, 1),
            listed=(listed, [item.id()]),
            actions=(actions, ["created"]),
        )


class UpdateRecord(Operation):
    name = "update_record"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.context.records.insert("data/json", "before", working_memory_id=item.id(), content={"a": 1})
        await clients.context.records.update(item.id(), name="after", content={"b": item.text(1000)})

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            record = await clients.context.records.get(item.id())
        except RecordNotFound:
            return False
        states = {1: ("before", {"a": 1}, 1), 2: ("after", {"b": item.text(1000)}, 2)}
        actions = [one async for one in clients.context.records.list_actions(item.id()) if one.kind != MOVED]
        if record.version not in states:
            raise Broken(f"version {record.version} of a record that was changed once")
        found = (record.name, record.content, len(actions))
        return _same(state=(found, states[record.version])) and record.version == 2


class UploadBlob(Operation):
    name = "upload_blob"

    async def write(self, clients: Clients, item: Item) -> None:
        content = item.noise(self._size_bytes(item))
        record = await clients.context.blobs.upload(content, name=item.name, working_memory_id=item.id())
        _same(sha256=(record.sha256, hashlib.sha256(content).hexdigest()))

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            reader = await clients.context.blobs.get(item.id())
        except RecordNotFound:
            return False
        content = b"".join([chunk async for chunk in reader])
        actions = [one.kind async for one in clients.context.records.list_actions(item.id()) if one.kind != MOVED]
        return _same(content=(content, item.noise(self._size_bytes(item))), actions=(actions, ["created"]))

    def _size_bytes(self, item: Item) -> int:
        return int(item.size**4 * 6 * MIB)  # most are small


class UploadInParts(UploadBlob):
    """Goes on after a kill, where the part before it ended, unless the kill takes too long."""

    name = "upload_in_parts"

    async def write(self, clients: Clients, item: Item) -> None:
        content = item.noise(self._size_bytes(item))
        record = await clients.context.uploads.upload(
            content, name=item.name, working_memory_id=item.id(), part_bytes=200_000, patience_s=2
        )
        _same(sha256=(record.sha256, hashlib.sha256(content).hexdigest()))

    def _size_bytes(self, item: Item) -> int:
        return 1 + int(item.size * 1_000_000)


class UploadSameContent(UploadBlob):
    """Many records share the bytes, which are stored once."""

    name = "upload_same_content"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.context.blobs.upload(self._content(item), name=item.name, working_memory_id=item.id())

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            content = await clients.context.blobs.get_content(item.id())
        except RecordNotFound:
            return False
        return _same(content=(content, self._content(item)))

    def _content(self, item: Item) -> bytes:
        return Item(f"shared {int(item.size * 3)}", 0).noise(100_000)


class ReadBlob(UploadBlob):
    """Reads while things are killed: what comes is what was written, or the read fails."""

    name = "read_blob"

    async def write(self, clients: Clients, item: Item) -> None:
        content = item.noise(self._size_bytes(item))
        await clients.context.blobs.upload(content, name=item.name, working_memory_id=item.id())
        read = b""
        for _ in range(3):
            async for chunk in await clients.context.blobs.get(item.id()):
                read += chunk
                _same(beginning=(read, content[: len(read)]))
            _same(content=(read, content))
            read = b""


class DeleteBlob(UploadBlob):
    """It archives: the record is hidden, the bytes stay."""

    name = "delete_blob"

    async def write(self, clients: Clients, item: Item) -> None:
        content = item.noise(self._size_bytes(item))
        await clients.context.blobs.upload(content, name=item.name, working_memory_id=item.id())
        await clients.context.blobs.delete(uuid.UUID(item.id()))

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            record = await clients.context.records.get(item.id(), include_archived=True)
        except RecordNotFound:
            return False
        reader = await clients.context.blobs.get(uuid.UUID(item.id()), include_archived=True)
        content = b"".join([chunk async for chunk in reader])
        actions = [one.kind async for one in clients.context.records.list_actions(item.id()) if one.kind != MOVED]
        archived = record.status == "archived"
        return (
            _same(
                content=(content, item.noise(self._size_bytes(item))),
                actions=(actions, ["created", "archived"] if archived else ["created"]),
            )
            and archived
        )


class PurgeRecord(Operation):
    """The write is the removal: of the record, and of the bytes if no other record has them."""

    name = "purge_record"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.context.blobs.upload(self._content(item), name=item.name, working_memory_id=item.id())
        await clients.context.records.delete(item.id(), purge=True)

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            content = await clients.context.blobs.get_content(item.id())
        except RecordNotFound:
            return True  # or never uploaded: the run looks only where the removal may have happened
        return not _same(content=(content, self._content(item)))

    def _content(self, item: Item) -> bytes:
        # Every third shares its content with others that stay.
        return Item("shared 0" if item.size < 0.3 else item.name, 0).noise(100_000)


class RegisterMapping(Operation):
    name = "register_mapping"

    async def write(self, clients: Clients, item: Item) -> None:
        await clients.context.mappings.register(item.name, self._rules(item), app_id=self._app_id(item))

    async def is_written(self, clients: Clients, item: Item) -> bool:
        try:
            mapping = await clients.context.mappings.get(item.name, app_id=self._app_id(item))
        except MappingNotFound:
            return False
        return _same(content=(mapping.rules["messages"][0]["content"], self._rules(item)["messages"][0]["content"]))

    def _rules(self, item: Item) -> dict[str, list[dict[str, str]]]:
        return {"messages": [{"role": "'user'", "content": f"entity.data.text + '{item.text(100)}'"}]}

    def _app_id(self, item: Item) -> str:
        return f"soak {item.text(2)}"  # an app has 200 mappings at most


OPERATIONS: tuple[Operation, ...] = (
    CreateNode(),
    WriteGraph(),
    UpdateNode(),
    SetNodeIO(),
    InsertRecord(),
    UpdateRecord(),
    UploadBlob(),
    UploadInParts(),
    UploadSameContent(),
    ReadBlob(),
    DeleteBlob(),
    PurgeRecord(),
    RegisterMapping(),
)
