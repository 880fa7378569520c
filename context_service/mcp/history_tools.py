"""Tools of the context type History: what was said, and what happened."""

from __future__ import annotations

from pydantic import Field

from context_service.mcp.answers import Document, fitting_page, plain
from context_service.mcp.tool import Arguments, EntityId, PageSize, PageToken, Tool, Use
from contextkeep.context.v1 import chat_history_pb2 as pb


class ChatArguments(Arguments):
    """Of `history_chat`."""

    entity_node_id: EntityId = ""
    max_messages: int = Field(50, ge=0, le=1_000_000, description="The newest N messages; 0: all of them.")
    mapping_name: str = Field("", description="How nodes become messages. Left out: simple_chat.")
    app_id: str = Field("", description="Where the mapping is registered.")
    page_size: PageSize = 50
    page_token: PageToken = ""


async def chat(use: Use, asked: ChatArguments) -> Document:
    """Answer a page of a conversation."""
    request = pb.AssembleContextRequest(
        node_id=use.entity(asked.entity_node_id),
        app_id=asked.app_id,
        mapping_name=asked.mapping_name,
        max_messages=asked.max_messages,
        page_token=asked.page_token,
    )

    async def read(page_size: int) -> tuple[Document, int]:
        request.page_size = page_size
        page = await use.services.history.AssembleContext(request, None)
        answer: Document = {"messages": [await plain(given.message) for node in page.nodes for given in node.messages]}
        if page.next_page_token:
            answer["next_page_token"] = page.next_page_token
        return answer, len(page.nodes)

    return await fitting_page(read, page_size=asked.page_size, bytes_max=use.services.answer_bytes_max)


class EntityHistoryArguments(Arguments):
    """Of `history_entity`."""

    entity_node_id: EntityId = ""
    descending: bool = Field(False, description="The newest first.")
    page_size: PageSize = 50
    page_token: PageToken = ""


async def entity_history(use: Use, asked: EntityHistoryArguments) -> Document:
    """Answer a page of what happened to an entity."""
    request = pb.FetchEntityHistoryRequest(
        node_id=use.entity(asked.entity_node_id), descending=asked.descending, page_token=asked.page_token
    )

    async def read(page_size: int) -> tuple[Document, int]:
        request.page_size = page_size
        page = await use.services.history.FetchEntityHistory(request, None)
        return {"events": [], **await plain(page)}, len(page.events)

    return await fitting_page(read, page_size=asked.page_size, bytes_max=use.services.answer_bytes_max)


HISTORY_TOOLS = (
    Tool(
        name="history_chat",
        context_type="History",
        rpc="/contextkeep.context.v1.ChatHistory/AssembleContext",
        description="Reads the messages of a conversation, oldest first: of the newest `max_messages`. An entity "
        "without messages gives none.",
        arguments=ChatArguments,
        run=chat,
    ),
    Tool(
        name="history_entity",
        context_type="History",
        rpc="/contextkeep.context.v1.ChatHistory/FetchEntityHistory",
        description="Reads all that happened to an entity, by time: its node, status, progress and edges, and what was "
        "done to its records.",
        arguments=EntityHistoryArguments,
        run=entity_history,
    ),
)
