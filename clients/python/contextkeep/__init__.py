"""Context Service from Python: working memory, the entity graph, and chat history read off it.

    from contextkeep import ContextClient, EntityClient

    with EntityClient() as graph, ContextClient() as context:
        graph.append_message(role="user", content="Where is my file?", external_id="thread-42", create=True)
        graph.append_message(role="assistant", content="Here.", external_id="thread-42")
        for message in context.chat_history(external_id="thread-42"):
            print(message)

The public names are those that this module exports, every class of `contextkeep.errors`, and the generated messages and
stubs in `contextkeep.context.v1` and `contextkeep.entity.v1`. Names of the clients are imported on first use, because
the servers import this package too, for its errors and stubs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import contextkeep._value_names as _value_names  # noqa: PLR0402 (mypy reads `__all__` of no other form)
from contextkeep.address import Address, parse_address
from contextkeep.errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    ContextKeepError,
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    FieldViolation,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from contextkeep.ids import new_id
from contextkeep.inputs import (
    ArtifactInput,
    ConnectedTo,
    ContextInput,
    EdgeInput,
    ExternalId,
    FileInput,
    MessageInput,
    NodeInput,
    PartInput,
    RecallFilter,
    RecallOptions,
    SampleNode,
    StateEntryInput,
    ToolCallInput,
    ToolResultInput,
)
from contextkeep.memory_types import MemoryType
from contextkeep.version import __version__

if TYPE_CHECKING:
    from contextkeep._value_names import *  # noqa: F403
    from contextkeep.client._context_messages import ContextChanges
    from contextkeep.client._messages import RecordChanges, RecordFields
    from contextkeep.client.aio import AsyncBlobReader, AsyncContextClient, AsyncEntityClient
    from contextkeep.client.sync import BlobReader, ContextClient, EntityClient

# The names that are imported on first use, besides those of `contextkeep.values`.
_MODULE_OF = {
    "ContextChanges": "contextkeep.client._context_messages",
    "RecordChanges": "contextkeep.client._messages",
    "RecordFields": "contextkeep.client._messages",
    "AsyncBlobReader": "contextkeep.client.aio",
    "AsyncContextClient": "contextkeep.client.aio",
    "AsyncEntityClient": "contextkeep.client.aio",
    "BlobReader": "contextkeep.client.sync",
    "ContextClient": "contextkeep.client.sync",
    "EntityClient": "contextkeep.client.sync",
}

__all__ = [
    "Aborted",
    "Address",
    "AlreadyExists",
    "ArtifactInput",
    "AsyncBlobReader",
    "AsyncContextClient",
    "AsyncEntityClient",
    "BlobReader",
    "Cancelled",
    "ConnectedTo",
    "ContextChanges",
    "ContextClient",
    "ContextInput",
    "ContextKeepError",
    "DataLoss",
    "DeadlineExceeded",
    "EdgeInput",
    "EntityClient",
    "ExternalId",
    "FailedPrecondition",
    "FieldViolation",
    "FileInput",
    "Internal",
    "InvalidArgument",
    "MemoryType",
    "MessageInput",
    "NodeInput",
    "NotFound",
    "OutOfRange",
    "PartInput",
    "PermissionDenied",
    "RecallFilter",
    "RecallOptions",
    "RecordChanges",
    "RecordFields",
    "ResourceExhausted",
    "SampleNode",
    "StateEntryInput",
    "ToolCallInput",
    "ToolResultInput",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "__version__",
    "new_id",
    "parse_address",
]
__all__ += _value_names.__all__


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_MODULE_OF.get(name, "contextkeep.values")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return __all__
