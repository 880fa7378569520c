"""Requests and responses of recall and search on the wire, of contexts and of windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from context_service.contexts.rules.recall import ByMeaning, Filter, RecalledItem
from context_service.contexts.store.artifacts import KIND
from context_service.contexts.wire.requests import ids_of
from context_service.history.model import ROLE_NAMES
from context_service.kernel.wire import times
from context_service.retrieval.pure.part_texts import KINDS
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.errors import InvalidArgument
from service_runtime.values.copying import copied


def passages_of(message: pb.RecallFilter | pb.SearchContextsRequest, path: str = "") -> Filter:
    """Return the filter of passages of any context; `path` is that of the message in the request, with a dot."""
    return Filter(
        roles=_checked_names(
            f"{path}roles", ["assistant" if role == "agent" else role for role in message.roles], ROLE_NAMES
        ),
        kinds=_checked_names(f"{path}kinds", message.kinds, (*KINDS, KIND)),
        authors=frozenset(message.authors),
        said_from=times.time_of(f"{path}said_from", message.said_from) if message.HasField("said_from") else None,
        said_to=times.time_of(f"{path}said_to", message.said_to) if message.HasField("said_to") else None,
    )


def which_of(message: pb.RecallFilter, path: str) -> Filter:
    """Return the filter of a request about one context."""
    return replace(
        passages_of(message, f"{path}."),
        seq_from=message.seq_from,
        seq_to=message.seq_to or None,
        task_ids=frozenset(ids_of(f"{path}.task_ids", message.task_ids)),
        entity_node_ids=frozenset(ids_of(f"{path}.entity_node_ids", message.entity_node_ids)),
    )


def _checked_names(path: str, names: Sequence[str], allowed: Sequence[str]) -> frozenset[str]:
    """Return the names, checked.

    Raises:
        InvalidArgument: a name is unknown.
    """
    for place, name in enumerate(names):
        if name not in allowed:
            field = f"{path}[{place}]"
            raise InvalidArgument(f"{field} must be one of {', '.join(allowed)} (got {name[:100]!r})", field=field)
    return frozenset(names)


def by_meaning(meaning: ByMeaning) -> pb.ByMeaning:
    """Render whether vectors were compared, and whether a reranker ordered the passages."""
    return pb.ByMeaning(
        is_compared=meaning.is_compared,
        error=meaning.error,
        pending_count=meaning.pending,
        is_reranked=meaning.reranking.is_done,
        reranker_error=meaning.reranking.error,
    )


def recalled_item(item: RecalledItem) -> pb.RecalledItem:
    """Render a passage."""
    return copied(pb.RecalledItem, item)
