"""What recall and search take and answer, on the wire: of contexts and of windows alike."""

from __future__ import annotations

from collections.abc import Sequence

from context_service.contexts.rules.recall import ByMeaning, Filter, RecalledItem
from context_service.contexts.store.artifacts import KIND
from context_service.contexts.wire.requests import ids_of
from context_service.history.model import ROLE_NAMES
from context_service.kernel.wire import times
from context_service.retrieval.pure.part_texts import KINDS
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.errors import InvalidArgument
from service_runtime.copying import copied


def which_of(said: pb.RecallFilter, path: str) -> Filter:
    """Return which passages are meant."""
    return Filter(
        roles=_known(f"{path}.roles", ["assistant" if one == "agent" else one for one in said.roles], ROLE_NAMES),
        kinds=_known(f"{path}.kinds", said.kinds, (*KINDS, KIND)),
        authors=frozenset(said.authors),
        said_from=times.time_of(f"{path}.said_from", said.said_from) if said.HasField("said_from") else None,
        said_to=times.time_of(f"{path}.said_to", said.said_to) if said.HasField("said_to") else None,
        seq_from=said.seq_from,
        seq_to=said.seq_to or None,
        task_ids=frozenset(ids_of(f"{path}.task_ids", said.task_ids)),
        entity_node_ids=frozenset(ids_of(f"{path}.entity_node_ids", said.entity_node_ids)),
    )


def _known(path: str, names: Sequence[str], known: Sequence[str]) -> frozenset[str]:
    """Return names that are all known ones.

    Raises:
        InvalidArgument: one is not.
    """
    for place, name in enumerate(names):
        if name not in known:
            field = f"{path}[{place}]"
            raise InvalidArgument(f"{field} is none of {', '.join(known)}", field=field)
    return frozenset(names)


def by_meaning(meaning: ByMeaning) -> pb.ByMeaning:
    """Render how vectors counted."""
    return pb.ByMeaning(is_compared=meaning.is_compared, error=meaning.error, pending_count=meaning.pending)


def recalled_item(item: RecalledItem) -> pb.RecalledItem:
    """Render a passage."""
    return copied(pb.RecalledItem, item)
