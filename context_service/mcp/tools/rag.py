"""Tools of the context type RAG: searches over everything that the caller may see."""

from __future__ import annotations

import re
from typing import Any

import orjson

from context_service.mcp.answers import Document
from context_service.mcp.tool import PAGE_TOKEN, Argument, Tool, Use, limit, page_size
from context_service.mcp.tools.working_memory import QUERY

_LIKE_SPECIAL = re.compile(r"([\\%_])")


async def _search_nodes(tool: Tool, use: Use, arguments: Any) -> Document:
    """Answer a page of the nodes whose name has the words and which meet the condition."""
    request = tool.request(use, arguments)
    if arguments.query:
        pattern = _LIKE_SPECIAL.sub(r"\\\1", arguments.query)
        parameters = {"name": {"$ilike": f"%{pattern}%"}}
        condition = {"$and": [arguments.where, parameters]} if arguments.where else parameters
        request.filter.condition_json = orjson.dumps(condition).decode()
    return await tool.answer(use, request, arguments)


RAG_TOOLS = (
    Tool(
        name="rag_search_records",
        context_type="RAG",
        rpc="/contextkeep.context.v1.WorkingMemory/SearchWMRecords",
        description="Finds records of all entities by words, best first, with small contents. Use it if you do not "
        "know the entity.",
        arguments={
            "query": QUERY,
            "memory_types": Argument(),
            "where": Argument(path="where_json"),
            "limit": limit(10, 100),
        },
        rows="hits",
        fixed={"with_content": True},
    ),
    Tool(
        name="rag_list_facets",
        context_type="RAG",
        rpc="/contextkeep.entity.v1.EntityGraph/ListFacets",
        description="Lists the types of nodes with their fields, examples and edges. Call it before rag_query_facets.",
        arguments={"type_name": Argument(), "graph_name": Argument()},
        rows="types",
    ),
    Tool(
        name="rag_query_facets",
        context_type="RAG",
        rpc="/contextkeep.entity.v1.EntityGraph/QueryFacets",
        description="Counts, sums and ranks nodes exactly. Use it for how many, how much, which is the largest or the "
        "latest, due before, and without; searches show only some nodes. If skipped or ungrouped_count is not 0, say "
        "that the answer leaves these out.",
        arguments={
            "where": Argument(
                path="condition_json",
                description='Such as {"type": "Invoice", "data.due": {"$lt": "2027-01-01"}}; operators as in wm_query. '
                "$lt orders texts by letters: dates only if the field's kind is date.",
            ),
            "with_edges": Argument(description='Edges that nodes must have: "out:Placed", "in:Placed".'),
            "without_edges": Argument(description="Edges that nodes must not have."),
            "group_by": Argument(description='A field, "data.country", or an edge, for the node at its other end.'),
            "measures": Argument(
                description='Such as "sum(data.amount)"; also count, avg, min, max. Group by the currency, if any.'
            ),
            "order_by": Argument(description='A field; of groups: a measure, "nodes" or "group".'),
            "descending": Argument(description="Largest first."),
            "limit": limit(20, 200),
            "graph_name": Argument(),
            "include_archived": Argument(),
        },
    ),
    Tool(
        name="rag_search_nodes",
        context_type="RAG",
        rpc="/contextkeep.entity.v1.EntityGraph/SearchNodes",
        description="Finds nodes of the entity graph by name, by conditions, or below a node.",
        arguments={
            "query": Argument(type=str, description="Part of the name."),
            "where": Argument(
                path="filter.condition_json", description='As in wm_query, on fields, "type" and "data.*".'
            ),
            "below_node_id": Argument(path="filter.connected_to.node_id"),
            "graph_name": Argument(path="filter.graph_name"),
            "include_archived": Argument(path="filter.include_archived"),
            "page_size": page_size(20),
            "page_token": PAGE_TOKEN,
        },
        rows="nodes",
        own=_search_nodes,
    ),
    Tool(
        name="rag_similar_nodes",
        context_type="RAG",
        rpc="/contextkeep.entity.v1.EntityGraph/SearchSimilar",
        description="Finds the nodes whose embeddings are nearest to that of a node.",
        arguments={
            "entity_node_id": Argument(path="node_id", is_entity=True),
            "embedding_name": Argument(path="name"),
            "node_types": Argument(),
            "limit": limit(10, 100),
        },
        rows="nodes",
    ),
)
