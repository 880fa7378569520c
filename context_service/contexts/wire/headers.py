"""The header of a context on the wire."""

from __future__ import annotations

from context_service.contexts.model import Context
from context_service.kernel.wire import learning_mode
from context_service.kernel.wire.imported import imported_of
from context_service.kernel.wire.model_use import number_of
from contextkeep.context.v1 import contexts_pb2 as pb
from service_runtime.values.copying import copied


def header_of(context: Context) -> pb.Context:
    """Return the protobuf message of a context's header, without its indexing state."""
    return copied(
        pb.Context,
        context,
        external_ids=[copied(pb.ExternalId, external_id) for external_id in context.external_ids],
        state=pb.CONTEXT_STATE_CLOSED if context.closed_at else pb.CONTEXT_STATE_OPEN,
        ancestor_ids=map(str, context.ancestors[:-1]),
        imported=imported_of(context.imported_json),
        index=None,
        models=number_of(context.models),
        learning=learning_mode.number_of(context.learning),
    )
