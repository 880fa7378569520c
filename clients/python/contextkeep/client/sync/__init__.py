# Generated from aio/__init__.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The clients: sync twins of the clients in `aio`.

An RPC is one method of its noun, in the module of that name under `entity` or `context`. Each makes its request
(`_messages`), calls, and returns values; `call` and `stream` of the client are there for callers who want the generated
messages themselves.
"""

from contextkeep.client.sync.context import ContextClient
from contextkeep.client.sync.context.blobs import BlobReader
from contextkeep.client.sync.entity import EntityClient

__all__ = ["BlobReader", "ContextClient", "EntityClient"]
