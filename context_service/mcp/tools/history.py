"""Tools of the context type History: messages and events of the entity graph."""

from __future__ import annotations

from context_service.mcp.answers import Document, plain
from context_service.mcp.tool import PAGE_TOKEN, Argument, Tool, page_size
from contextkeep.context.v1 import chat_history_pb2 as pb


async def _messages(page: pb.AssembleContextResponse) -> Document:
    """Return the messages of a page of nodes as a document, with the token of the next page if there is one."""
    answer: Document = {
        "messages": [await plain(rule_message.message) for node in page.nodes for rule_message in node.messages]
    }
    if page.next_page_token:
        answer["next_page_token"] = page.next_page_token
    return answer


HISTORY_TOOLS = (
    Tool(
        name="history_chat",
        context_type="History",
        rpc="/contextkeep.context.v1.ChatHistory/AssembleContext",
        description="Reads the chat messages below an entity of the graph, oldest first.",
        arguments={
            "entity_node_id": Argument(path="node_id", is_entity=True),
            "limit": Argument(
                path="max_messages",
                description="The newest N messages; 0: all.",
                default=50,
                limits={"ge": 0, "le": 1_000_000},
            ),
            "mapping_name": Argument(),
            "app_id": Argument(),
            "page_size": page_size(50),
            "page_token": PAGE_TOKEN,
        },
        rows="messages",
        shape=_messages,
    ),
    Tool(
        name="history_entity",
        context_type="History",
        rpc="/contextkeep.context.v1.ChatHistory/FetchEntityHistory",
        description="Lists the events of an entity by time: node, status, progress, edges and records.",
        arguments={
            "entity_node_id": Argument(path="node_id", is_entity=True),
            "descending": Argument(description="Newest first."),
            "page_size": page_size(50),
            "page_token": PAGE_TOKEN,
        },
        rows="events",
    ),
)
