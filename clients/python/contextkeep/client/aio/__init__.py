"""The async clients. The sync ones are generated from this package: see `tools/make_sync.py`.

An RPC is one method of its noun, in the module of that name under `entity` or `context`. Each makes its request
(`_messages`), calls, and returns values; `call` and `stream` of the client are there for callers who want the generated
messages themselves.
"""

from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.client.aio.context.blobs import AsyncBlobReader
from contextkeep.client.aio.entity import AsyncEntityClient

__all__ = ["AsyncBlobReader", "AsyncContextClient", "AsyncEntityClient"]
