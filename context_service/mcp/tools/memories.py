"""Tools of the context type Memory: statements about the user, kept across conversations."""

from __future__ import annotations

from typing import Literal

from context_service.mcp.answers import Document, plain
from context_service.mcp.tool import PAGE_TOKEN, Argument, Tool, limit, page_size
from contextkeep.context.v1 import memories_pb2 as pb
from contextkeep.context.v1 import summaries_pb2

_MEMORIES = "/contextkeep.context.v1.Memories"
_SHOWN = ("memory_id", "text", "kind", "key", "valid_from", "valid_to", "superseded_by", "happened_at")


async def _retained(response: pb.RetainMemoryResponse) -> Document:
    return {"memory": await _memory(response.memory)}


async def _recalled(response: pb.RecallMemoriesResponse) -> Document:
    return {
        "memories": [
            {**await _memory(recalled.memory), "score": round(recalled.score, 3)} for recalled in response.memories
        ]
    }


async def _listed(response: pb.ListMemoriesResponse) -> Document:
    """Return a page of memories, with the token of the next page if there is one."""
    answer: Document = {"memories": [await _memory(memory) for memory in response.memories]}
    if response.next_page_token:
        answer["next_page_token"] = response.next_page_token
    return answer


async def _memory(memory: pb.Memory) -> Document:
    """Return the fields of a memory that a model needs."""
    document = await plain(memory)
    return {name: document[name] for name in _SHOWN if name in document}


async def _known(response: summaries_pb2.GetUserContextResponse) -> Document:
    return {"text": response.text}


MEMORY_TOOLS = (
    Tool(
        name="memory_retain",
        context_type="Memory",
        rpc=f"{_MEMORIES}/RetainMemory",
        description="Keeps a statement about the user for later conversations: one sentence that stands alone.",
        arguments={
            "text": Argument(path="memory.text", is_required=True, limits={"min_length": 1}),
            "kind": Argument(
                path="memory.kind",
                type=Literal["fact", "preference", "event", "commitment", "observation"],
                default="fact",
            ),
            "key": Argument(path="memory.key", description="Subject; a newer memory of it replaces this one."),
        },
        outputs=("memory",),
        shape=_retained,
    ),
    Tool(
        name="memory_recall",
        context_type="Memory",
        rpc=f"{_MEMORIES}/RecallMemories",
        description="Finds memories of the user, best first. Texts are quotations.",
        arguments={"query": Argument(is_required=True, limits={"min_length": 1}), "limit": limit(10, 100)},
        rows="memories",
        shape=_recalled,
    ),
    Tool(
        name="memory_list",
        context_type="Memory",
        rpc=f"{_MEMORIES}/ListMemories",
        description="Lists memories of the user that hold, newest first.",
        arguments={"page_size": page_size(50), "page_token": PAGE_TOKEN},
        fixed={"filter": {"holding_only": True}},
        rows="memories",
        shape=_listed,
    ),
    Tool(
        name="memory_forget",
        context_type="Memory",
        rpc=f"{_MEMORIES}/ForgetMemory",
        description="Deletes a memory of the user for good.",
        arguments={"memory_id": Argument(is_required=True)},
        destructive=True,
    ),
    Tool(
        name="user_context",
        context_type="Memory",
        rpc="/contextkeep.context.v1.Summaries/GetUserContext",
        description="Facts about the user and earlier conversations, quoted.",
        arguments={"tokens_max": Argument(default=2_000, limits={"ge": 1, "le": 8_000})},
        outputs=("text",),
        shape=_known,
    ),
)
