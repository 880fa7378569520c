"""The proto service `Specialists`: parse, one call, render."""

from __future__ import annotations

from context_service.contexts.wire.requests import ids_of
from context_service.kernel.wire.imported import imported_of
from context_service.specialists.model import Specialist, SpecialistInput
from context_service.specialists.rules import Specialists
from contextkeep.context.v1 import specialists_pb2 as pb
from contextkeep.context.v1 import specialists_pb2_grpc
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied


class SpecialistsServicer(specialists_pb2_grpc.SpecialistsServicer):
    """Answers the RPCs of `Specialists`."""

    def __init__(self, specialists: Specialists) -> None:
        self._specialists = specialists

    async def PutSpecialist(self, request: pb.PutSpecialistRequest, context: object) -> pb.PutSpecialistResponse:
        """Write a specialist."""

        def response(specialist: Specialist) -> pb.PutSpecialistResponse:
            return pb.PutSpecialistResponse(specialist=_specialist(specialist))

        specialist_input = request.specialist
        specialist = await self._specialists.put(
            copied(
                SpecialistInput, specialist_input, node_ids=ids_of("specialist.node_ids", specialist_input.node_ids)
            ),
            principal=calls.principal(),
            request=request_of("PutSpecialist", request, response=response),
        )
        return response(specialist)

    async def ListSpecialists(self, request: pb.ListSpecialistsRequest, context: object) -> pb.ListSpecialistsResponse:
        """List specialists."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        specialists, token = await self._specialists.page(page, principal=calls.principal())
        return pb.ListSpecialistsResponse(specialists=map(_specialist, specialists), next_page_token=token)

    async def DeleteSpecialist(
        self, request: pb.DeleteSpecialistRequest, context: object
    ) -> pb.DeleteSpecialistResponse:
        """Remove a specialist."""
        write_request = request_of("DeleteSpecialist", request, response=lambda _: pb.DeleteSpecialistResponse())
        await self._specialists.delete(request.specialist_id, principal=calls.principal(), request=write_request)
        return pb.DeleteSpecialistResponse()


def _specialist(specialist: Specialist) -> pb.Specialist:
    return copied(pb.Specialist, specialist, imported=imported_of(specialist.imported_json))
