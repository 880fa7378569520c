"""What a question to every source is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.values import MemoryQueryMode, QueryDepth, QueryMode, QueryScope


class QueryOptions(TypedDict, total=False):
    """Of a question: the arguments of `query.ask`."""

    mode: QueryMode
    scope: QueryScope
    depth: QueryDepth
    limit: int
    provider_ids: Sequence[str] | None
    families: Sequence[str] | None
    node_ids: Sequence[Id] | None
    memory_mode: MemoryQueryMode | None
    context_ids: Sequence[Id]
    tokens_max: int
    time_from: datetime | None
    time_to: datetime | None
    explain: bool
    expand_refs: Sequence[str]
    score_min: float | None
    metadata: Mapping[str, Any] | None
    agent_id: str
    subject_user_id: str


def workspace_options(node_ids: Iterable[Id] | None) -> query_pb.WorkspaceOptions | None:
    """Return the message of the nodes whose files are searched; None if none are given."""
    return None if node_ids is None else query_pb.WorkspaceOptions(node_ids=messages.ids("node_ids", node_ids))


def memory_options(mode: MemoryQueryMode | None) -> query_pb.MemoryOptions | None:
    """Return the message of how memories are searched; None if no mode is given."""
    if mode is None:
        return None
    return query_pb.MemoryOptions(query_mode=messages.choice_of("memory_mode", mode, query_pb.MemoryQueryMode))


def question_request(
    query: str,
    *,
    mode: QueryMode = "results",
    scope: QueryScope = "auto",
    depth: QueryDepth = "quick",
    limit: int = 20,
    provider_ids: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    node_ids: Sequence[Id] | None = None,
    memory_mode: MemoryQueryMode | None = None,
    context_ids: Sequence[Id] = (),
    tokens_max: int = 0,
    time_from: datetime | None = None,
    time_to: datetime | None = None,
    explain: bool = False,
    expand_refs: Sequence[str] = (),
    score_min: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    agent_id: str = "",
    subject_user_id: str = "",
) -> query_pb.QueryContextRequest:
    """Return the request of a question.

    Raises:
        InvalidArgument: an argument is malformed; the error names it.
    """
    selection = None
    if provider_ids is not None or families is not None:
        selection = query_pb.ProviderSelection(
            ids=messages.texts("provider_ids", provider_ids or ()),
            families=messages.texts("families", families or ()),
        )
    options = None
    if node_ids is not None or memory_mode is not None:
        workspace, memory = workspace_options(node_ids), memory_options(memory_mode)
        options = query_pb.ProviderOptions(workspace=workspace, memory=memory)
    return query_pb.QueryContextRequest(
        query=query,
        mode=messages.choice_of("mode", mode, query_pb.QueryMode),
        scope=messages.choice_of("scope", scope, query_pb.QueryScope),
        depth=messages.choice_of("depth", depth, query_pb.QueryDepth),
        limit=limit,
        providers=selection,
        provider_options=options,
        context_ids=messages.ids("context_ids", context_ids),
        tokens_max=tokens_max,
        time_from=messages.to_timestamp("time_from", time_from),
        time_to=messages.to_timestamp("time_to", time_to),
        explain=explain,
        expand_refs=messages.texts("expand_refs", expand_refs),
        score_min=score_min,
        metadata_json=messages.to_object("metadata_json", metadata),
        agent_id=agent_id,
        subject_user_id=subject_user_id,
    )
