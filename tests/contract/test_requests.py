"""Each field of each request goes along where the method of its RPC has an argument for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contextkeep.errors import InvalidArgument
from tests.contract.methods import NotTaken, arguments, collected, lacking, parameters
from tests.contract.python_client import CLASSES, method_of
from tests.contract.requests import Asked, requests

# What methods have no argument for, or make of other arguments than those of the fields' names.
UNTAKEN = {
    # Methods that are no RPC's own set these: `history.formatted`, `pack` with a pack before.
    *("GetChatHistory.format", "Pack.if_prefix_bytes", "Pack.if_prefix_sha"),
    # The client always asks for references, and inserts the bytes.
    *("GetChatHistory.files", "Pack.files"),
    # The method reads all ranges of a file, of a length of its own.
    "Expand.length_bytes",
    # `embedding` and `embedding_model`: test_services.py and test_transfers.py.
    *(f"{rpc}.embedding.values" for rpc in ("InsertWMRecord.record", "UpdateWMRecord.record", "SearchWMRecords")),
    *(f"{rpc}.embedding.model" for rpc in ("InsertWMRecord.record", "UpdateWMRecord.record", "SearchWMRecords")),
    *(f"{header}.embedding.values" for header in ("StartUpload.record", "UploadBlob.header.record")),
    *(f"{header}.embedding.model" for header in ("StartUpload.record", "UploadBlob.header.record")),
    # A blob has no inline content.
    *(f"StartUpload.record.content_{kind}" for kind in ("json", "text")),
    *(f"UploadBlob.header.record.content_{kind}" for kind in ("json", "text")),
    # `io` has both; `after` is a node; columns are of the services among themselves; an order has a sign in front.
    *(f"TestMapping.{node}.{side}_json" for node in ("nodes", "root") for side in ("input", "output")),
    *("Traverse.after.created_at", "Traverse.after.seq", "Traverse.columns"),
    *("QueryWMRecords.order_by.column", "QueryWMRecords.order_by.descending"),
    # Off is `recall=False`, and of a call that is to recall nonsense.
    *("Recall.options.off", "SendMessage.recall.off"),
    # Memories hold when they are reflected on; what is asked to test sources has fewer options.
    "ReflectMemories.filter.holding_only",
    *(f"RunSourceTest.question.{name}" for name in ("expand_refs", "explain", "tokens_max")),
    # No update changes them.
    *(
        f"{of}.{name}"
        for of in ("UpdateContext.context", "UpdateMemory.memory")
        for name in ("app_id", "agent_bundle_id")
    ),
    "UpdateTask.task.reference_task_ids",
    # Other methods say these, or the same in another form: `replace=True`.
    *("GetArtifact.ref", "RunSourceTest.replay_of", "UpdateEdgeData.update", "UpdateNodeData.update"),
    # Without a plan to apply nothing is written.
    "ConsolidateMemories.request_id",
}


class Sent(Exception):
    """Raised instead of sending a message."""

    def __init__(self, message: Any) -> None:
        super().__init__(message)
        self.message = message


class Nowhere:
    """A connection that sends nothing."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def unary(self, rpc: str, request: Any, **settings: Any) -> Any:
        raise Sent(request)

    async def stream(self, rpc: str, request: Any, **settings: Any) -> Any:
        raise Sent(request)
        yield

    async def upload(self, rpc: str, messages: Any, **settings: Any) -> Any:
        raise Sent(await anext(messages))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


async def test_a_method_sends_each_field_of_its_request(tmp_path: Path):
    clients = {name: kind("127.0.0.1:1", api_key="none") for name, kind in CLASSES.items()}
    for client in clients.values():
        client._connection = Nowhere(client._connection)
    wrong, untaken = [], set()

    def call(asked: Asked) -> tuple[Any, dict[str, Any]]:
        method = method_of(clients[asked.rpc.process], asked.rpc)
        given = {"path": str(tmp_path / "file")} if "path" in parameters(method) else {}
        return method, arguments(asked.rpc, method, asked.messages, given)

    def takes(asked: Asked) -> bool:
        try:
            return bool(call(asked))
        except NotTaken:
            return False

    for asked in requests(takes):
        try:
            method, given = call(asked)
            await collected(method(**given))
        except NotTaken:
            untaken.add(asked.path)
        except InvalidArgument as error:
            wrong.append(f"{asked.rpc} {asked.path}: {error}")
        except Sent as sent:
            # Some ask another RPC first.
            lacks = isinstance(sent.message, asked.rpc.request) and lacking(sent.message, asked.messages[0])
            if lacks and asked.path in UNTAKEN:
                untaken.add(asked.path)
            elif lacks:
                wrong.append(f"{asked.rpc} {asked.path} lacks {lacks}")

    assert not wrong
    assert untaken - {""} == UNTAKEN
