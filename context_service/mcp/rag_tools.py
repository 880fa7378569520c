"""Tools of the context type RAG: searches over everything that the caller may see."""

from __future__ import annotations

import re
from typing import Any

import orjson
from pydantic import Field

from context_service.mcp.answers import Document, first_rows, fitting_page, plain
from context_service.mcp.tool import Archived, Arguments, EntityId, PageSize, PageToken, Tool, Use, Where
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb

_LIKE_SPECIAL = re.compile(r"([\\%_])")


class SearchRecordsArguments(Arguments):
    """Of `rag_search_records`."""

    text: str = Field(min_length=1, description="Words to look for in names, descriptions and contents.")
    memory_types: list[str] = Field([])
    where: Where = Field({})
    limit: int = Field(10, ge=1, le=100)


async def search_records(use: Use, asked: SearchRecordsArguments) -> Document:
    """Answer the records that have the words, with what is inline of their contents."""
    request = memory_pb.SearchWMRecordsRequest(
        text=asked.text,
        memory_types=asked.memory_types,
        where_json=orjson.dumps(asked.where).decode() if asked.where else "",
        limit=asked.limit,
        with_content=True,
    )
    found = await use.services.memory.SearchWMRecords(request, None)
    return await first_rows({"hits": [], **await plain(found)}, "hits", bytes_max=use.services.answer_bytes_max)


class SearchNodesArguments(Arguments):
    """Of `rag_search_nodes`."""

    text: str = Field("", description="What the name must contain, in any case.")
    condition: dict[str, Any] = Field(
        {},
        description='A condition tree over fields, `type` and "data.*" paths, such as {"type": "Task", "data.score": '
        '{"$gte": 0.5}}. Operators: $eq $ne $gt $gte $lt $lte $in $nin $like $ilike $exists $and $or $not.',
    )
    below_node_id: str = Field("", description="Only nodes that are reached from this one.")
    graph_name: str = ""
    include_archived: Archived = False
    page_size: PageSize = 20
    page_token: PageToken = ""


async def search_nodes(use: Use, asked: SearchNodesArguments) -> Document:
    """Answer a page of the nodes that meet a condition."""
    conditions = [asked.condition] if asked.condition else []
    if asked.text:
        pattern = _LIKE_SPECIAL.sub(r"\\\1", asked.text)
        conditions.append({"name": {"$ilike": f"%{pattern}%"}})
    condition = {"$and": conditions} if len(conditions) > 1 else conditions[0] if conditions else {}
    request = graph_pb.SearchNodesRequest(
        filter=graph_pb.NodeFilter(
            graph_name=asked.graph_name,
            condition_json=orjson.dumps(condition).decode() if condition else "",
            connected_to=graph_pb.ConnectedTo(node_id=asked.below_node_id) if asked.below_node_id else None,
            include_archived=asked.include_archived,
        ),
        page_token=asked.page_token,
    )

    async def read(page_size: int) -> tuple[Document, int]:
        request.page_size = page_size
        page = await use.services.graph.call("SearchNodes", request)
        return {"nodes": [], **await plain(page)}, len(page.nodes)

    return await fitting_page(read, page_size=asked.page_size, bytes_max=use.services.answer_bytes_max)


class SimilarNodesArguments(Arguments):
    """Of `rag_similar_nodes`."""

    entity_node_id: EntityId = ""
    embedding_name: str = Field("", description="Which of the node's vectors. Left out: the one called default.")
    node_types: list[str] = Field([])
    limit: int = Field(10, ge=1, le=100)


async def similar_nodes(use: Use, asked: SimilarNodesArguments) -> Document:
    """Answer the nodes whose vectors are nearest to a node's."""
    request = graph_pb.SearchSimilarRequest(
        node_id=use.entity(asked.entity_node_id),
        name=asked.embedding_name,
        node_types=asked.node_types,
        limit=asked.limit,
    )
    found = await use.services.graph.call("SearchSimilar", request)
    return await first_rows({"nodes": [], **await plain(found)}, "nodes", bytes_max=use.services.answer_bytes_max)


RAG_TOOLS = (
    Tool(
        name="rag_search_records",
        context_type="RAG",
        rpc="/contextkeep.context.v1.WorkingMemory/SearchWMRecords",
        description="Finds working memory records anywhere by words in their names, descriptions and contents, the "
        "best first, with small contents. Read the others with wm_read.",
        arguments=SearchRecordsArguments,
        run=search_records,
    ),
    Tool(
        name="rag_search_nodes",
        context_type="RAG",
        rpc="/contextkeep.entity.v1.EntityGraph/SearchNodes",
        description="Finds nodes of the entity graph by name, by conditions on their fields and data, or below a node.",
        arguments=SearchNodesArguments,
        run=search_nodes,
    ),
    Tool(
        name="rag_similar_nodes",
        context_type="RAG",
        rpc="/contextkeep.entity.v1.EntityGraph/SearchSimilar",
        description="Finds nodes whose embeddings are most like a node's, the most similar first.",
        arguments=SimilarNodesArguments,
        run=similar_nodes,
    ),
)
