# Generated from aio/entity/embeddings.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Vectors of nodes."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Any

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync._gen import embeddings as gen
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values import SimilarNode


class Embeddings(gen.Embeddings):
    """Vectors of nodes; `search` compares them."""

    def search(
        self,
        vector: Iterable[float] = (),
        *,
        node_id: Id | None = None,
        external_id: str = "",
        name: str = "",
        graph_name: str = "",
        similarity_min: float | None = None,
        metadata_contains: Mapping[str, Any] | None = None,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        limit: int = 0,
        timeout_s: float | None = None,
    ) -> builtins.list[SimilarNode]:
        """Return the nodes with the most similar vectors, the most similar first. The search is exact.

        Args:
            vector: The vector to compare with, unless a node is named.
            node_id: The node whose vector to compare with. It is not in the result.
            external_id: Your own id of that node instead; a separate call looks it up.
            name: The name of the embeddings. Empty: "default".
            graph_name: The graph to search, or that of the external id. Empty: "default". A search by a node is in the
                graph of the node.
            similarity_min: Minimum cosine similarity, -1 to 1. Default: any.
            metadata_contains: Compare only with vectors whose metadata contain this.
            node_types: Only nodes of these general or specific types. Empty: all.
            include_archived: Return archived nodes, too.
            limit: Maximum number of nodes, up to 1,000. 0 means 10.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            NodeNotFound: there is no such node.
            EmbeddingNotFound: the node has no vector with this name.
            InvalidArgument: the vector has another dimension than the stored ones.
            LimitExceeded: there are more than 100,000 vectors to compare with.
            AnswerTooLarge: the nodes have more than 4 MiB together; set a lower `limit`.
        """
        if external_id:
            node_id = self._node_id(node_id, external_id=external_id, graph_name=graph_name)
            graph_name = ""
        request = graph_pb.SearchSimilarRequest(
            vector=messages.vector("vector", vector),
            node_id=messages.to_id(node_id),
            graph_name=graph_name,
            name=name,
            similarity_min=similarity_min,
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            node_types=messages.texts("node_types", node_types),
            include_archived=include_archived,
            limit=limit,
        )
        response: graph_pb.SearchSimilarResponse = self._call("SearchSimilar", request, timeout_s=timeout_s)
        return [SimilarNode.from_proto(similar) for similar in response.nodes]
