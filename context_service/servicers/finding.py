"""The RPCs of WorkingMemory that find records: parse, one call, render."""

from __future__ import annotations

from dataclasses import dataclass

from context_service.working_memory.query import Order, Question, RecordQueries
from contextgraph.context.v1 import working_memory_pb2 as pb
from contextgraph.context.v1 import working_memory_pb2_grpc
from service_runtime import calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Finders:
    """What the RPCs ask."""

    queries: RecordQueries


class FindingServicer(working_memory_pb2_grpc.WorkingMemoryServicer):
    """The part of the servicer that finds records."""

    def __init__(self, finders: Finders) -> None:
        self._finders = finders

    async def QueryWMRecords(self, request: pb.QueryWMRecordsRequest, context: object) -> pb.QueryWMRecordsResponse:
        """Answer a question about records."""
        question = Question(
            select=tuple(request.select),
            where_json=request.where_json,
            group_by=tuple(request.group_by),
            order_by=tuple(Order(column=key.column, descending=key.descending) for key in request.order_by),
            limit=request.limit,
            include_archived=request.include_archived,
        )
        answer = await self._finders.queries.answer(question, principal=calls.principal())
        return pb.QueryWMRecordsResponse(rows_json=answer.rows_json, has_more=answer.has_more)
