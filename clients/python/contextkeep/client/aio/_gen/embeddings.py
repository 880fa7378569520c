"""The calls of embeddings that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb
from contextkeep.values.embeddings import Embedding


class Embeddings(NamedNodes):
    """The calls of `client.embeddings` that are one RPC each."""

    async def upsert(
        self,
        node_id: Id | None = None,
        vector: Iterable[float] = (),
        *,
        name: str = "",
        model: str = "",
        text_sha256: str = "",
        metadata: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Embedding:
        """Write a vector of a node under a name, and replace the vector that the node has under this name.

        Vectors are stored in half precision. All vectors with the same name in a graph have the same dimension: that of
        the first one.

        Args:
            node_id: The node of the vector.
            vector: 1 to 4,000 finite values that fit half precision, not all zero.
            name: Name of the vector, up to 128 characters. Empty: "default".
            model: The model that made the vector.
            text_sha256: SHA-256 of the text that the vector was made from: 64 hexadecimal digits. Empty: unknown.
            metadata: A JSON object, up to 64 KiB. Empty: {}.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            InvalidArgument: the dimension is another one, zero, or over 4,000; a value is NaN, infinite or does not fit
                half precision; or all values are zero.
            LimitExceeded: A value exceeds a limit.
        """
        request = entity_graph_pb.UpsertEmbeddingRequest(
            node_id=await self._node_id(node_id, **named),
            name=name,
            vector=messages.vector("vector", vector),
            model=model,
            text_sha256=text_sha256,
            metadata_json=messages.to_object("metadata_json", metadata),
        )
        answer: entity_graph_pb.UpsertEmbeddingResponse = await self._call(
            "UpsertEmbedding", request, timeout_s=timeout_s
        )
        return Embedding.from_proto(answer.embedding)

    async def delete(
        self,
        node_id: Id | None = None,
        name: str = "",
        *,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> None:
        """Delete a vector of a node.

        Args:
            node_id: The node of the vector.
            name: Name of the vector. Empty: "default".
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            EmbeddingNotFound: the node has no vector of this name; also for a repeat.
        """
        request = entity_graph_pb.DeleteEmbeddingRequest(node_id=await self._node_id(node_id, **named), name=name)
        await self._call("DeleteEmbedding", request, timeout_s=timeout_s)

    async def list(
        self,
        node_id: Id | None = None,
        *,
        with_vectors: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[Embedding, None]:
        """List the vectors of a node by name, by default without their values.

        Args:
            node_id: The node whose vectors to list.
            with_vectors: Include the values of the vectors.
            page_size: Vectors per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = entity_graph_pb.ListEmbeddingsRequest(
            node_id=await self._node_id(node_id, **named), with_vectors=with_vectors, page_size=page_size
        )
        while True:
            page: entity_graph_pb.ListEmbeddingsResponse = await self._call(
                "ListEmbeddings", request, timeout_s=timeout_s
            )
            for item in page.embeddings:
                yield Embedding.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
